// The two files of a worker's series: as they are, and with checksums and lengths that fit.
#include <optional>
#include <vector>

#include "lib/exec/output/series.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch_files.h"

namespace {

using namespace torc::exec;
using Points = std::vector<SeriesPoint>;

constexpr std::size_t kEntry = 28, kCrc = 4, kFrameHead = 8;
constexpr std::size_t kMostKeys = 8;
constexpr std::uint64_t kWorker = 3;

std::vector<AttemptKey> keys_in(std::string_view index) {
  std::vector<AttemptKey> keys{{1, 1}};
  for (std::size_t at = 0; at + kEntry <= index.size() && keys.size() < kMostKeys; at += kEntry) {
    const auto numbers = torc::fuzz::be64_at(index, at + kCrc + 8);
    keys.push_back(
        {torc::fuzz::be64_at(index, at + kCrc), static_cast<std::uint32_t>(numbers >> 32)});
  }
  return keys;
}

void check(std::string_view index, std::string_view data) {
  static const torc::fuzz::ScratchFiles scratch;
  static const torc::beneath::Root root(scratch.path().parent_path());
  const SeriesNames names{scratch.path(), kWorker};
  scratch.put(names.index(), index);
  for (const AttemptKey key : keys_in(index)) {
    scratch.put(names.data(), data);
    const auto worker = series_worker(root, scratch.path(), key);
    const auto points = read_series(root, names, key);
    TORC_MUST(worker.ok());
    if (!points.ok()) continue;
    TORC_MUST(points->has_value() == worker->has_value());
    TORC_MUST(!*worker || **worker == kWorker);
    if (!*points) continue;
    TORC_MUST((*points)->size() <= data.size());
    // What is cut off at its end leaves what is before it.
    scratch.put(names.data(), data.substr(0, data.size() / 2));
    const auto half = read_series(root, names, key);
    TORC_MUST(half.ok() && *half && (*half)->size() <= (*points)->size());
    TORC_MUST(std::equal((*half)->begin(), (*half)->end(), (*points)->begin()));
  }
}

std::string sealed_index(std::string index) {
  for (std::size_t at = 0; at + kEntry <= index.size(); at += kEntry) {
    const auto rest = std::string_view(index).substr(at + kCrc, kEntry - kCrc);
    torc::fuzz::put_be32(index, at, checksum(rest));
  }
  return index;
}

// Frame after frame, each as long as its length says, modulo what is left.
std::string sealed_data(std::string data) {
  for (std::size_t at = 0; at + kFrameHead < data.size();) {
    const std::size_t left = data.size() - at - kFrameHead;
    const std::size_t length = 1 + (torc::fuzz::be64_at(data, at) & 0xff) % left;
    torc::fuzz::put_be32(data, at + 4, static_cast<std::uint32_t>(length));
    torc::fuzz::put_be32(data, at,
                         checksum(std::string_view(data).substr(at + kFrameHead, length)));
    at += kFrameHead + length;
  }
  return data;
}

}  // namespace

TORC_FUZZ_TARGET(series) {
  const auto [index, data] = torc::fuzz::halves_of(input);
  check(index, data);
  check(sealed_index(index), sealed_data(data));
}
