// fuzz_seed STORE CORPUS: takes a real store apart into inputs for the fuzz targets, a few small
// ones of each kind.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/codec.h"
#include "lib/exec/node/node_member.h"
#include "lib/exec/output/packed_format.h"
#include "lib/exec/output/series.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"
#include "lib/store/engine/store.h"
#include "tests/fuzz/lmdb_pages.h"

namespace {

namespace fs = std::filesystem;
using namespace torc;

constexpr std::size_t kLargest = 3'000;
constexpr int kOfEachTable = 4;
constexpr std::size_t kLargestPages = 8'192;  // of a file of LMDB

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Named by its content, as libFuzzer does: the same input is there once.
void keep(const fs::path& corpus, const std::string& target, const std::string& bytes,
          std::size_t most = kLargest) {
  if (bytes.empty() || bytes.size() > most) return;
  fs::create_directories(corpus / target);
  const std::string name = store::to_hex(store::hash128({}, bytes)).substr(0, 12);
  std::ofstream(corpus / target / name, std::ios::binary) << bytes;
}

void keep_files(const fs::path& from, const fs::path& corpus, const std::string& target, int most) {
  if (!fs::exists(from)) return;
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file() || entry.file_size() > kLargest || most-- <= 0) continue;
    keep(corpus, target, read(entry.path()));
  }
}

// The first commits one after the other, as a segment has them.
void keep_as_segment(const fs::path& journal, const fs::path& corpus) {
  std::map<std::string, fs::path> commits;
  for (const auto& entry : fs::recursive_directory_iterator(journal)) {
    if (entry.is_regular_file()) commits[entry.path().filename().string()] = entry.path();
  }
  std::string segment;
  for (const auto& [number, file] : commits) {
    if (segment.size() + fs::file_size(file) > kLargest) break;
    segment += read(file);
  }
  keep(corpus, "segment", segment);
}

// An index and the beginning of its data, as halves_of() takes them apart.
void keep_pair(const fs::path& index, const fs::path& data, const fs::path& corpus,
               const std::string& target) {
  const std::string first = read(index).substr(0, 320);
  std::string input;
  input += static_cast<char>(first.size() >> 8);
  input += static_cast<char>(first.size());
  keep(corpus, target, input + first + read(data).substr(0, 1'500));
}

void keep_output(const fs::path& output, const fs::path& corpus) {
  const fs::path packed = exec::packed_directory(output);
  const fs::path series = exec::series_directory(output);
  for (std::uint64_t worker = 1; worker < 8; ++worker) {
    const exec::PackedNames of_packed{packed, worker};
    const exec::SeriesNames of_series{series, worker};
    if (fs::exists(of_packed.index()))
      keep_pair(of_packed.index(), of_packed.data(), corpus, "packed");
    if (fs::exists(of_series.index()))
      keep_pair(of_series.index(), of_series.data(), corpus, "series");
  }
}

// No store has this: a member of a ledger, and what ledger_fuzz.cc reads behind it.
void keep_ledger(const fs::path& corpus) {
  exec::NodeMember member;
  member.worker = member.watchdog = {1234, 5678};
  member.store = "/data/run.torc";
  member.cpus = exec::parse_cpus("2-9,70");
  member.most_cpus = 9;
  member.most_memory = {500};
  member.pools = {{1, 8, ByteCount{900}}, {2, {}, ByteCount{800}}};
  member.gpus = {{"0", 1}, {"GPU-7", 3}};
  Encoder out;
  out.text(exec::encode(member)).varint(0x3c).varint(0x40).varint(0).varint(0);
  out.varint(0).varint(300).varint(0).varint(1).svarint(0);
  keep(corpus, "ledger", out.bytes());
  // Words of the table besides: the head, and the first slot.
  for (const std::uint64_t word : {0, 1, 2, 3, 1024, 1026, 1984}) out.varint(word).varint(7);
  keep(corpus, "ledger", out.bytes());
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

void keep_pages(const fs::path& corpus, const Pairs& entries) {
  for (const std::size_t count : {0, 1, 2, 6}) {
    const Pairs few(entries.begin(),
                    entries.begin() + static_cast<std::ptrdiff_t>(std::min(count, entries.size())));
    keep(corpus, "lmdb", fuzz::lmdb_file_of(few), kLargestPages);
  }
}

void keep_record(const fs::path& corpus, std::string_view key, std::string_view value,
                 std::map<char, int>& kept) {
  if (key.empty() || key.front() == 0 || ++kept[key.front()] > kOfEachTable) return;
  if (key.front() == 'T') {
    // The recipe stands behind three numbers and a hash: cut off where a recipe begins.
    for (std::size_t at = 11; at < value.size() && at < 32; ++at) {
      if (spec::Recipe::decode(value.substr(at)).ok())
        keep(corpus, "recipe", std::string(value.substr(at)));
    }
  }
  if (key.front() == 's') keep(corpus, "recipe", std::string(value));
  keep(corpus, "records", static_cast<char>(key.size()) + std::string(key) + std::string(value));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fuzz_seed STORE CORPUS\n");
    return 2;
  }
  const fs::path directory = fs::absolute(argv[1]);
  const fs::path corpus = argv[2];
  keep(corpus, "meta", read(directory / "META"));
  keep(corpus, "spec", read(directory / "spec.yaml"));
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!entry.path().filename().string().starts_with("state-")) continue;
    keep_files(entry.path() / "journal", corpus, "commit", 12);
    keep_as_segment(entry.path() / "journal", corpus);
    keep_files(entry.path() / "segment", corpus, "segment", 4);
    keep_files(entry.path() / "snapshot", corpus, "snapshot", 4);
    keep_files(entry.path() / "beats", corpus, "heartbeat", 4);
  }
  keep_output(directory / "logs/jobs", corpus);
  keep_ledger(corpus);
  store::PosixDisk disk;
  SystemClock clock;
  SystemEntropy entropy;
  const fs::path scratch = fs::temp_directory_path() / "torc-fuzz-seed";
  fs::create_directories(scratch);
  auto opened = store::Store::open({disk,
                                    clock,
                                    entropy,
                                    "seed",
                                    "boot",
                                    "pid",
                                    static_cast<std::uint32_t>(::geteuid()),
                                    {scratch}},
                                   directory, {});
  if (!opened.ok()) {
    std::fprintf(stderr, "fuzz_seed: %s\n", opened.error().text().c_str());
    return 3;
  }
  std::map<char, int> kept;
  Pairs entries;
  const auto seen = (*opened)->view(store::Freshness::latest, [&](const store::Reader& reader) {
    reader.scan("\1", [&](const store::Entry& e) {
      keep_record(corpus, e.key, e.value, kept);
      if (kept[e.key.front()] == 1 && e.value.size() < 600) entries.emplace_back(e.key, e.value);
      return true;
    });
    return Result<void>();
  });
  keep_pages(corpus, entries);
  fs::remove_all(scratch);
  return seen.ok() ? 0 : 3;
}
