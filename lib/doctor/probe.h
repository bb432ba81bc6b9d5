// What one node can find out about a filesystem: `torc doctor`. examine() tries things out in a
// directory of its own that it removes again; judge() says what they mean. What two nodes find out
// together is in two_node.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/disk/filesystem.h"
#include "lib/store/disk/latency.h"
#include "lib/store/disk/publisher.h"
#include "lib/store/engine/store.h"
#include "lib/store/mount/finding.h"
#include "lib/store/mount/lock_probe.h"
#include "lib/store/mount/mount.h"
#include "lib/store/mount/mount_facts.h"

namespace torc::doctor {

// In the directory that two instances test together; see two_node.h.
inline constexpr std::string_view kMeetingPlace = ".torc-two-node";

// Asked between steps; true: clean up and end.
using Interrupted = std::function<bool()>;

// A directory with a random name in `parent`, removed with everything in it at the end.
class TrialDirectory {
 public:
  // Names begin so; what begins so and is old was left by a doctor that was killed.
  static constexpr std::string_view kPrefix = ".torc-trial-";
  static Result<TrialDirectory> make(store::Disk& disk, Entropy& entropy, const Path& parent);
  TrialDirectory(TrialDirectory&& other) noexcept
      : disk_(other.disk_), path_(std::move(other.path_)) {
    other.disk_ = nullptr;
  }
  TrialDirectory& operator=(TrialDirectory&&) = delete;
  ~TrialDirectory();
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  TrialDirectory(store::Disk& disk, Path path) : disk_(&disk), path_(std::move(path)) {}
  store::Disk* disk_;
  Path path_;
};

struct Space {
  ByteCount free;  // to this user
  ByteCount total;
  std::uint64_t inodes_free = 0;
  std::uint64_t inodes_total = 0;  // 0: the filesystem does not count them
};

struct Quota {
  std::string of;  // "user", "group"
  ByteCount used;
  ByteCount limit;  // 0: none
  std::uint64_t files = 0;
  std::uint64_t files_limit = 0;  // 0: none
};

struct ClockReading {
  // The time stamp that the filesystem gave a new file, less this node's clock: 0 within their
  // resolution.
  std::chrono::nanoseconds mtime_ahead{};
  // How far the wall clock moved against the clock of time since boot while this ran.
  std::chrono::nanoseconds stepped{};
  bool plausible = true;  // the year is one in which this program can run
};

struct ReplicaPlace {
  Path root;
  std::optional<Error> refusal;  // none: it would be used
  ByteCount free;
};

struct Limit {
  std::string name;                    // "open files", "address space", …
  std::optional<std::uint64_t> value;  // nullopt: unlimited, or unknown
  bool is_in_bytes = false;
};

struct Checkup {
  Path directory;  // without symbolic links
  std::string host;
  std::uint64_t magic = 0;
  store::FilesystemType type;
  std::optional<store::Mount> mount;
  store::MountFacts facts;
  std::optional<store::PublishMethod> publish;  // nullopt: `publish_error` says why
  Error publish_error;
  std::vector<store::LockOutcome> locks;  // between two processes of this node
  store::Latency sync;                    // a file of 256 bytes made, written and synced
  store::Latency link;                    // the name given and made durable, as commits do it
  store::Latency list;                    // a directory of a few names listed
  store::Latency publication;             // all of it: what a commit costs at least
  std::optional<ClockReading> clock;
  Space space;
  std::vector<Quota> quotas;                      // those that the filesystem told
  store::Engine engine = store::Engine::journal;  // that `auto` would take
  std::vector<ReplicaPlace> replicas;
  std::vector<Limit> limits;
  std::vector<std::string> leftovers;  // of doctors that were killed
  bool interrupted = false;
};

struct ExamineOptions {
  std::size_t rounds = 64;                                    // of each latency, at most
  std::chrono::nanoseconds budget = std::chrono::seconds(2);  // for all latencies together
  std::string mountinfo;                                      // text of /proc/self/mountinfo
  Path proc_sys = "/proc/sys";
};

// Error: the directory is not there, or nothing can be made in it.
Result<Checkup> examine(const store::World& world, const Path& directory,
                        const ExamineOptions& options, const Interrupted& interrupted);

// What a store needs of the node itself. Tries each root as engine `journal` would, up to the first
// that works: makes a copy of an empty store there and removes it again.
[[nodiscard]] std::vector<ReplicaPlace> probe_replica_places(const store::World& world);
// Limits of this process and of this user's inotify. `proc_sys`: /proc/sys.
[[nodiscard]] std::vector<Limit> read_limits(const Path& proc_sys);

[[nodiscard]] std::vector<store::Finding> judge(const Checkup& checkup);
[[nodiscard]] bool is_fit(const std::vector<store::Finding>& findings);
// Why `auto` takes this engine here: one sentence.
[[nodiscard]] std::string engine_reason(const store::FilesystemType& type);

}  // namespace torc::doctor
