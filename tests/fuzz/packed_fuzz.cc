// The index of a worker's packed output and what it points to: as they are, and with checksums that
// fit.
#include <vector>

#include "lib/exec/output/packed_reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch_files.h"

namespace {

using namespace torc::exec;

constexpr std::size_t kCrc = 4;
constexpr std::size_t kMostKeys = 8;
constexpr std::uint64_t kWorker = 3;
constexpr std::size_t kMost = 100;

std::vector<AttemptKey> keys_in(std::string_view index) {
  std::vector<AttemptKey> keys{{1, 1}};
  for (std::size_t at = 0; at + kPackedRecordBytes <= index.size() && keys.size() < kMostKeys;
       at += kPackedRecordBytes) {
    if (const auto record = decode_packed(index.substr(at, kPackedRecordBytes))) {
      TORC_MUST(decode_packed(encode(*record))->key == record->key);
      keys.push_back(record->key);
    }
  }
  return keys;
}

void check(std::string_view index, std::string_view data) {
  static const torc::fuzz::ScratchFiles scratch;
  const PackedNames names{scratch.path(), kWorker};
  scratch.put(names.index(), index);
  scratch.put(names.data(), data);
  PackedReader reader(scratch.path().parent_path(), scratch.path());
  for (const AttemptKey key : keys_in(index)) {
    const auto worker = reader.worker_of(key);
    TORC_MUST(worker.ok() && (!*worker || **worker == kWorker));
    for (const Stream stream : {Stream::out, Stream::err}) {
      const auto all = reader.read(kWorker, key, stream, 0, kMost);
      TORC_MUST(all.ok() && all->begun == worker->has_value());
      TORC_MUST(all->bytes.size() == std::min<std::uint64_t>(all->size, kMost));
      TORC_MUST(all->size <= data.size());
      // From its middle on it is the same, and beyond its end there is nothing.
      const std::size_t middle = all->bytes.size() / 2;
      const auto half = reader.read(kWorker, key, stream, middle, kMost);
      TORC_MUST(half.ok() && half->size == all->size);
      TORC_MUST(half->bytes.starts_with(all->bytes.substr(middle)));
      for (const std::uint64_t beyond : {all->size, UINT64_MAX}) {
        const auto none = reader.read(kWorker, key, stream, beyond, kMost);
        TORC_MUST(none.ok() && none->bytes.empty());
      }
    }
  }
}

std::string sealed(std::string index) {
  for (std::size_t at = 0; at + kPackedRecordBytes <= index.size(); at += kPackedRecordBytes) {
    const auto rest = std::string_view(index).substr(at + kCrc, kPackedRecordBytes - kCrc);
    torc::fuzz::put_be32(index, at, checksum(rest));
  }
  return index;
}

}  // namespace

TORC_FUZZ_TARGET(packed) {
  const auto [index, data] = torc::fuzz::halves_of(input);
  check(index, data);
  check(sealed(index), data);
}
