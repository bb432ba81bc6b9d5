// What the readings of a checkup mean. Pure.
#include <algorithm>
#include <cstring>

#include "lib/doctor/probe.h"

namespace torc::doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr ByteCount kLittleSpace = mebibytes(256);
constexpr std::uint64_t kFewInodes = 2000;
constexpr std::uint64_t kFewFiles = 256;
constexpr ByteCount kSmallAddressSpace = mebibytes(1024);
constexpr ByteCount kSmallCopy = mebibytes(64);
constexpr nanoseconds kSlowCommit = milliseconds(250);
constexpr nanoseconds kClockOff = std::chrono::seconds(1);

std::string seconds_of(nanoseconds t) {
  const long long ms = t.count() / 1'000'000;
  return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
}

class ProbeJudge {
 public:
  explicit ProbeJudge(const Checkup& checkup) : c_(checkup) {}

  std::vector<store::Finding> run() {
    if (c_.mount) out_ = judge_mount(*c_.mount);
    judge_publish();
    for (const store::LockOutcome& lock : c_.locks) judge_lock(lock);
    judge_latency();
    judge_clock();
    judge_space();
    judge_replicas();
    for (const Limit& limit : c_.limits) judge_limit(limit);
    for (const std::string& name : c_.leftovers) {
      add(store::Severity::note, "leftovers",
          (c_.directory / name).string() +
              " is there: another `torc doctor` is at work, or one was killed",
          "delete it if none is at work");
    }
    return std::move(out_);
  }

 private:
  void add(store::Severity severity, const char* check, std::string text, std::string remedy = {}) {
    out_.push_back({severity, check, std::move(text), std::move(remedy)});
  }

  void judge_publish() {
    if (c_.publish) return;
    add(store::Severity::unfit, "put-if-absent",
        "no name can be given so that only one of several gets it: " + c_.publish_error.what,
        c_.publish_error.remedy.empty() ? "make the store on another filesystem"
                                        : c_.publish_error.remedy);
  }

  void judge_lock(const store::LockOutcome& lock) {
    const std::string kind(to_string(lock.kind));
    if (lock.verdict == store::LockVerdict::exclusive) return;
    if (lock.verdict == store::LockVerdict::given_to_all) {
      add(store::Severity::warning, "locks", kind + " locks are given to two processes at once",
          "torc does not need them; engine lmdb must not be used here, nor any program that does");
    } else if (lock.verdict == store::LockVerdict::fails) {
      add(store::Severity::note, "locks",
          kind + " locks are refused: " + std::strerror(lock.os_errno) +
              "; torc goes on without them");
    } else {
      add(store::Severity::warning, "locks", kind + " locks stay held after their holder let go",
          "torc goes on without them; other programs may hang");
    }
    // LMDB locks its own lock file by fcntl; where that excludes nobody, two writers spoil the
    // data.
    if (lock.kind == store::LockKind::fcntl && c_.engine == store::Engine::lmdb)
      add(store::Severity::unfit, "locks",
          "engine lmdb, which `auto` takes here, needs fcntl locks",
          "make the store with --engine journal");
  }

  void judge_latency() {
    if (c_.publication.samples == 0 || c_.publication.p50 < kSlowCommit) return;
    add(store::Severity::warning, "latency",
        "a commit takes " + seconds_of(c_.publication.p50) + " at the median: this is slow",
        "workers collect more into each commit by themselves; short jobs will wait");
  }

  void judge_clock() {
    if (!c_.clock) return;
    const nanoseconds off = c_.clock->mtime_ahead;
    if (off >= kClockOff || off <= -kClockOff) {
      add(store::Severity::note, "clock",
          "the filesystem's clock is " + seconds_of(off < nanoseconds(0) ? -off : off) +
              (off < nanoseconds(0) ? " behind" : " ahead of") + " this node's",
          "torc compares no clocks; make, rsync and people who read times do: set up NTP");
    }
    if (!c_.clock->plausible) {
      add(store::Severity::warning, "clock", "the wall clock of this node is wrong by years",
          "torc decides nothing by it, but all times that it shows will be wrong");
    }
    if (c_.clock->stepped > milliseconds(100) || c_.clock->stepped < -milliseconds(100)) {
      add(store::Severity::note, "clock",
          "the wall clock was set while this ran; torc uses the time since boot, which was not");
    }
  }

  void judge_space() {
    if (c_.space.total.value > 0 && c_.space.free < kLittleSpace) {
      add(c_.space.free < mebibytes(8) ? store::Severity::unfit : store::Severity::warning, "space",
          "only " + std::to_string(c_.space.free.value >> 20) + " MiB are free",
          "free some, or use another filesystem");
    }
    if (c_.space.inodes_total > 0 && c_.space.inodes_free < kFewInodes) {
      add(c_.space.inodes_free < 100 ? store::Severity::unfit : store::Severity::warning, "space",
          "only " + std::to_string(c_.space.inodes_free) + " more files can be made",
          "a store has up to 1,000 files, and two for each job's output: delete some others");
    }
    for (const Quota& quota : c_.quotas) {
      const bool bytes = quota.limit.value > 0 && quota.used + kLittleSpace >= quota.limit;
      const bool files = quota.files_limit > 0 && quota.files + kFewInodes >= quota.files_limit;
      if (bytes || files) {
        add(store::Severity::warning, "space",
            "the " + quota.of + "'s quota of " + (bytes ? "bytes" : "files") + " is nearly used up",
            "delete something, or ask for more");
      }
    }
  }

  void judge_replicas() {
    const ReplicaPlace* good = nullptr;
    for (const ReplicaPlace& place : c_.replicas) {
      if (place.refusal) {
        add(store::Severity::note, "copy",
            "the node's copy cannot be in " + place.root.string() + ": " + place.refusal->what);
      } else {
        good = &place;
      }
    }
    if (good == nullptr) {
      add(c_.engine == store::Engine::journal ? store::Severity::unfit : store::Severity::note,
          "copy", "this node has no place for its copy of the store, which engine journal needs",
          "set TMPDIR to a directory on a local disk");
    } else if (good->free < kSmallCopy) {
      add(store::Severity::warning, "copy",
          good->root.string() + ", for the node's copy of the store, has only " +
              std::to_string(good->free.value >> 20) + " MiB",
          "set TMPDIR to a directory with more room");
    }
  }

  void judge_limit(const Limit& limit) {
    if (!limit.value) return;
    if (limit.name == "open files" && *limit.value < kFewFiles) {
      add(store::Severity::warning, "limits",
          "only " + std::to_string(*limit.value) + " files may be open in a process",
          "ulimit -n 1024");
    }
    if (limit.name == "address space" && *limit.value < kSmallAddressSpace.value) {
      add(store::Severity::warning, "limits",
          "address space is limited to " + std::to_string(*limit.value >> 20) +
              " MiB: the state must fit into a part of it",
          "raise it (ulimit -v unlimited)");
    }
    if (limit.name == "file size" && *limit.value < kSmallAddressSpace.value) {
      add(store::Severity::warning, "limits",
          "files may not grow beyond " + std::to_string(*limit.value >> 20) + " MiB",
          "raise it (ulimit -f unlimited)");
    }
  }

  const Checkup& c_;
  std::vector<store::Finding> out_;
};

}  // namespace

std::string engine_reason(const store::FilesystemType& type) {
  const std::string name(type.name);
  switch (type.sharing) {
    case store::Sharing::local:
      return name +
             " is a local filesystem: only this host sees it, and one file with LMDB is the "
             "fastest there";
    case store::Sharing::scratch:
      return name + " is seen by this host alone and does not last";
    case store::Sharing::shared:
      return (name == "unknown" ? "the filesystem is one that torc does not know"
                                : name + " may be seen by several hosts") +
             ", and LMDB must not be used where two could open it";
  }
  return {};
}

std::vector<store::Finding> judge(const Checkup& checkup) {
  return ProbeJudge(checkup).run();
}

bool is_fit(const std::vector<store::Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const store::Finding& finding) {
    return finding.severity == store::Severity::unfit;
  });
}

}  // namespace torc::doctor
