// What a commit costs beyond what the disk costs: both engines against the least that could make
// the same bytes durable.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "bench/bare_lmdb.h"
#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/base/codec.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::bench {
namespace {

// A round is this many commits: what an engine does only now and then is in every round.
constexpr int kCommitsPerRound = 64;
constexpr std::uint64_t kExisting = 20'000;  // records before the first measured commit

// Writes as a worker's commit has them: the counters and the lease, always the same keys, and job
// records of 60 bytes one after the other.
class Writes {
 public:
  explicit Writes(int records) : records_(records) {}
  const Records& next() {
    out_.clear();
    for (int i = 0; i < records_; ++i) {
      const bool fixed = i < 2 && records_ < 8;
      const std::uint64_t number = fixed ? static_cast<std::uint64_t>(i) : next_++ % kExisting;
      out_.emplace_back(Encoder(fixed ? 'K' : 'J').be64(number).bytes(), value());
    }
    return out_;
  }

 private:
  std::string value() {
    Encoder out;
    for (int i = 0; i < 6; ++i) out.be64(entropy_.next());
    return std::move(out.raw("end")).bytes();
  }

  int records_;
  std::uint64_t next_ = 0;
  SeededEntropy entropy_{1};
  Records out_;
};

Records existing() {
  Records out;
  for (std::uint64_t i = 0; i < kExisting; ++i) {
    out.emplace_back(Encoder('J').be64(i).bytes(), std::string(51, '.'));
  }
  return out;
}

Result<std::unique_ptr<store::Store>> make_store(const store::World& world, const Path& directory,
                                                 store::Engine engine) {
  return store::Store::create(world, directory, engine, store::Tuning{},
                              [](store::Transaction& tx) -> Result<void> {
                                for (const auto& [key, value] : existing()) tx.put(key, value);
                                return {};
                              });
}

Round commits_of(store::Store& store, Writes& writes) {
  return [&]() -> Result<Seconds> {
    TORC_ASSIGN(const Seconds took, timed([&]() -> Result<void> {
                  for (int i = 0; i < kCommitsPerRound; ++i) {
                    const Records& records = writes.next();
                    TORC_TRY(store.commit(1, [&](store::Transaction& tx) -> Result<void> {
                      for (const auto& [key, value] : records) tx.put(key, value);
                      return {};
                    }));
                  }
                  return {};
                }));
    return took / kCommitsPerRound;
  };
}

Result<void> measure_lmdb(const Options& options, Table& table, const store::World& world,
                          int records) {
  const Path store_path = options.scratch / fmt::format("lmdb{}.torc", records);
  TORC_ASSIGN(const auto store, make_store(world, store_path, store::Engine::lmdb));
  TORC_ASSIGN(const auto bare, BareLmdb::open(options.scratch / fmt::format("bare{}", records)));
  TORC_TRY(bare->commit(existing()));
  Writes ours(records);
  Writes theirs(records);
  const Round baseline = [&]() -> Result<Seconds> {
    TORC_ASSIGN(const Seconds took, timed([&]() -> Result<void> {
                  for (int i = 0; i < kCommitsPerRound; ++i) TORC_TRY(bare->commit(theirs.next()));
                  return {};
                }));
    return took / kCommitsPerRound;
  };
  TORC_ASSIGN(const Comparison c,
              compare(options.quick ? 5 : 41, commits_of(*store, ours), baseline));
  table.add({fmt::format("lmdb engine, commits of {} records / bare LMDB, synced", records),
             show_rate(1 / c.measured.count()),
             show_rate(1 / c.baseline.count()),
             1 / c.ratio,
             at_least(0.75),
             {}});
  return {};
}

// A log that is appended to, each record synced: the least a durable commit can cost.
class AppendLog {
 public:
  explicit AppendLog(const Path& file)
      : fd_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {}
  ~AppendLog() { close(fd_); }
  AppendLog(const AppendLog&) = delete;
  AppendLog& operator=(const AppendLog&) = delete;
  Result<void> append(const std::string& bytes) const {
    if (write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
        fdatasync(fd_) == 0) {
      return {};
    }
    return os_error(errno, "cannot append");
  }

 private:
  int fd_;
};

// The length of the newest commit file: of the last one in name order, names being sequence
// numbers.
Result<std::uint64_t> newest_commit_size(const Path& store) {
  Path newest;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store, error)) {
    const bool commit = entry.path().string().find("/journal/") != std::string::npos;
    if (commit && entry.is_regular_file(error)) newest = std::max(newest, entry.path());
  }
  const auto size = newest.empty() ? 0 : std::filesystem::file_size(newest, error);
  if (error || size == 0) {
    return Error{ErrorKind::not_found, "no commit file in " + store.string(), {}};
  }
  return size;
}

Result<void> measure_journal(const Options& options, Table& table, const store::World& world,
                             int records) {
  const Path store_path = options.scratch / fmt::format("journal{}.torc", records);
  TORC_ASSIGN(const auto store, make_store(world, store_path, store::Engine::journal));
  Writes writes(records);
  const Round round = commits_of(*store, writes);
  TORC_TRY(round());
  TORC_ASSIGN(const std::uint64_t size, newest_commit_size(store_path));
  const AppendLog log(options.scratch / fmt::format("log{}", records));
  const std::string bytes(size, 'x');
  const Round baseline = [&]() -> Result<Seconds> {
    TORC_ASSIGN(const Seconds took, timed([&]() -> Result<void> {
                  for (int i = 0; i < kCommitsPerRound; ++i) TORC_TRY(log.append(bytes));
                  return {};
                }));
    return took / kCommitsPerRound;
  };
  TORC_ASSIGN(const Comparison c, compare(options.quick ? 5 : 41, round, baseline));
  table.add(
      {fmt::format("journal engine, commit of {} records / append + fdatasync of its {} bytes",
                   records, size),
       show(c.measured),
       show(c.baseline),
       c.ratio,
       at_most(3),
       {}});
  return {};
}

// What batching saves: a commit that completes and claims one job, or 64.
Result<void> measure_batch(const Options& options, Table& table, const store::World& world) {
  constexpr std::uint64_t kBatch = 64;
  TORC_ASSIGN(const auto store,
              store::Store::create(world, options.scratch / "batch.torc", store::Engine::journal,
                                   store::Tuning{}, [](store::Transaction& tx) {
                                     return claim::write_plan(tx, plan_of(200'000, Shape::sweep));
                                   }));
  const auto turns = [](BatchWorker& worker, int commits, std::uint64_t batch) -> Round {
    return [&worker, commits, batch]() -> Result<Seconds> {
      TORC_ASSIGN(const Seconds took, timed([&]() -> Result<void> {
                    for (int i = 0; i < commits; ++i) TORC_TRY(worker.turn(batch));
                    return {};
                  }));
      return took / commits;
    };
  };
  TORC_ASSIGN(BatchWorker many, BatchWorker::join(*store));
  TORC_ASSIGN(BatchWorker one, BatchWorker::join(*store));
  TORC_ASSIGN(const Comparison c,
              compare(options.quick ? 3 : 15, turns(many, 32, kBatch), turns(one, 32, 1)));
  table.add({"journal engine, commit that claims and completes 64 jobs / 1 job",
             show(c.measured),
             show(c.baseline),
             c.ratio,
             at_most(1.2),
             {}});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    TORC_ASSIGN(const auto local, LocalWorld::make());
    for (const int records : {3, 64}) {
      TORC_TRY(measure_lmdb(options, table, local->world(), records));
    }
    for (const int records : {3, 64}) {
      TORC_TRY(measure_journal(options, table, local->world(), records));
    }
    return measure_batch(options, table, local->world());
  });
}
