#include "lib/claim/tables.h"

#include <algorithm>
#include <numeric>

#include "lib/base/codec.h"

namespace torc::claim {
namespace {

// Numbers that tell an absent field: most records have few of them.
// A state nibble that no state has: the state and what few jobs have follow.
constexpr unsigned kUncommon = 0x0f;
enum JobFlag : unsigned { kLost = 0x10, kClaim = 0x20, kClaimedAt = 0x40, kOutcome = 0x80 };
enum OutcomeFlag : unsigned { kSignal = 0x10, kErrno = 0x20, kStarted = 0x40, kEnded = 0x80 };

// Times of one attempt lie close together: each is written as its distance from the one before.
std::int64_t distance(WallTime from, WallTime to) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(to.count()) -
                                   static_cast<std::uint64_t>(from.count()));
}
WallTime away(WallTime from, std::int64_t by) {
  return WallTime(static_cast<std::int64_t>(static_cast<std::uint64_t>(from.count()) +
                                            static_cast<std::uint64_t>(by)));
}

std::uint64_t number_at(std::string_view key, std::size_t at, std::size_t size) {
  std::uint64_t v = 0;
  for (char c : key.substr(at, size)) v = (v << 8) | static_cast<std::uint8_t>(c);
  return v;
}

// High priorities first in key order.
std::uint32_t inverted(std::int32_t priority) {
  return ~(static_cast<std::uint32_t>(priority) ^ 0x80000000U);
}
std::int32_t upright(std::uint32_t stored) {
  return static_cast<std::int32_t>(~stored ^ 0x80000000U);
}

bool names_a_job(EndCause cause) {
  return cause == EndCause::unmet || cause == EndCause::upstream_failed;
}

enum ActivityFlag : unsigned { kIo = 1, kStorage = 2, kVoluntary = 4, kInvoluntary = 8 };

// Written only when there is any, as the last of the record.
void put_activity(Value& out, const Activity& a) {
  unsigned head = 0;
  if (a.io) head |= kIo;
  if (a.storage != Traffic{}) head |= kStorage;
  if (a.voluntary_switches != 0) head |= kVoluntary;
  if (a.involuntary_switches != 0) head |= kInvoluntary;
  if (head == 0) return;
  out.u8(static_cast<std::uint8_t>(head));
  if (a.io) out.varint(a.io->read.value).varint(a.io->written.value);
  if (head & kStorage) out.varint(a.storage.read.value).varint(a.storage.written.value);
  if (head & kVoluntary) out.varint(a.voluntary_switches);
  if (head & kInvoluntary) out.varint(a.involuntary_switches);
}

bool take_activity(Decoder& in, Activity& a) {
  if (in.at_end()) return true;
  const unsigned head = in.u8();
  const auto traffic = [&in] {
    Traffic t;
    t.read.value = in.varint();
    t.written.value = in.varint();
    return t;
  };
  if (head & kIo) a.io = traffic();
  if (head & kStorage) a.storage = traffic();
  if (head & kVoluntary) a.voluntary_switches = in.varint();
  if (head & kInvoluntary) a.involuntary_switches = in.varint();
  return head != 0 && head < 2 * kInvoluntary;
}

void put_outcome(Value& out, const Outcome& o, WallTime base) {
  unsigned head = static_cast<unsigned>(o.cause);
  if (o.signal != 0) head |= kSignal;
  if (o.os_errno != 0) head |= kErrno;
  if (o.started_at != WallTime{}) head |= kStarted;
  if (o.ended_at != WallTime{}) head |= kEnded;
  out.u8(static_cast<std::uint8_t>(head)).svarint(o.exit_code);
  if (o.signal != 0) out.svarint(o.signal);
  if (o.os_errno != 0) out.svarint(o.os_errno).u8(static_cast<std::uint8_t>(o.fault));
  if (o.started_at != WallTime{}) {
    out.svarint(distance(base, o.started_at));
    base = o.started_at;
  }
  if (o.ended_at != WallTime{}) out.svarint(distance(base, o.ended_at));
  out.varint(o.max_rss.value).svarint(o.cpu_time.count());
  if (names_a_job(o.cause)) out.varint(torc::raw(o.because));
  put_activity(out, o.activity);
}

bool take_outcome(Decoder& in, Outcome& o, WallTime base) {
  const unsigned head = in.u8();
  o.cause = static_cast<EndCause>(head & 0x0f);
  o.exit_code = static_cast<int>(in.svarint());
  if (head & kSignal) o.signal = static_cast<int>(in.svarint());
  if (head & kErrno) {
    o.os_errno = static_cast<int>(in.svarint());
    o.fault = static_cast<StartFault>(in.u8());
  }
  if (head & kStarted) {
    o.started_at = away(base, in.svarint());
    base = o.started_at;
  }
  if (head & kEnded) o.ended_at = away(base, in.svarint());
  o.max_rss.value = in.varint();
  o.cpu_time = std::chrono::microseconds(in.svarint());
  if (names_a_job(o.cause)) o.because = JobId{in.varint()};
  return (head & 0x0f) <= static_cast<unsigned>(kLastEndCause) && o.fault <= kLastStartFault &&
         take_activity(in, o.activity);
}

void put_ranges(Encoder& out, const std::vector<JobRange>& ranges) {
  out.varint(ranges.size());
  std::uint64_t before = 0;
  for (const JobRange& r : ranges) {
    out.svarint(static_cast<std::int64_t>(raw(r.first) - before)).varint(r.count);
    before = raw(r.first) + r.count;
  }
}

// Sorted and disjoint, so that whoever walks over them meets no job twice.
bool take_ranges(Decoder& in, std::vector<JobRange>& ranges) {
  std::uint64_t before = 0;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const std::uint64_t first = before + static_cast<std::uint64_t>(in.svarint());
    const std::uint64_t count = in.varint();
    if (first < before || !are_jobs(first, count)) return false;
    ranges.push_back({JobId{first}, count});
    before = first + count;
  }
  return in.ok();
}

// A number that does not fit would be taken for another one.
bool take_u32(Decoder& in, std::uint32_t& number) {
  const std::uint64_t wide = in.varint();
  number = static_cast<std::uint32_t>(wide);
  return wide <= UINT32_MAX;
}

bool take_i32(Decoder& in, std::int32_t& number) {
  const std::int64_t wide = in.svarint();
  number = static_cast<std::int32_t>(wide);
  return wide >= INT32_MIN && wide <= INT32_MAX;
}

// Of a Waiter: beside the condition, in the third of the low bits.
constexpr unsigned kCancels = 4;
constexpr int kConditions = 4;

void put_conditions(Encoder& out, const Barrier& barrier) {
  out.u8(barrier.cancels ? 1 : 0);
  for (int c = 1; c < kConditions; ++c) {
    std::vector<JobRange> ranges;
    for (const Dependency& d : barrier.conditional) {
      if (d.condition == static_cast<Condition>(c)) ranges.push_back(d.jobs);
    }
    put_ranges(out, ranges);
  }
}

bool take_conditions(Decoder& in, Barrier& barrier) {
  const std::uint8_t cancels = in.u8();
  barrier.cancels = cancels == 1;
  for (int c = 1; c < kConditions; ++c) {
    std::vector<JobRange> ranges;
    if (!take_ranges(in, ranges)) return false;
    for (const JobRange& r : ranges) barrier.conditional.push_back({r, static_cast<Condition>(c)});
  }
  return cancels <= 1;
}

// Ascending ids, as runs.
void put_ids(Encoder& out, const std::vector<std::uint64_t>& ids) {
  out.varint(ids.size());
  std::uint64_t end = 0;  // of the run before
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t n = 1;
    while (i + n < ids.size() && ids[i + n] == ids[i] + n) ++n;
    out.varint(ids[i] - end).varint(n);
    end = ids[i] + n;
    i += n;
  }
}

bool take_ids(Decoder& in, std::uint64_t highest, std::vector<std::uint64_t>& ids) {
  const std::uint64_t all = in.varint();
  if (all > Lease::kMaxHeld) return false;
  std::uint64_t end = 0;
  while (in.ok() && ids.size() < all) {
    const std::uint64_t gap = in.varint();
    const std::uint64_t n = in.varint();
    if (n == 0 || n > all - ids.size() || gap > highest || end + gap + n - 1 > highest)
      return false;
    const std::uint64_t first = end + gap;
    for (std::uint64_t i = 0; i < n; ++i) ids.push_back(first + i);
    end = first + n;
  }
  return in.ok();
}

template <class T>
std::optional<T> whole(const Decoder& in, T value) {
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint64_t> id_in(Table table, std::string_view key) {
  if (!is_in(table, key) || key.size() != 9) return std::nullopt;
  return number_at(key, 1, 8);
}

Value encode(const Span& span) {
  return Value()
      .varint(span.count)
      .varint(span.barrier)
      .varint(span.job_class)
      .svarint(span.priority);
}

std::optional<Span> decode_span(std::string_view key, std::string_view value) {
  const auto first = id_in(Table::span, key);
  if (!first) return std::nullopt;
  Decoder in(value);
  Span s;
  s.first = *first;
  s.count = in.varint();
  s.barrier = in.varint();
  if (!take_u32(in, s.job_class) || !take_i32(in, s.priority)) return std::nullopt;
  if (!are_jobs(s.first, s.count)) return std::nullopt;
  return whole(in, s);
}

Key ready_key(const ReadyRange& range) {
  Key key(Table::ready);
  key.be32(range.job_class).be32(inverted(range.priority)).be64(range.age).be64(range.first);
  return key;
}

std::optional<ReadyRange> decode_ready(std::string_view key, std::string_view value) {
  if (!is_in(Table::ready, key) || key.size() != 25) return std::nullopt;
  Decoder in(value);
  ReadyRange r;
  r.job_class = static_cast<std::uint32_t>(number_at(key, 1, 4));
  r.priority = upright(static_cast<std::uint32_t>(number_at(key, 5, 4)));
  r.age = number_at(key, 9, 8);
  r.first = number_at(key, 17, 8);
  r.count = in.varint();
  if (!are_jobs(r.first, r.count)) return std::nullopt;
  return whole(in, r);
}

std::string encode(const UpstreamRun& run) {
  Encoder out;
  out.varint(run.count).varint(run.waiters.size());
  std::uint64_t before = 0;
  for (const Waiter& w : run.waiters) {
    const unsigned how = static_cast<unsigned>(w.condition) | (w.cancels ? kCancels : 0U);
    out.varint((w.barrier - before) << 3 | how);
    before = w.barrier;
  }
  return std::move(out).bytes();
}

std::optional<UpstreamRun> decode_upstream(std::string_view key, std::string_view value) {
  const auto first = id_in(Table::upstream, key);
  if (!first) return std::nullopt;
  Decoder in(value);
  UpstreamRun run;
  run.first = *first;
  run.count = in.varint();
  if (!are_jobs(run.first, run.count)) return std::nullopt;
  std::uint64_t before = 0;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const std::uint64_t next = in.varint();
    before += next >> 3;
    run.waiters.push_back({before, static_cast<Condition>(next & 3U), (next & kCancels) != 0});
  }
  return whole(in, std::move(run));
}

std::string encode(const Barrier& barrier) {
  Encoder out;
  out.varint(barrier.total);
  put_ranges(out, barrier.members);
  put_ranges(out, barrier.upstream);
  const bool more = barrier.action != 0;
  if (!barrier.conditional.empty() || barrier.cancels || more) put_conditions(out, barrier);
  if (more) out.varint(barrier.action);
  return std::move(out).bytes();
}

std::optional<Barrier> decode_barrier(std::string_view value) {
  Decoder in(value);
  Barrier b;
  b.total = in.varint();
  if (!take_ranges(in, b.members) || !take_ranges(in, b.upstream)) return std::nullopt;
  if (!in.at_end() && !take_conditions(in, b)) return std::nullopt;
  if (!in.at_end() && !take_u32(in, b.action)) return std::nullopt;
  return whole(in, std::move(b));
}

std::uint64_t decode_total(std::string_view value) {
  return Decoder(value).varint();
}

// Most count only what is left; what a number of 0 at the end would say is left out.
Value encode(const Countdown& countdown) {
  Value out;
  out.varint(countdown.left);
  const bool lost = countdown.unmet != 0 || countdown.failed != 0;
  if (countdown.opened || lost) out.varint(countdown.opened ? *countdown.opened + 1 : 0);
  if (lost) out.varint(countdown.unmet).varint(countdown.failed);
  return out;
}

std::optional<Countdown> decode_countdown(std::string_view value) {
  Decoder in(value);
  Countdown c;
  c.left = in.varint();
  if (!in.at_end()) {
    const std::uint64_t opened = in.varint();
    if (opened != 0) c.opened = opened - 1;
  }
  if (!in.at_end()) {
    c.unmet = in.varint();
    c.failed = in.varint();
  }
  return whole(in, c);
}

std::optional<std::uint64_t> named_in(std::string_view key) {
  if (!is_in(Table::name, key) || key.size() != 17) return std::nullopt;
  return number_at(key, 9, 8);
}

Key delayed_key(WallTime not_before, std::uint64_t id) {
  const std::int64_t at = not_before.count();
  return Key(Table::delayed, at < 0 ? 0 : static_cast<std::uint64_t>(at)).be64(id);
}

std::optional<std::uint64_t> delayed_in(std::string_view key) {
  if (!is_in(Table::delayed, key) || key.size() != 17) return std::nullopt;
  return number_at(key, 9, 8);
}

Value encode(const Job& job) {
  const auto state = static_cast<unsigned>(job.state);
  const bool uncommon = job.state >= JobState::held || job.forgiven != 0 ||
                        job.revoked != Revoked::no || job.suspicion != Suspicion::none;
  unsigned head = uncommon ? kUncommon : state;
  if (job.lost != 0 || job.stopped != 0) head |= kLost;
  if (job.claim != 0) head |= kClaim;
  if (job.claimed_at != WallTime{}) head |= kClaimedAt;
  if (job.outcome != Outcome{}) head |= kOutcome;
  Value out;
  out.u8(static_cast<std::uint8_t>(head)).varint(job.attempt);
  if (uncommon) {
    out.u8(static_cast<std::uint8_t>(state | static_cast<unsigned>(job.revoked) << 4 |
                                     static_cast<unsigned>(job.suspicion) << 6));
    out.varint(job.forgiven);
  }
  // Mostly one of them is 0 and the other small.
  if (head & kLost) out.varint(std::uint64_t{job.stopped} << 32 | job.lost);
  if (head & kClaim) out.varint(job.claim).varint(raw(job.worker));
  if (head & kClaimedAt) out.svarint(job.claimed_at.count());
  if (job.state == JobState::delayed) {
    out.svarint(job.not_before.count()).svarint(job.delay.count());
  }
  if (head & kOutcome) put_outcome(out, job.outcome, job.claimed_at);
  return out;
}

std::optional<Job> decode_job(std::string_view value) {
  Decoder in(value);
  Job job;
  const unsigned head = in.u8();
  unsigned state = head & 0x0f;
  job.attempt = static_cast<std::uint32_t>(in.varint());
  if (state == kUncommon) {
    state = in.u8();
    const unsigned revoked = state >> 4 & 3U;
    const unsigned suspicion = state >> 6;
    if (revoked > static_cast<unsigned>(Revoked::ending_then_again) ||
        suspicion > static_cast<unsigned>(Suspicion::prime)) {
      return std::nullopt;
    }
    job.revoked = static_cast<Revoked>(revoked);
    job.suspicion = static_cast<Suspicion>(suspicion);
    job.forgiven = static_cast<std::uint32_t>(in.varint());
    state &= 0x0f;
  }
  if (state >= kJobStates) return std::nullopt;
  job.state = static_cast<JobState>(state);
  if (head & kLost) {
    const std::uint64_t both = in.varint();
    job.lost = static_cast<std::uint32_t>(both);
    job.stopped = static_cast<std::uint32_t>(both >> 32);
  }
  if (head & kClaim) {
    job.claim = in.varint();
    job.worker = WorkerEpoch{in.varint()};
  }
  if (head & kClaimedAt) job.claimed_at = WallTime(in.svarint());
  if (job.state == JobState::delayed) {
    job.not_before = WallTime(in.svarint());
    job.delay = std::chrono::seconds(in.svarint());
  }
  if ((head & kOutcome) && !take_outcome(in, job.outcome, job.claimed_at)) return std::nullopt;
  return whole(in, job);
}

std::string encode(const JobClass& job_class) {
  const Requirement& need = job_class.need;
  Encoder out;
  out.varint(need.cpus).varint(need.gpus).varint(need.nodes).varint(need.memory.value);
  out.svarint(need.runtime.count()).text(job_class.scheduler).text(job_class.label);
  const bool alone = job_class.alone != Alone::no;
  if (job_class.limit != 0 || alone) out.varint(job_class.limit);
  if (alone) out.u8(static_cast<std::uint8_t>(job_class.alone));
  return std::move(out).bytes();
}

std::optional<JobClass> decode_class(std::string_view value) {
  Decoder in(value);
  JobClass c;
  c.need.cpus = static_cast<std::uint32_t>(in.varint());
  c.need.gpus = static_cast<std::uint32_t>(in.varint());
  c.need.nodes = static_cast<std::uint32_t>(in.varint());
  c.need.memory.value = in.varint();
  c.need.runtime = std::chrono::seconds(in.svarint());
  c.scheduler = in.text();
  c.label = in.text();
  if (!in.at_end() && !take_u32(in, c.limit)) return std::nullopt;
  if (!in.at_end()) {
    const std::uint8_t alone = in.u8();
    if (alone > static_cast<std::uint8_t>(Alone::entirely)) return std::nullopt;
    c.alone = static_cast<Alone>(alone);
  }
  return whole(in, std::move(c));
}

std::string encode(const Template& t) {
  Encoder out;
  out.varint(t.count).varint(t.job_class).svarint(t.priority).be64(t.name_hash);
  out.varint(t.handler).varint(t.crash_limit).raw(t.recipe);
  return std::move(out).bytes();
}

std::optional<Template> decode_template(std::string_view key, std::string_view value) {
  const auto first = id_in(Table::job_template, key);
  if (!first) return std::nullopt;
  Decoder in(value);
  Template t;
  t.first = JobId{*first};
  t.count = in.varint();
  if (!take_u32(in, t.job_class) || !take_i32(in, t.priority)) return std::nullopt;
  t.name_hash = in.be64();
  if (!take_u32(in, t.handler) || !take_u32(in, t.crash_limit)) return std::nullopt;
  t.recipe = in.rest();
  if (!in.ok() || !are_jobs(*first, t.count)) return std::nullopt;
  return t;
}

std::uint64_t Tally::jobs() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

bool Tally::is_possible() const {
  // Each of them by itself, so that their sum cannot wrap.
  const bool few =
      std::all_of(counts.begin(), counts.end(), [](std::uint64_t n) { return n <= kMaxJobs; });
  const std::uint64_t canceled = of(JobState::canceled);
  return few && jobs() <= kMaxJobs && unmet <= canceled && ending <= canceled;
}

Value encode(const Tally& tally) {
  Value out;
  for (std::uint64_t n : tally.counts) out.varint(n);
  out.varint(tally.unmet).varint(tally.living).varint(tally.hosts);
  out.varint(static_cast<std::uint64_t>(tally.job_time.count()));
  out.u8(tally.rules).varint(tally.ending);
  return out;
}

std::optional<Tally> decode_tally(std::string_view value) {
  Decoder in(value);
  Tally tally;
  for (std::uint64_t& n : tally.counts) n = in.varint();
  tally.unmet = in.varint();
  tally.living = in.varint();
  tally.hosts = in.varint();
  tally.job_time = std::chrono::milliseconds(in.varint());
  tally.rules = in.u8();
  tally.ending = in.varint();
  if (!tally.is_possible()) return std::nullopt;
  return whole(in, tally);
}

std::string encode(const Lease& lease) {
  Encoder out;
  out.varint(lease.renewals).svarint(lease.last_seen.count()).varint(lease.finished);
  out.svarint(lease.ttl.count()).u8(lease.barred ? 1 : 0);
  put_ids(out, lease.held);
  if (!lease.ending.empty() || !lease.actions.empty()) put_ids(out, lease.ending);
  if (!lease.actions.empty()) put_ids(out, lease.actions);
  return std::move(out).bytes();
}

std::optional<Lease> decode_lease(std::string_view value) {
  Decoder in(value);
  Lease lease;
  lease.renewals = in.varint();
  lease.last_seen = WallTime(in.svarint());
  lease.finished = in.varint();
  lease.ttl = std::chrono::seconds(in.svarint());
  const std::uint8_t barred = in.u8();
  if (barred > 1) return std::nullopt;
  lease.barred = barred == 1;
  if (!take_ids(in, kMaxJobs, lease.held)) return std::nullopt;
  if (!in.at_end() && !take_ids(in, kMaxJobs, lease.ending)) return std::nullopt;
  if (!in.at_end() && !take_ids(in, UINT32_MAX, lease.actions)) return std::nullopt;
  return whole(in, std::move(lease));
}

std::string encode_worker(const WorkerInfo& info, WorkerStatus status, const Lease& lease,
                          WallTime gone_at) {
  Encoder out;
  out.u8(static_cast<std::uint8_t>(status)).varint(lease.renewals);
  out.svarint(lease.last_seen.count()).svarint(gone_at.count()).varint(lease.finished);
  out.text(info.host).varint(info.pid).varint(info.pid_start).text(info.boot_id);
  out.text(info.pid_namespace).varint(info.above.size());
  for (const std::uint64_t pid : info.above) out.varint(pid);
  out.text(info.user).text(info.allocation).text(info.cluster);
  out.svarint(info.allocation_start.count()).text(info.scheduler).text(info.label);
  out.u8(static_cast<std::uint8_t>((info.any_binding ? 1 : 0) + (info.ignores_resources ? 2 : 0) +
                                   (info.own_beat_file ? 4 : 0)));
  out.text(info.output_dir);
  out.varint(info.cpus).varint(info.gpus).varint(info.memory.value);
  out.svarint(info.registered_at.count()).svarint(info.ends_at.count());
  out.svarint(info.lease_ttl.count()).svarint(info.lease_beat.count());
  out.svarint(info.claims_from.count());
  return std::move(out).bytes();
}

std::optional<Worker> decode_worker(std::string_view value) {
  Decoder in(value);
  Worker w;
  const std::uint8_t status = in.u8();
  if (status > static_cast<std::uint8_t>(WorkerStatus::expired)) return std::nullopt;
  w.status = static_cast<WorkerStatus>(status);
  w.renewals = in.varint();
  w.last_seen = WallTime(in.svarint());
  w.gone_at = WallTime(in.svarint());
  w.finished = in.varint();
  WorkerInfo& info = w.info;
  info.host = in.text();
  info.pid = in.varint();
  info.pid_start = in.varint();
  info.boot_id = in.text();
  info.pid_namespace = in.text();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    info.above.push_back(in.varint());
  }
  info.user = in.text();
  info.allocation = in.text();
  info.cluster = in.text();
  info.allocation_start = WallTime(in.svarint());
  info.scheduler = in.text();
  info.label = in.text();
  const std::uint8_t serves = in.u8();
  info.any_binding = (serves & 1U) != 0;
  info.ignores_resources = (serves & 2U) != 0;
  info.own_beat_file = (serves & 4U) != 0;
  info.output_dir = in.text();
  info.cpus = static_cast<std::uint32_t>(in.varint());
  info.gpus = static_cast<std::uint32_t>(in.varint());
  info.memory.value = in.varint();
  info.registered_at = WallTime(in.svarint());
  info.ends_at = WallTime(in.svarint());
  info.lease_ttl = std::chrono::seconds(in.svarint());
  info.lease_beat = std::chrono::seconds(in.svarint());
  info.claims_from = WallTime(in.svarint());
  return whole(in, std::move(w));
}

std::string encode(const Limit& limit) {
  Encoder out;
  out.varint(limit.most).text(limit.entry);
  return std::move(out).bytes();
}

std::optional<Limit> decode_limit(std::string_view value) {
  Decoder in(value);
  Limit limit;
  limit.most = static_cast<std::uint32_t>(in.varint());
  limit.entry = in.text();
  return whole(in, std::move(limit));
}

Value encode(const Expense& expense) {
  Value out;
  for (const Usage& u : {expense.most, expense.spent, expense.promised}) {
    out.varint(static_cast<std::uint64_t>(u.core.count()));
    out.varint(static_cast<std::uint64_t>(u.node.count()));
  }
  return out;
}

std::optional<Expense> decode_expense(std::string_view value) {
  Decoder in(value);
  Expense expense;
  for (Usage* u : {&expense.most, &expense.spent, &expense.promised}) {
    u->core = std::chrono::milliseconds(in.varint());
    u->node = std::chrono::milliseconds(in.varint());
  }
  return whole(in, expense);
}

std::string encode(const WorkflowRecord& record) {
  Encoder out;
  out.u8(static_cast<std::uint8_t>(record.sort)).text(record.name).varint(record.max_failures);
  return std::move(out).bytes();
}

std::optional<WorkflowRecord> decode_workflow(std::string_view value) {
  Decoder in(value);
  WorkflowRecord record;
  const std::uint8_t sort = in.u8();
  if (sort > static_cast<std::uint8_t>(SortMethod::gpus_memory_runtime)) return std::nullopt;
  record.sort = static_cast<SortMethod>(sort);
  record.name = in.text();
  record.max_failures = static_cast<std::uint32_t>(in.varint());
  return whole(in, record);
}

}  // namespace torc::claim
