// What happened, told from what was written: a write set of a commit is turned into events such as
// "worker 12 claimed job 7". For `torc history`, and to say what would be lost with a commit.
//
// No commit carries a time. Each event has one all the same, since records do: a claim, a start and
// an end are in the job's, registration and last words in the worker's, and every commit of a
// worker renews its lease with its wall-clock time. These are the clocks of the nodes that wrote
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/gang.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/change_record.h"
#include "lib/claim/tables/origin.h"

namespace torc::claim {

enum class EventKind : std::uint8_t {
  created,     // the workflow itself
  registered,  // a worker
  released,    // a worker left
  expired,     // a worker's lease was ended by another one
  claimed,     // an attempt was granted
  started,     // its start was reported
  finished,    // its end was accepted: `state` completed, failed or terminated
  requeued,    // it ended, and the job is ready again
  returned,    // a claim that was given back before it started
  canceled,
  held,           // until a person releases it
  hold_released,  // by a person
  retried,        // its newest attempt was over, and a person lets it run again
  added,          // jobs, to a workflow in a store: `count` from `job` on
  action_started,
  action_ended,
  action_returned,  // to be run by another worker
  gang_claimed,     // an attempt of a job of `count` nodes, by its head
  gang_complete,    // all its members have confirmed
  gang_over,        // its attempt has ended; `worker` is the member because of which, or its head
  changed,          // by a person: `count` jobs, `command`
  undone,           // such a change was taken back
  restored          // an earlier end of a job counts again
};
inline constexpr std::size_t kEventKinds = 23;
[[nodiscard]] std::string_view to_string(EventKind kind);

struct Event {
  // Of the commit; 0: not known, since it is told from the state alone. That of a claim always is.
  std::uint64_t sequence = 0;
  WallTime at{};  // 0: not known
  EventKind kind = EventKind::created;
  JobId job{};  // 0: none
  std::uint32_t attempt = 0;
  WorkerEpoch worker{};              // that it is about; 0: none
  WorkerEpoch author{};              // that wrote it; 0: a command, or not known
  JobState state = JobState::ready;  // of the job afterwards
  Outcome outcome;                   // finished, requeued
  std::uint32_t alternative = 0;     // the same: of its class, that the attempt had
  std::uint64_t count = 0;           // added: jobs; of a gang: nodes
  JobId parent{};              // added: the job that did it, in its attempt `attempt`; 0: a person
  std::string by;              // added, changed, undone: "user@host"
  std::string command;         // changed, undone: as it was typed
  std::vector<JobRange> jobs;  // the same: the first of them
  std::uint32_t action = 0;    // number of an action; 0: it is about none
};

class Historian {
 public:
  using Tell = std::function<void(const Event&)>;
  // `tell` is called for each event, in the order of commits.
  explicit Historian(Tell tell) : tell_(std::move(tell)) {}

  // An entry of the state from which the commits go on, in any order. Nothing is told.
  void base(std::string_view key, std::string_view value);

  // The next commit. Error corrupt: `writes` is no write set.
  Result<void> commit(std::uint64_t sequence, std::uint64_t author, std::string_view writes);

  // An entry of the newest state, after all commits: tells what no commit told. That is the newest
  // attempt of each job, those before it that are kept, every worker's coming and going, and every
  // addition and change.
  void rest(std::string_view key, std::string_view value);

 private:
  // What is remembered of a job.
  struct Before {
    JobState state = JobState::ready;
    std::uint32_t attempt = 0;
    std::uint64_t claim = 0;
    WorkerEpoch worker{};
  };
  struct Context {
    std::uint64_t sequence = 0;
    WorkerEpoch author{};
    WallTime at{};
  };

  static Event event_of(const Context& c);
  static std::optional<EventKind> word_on(const Before& before, const Job& after);
  static bool is_restored(const Before& before, const Job& after);
  void job_written(const Context& c, std::uint64_t id, const Job& after);
  void past_attempt(std::uint64_t id, const Job& job);
  void job_erased(const Context& c, std::uint64_t id);
  void worker_written(const Context& c, const Worker& worker);
  void run_written(const Context& c, std::string_view key, const ActionRun& run);
  void gang_written(const Context& c, std::string_view key, const Gang& gang);
  void addition_written(const Context& c, const Origin& origin);
  void change_written(const Context& c, const KeptChange& change);
  void tell_attempt(Event event, const Job& job, bool claimed, bool started);
  void tell_end(Event event, const Before& before, const Job& after);

  Tell tell_;
  std::uint64_t first_ = 0;                                 // commit; 0: there was none
  std::unordered_map<std::uint64_t, Before> jobs_;          // those that have a record
  std::set<std::pair<std::uint64_t, std::uint32_t>> ends_;  // told, of attempts of before `first_`
  std::unordered_map<std::uint64_t, WorkerStatus> known_;   // newest status told, by epoch
  std::unordered_map<std::uint64_t, WallTime> expired_;     // when that was found, by epoch
  std::unordered_set<std::uint64_t> additions_;             // told, by their first job
  std::unordered_map<std::uint64_t, bool> changes_;         // told, by number: taken back
  std::unordered_map<std::string, ActionRun> runs_;         // told, by key
  std::unordered_map<std::string, Gang> gangs_;             // the same
};

}  // namespace torc::claim
