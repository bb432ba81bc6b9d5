// The tables of the claims in the one ordered key space of a store: which byte begins their keys,
// and how keys and values are written. docs/maintainer/claims.md lists them. Ids in keys are
// big-endian, so that key order is id order; numbers in values are varints. Decoders answer nullopt
// for bytes that no encoder here wrote, and for numbers that no workflow can have: whoever walks
// over what they answer makes at most kMaxJobs steps for a record. Whether records agree with each
// other they cannot know.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/limits.h"
#include "lib/claim/rules/budget.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/worker.h"

namespace torc::claim {

enum class Table : char {
  action = 'a',           // + number, immutable; by itself: how many there are, by what they are
  allocation = 'p',       // + number from 1; by itself: the book of them (allocation_record.h)
  live_allocation = 'i',  // + number of an allocation that has not ended; empty
  left_node = 'y',        // + hash of a node's name: a worker left it, since it can run no jobs
  scheduler = 'c',        // + number from 1, as the workflow file has them
  addition = 'A',    // + first job that was added; by itself: how many additions, and the first job
  countdown = 'B',   // + barrier: what it still waits for; absent: everything
  job_class = 'C',   // + class number
  due_action = 'd',  // + number of an action of the workflow that nobody runs yet; empty
  action_run = 'r',  // + number of an action + worker, or 0: its newest run
  definition = 'D',  // + what its reader chose; by itself: how many
  retries = 'E',     // + job: retries so far by the rules of its failure handler
  set_aside = 'F',   // + job: failed, canceled, terminated or held
  past_attempt = 'f',   // + job + number of an attempt before its newest: its record then
  past_template = 'm',  // + number of the commit that changed it + first job: the template until
                        // then; by itself: how many past attempts of a job are kept
  upstream = 'G',       // + first job of a run of jobs that the same barriers wait for
  host = 'H',           // + hash of a host's name + epoch of a live worker on it; empty
  gang = 'g',           // + job + claim: until all of its members have left
  kept_job = 'j',   // + job of several nodes that waits: hash of the group that keeps nodes for it
  keeping = 'k',    // + hash of a group: the job of several nodes that it keeps nodes for
  node = 'n',       // + hash of a group + when its node is free + epoch of a live worker; empty
  idle = 'I',       // + epoch of a live worker with a bell that got less than it asked for; empty
  job = 'J',        // + job
  tally = 'K',      // one key
  limit = 'L',      // + number; what there is of it a person may set
  signature = 'M',  // + job that ended and takes or makes files or user data
  name = 'N',       // + name hash + job
  order = 'o',     // + place in the order of claims, of each class with ready jobs; where there are
                   // many classes
  own_rank = 'O',  // + job whose class or priority is not its span's
  sweep = 'P',     // + first job of a template of several jobs
  delayed = 'Q',   // + due time + job, of each delayed job; empty
  ready = 'R',     // + class + inverted priority + age + first job
  span = 'S',      // + first job
  job_template = 'T',  // + first job
  user_data = 'U',     // + name; with no name: how many there are
  lease = 'V',         // + epoch, live workers only
  worker = 'W',        // + epoch
  expense = 'X',       // one key, where there is a budget
  barrier = 'b',       // + barrier
  change = 'x',        // + number from 1: what a person changed; + 0: what was there before
  inquiry = 'q',       // one key: who asks the batch system, what it said; absent: nobody has
  edition = 'e',       // one key: number of the commit that changed recipes last; absent: none
  removed = 'z',       // + job that the workflow file has no more; empty
  retired = 'Z',       // + job: its result that counts no more, and may again
  handler = 'h',       // + number from 1, immutable
  slots = 'l',         // + number of a limit: how many are taken; absent: none
  settings = 's',      // one key
  learned_time = 't',  // + first job of a template, + alternative from 1 on: how long its jobs ran;
                       // absent: none has ended
  ephemeral = 'u',     // + job that makes it, or 0 + name of user data; empty
  behind = 'v',        // + job that goes by what the workflow file said before; 1: its result does
  workflow = 'w'       // one key
};

// A key on the stack.
class Key {
 public:
  explicit Key(Table table) { bytes_[0] = static_cast<char>(table); }
  Key(Table table, std::uint64_t id) : Key(table) { be64(id); }

  Key& be32(std::uint32_t v) { return big_endian(v, 4); }
  Key& be64(std::uint64_t v) { return big_endian(v, 8); }
  operator std::string_view() const { return {bytes_, size_}; }  // NOLINT: a key is its bytes

 private:
  Key& big_endian(std::uint64_t v, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      bytes_[size_ + i] = static_cast<char>(v >> (8 * (n - 1 - i)));
    size_ += n;
    return *this;
  }
  char bytes_[56];
  std::size_t size_ = 1;
};

// A short value on the stack: the hot records are written without an allocation.
class Value {
 public:
  Value& u8(std::uint8_t v) {
    bytes_[size_++] = static_cast<char>(v);
    return *this;
  }
  Value& varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) u8(static_cast<std::uint8_t>(v | 0x80));
    return u8(static_cast<std::uint8_t>(v));
  }
  Value& svarint(std::int64_t v) {
    return varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  operator std::string_view() const { return {bytes_, size_}; }  // NOLINT: a value is its bytes

 private:
  char bytes_[256];
  std::size_t size_ = 0;
};

[[nodiscard]] inline bool is_in(Table table, std::string_view key) {
  return !key.empty() && key[0] == static_cast<char>(table);
}
// The big-endian number that is `size` bytes of a key from `at` on.
[[nodiscard]] std::uint64_t number_at(std::string_view key, std::size_t at, std::size_t size);
// The id of a key that is a table byte and one id.
[[nodiscard]] std::optional<std::uint64_t> id_in(Table table, std::string_view key);

// A priority as keys have it, so that a high one stands before a low one; and back.
[[nodiscard]] constexpr std::uint32_t inverted(std::int32_t priority) {
  return ~(static_cast<std::uint32_t>(priority) ^ 0x80000000U);
}
[[nodiscard]] constexpr std::int32_t upright(std::uint32_t stored) {
  return static_cast<std::int32_t>(~stored ^ 0x80000000U);
}

// Whether a workflow can have the jobs `first .. first + count - 1`.
[[nodiscard]] constexpr bool are_jobs(std::uint64_t first, std::uint64_t count) {
  return first != 0 && count != 0 && first <= kMaxJobs && count <= kMaxJobs - first + 1;
}

// A run of consecutive jobs with the same class, priority and barrier; they may belong to several
// templates.
struct Span {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t barrier = 0;  // 0: waits for nothing
  std::uint32_t job_class = 0;
  std::int32_t priority = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
  [[nodiscard]] bool contains(std::uint64_t id) const { return id >= first && id - first < count; }
};
[[nodiscard]] Value encode(const Span& span);
[[nodiscard]] std::optional<Span> decode_span(std::string_view key, std::string_view value);

// A run of consecutive ready jobs of one class and priority. `age`: the sequence number at which
// their barrier opened; 0 at the start, and for jobs given back, so that these go first within
// their priority. So there are two places where a ready job can be.
struct ReadyRange {
  std::uint32_t job_class = 0;
  std::int32_t priority = 0;
  std::uint64_t age = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
  auto operator<=>(const ReadyRange&) const = default;
};
[[nodiscard]] Key ready_key(const ReadyRange& range);
[[nodiscard]] std::optional<ReadyRange> decode_ready(std::string_view key, std::string_view value);

// A barrier that waits for a job on one condition.
struct Waiter {
  std::uint64_t barrier = 0;
  Condition condition = Condition::afterok;
  bool cancels = false;  // as in Barrier; of afterok only
  auto operator<=>(const Waiter&) const = default;
};

// Jobs `first .. first + count - 1` are upstream of exactly these barriers.
struct UpstreamRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::vector<Waiter> waiters;  // ascending
};
[[nodiscard]] std::string encode(const UpstreamRun& run);
[[nodiscard]] std::optional<UpstreamRun> decode_upstream(std::string_view key,
                                                         std::string_view value);

struct Barrier {
  std::uint64_t total = 0;  // jobs upstream; one counts once for each condition
  std::vector<JobRange> members;
  std::vector<JobRange> upstream;
  std::vector<Dependency> conditional;  // by condition, then by job
  bool cancels = false;
  std::uint32_t action = 0;  // that it sets off when it opens, instead of members; 0: none
};
[[nodiscard]] std::string encode(const Barrier& barrier);
[[nodiscard]] std::optional<Barrier> decode_barrier(std::string_view value);
// How far a barrier is. Once open it stays so until a reset closes it, also when a condition that
// was met no longer is (a failed job is retried): its members may have run.
struct Countdown {
  std::uint64_t left = 0;               // of its total: not as their conditions say
  std::optional<std::uint64_t> opened;  // sequence number of the commit that opened it
  // Of those left:
  std::uint64_t unmet = 0;   // can no longer be
  std::uint64_t failed = 0;  // where it cancels its members: ended otherwise
  // Why its members will not run; none: they may.
  [[nodiscard]] EndCause doom() const {
    if (opened) return EndCause::none;
    if (unmet > 0) return EndCause::unmet;
    return failed > 0 ? EndCause::upstream_failed : EndCause::none;
  }
  auto operator<=>(const Countdown&) const = default;
};
[[nodiscard]] Value encode(const Countdown& countdown);
[[nodiscard]] std::optional<Countdown> decode_countdown(std::string_view value);
// The total of a whole barrier's value, without the rest.
[[nodiscard]] std::uint64_t decode_total(std::string_view value);

// The job in a key of the names.
[[nodiscard]] std::optional<std::uint64_t> named_in(std::string_view key);

struct PastAttempt {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
};
// Both: past_attempts.cc.
[[nodiscard]] Key past_attempt_key(std::uint64_t job, std::uint32_t attempt);
[[nodiscard]] std::optional<PastAttempt> past_attempt_in(std::string_view key);

// Where a delayed job is listed: the one that is due first stands first.
[[nodiscard]] Key delayed_key(WallTime not_before, std::uint64_t id);
[[nodiscard]] std::optional<std::uint64_t> delayed_in(std::string_view key);  // the job

// Where it is kept how long the jobs of a template run, each alternative by itself.
struct LearnedOf {
  std::uint64_t first = 0;  // job of the template
  std::uint32_t alternative = 0;
  auto operator<=>(const LearnedOf&) const = default;
};
[[nodiscard]] Key learned_key(std::uint64_t first, std::uint32_t alternative);
[[nodiscard]] std::optional<LearnedOf> learned_in(std::string_view key);

[[nodiscard]] Value encode(const Job& job);
[[nodiscard]] std::optional<Job> decode_job(std::string_view value);

[[nodiscard]] std::string encode(const JobClass& job_class);
[[nodiscard]] std::optional<JobClass> decode_class(std::string_view value);

[[nodiscard]] std::string encode(const Template& job_template);
[[nodiscard]] std::optional<Template> decode_template(std::string_view key, std::string_view value);

// Which queue a job waits in, and where.
struct Rank {
  std::uint32_t job_class = 0;
  std::int32_t priority = 0;
  auto operator<=>(const Rank&) const = default;
};
[[nodiscard]] Value encode(const Rank& rank);
[[nodiscard]] std::optional<Rank> decode_rank(std::string_view value);

struct Tally {
  Counts counts{};
  std::uint64_t unmet = 0;         // of the canceled: those that were not needed
  std::uint64_t ending = 0;        // of the canceled: those that a worker still has to end
  std::uint8_t rules = 0;          // of `rule`
  std::uint64_t live_workers = 0;  // workers
  std::uint64_t hosts = 0;         // with at least one live worker
  // How long a job runs, as workers said lately; 0: nobody knows yet. A hint, never a rule.
  std::chrono::milliseconds job_time{};
  bool ordered = false;  // the heads of the queues are listed in Table::order
  void move(JobState from, JobState to, std::uint64_t n = 1) {
    counts[static_cast<std::size_t>(from)] -= n;
    counts[static_cast<std::size_t>(to)] += n;
  }
  [[nodiscard]] std::uint64_t of(JobState s) const { return counts[static_cast<std::size_t>(s)]; }
  [[nodiscard]] std::uint64_t jobs() const;  // in whatever state
  // No count has fallen below zero, and none is more than there can be.
  [[nodiscard]] bool is_possible() const;
  auto operator<=>(const Tally&) const = default;
};
[[nodiscard]] Value encode(const Tally& tally);
[[nodiscard]] std::optional<Tally> decode_tally(std::string_view value);

// Of an action, of its newest run, and of one that is due.
[[nodiscard]] Key action_key(std::uint32_t number);
// `worker` 0: of the workflow.
[[nodiscard]] Key run_key(std::uint32_t number, WorkerEpoch worker);
struct RunName {
  std::uint32_t action = 0;
  WorkerEpoch worker{};  // 0: the workflow's
};
[[nodiscard]] std::optional<RunName> run_in(std::string_view key);
[[nodiscard]] Key due_key(std::uint32_t number);

// The attempt of a job that a gang is: the job, and the commit that granted it.
struct GangName {
  std::uint64_t job = 0;
  std::uint64_t claim = 0;
  auto operator<=>(const GangName&) const = default;
};
// Where a worker stands among the nodes of its group, in the order in which they will be free.
struct NodePlace {
  static constexpr std::uint64_t kOffered = 0;  // it has nothing, and starts nothing unasked
  static constexpr std::uint64_t kUnknown = UINT64_MAX;
  std::uint64_t group = 0;           // hash of its name
  std::uint64_t free_at = kUnknown;  // else microseconds by the wall clock of the worker
  auto operator<=>(const NodePlace&) const = default;
};

// What changes with every commit of a live worker, in one value: one page is written for it.
struct Lease {
  static constexpr std::uint64_t kMaxHeld = 1 << 20;  // more is refused as unreadable
  std::uint64_t renewals = 0;
  WallTime last_seen{};
  std::uint64_t finished = 0;
  std::chrono::seconds ttl{};       // the silence that it may keep from here on
  bool barred = false;              // see bar_worker(): nothing that it says counts any more
  bool has_bell = false;            // the worker registered with one
  bool idle = false;                // it is listed in Table::idle
  std::vector<std::uint64_t> held;  // job ids, ascending
  // Jobs that were canceled while it held them, until it says that it ended them.
  std::vector<std::uint64_t> ending;
  std::vector<std::uint64_t> actions;  // numbers of those that it runs, ascending
  std::optional<NodePlace> node;       // as it is listed in Table::node; none: it is not
  std::optional<GangName> gang;        // that it is part of
  bool reserved = false;               // it was told so (Answer::reserved)
  // Core-milliseconds of its attempts that have ended; none: nobody asks, it is of no allocation of
  // the ledger.
  std::optional<std::uint64_t> used_core_ms;
};
[[nodiscard]] std::string encode(const Lease& lease);
[[nodiscard]] std::optional<Lease> decode_lease(std::string_view value);

// `lease` and `gone_at` count only for a worker that is gone: its last words, and when others knew.
[[nodiscard]] std::string encode_worker(const WorkerInfo& info, WorkerStatus status,
                                        const Lease& lease, WallTime gone_at);
[[nodiscard]] std::optional<Worker> decode_worker(std::string_view value);  // without the epoch

[[nodiscard]] std::string encode(const Limit& limit);
[[nodiscard]] std::optional<Limit> decode_limit(std::string_view value);
// Of the counter of a limit: how many of its slots are taken.
[[nodiscard]] Key slots_key(std::uint32_t limit);

[[nodiscard]] Value encode(const Expense& expense);
[[nodiscard]] std::optional<Expense> decode_expense(std::string_view value);

struct WorkflowRecord {
  SortMethod sort = SortMethod::none;
  std::uint32_t max_failures = 0;
  std::string_view name;  // valid as long as the bytes that it was decoded from
};
[[nodiscard]] std::string encode(const WorkflowRecord& record);
[[nodiscard]] std::optional<WorkflowRecord> decode_workflow(std::string_view value);

}  // namespace torc::claim
