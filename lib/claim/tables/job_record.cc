// How a job is written. See tables.h.
#include <algorithm>

#include "lib/base/codec.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// Numbers that tell an absent field: most records have few of them.
// A state nibble that no state has: the state and what few jobs have follow.
constexpr unsigned kUncommon = 0x0f;
enum JobFlag : unsigned { kLost = 0x10, kClaim = 0x20, kClaimedAt = 0x40, kOutcome = 0x80 };
// Of all processors that it used together, microseconds: more than 36,000 years.
constexpr std::int64_t kMostCpuTime = std::int64_t{1} << 60;
enum OutcomeFlag : unsigned { kSignal = 0x10, kErrno = 0x20, kStarted = 0x40, kEnded = 0x80 };

bool names_a_job(EndCause cause) {
  return cause == EndCause::unmet || cause == EndCause::upstream_failed;
}

enum RestFlag : unsigned {
  kIo = 1,
  kStorage = 2,
  kVoluntary = 4,
  kInvoluntary = 8,
  kRank = 16,
  kSpawner = 32
};

unsigned rest_of(const Outcome& o) {
  const Activity& a = o.activity;
  unsigned head = 0;
  if (a.io) head |= kIo;
  if (a.storage != Traffic{}) head |= kStorage;
  if (a.voluntary_switches != 0) head |= kVoluntary;
  if (a.involuntary_switches != 0) head |= kInvoluntary;
  if (o.rank != 0) head |= kRank;
  if (o.cause == EndCause::removed && raw(o.because) != 0) head |= kSpawner;
  return head;
}

// Written only when there is any, as the last of the record.
void put_rest(Value& out, const Outcome& o) {
  const Activity& a = o.activity;
  const unsigned head = rest_of(o);
  if (head == 0) return;
  out.u8(static_cast<std::uint8_t>(head));
  if (a.io) out.varint(a.io->read.value).varint(a.io->written.value);
  if (head & kStorage) out.varint(a.storage.read.value).varint(a.storage.written.value);
  if (head & kVoluntary) out.varint(a.voluntary_switches);
  if (head & kInvoluntary) out.varint(a.involuntary_switches);
  if (head & kRank) out.varint(o.rank).varint(raw(o.member));
  if (head & kSpawner) out.varint(raw(o.because));
}

bool take_rest(Decoder& in, Outcome& o) {
  Activity& a = o.activity;
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
  if (head & kRank) {
    o.rank = in.u32();
    o.member = WorkerEpoch{in.varint()};
  }
  if (head & kSpawner) o.because = JobId{in.varint()};
  return head != 0 && head == rest_of(o);
}

unsigned head_of(const Outcome& o) {
  unsigned head = static_cast<unsigned>(o.cause);
  if (o.signal != 0) head |= kSignal;
  if (o.os_errno != 0) head |= kErrno;
  if (o.started_at != WallTime{}) head |= kStarted;
  if (o.ended_at != WallTime{}) head |= kEnded;
  return head;
}

// Times of one attempt lie close together: each is written as its distance from the one before.
WallTime put_time(Value& out, WallTime time, WallTime base) {
  out.svarint((in_reach(time) - in_reach(base)).count());
  return time;
}

void put_outcome(Value& out, const Outcome& o, WallTime base) {
  out.u8(static_cast<std::uint8_t>(head_of(o))).svarint(o.exit_code);
  if (o.signal != 0) out.svarint(o.signal);
  if (o.os_errno != 0) out.svarint(o.os_errno).u8(static_cast<std::uint8_t>(o.fault));
  if (o.started_at != WallTime{}) {
    base = put_time(out, o.started_at, base);
  }
  if (o.ended_at != WallTime{}) (void)put_time(out, o.ended_at, base);
  out.varint(o.max_rss.value).svarint(std::min(o.cpu_time.count(), kMostCpuTime));
  if (names_a_job(o.cause)) out.varint(torc::raw(o.because));
  if (o.cause == EndCause::output_missing) out.varint(o.missing_output);
  put_rest(out, o);
}

bool take_outcome(Decoder& in, Outcome& o, WallTime base) {
  const unsigned head = in.u8();
  o.cause = static_cast<EndCause>(head & 0x0f);
  o.exit_code = in.i32();
  if (head & kSignal) o.signal = in.i32();
  if (head & kErrno) {
    o.os_errno = in.i32();
    o.fault = static_cast<StartFault>(in.u8());
  }
  if (head & kStarted) {
    o.started_at = in.wall_time(base);
    base = o.started_at;
  }
  if (head & kEnded) o.ended_at = in.wall_time(base);
  o.max_rss.value = in.varint();
  o.cpu_time = std::chrono::microseconds(in.within(kMostCpuTime));
  if (names_a_job(o.cause)) o.because = JobId{in.varint()};
  if (o.cause == EndCause::output_missing) o.missing_output = in.u32();
  return o.cause <= kLastEndCause && o.fault <= kLastStartFault && head == head_of(o) &&
         take_rest(in, o);
}

bool is_uncommon(const Job& job) {
  return job.state >= JobState::held || job.forgiven != 0 || job.revoked != Revoked::no ||
         job.suspicion != Suspicion::none || job.alternative != 0;
}

unsigned head_of(const Job& job) {
  unsigned head = is_uncommon(job) ? kUncommon : static_cast<unsigned>(job.state);
  if (job.lost != 0 || job.stopped != 0) head |= kLost;
  if (job.claim != 0) head |= kClaim;
  if (job.claimed_at != WallTime{}) head |= kClaimedAt;
  if (job.outcome != Outcome{}) head |= kOutcome;
  return head;
}

}  // namespace

Value encode(const Job& job) {
  const auto state = static_cast<unsigned>(job.state);
  const unsigned head = head_of(job);
  Value out;
  out.u8(static_cast<std::uint8_t>(head)).varint(job.attempt);
  if (is_uncommon(job)) {
    out.u8(static_cast<std::uint8_t>(state | static_cast<unsigned>(job.revoked) << 4 |
                                     static_cast<unsigned>(job.suspicion) << 6));
    // Most have no other alternative than the first: theirs is the record of before.
    out.varint(std::uint64_t{job.alternative} << 32 | job.forgiven);
  }
  // Mostly one of them is 0 and the other small.
  if (head & kLost) out.varint(std::uint64_t{job.stopped} << 32 | job.lost);
  if (head & kClaim) out.varint(job.claim).varint(raw(job.worker));
  if (head & kClaimedAt) out.svarint(in_reach(job.claimed_at).count());
  if (job.state == JobState::delayed) {
    out.svarint(in_reach(job.not_before).count()).svarint(in_reach(job.delay).count());
  }
  if (head & kOutcome) put_outcome(out, job.outcome, job.claimed_at);
  return out;
}

std::optional<Job> decode_job(std::string_view value) {
  Decoder in(value);
  Job job;
  const unsigned head = in.u8();
  unsigned state = head & 0x0f;
  job.attempt = in.u32();
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
    const std::uint64_t both = in.varint();
    job.forgiven = static_cast<std::uint32_t>(both);
    job.alternative = static_cast<std::uint32_t>(both >> 32);
    if (job.alternative >= kMostAlternatives) return std::nullopt;
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
  if (head & kClaimedAt) job.claimed_at = in.wall_time();
  if (job.state == JobState::delayed) {
    job.not_before = in.wall_time();
    job.delay = in.seconds();
  }
  if ((head & kOutcome) && !take_outcome(in, job.outcome, job.claimed_at)) return std::nullopt;
  // One form each: what announces what is not there was not written here.
  if (!in.is_whole() || head != head_of(job)) return std::nullopt;
  return job;
}

}  // namespace torc::claim
