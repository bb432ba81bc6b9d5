#include "bench/journal_cost.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/request_count.h"
#include "lib/store/engine/store.h"

namespace torc::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMostBehind = 4096;

// Counts what goes to the filesystem. A close sends nothing that was not counted before, and what
// is asked of the statfs is asked once.
class CountingDisk final : public store::Disk {
 public:
  std::uint64_t requests = 0;  // every operation
  store::RequestCount sent;    // what an NFS client sends for them

  Result<store::FileHandle> open_read(const Path& p) override {
    return one("open_read"), real_.open_read(p);
  }
  Result<store::FileHandle> open_update(const Path& p) override {
    return one("open_update"), real_.open_update(p);
  }
  Result<store::FileHandle> create(const Path& p) override {
    return one("create"), real_.create(p);
  }
  // As NFS: the names of temporary files and their links are requests of their own.
  Result<store::FileHandle> create_unnamed(const Path&) override {
    return os_error(EOPNOTSUPP, "no unnamed files here");
  }
  Result<std::string> read(store::FileHandle f, std::uint64_t at, std::size_t n) override {
    return one("read"), real_.read(f, at, n);
  }
  Result<void> write(store::FileHandle f, std::uint64_t at, std::string_view b) override {
    return one("write"), real_.write(f, at, b);
  }
  Result<void> sync(store::FileHandle, store::Sync) override { return one("sync"), Result<void>(); }
  Result<void> close(store::FileHandle f) override { return one("close"), real_.close(f); }
  Result<void> link(const Path& a, const Path& b) override { return one("link"), real_.link(a, b); }
  Result<void> link_unnamed(store::FileHandle, const Path&) override {
    return os_error(EOPNOTSUPP, "no unnamed files here");
  }
  Result<void> unlink(const Path& p) override { return one("unlink"), real_.unlink(p); }
  Result<void> make_directory(const Path& p) override {
    return one("make_directory"), real_.make_directory(p);
  }
  Result<void> remove_directory(const Path& p) override {
    return one("remove_directory"), real_.remove_directory(p);
  }
  Result<void> rename(const Path& a, const Path& b, store::Replace r) override {
    return one("rename"), real_.rename(a, b, r);
  }
  Result<void> sync_directory(const Path&) override { return one("sync"), Result<void>(); }
  Result<std::vector<std::string>> list(const Path& p) override {
    return one("list"), real_.list(p);
  }
  Result<store::FileStatus> status(const Path& p) override {
    return one("status"), real_.status(p);
  }
  Result<std::uint64_t> filesystem(const Path&) override { return kNfs; }
  Result<bool> try_lock(store::FileHandle f) override { return one("try_lock"), real_.try_lock(f); }
  Result<void> unlock(store::FileHandle f) override { return one("unlock"), real_.unlock(f); }

 private:
  static constexpr std::uint64_t kNfs = 0x6969;
  void one(std::string_view operation) {
    ++requests;
    sent.add(operation);
  }
  store::PosixDisk real_;
};

struct Host {
  Host(const Path& scratch, const std::string& name, std::uint64_t seed)
      : entropy(seed), replicas(scratch / ("replicas-" + name)), world{disk,           clock,
                                                                       entropy,        name,
                                                                       "boot-" + name, "pid:[1]",
                                                                       geteuid(),      {replicas}} {
    std::filesystem::create_directories(replicas);
  }
  CountingDisk disk;
  ManualClock clock;
  SeededEntropy entropy;
  Path replicas;
  store::World world;
};

std::uint64_t files_below(const Path& directory) {
  std::uint64_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    files += entry.is_directory() ? 0 : 1;
  }
  return files;
}

// The smallest of several: what now and then a snapshot or a collection adds is not part of it.
template <class Action>
Result<std::uint64_t> requests_of(Host& host, int times, const Action& action) {
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < times; ++i) {
    const std::uint64_t before = host.disk.requests;
    TORC_TRY(action());
    least = std::min(least, host.disk.requests - before);
  }
  return least;
}

}  // namespace

Result<RequestsPerCommit> measure_requests(const Path& scratch, std::uint64_t hosts, int commits) {
  const Path directory = scratch / fmt::format("requests{}.torc", hosts);
  store::Tuning tuning;
  tuning.sync = false;
  std::uint64_t n = 0;
  const auto body = [&](store::Transaction& tx) -> Result<void> {
    tx.put(fmt::format("key{}", ++n % 500), "value");
    return {};
  };
  std::vector<std::unique_ptr<Host>> all;
  std::vector<std::unique_ptr<store::Store>> stores;
  for (std::uint64_t i = 0; i < hosts; ++i) {
    all.push_back(std::make_unique<Host>(scratch, fmt::format("r{}-{}", hosts, i), i + 1));
    auto made = i == 0 ? store::Store::create(all[i]->world, directory, store::Engine::journal,
                                              tuning, body)
                       : store::Store::open(all[i]->world, directory, tuning);
    if (!made.ok()) return std::move(made).error();
    stores.push_back(std::move(*made));
  }
  RequestsPerCommit out;
  out.least_modifying = UINT64_MAX;
  const auto sum = [&] {
    store::RequestCount total;
    for (const auto& host : all) {
      total.all += host->disk.sent.all;
      total.modifying += host->disk.sent.modifying;
    }
    return total;
  };
  store::RequestCount before = sum();
  for (int i = -200; i < commits; ++i) {  // the first ones do not count
    if (i == 0) before = sum();
    for (const auto& host : all) host->clock.advance(50ms);
    const std::size_t turn = static_cast<std::size_t>(i + 200) % hosts;
    const std::uint64_t changed = all[turn]->disk.sent.modifying;
    TORC_TRY(stores[turn]->commit(1, body));
    out.least_modifying = std::min(out.least_modifying, all[turn]->disk.sent.modifying - changed);
    TORC_TRY(stores[turn]->maintain());
  }
  const store::RequestCount spent = sum() - before;
  out.all = static_cast<double>(spent.all) / commits;
  out.modifying = static_cast<double>(spent.modifying) / commits;
  return out;
}

Result<JournalCost> measure_journal(const Path& scratch) {
  JournalCost cost;
  cost.behind.clear();
  Host writer(scratch, "writer", 1);
  Host reader(scratch, "reader", 2);
  store::Tuning tuning;
  tuning.sync = false;
  std::uint64_t n = 0;
  const auto body = [&](store::Transaction& tx) -> Result<void> {
    tx.put("key" + std::to_string(++n % 100), "value");
    return {};
  };
  TORC_ASSIGN(const auto at_writer, store::Store::create(writer.world, scratch / "cost.torc",
                                                         store::Engine::journal, tuning, body));
  TORC_ASSIGN(const auto at_reader,
              store::Store::open(reader.world, scratch / "cost.torc", tuning));
  const auto look = [&]() -> Result<void> {
    return at_reader->view(store::Freshness::latest,
                           [](const store::Reader&) { return Result<void>(); });
  };
  const auto commit = [&]() -> Result<void> {
    writer.clock.advance(50ms);
    reader.clock.advance(50ms);
    TORC_TRY(at_writer->commit(1, body));
    TORC_TRY(at_writer->maintain());
    if (n % 61 == 0)
      cost.most_files = std::max(cost.most_files, files_below(scratch / "cost.torc"));
    return {};
  };
  for (int i = 0; i < 100; ++i) TORC_TRY(commit());
  TORC_TRY(look());
  TORC_ASSIGN(cost.look, requests_of(reader, 5, look));
  TORC_ASSIGN(cost.commit, requests_of(writer, 20, [&]() -> Result<void> {
                writer.clock.advance(10s);  // listing is left out only directly after another one
                TORC_TRY(at_writer->commit(1, body));
                return {};
              }));
  TORC_TRY(look());
  cost.behind[0] = cost.look;
  for (std::uint64_t behind = 1; behind <= kMostBehind; behind *= 2) {
    for (std::uint64_t i = 0; i < behind; ++i) TORC_TRY(commit());
    const std::uint64_t before = reader.disk.requests;
    TORC_TRY(look());
    cost.behind[behind] = reader.disk.requests - before;
  }
  while (n < 36'000) TORC_TRY(commit());
  return cost;
}

}  // namespace torc::bench
