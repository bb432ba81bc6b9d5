// What two nodes can find out together about a filesystem that both see: `torc doctor --two-node`.
// The same program is started on both; they find each other and talk through names in the directory
// alone, made by put-if-absent and learned by listing, as commits are. So what is tested is also
// what carries the test; a filesystem on which that fails ends in an error that says so.
//
//   DIR/.torc-two-node/<round>/a, b    seats: who gets `a` is A; a third instance opens another
//   round DIR/.torc-two-node/<round>/start   made once: "go" by A, or "abandoned" by a B that
//   waited in vain (a seat `a` that was left behind by an instance that was killed)
//
// No clock of one node is compared with one of the other: delays are round trips, or measured by
// the node that waits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/doctor/bell_trial.h"
#include "lib/doctor/probe.h"
#include "lib/store/disk/latency.h"
#include "lib/store/mount/finding.h"
#include "lib/store/mount/lock_probe.h"
#include "lib/store/mount/mount_facts.h"

namespace torc::doctor {

// One of the two, as the other sees it.
struct NodeCard {
  std::string host;
  std::string boot_id;
  std::string pid_namespace;
  std::uint64_t pid = 0;
  std::string filesystem;  // mount type and options, for a person
};

// The outcome of one kind of lock in both directions; `from_a`: A held it, B tried.
struct PairLock {
  store::LockKind kind = store::LockKind::fcntl;
  store::LockOutcome from_a;
  store::LockOutcome from_b;
};

struct NameRace {
  std::uint64_t names = 0;
  std::uint64_t won_by_a = 0;
  std::uint64_t won_by_b = 0;
  std::uint64_t won_by_both = 0;    // must be 0
  std::uint64_t won_by_none = 0;    // must be 0
  std::uint64_t wrong_content = 0;  // a name that did not show its winner's bytes to the other
  // Of groups in which each of the two won some: there both were at it at the same time. The rest
  // was no race.
  std::uint64_t overlapping = 0;
};

// Names that were looked up before they existed.
struct EarlyNames {
  std::uint64_t names = 0;
  std::uint64_t never_seen = 0;        // within the patience
  std::chrono::nanoseconds longest{};  // until the last of the others was seen
};

struct TwoNodeReport {
  char role = 'A';  // of this instance
  NodeCard self;
  NodeCard other;
  bool same_host = false;  // both ran on one machine: it proves nothing of two
  std::vector<PairLock> locks;
  NameRace race;
  // Round trips: made here, seen there by listing, answered, and seen here. One way may take all of
  // it. `worst` includes those that did not come in time.
  store::Latency new_name;
  // Of a directory that a node only lists, and changes nothing in: how long a name of the other
  // stayed unseen, from before it was made. (Whoever waits in the tests above changes the
  // directory, to see it anew.)
  EarlyNames listed_a, listed_b;
  EarlyNames early_a;  // as A waited for them
  EarlyNames early_b;
  // The same of a file rewritten here and read anew there: each writes one of its own, as
  // heartbeats are; and both write into one, each at its own place.
  store::Latency new_content;
  bool content_in_time = true;  // false: a rewritten file stayed old for longer than the patience
  store::Latency shared_content;
  bool shared_in_time = true;
  BellTrial bells;
  store::MountFacts facts;  // what torc takes for granted of this mount
};

struct TwoNodeOptions {
  std::string filesystem;  // for the card
  std::chrono::nanoseconds partner_wait = std::chrono::minutes(5);
  std::chrono::nanoseconds answer_wait = std::chrono::seconds(90);  // for each step of the other
  std::chrono::nanoseconds start_wait = std::chrono::seconds(30);   // of a B, before it abandons
  std::chrono::nanoseconds unlock_wait = std::chrono::seconds(5);   // for a lock that was let go
  std::chrono::nanoseconds early_wait = std::chrono::seconds(45);
  std::chrono::nanoseconds content_wait = std::chrono::seconds(60);
  std::size_t race_groups = 16;                                     // of 16 names each
  std::chrono::nanoseconds step_budget = std::chrono::seconds(15);  // for repetitions
  store::PublishMethod publish;
  store::MountFacts facts;
  BellTerms bells;
};

// Tells a person what happens: one line.
using Tell = std::function<void(const std::string&)>;

// `directory` is the same directory for both. Nothing is left behind, also after an error; what an
// instance that was killed left is. Errors: not_found (no other instance came, or it ended early),
// corrupt (put-if-absent gave one name to two), busy (interrupted).
Result<TwoNodeReport> run_two_node(const store::World& world, store::Locks& locks,
                                   const Path& directory, const TwoNodeOptions& options,
                                   const Tell& tell, const Interrupted& interrupted);

[[nodiscard]] std::vector<store::Finding> judge(const TwoNodeReport& report);

}  // namespace torc::doctor
