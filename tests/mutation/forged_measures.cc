// What workers write beside the transactions, with checksums that fit: heartbeats, and how jobs
// used memory and processors over time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "lib/base/codec.h"
#include "lib/exec/output/packed_format.h"
#include "lib/exec/output/series.h"
#include "lib/store/disk/hash.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/engine/meta.h"
#include "tests/integration/harness.h"
#include "tests/mutation/mutation.h"

namespace torc::mutation {
namespace {

namespace fs = std::filesystem;
using itest::read_text;

constexpr std::uint64_t kWorkers = 8;  // more than a template has
constexpr std::size_t kIndexEntry = 28;

std::int64_t any_difference(Random& random) {
  const std::uint64_t number = any_number(random);
  return static_cast<std::int64_t>(random.one_in(2) ? number : 0 - number);
}

std::string framed(const std::string& payload) {
  return Encoder()
             .be32(exec::checksum(payload))
             .be32(static_cast<std::uint32_t>(payload.size()))
             .bytes() +
         payload;
}

std::string index_entry(const exec::AttemptKey& key, std::uint32_t track, std::uint64_t offset) {
  const std::string body =
      Encoder().be64(key.job).be32(key.attempt).be32(track).be64(offset).bytes();
  return Encoder().be32(exec::checksum(body)).bytes() + body;
}

// Records of a track, nearly as a worker writes them.
std::string any_records(std::uint64_t track, Random& random) {
  Encoder out;
  out.u8(1).varint(track).varint(random.one_in(2) ? 1'700'000'000'000 : any_number(random));
  for (std::size_t left = 1 + random.below(5); left > 0; --left) {
    const bool with_io = random.one_in(2);
    out.u8(with_io ? 3 : 2).varint(random.one_in(8) ? any_number(random) : track);
    for (int i = with_io ? 6 : 4; i > 0; --i)
      out.svarint(random.one_in(3) ? any_difference(random)
                                   : static_cast<std::int64_t>(random.below(5000)));
  }
  if (random.one_in(3)) out.u8(4).varint(track);
  if (random.one_in(8)) out.u8(static_cast<std::uint8_t>(random.below(256))).varint(track);
  return out.bytes();
}

std::vector<Path> indexes_of(const Path& directory) {
  std::vector<Path> out;
  if (!fs::exists(directory)) return out;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (exec::worker_of_index(entry.path().filename().string())) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string forge_heartbeat(const Target& target, Random& random) {
  const Path meta_file = target.store / "META";
  const auto meta = store::decode_meta(read_text(meta_file), meta_file);
  if (!meta.ok()) return {};
  const Path state = meta->identity.state_directory(target.store);
  const bool shared = random.one_in(3);
  const store::HeartbeatPlace place{1 + random.below(kWorkers), shared
                                                                    ? store::HeartbeatFile::shared
                                                                    : store::HeartbeatFile::own};
  const Path file = store::heartbeat_path(state, place);
  if (!fs::exists(file.parent_path())) return {};
  const std::uint64_t counter = any_number(random);
  const std::uint64_t silence = random.one_in(3) ? 300 : any_number(random);
  const std::uint64_t known = random.one_in(3) ? 1 : any_number(random);
  const std::string body =
      Encoder().be64(place.epoch).be64(counter).be64(silence).be64(known).bytes();
  // In a shared file each epoch has 64 KiB.
  const std::string before(shared ? place.epoch * 65536 : 0, '\0');
  put_file(target, file, before + body + Encoder().be32(store::crc32c(body)).bytes());
  return fmt::format("heartbeat {} of worker {}: beat {}, {} s of silence, knows commit {}",
                     file.filename().string(), place.epoch, counter, silence, known);
}

std::string forge_series(const Target& target, Random& random) {
  const std::vector<Path> indexes = indexes_of(exec::series_directory(target.store / "logs/jobs"));
  if (indexes.empty()) return {};
  const Path& index = random.pick(indexes);
  Path data = index;
  data.replace_extension(".data");
  // Attempts that there are, so that somebody asks for them.
  const std::string was = read_text(index);
  std::string entries;
  std::string frames;
  for (std::size_t at = 0; at + kIndexEntry <= was.size(); at += kIndexEntry) {
    Decoder in(std::string_view(was).substr(at + 4, kIndexEntry - 4));
    const std::uint64_t job = in.be64();
    const exec::AttemptKey key{job, in.be32()};
    const std::uint32_t track = in.be32();
    const bool elsewhere = random.one_in(6);
    entries += index_entry(key, track, elsewhere ? any_number(random) : frames.size());
    frames += framed(any_records(track, random));
  }
  std::string what = "times and amounts that turn over";
  if (random.one_in(4)) frames += framed(random.bytes(random.below(300)));
  put_file(target, index, entries);
  put_file(target, data, frames);
  if (random.one_in(4)) {
    // Zeros are frames without anything in them, each with the right checksum.
    fs::resize_file(data, std::uintmax_t{100} << 30);
    what += ", then 100 GiB of zeros";
  }
  return fmt::format("series {} with {}", index.filename().string(), what);
}

}  // namespace torc::mutation
