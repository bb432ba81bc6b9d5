// A heartbeat: as it is, and with a checksum that fits.
#include <string>

#include "lib/base/clock.h"
#include "lib/store/disk/hash.h"
#include "lib/store/engine/heartbeat.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/one_file_disk.h"

namespace {

using torc::Path;
using namespace torc::store;

constexpr std::size_t kHeartbeat = 36, kWithTime = 48, kCrc = 4;

// One file that can be read at any name, and remembers what is written.
class HeartbeatDisk final : public PosixDisk {
 public:
  explicit HeartbeatDisk(std::string_view bytes) : bytes_(bytes) {}

  torc::Result<std::string> read_at(const Path&, std::uint64_t offset, std::size_t size,
                                    Caches) override {
    return bytes_.substr(std::min<std::size_t>(offset, bytes_.size()), size);
  }
  torc::Result<std::vector<std::string>> list(const Path&) override {
    return std::vector<std::string>{name};
  }
  torc::Result<FileHandle> open_update(const Path&) override { return FileHandle{1 << 20}; }
  torc::Result<void> write(FileHandle, std::uint64_t offset, std::string_view bytes) override {
    if (bytes_.size() < offset + bytes.size()) bytes_.resize(offset + bytes.size());
    bytes_.replace(offset, bytes.size(), bytes);
    return {};
  }
  torc::Result<void> close(FileHandle) override { return {}; }

  std::string name = "0";
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void check(std::string_view bytes) {
  HeartbeatDisk disk(bytes);
  torc::ManualClock clock;
  torc::SeededEntropy entropy(1);
  const World world{disk, clock, entropy, "host", "boot", "pid", 0, {}};
  const std::uint64_t epoch = bytes.size() < 8 ? 0 : torc::fuzz::be64_at(bytes, 0);
  const HeartbeatPlace place{epoch, HeartbeatFile::own};
  disk.name = std::to_string(epoch);
  const auto heartbeat = read_heartbeat(world, "/state", place, Caches::trust);
  TORC_MUST(heartbeat.ok());
  const auto known = newest_known(world, "/state", Caches::trust);
  TORC_MUST(known.ok() && known->sequence <= std::uint64_t{1} << 48);
  TORC_MUST(known->sequence == 0 || (*heartbeat && (*heartbeat)->known == known->sequence));
  if (!*heartbeat) return;
  // Added to any age that a filesystem has it is still a time.
  TORC_MUST((*heartbeat)->ttl.count() >= 0 &&
            std::chrono::nanoseconds((*heartbeat)->ttl) <= std::chrono::hours(24 * 365 * 100));
  // Nobody else's, and what its worker would have written.
  TORC_MUST(!*read_heartbeat(world, "/state", {epoch + 1, HeartbeatFile::own}, Caches::trust));
  HeartbeatDisk again({});
  const World other{again, clock, entropy, "host", "boot", "pid", 0, {}};
  TORC_MUST(write_heartbeat(other, "/state", place, **heartbeat).ok());
  TORC_MUST(again.bytes() ==
            bytes.substr(0, (*heartbeat)->at.count() > 0 ? kWithTime : kHeartbeat));
}

}  // namespace

TORC_FUZZ_TARGET(heartbeat) {
  check(input);
  if (input.size() < kHeartbeat) return;
  std::string sealed(input);
  torc::fuzz::put_be32(sealed, kHeartbeat - kCrc, crc32c(input.substr(0, kHeartbeat - kCrc)));
  check(sealed);
  if (input.size() < kWithTime) return;
  torc::fuzz::put_be32(sealed, kWithTime - kCrc,
                       crc32c(std::string_view(sealed).substr(0, kWithTime - kCrc)));
  check(sealed);
}
