// Heartbeats: 28 bytes a worker: epoch be64, counter be64, seconds of silence that it asks for
// be64, CRC-32C be32 of all that. Rewritten in place, since a new name for each beat would cost
// three more requests; a reader that meets a half-written one sees no beat.
//
// A file holds those of 1,024 epochs, so that thousands of workers make no thousands of files. Each
// has 64 KiB of it to itself (a hole, but for the first block): clients of network filesystems
// write back whole pages, of up to that size, and would undo the beats of neighbours in the same
// page.
#include <cerrno>

#include "lib/base/codec.h"
#include "lib/store/disk.h"
#include "lib/store/hash.h"
#include "lib/store/store.h"

namespace torc::store {
namespace {

constexpr std::uint64_t kPerFile = 1024;
constexpr std::uint64_t kStride = 64 * 1024;
constexpr std::size_t kSize = 28;

Path beat_path(const Path& state, std::uint64_t epoch) {
  return state / "beats" / std::to_string(epoch / kPerFile);
}

std::uint64_t beat_offset(std::uint64_t epoch) {
  return epoch % kPerFile * kStride;
}

}  // namespace

EpochRange epochs_beside(std::uint64_t epoch) {
  const std::uint64_t first = epoch - epoch % kPerFile;
  return {first, first + kPerFile - 1};
}

Result<void> write_beat(const World& world, const Path& state, std::uint64_t epoch, Beat beat) {
  Encoder record;
  record.be64(epoch).be64(beat.counter).be64(static_cast<std::uint64_t>(beat.ttl.count()));
  record.be32(crc32c(record.bytes()));
  TORC_ASSIGN(const FileHandle handle, world.disk.open_update(beat_path(state, epoch)));
  OpenFile open(world.disk, handle);
  TORC_TRY(world.disk.write(handle, beat_offset(epoch), record.bytes()));
  return open.close();  // on NFS this is what sends it
}

Result<std::optional<Beat>> read_beat(const World& world, const Path& state, std::uint64_t epoch) {
  Result<FileHandle> handle = world.disk.open_read(beat_path(state, epoch));
  if (!handle.ok()) {
    if (handle.error().kind == ErrorKind::not_found) return std::optional<Beat>();
    return std::move(handle).error();
  }
  const OpenFile open(world.disk, *handle);
  TORC_ASSIGN(const std::string bytes, world.disk.read(*handle, beat_offset(epoch), kSize));
  Decoder in(bytes);
  const std::uint64_t of = in.be64();
  Beat beat;
  beat.counter = in.be64();
  beat.ttl = std::chrono::seconds(static_cast<std::int64_t>(in.be64()));
  const std::uint32_t crc = in.be32();
  if (!in.ok() || of != epoch || crc != crc32c(std::string_view(bytes).substr(0, kSize - 4))) {
    return std::optional<Beat>();
  }
  return std::optional<Beat>(beat);
}

Result<void> remove_beats(const World& world, const Path& state, std::uint64_t epoch) {
  Result<void> gone = world.disk.unlink(beat_path(state, epoch));
  if (!gone.ok() && gone.error().os_errno == ENOENT) return {};
  return gone;
}

}  // namespace torc::store
