// fuzz_seed STORE CORPUS: takes a real store apart into inputs for the fuzz targets, a few small
// ones of each kind.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "lib/base/clock.h"
#include "lib/spec/recipe.h"
#include "lib/store/disk.h"
#include "lib/store/hash.h"
#include "lib/store/store.h"

namespace {

namespace fs = std::filesystem;
using namespace torc;

constexpr std::size_t kLargest = 3'000;
constexpr int kOfEachTable = 4;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Named by its content, as libFuzzer does: the same input is there once.
void keep(const fs::path& corpus, const std::string& target, const std::string& bytes) {
  if (bytes.empty() || bytes.size() > kLargest) return;
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
  }
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
  const auto seen = (*opened)->view(store::Freshness::latest, [&](const store::Reader& reader) {
    reader.scan("\1", [&](const store::Entry& e) {
      keep_record(corpus, e.key, e.value, kept);
      return true;
    });
    return Result<void>();
  });
  fs::remove_all(scratch);
  return seen.ok() ? 0 : 3;
}
