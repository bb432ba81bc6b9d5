// What the outcome of a test between two nodes means. Pure.
#include <algorithm>
#include <cstring>

#include "lib/doctor/two_node.h"

namespace torc::doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// A lease is judged by heartbeats a minute apart (at the default time to live); content that is
// older than half of that makes live workers look silent.
constexpr nanoseconds kOldContent = seconds(30);
constexpr std::uint64_t kFewRaced = 16;
constexpr nanoseconds kSlowName = seconds(5);

std::string shown(nanoseconds t) {
  const long long ms = t.count() / 1'000'000;
  return ms < 10'000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

class TwoNodeJudge {
 public:
  explicit TwoNodeJudge(const TwoNodeReport& report) : r_(report) {}

  std::vector<store::Finding> run() {
    if (r_.same_host) {
      add(store::Severity::note, "two-node",
          "both instances ran on one machine (" + r_.self.host +
              "): unless they used two mounts, this proves nothing of two nodes",
          "start the second one on another node");
    }
    if (r_.self.filesystem != r_.other.filesystem) {
      add(store::Severity::note, "two-node",
          "the two nodes mount it differently: here " + r_.self.filesystem + ", there " +
              r_.other.filesystem);
    }
    for (const PairLock& lock : r_.locks) judge_lock(lock);
    judge_race();
    judge_delays();
    const bool is_a = r_.role == 'A';
    for (store::Finding& finding : judge_bells(r_.bells, is_a ? r_.self.host : r_.other.host,
                                               is_a ? r_.other.host : r_.self.host))
      out_.push_back(std::move(finding));
    return std::move(out_);
  }

 private:
  void add(store::Severity severity, const char* check, std::string text, std::string remedy = {}) {
    out_.push_back({severity, check, std::move(text), std::move(remedy)});
  }

  void judge_lock(const PairLock& lock) {
    const std::string kind(to_string(lock.kind));
    for (const store::LockOutcome& one : {lock.from_a, lock.from_b}) {
      if (one.verdict == store::LockVerdict::exclusive) continue;
      if (one.verdict == store::LockVerdict::given_to_all) {
        add(store::Severity::warning, "locks", kind + " locks are given to both nodes at once",
            "torc does not need them; programs on this filesystem must not rely on them");
      } else if (one.verdict == store::LockVerdict::fails) {
        add(store::Severity::note, "locks",
            kind + " locks are refused: " + std::strerror(one.os_errno) +
                "; torc goes on without them");
      } else {
        add(store::Severity::warning, "locks", kind + " locks stay held after their holder let go",
            "torc goes on without them; other programs may hang");
      }
      return;  // once for both directions
    }
  }

  void judge_race() {
    const NameRace& race = r_.race;
    const std::string of_all = " of " + std::to_string(race.names);
    const auto unfit = [&](std::uint64_t names, const std::string& what) {
      if (names > 0)
        add(store::Severity::unfit, "put-if-absent", std::to_string(names) + what,
            "do not put a store here");
    };
    unfit(race.won_by_both, of_all + " names were given to both nodes: commits would be lost");
    unfit(race.won_by_none,
          of_all + " names exist although both nodes were told that the other has them");
    unfit(race.wrong_content, " names did not show the content that their maker gave them");
    if (race.names > 0 && race.overlapping < kFewRaced) {
      add(store::Severity::warning, "put-if-absent",
          "the two nodes never reached for names at the same time (" +
              std::to_string(race.overlapping) + " of " + std::to_string(race.names) +
              " names in rounds that overlapped): that only one gets a name was not proven",
          "start both again, on nodes that are not busy");
    }
  }

  // What a listing shows is old for up to the whole round trip; files that others have read are
  // kept for the retention, so it must be the longer one.
  void judge_names() {
    const bool never = r_.listed_a.never_seen + r_.listed_b.never_seen > 0;
    const nanoseconds delay = std::max({r_.new_name.max, r_.listed_a.longest, r_.listed_b.longest});
    const std::string seen = "a new name was seen by the other node only after " +
                             std::string(never ? "more than " : "up to ") + shown(delay);
    const bool sshfs = r_.facts.kind == store::MountKind::sshfs;
    const std::string remount =
        sshfs ? "mount with -o dir_cache=no,attr_timeout=0,entry_timeout=0 on every node" : "";
    if (r_.facts.retention > nanoseconds(0) && delay >= r_.facts.retention) {
      add(store::Severity::unfit, "visibility",
          seen + ", and what listings decide waits only " + shown(r_.facts.retention) +
              " here: commits could be taken for lost",
          sshfs ? remount : "mount it so that listings are not kept in the client for so long");
    } else if (delay > kSlowName) {
      add(store::Severity::warning, "visibility", seen + "; listings here may be that old",
          sshfs ? remount + ", or jobs that wait for others start late"
                : "jobs that wait for others start late");
    }
  }

  void judge_shared_file() {
    if (r_.shared_in_time && r_.shared_content.max <= 2 * r_.new_content.max + seconds(2)) return;
    add(store::Severity::note, "visibility",
        "in a file that both nodes write, what the other wrote stays old for " +
            (r_.shared_in_time ? "up to " + shown(r_.shared_content.max)
                               : std::string("more than a minute")) +
            "; torc gives each worker a file of its own, other programs may not");
  }

  void judge_delays() {
    judge_names();
    judge_shared_file();
    const nanoseconds early = std::max(r_.early_a.longest, r_.early_b.longest);
    const bool never = r_.early_a.never_seen + r_.early_b.never_seen > 0;
    if (never || early > seconds(1)) {
      add(store::Severity::note, "visibility",
          "a name that was looked up before it existed stays absent for " +
              (never ? "more than " + shown(seconds(45)) : "up to " + shown(early)) +
              "; torc never does that, scripts that wait for a file do");
    }
    if (!r_.content_in_time || r_.new_content.max > kOldContent) {
      add(store::Severity::warning, "visibility",
          "a file that was rewritten stays old on the other node for " +
              (r_.content_in_time ? "up to " + shown(r_.new_content.max) : "more than a minute"),
          "give workers a --lease-ttl of ten times that, or live ones may look dead");
    } else if (r_.facts.heartbeat_age > nanoseconds(0) &&
               r_.new_content.max > 2 * r_.facts.heartbeat_age) {
      add(store::Severity::note, "visibility",
          "heartbeats may be seen " + shown(r_.new_content.max) + " late, later than the " +
              shown(r_.facts.heartbeat_age) + " that torc adds to each lease here",
          "give workers a --lease-ttl of ten times that");
    }
  }

  const TwoNodeReport& r_;
  std::vector<store::Finding> out_;
};

}  // namespace

std::vector<store::Finding> judge(const TwoNodeReport& report) {
  return TwoNodeJudge(report).run();
}

}  // namespace torc::doctor
