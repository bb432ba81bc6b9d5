#include "lib/claim/tables/tables.h"

#include <algorithm>
#include <numeric>

#include "lib/base/codec.h"

namespace torc::claim {
namespace {

// Of milliseconds, as kMost of budget.cc: sums of two stay within the type.
constexpr std::uint64_t kLongestSpan = std::uint64_t{1} << 61;

// High priorities first in key order.
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

// The job of a key that is a table byte, another number and it.
std::optional<std::uint64_t> second_id_in(Table table, std::string_view key) {
  if (!is_in(table, key) || key.size() != 17) return std::nullopt;
  return number_at(key, 9, 8);
}

}  // namespace

std::uint64_t number_at(std::string_view key, std::size_t at, std::size_t size) {
  std::uint64_t v = 0;
  for (char c : key.substr(at, size)) v = (v << 8) | static_cast<std::uint8_t>(c);
  return v;
}

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
  s.job_class = in.u32();
  s.priority = in.i32();
  if (!are_jobs(s.first, s.count)) return std::nullopt;
  return in.whole(s);
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
  return in.whole(r);
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
  return in.whole(std::move(run));
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
  if (!in.at_end()) b.action = in.u32();
  return in.whole(std::move(b));
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
  return in.whole(c);
}

std::optional<std::uint64_t> named_in(std::string_view key) {
  return second_id_in(Table::name, key);
}

Key delayed_key(WallTime not_before, std::uint64_t id) {
  const std::int64_t at = not_before.count();
  return Key(Table::delayed, at < 0 ? 0 : static_cast<std::uint64_t>(at)).be64(id);
}

Key learned_key(std::uint64_t first, std::uint32_t alternative) {
  Key key(Table::learned_time, first);
  if (alternative != 0) key.be32(alternative);
  return key;
}

std::optional<LearnedOf> learned_in(std::string_view key) {
  constexpr std::size_t kOfFirst = 9;
  if (const auto first = id_in(Table::learned_time, key)) return LearnedOf{*first, 0};
  if (!is_in(Table::learned_time, key) || key.size() != kOfFirst + 4) return std::nullopt;
  const LearnedOf of{number_at(key, 1, 8), static_cast<std::uint32_t>(number_at(key, kOfFirst, 4))};
  return of.alternative == 0 ? std::nullopt : std::optional(of);
}

std::optional<std::uint64_t> delayed_in(std::string_view key) {
  return second_id_in(Table::delayed, key);
}

namespace {

// Where the number of the one limit stood that a class could have, it stands still when each job
// has one of that and there is nothing else to say. Else this stands there, with the number of
// limits added: no limit has so high a number.
constexpr std::uint64_t kMoreThanOneLimit = std::uint64_t{1} << 32;

void write_shares(Encoder& out, const JobClass& c) {
  const bool plain = c.learns_from == 0 && c.limits.size() <= 1 &&
                     (c.limits.empty() || c.limits.front().amount == 1);
  if (plain) {
    out.varint(c.limits.empty() ? 0 : c.limits.front().number);
    return;
  }
  out.varint(kMoreThanOneLimit + c.limits.size());
  for (const LimitShare& share : c.limits) out.varint(share.number).varint(share.amount);
  out.varint(c.learns_from);
}

bool read_shares(Decoder& in, JobClass& c) {
  const std::uint64_t first = in.varint();
  if (first < kMoreThanOneLimit) {
    if (first != 0) c.limits.push_back({static_cast<std::uint32_t>(first), 1});
    return in.ok();
  }
  std::uint32_t above = 0;
  for (std::uint64_t left = first - kMoreThanOneLimit; left > 0 && in.ok(); --left) {
    const LimitShare share{in.u32(), in.u32()};
    if (share.number <= above || share.amount == 0) return false;
    above = share.number;
    c.limits.push_back(share);
  }
  c.learns_from = in.varint();
  return in.ok() && c.learns_from <= kMaxJobs;
}

}  // namespace

namespace {

void write_alternatives(Encoder& out, const JobClass& c) {
  out.varint(c.weight).varint(c.others.size());
  for (const Alternative& one : c.others) {
    Encoder need;
    write_resources(need, one.need);
    if (has_later_resources(one.need)) write_later_resources(need, one.need);
    out.text(need.bytes()).varint(one.weight);
  }
}

bool read_alternatives(Decoder& in, JobClass& c) {
  c.weight = in.u32();
  const std::uint64_t count = in.varint();
  if (!in.ok() || count == 0 || count >= kMostAlternatives) return false;
  while (c.others.size() < count && in.ok()) {
    Decoder need(in.text());
    Alternative one;
    one.need = read_resources(need);
    if (!read_later_resources(need, one.need) || !need.is_whole()) return false;
    one.weight = in.u32();
    c.others.push_back(std::move(one));
  }
  return in.ok();
}

}  // namespace

std::string encode(const JobClass& job_class) {
  Encoder out;
  write_resources(out, job_class.need);
  out.text(job_class.scheduler).text(job_class.labels);
  const bool alone = job_class.alone != Alone::no;
  const bool more = !job_class.others.empty();
  const bool later = more || has_later_resources(job_class.need);
  const bool shares = !job_class.limits.empty() || job_class.learns_from != 0;
  if (shares || alone || later) write_shares(out, job_class);
  if (alone || later) out.u8(static_cast<std::uint8_t>(job_class.alone));
  // Where the names would stand, their number may be 0: no class without alternatives has that.
  if (later) write_later_resources(out, job_class.need, more ? Behind::more : Behind::nothing);
  if (more) write_alternatives(out, job_class);
  return std::move(out).bytes();
}

std::optional<JobClass> decode_class(std::string_view value) {
  Decoder in(value);
  JobClass c;
  c.need = read_resources(in);
  c.scheduler = in.text();
  c.labels = in.text();
  if (!in.at_end() && !read_shares(in, c)) return std::nullopt;
  if (!in.at_end()) {
    const std::uint8_t alone = in.u8();
    if (alone > static_cast<std::uint8_t>(Alone::entirely)) return std::nullopt;
    c.alone = static_cast<Alone>(alone);
  }
  if (!read_later_resources(in, c.need)) return std::nullopt;
  if (!in.at_end() && !read_alternatives(in, c)) return std::nullopt;
  return in.whole(c);
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
  t.job_class = in.u32();
  t.priority = in.i32();
  t.name_hash = in.be64();
  t.handler = in.u32();
  t.crash_limit = in.u32();
  t.recipe = in.rest();
  if (!in.ok() || !are_jobs(*first, t.count)) return std::nullopt;
  return t;
}

Value encode(const Rank& rank) {
  return Value().varint(rank.job_class).svarint(rank.priority);
}

std::optional<Rank> decode_rank(std::string_view value) {
  Decoder in(value);
  Rank rank;
  rank.job_class = in.u32();
  rank.priority = in.i32();
  return in.whole(rank);
}

std::uint64_t Tally::jobs() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

bool Tally::is_possible() const {
  // Each of them by itself, so that their sum cannot wrap.
  const bool few =
      std::all_of(counts.begin(), counts.end(), [](std::uint64_t n) { return n <= kMaxJobs; });
  const std::uint64_t canceled = of(JobState::canceled);
  return few && live_workers <= UINT32_MAX && hosts <= UINT32_MAX && jobs() <= kMaxJobs &&
         unmet <= canceled && ending <= canceled;
}

// The states of the first stores stand first, those that came later last, and only where there are
// such jobs.
constexpr std::size_t kFirstStates = 11;

Value encode(const Tally& tally) {
  Value out;
  std::size_t states = tally.counts.size();
  while (!tally.ordered && states > kFirstStates && tally.counts[states - 1] == 0) --states;
  for (std::size_t s = 0; s < kFirstStates; ++s) out.varint(tally.counts[s]);
  out.varint(tally.unmet).varint(tally.live_workers).varint(tally.hosts);
  out.varint(static_cast<std::uint64_t>(tally.job_time.count()));
  out.u8(tally.rules).varint(tally.ending);
  for (std::size_t s = kFirstStates; s < states; ++s) out.varint(tally.counts[s]);
  if (tally.ordered) out.u8(1);
  return out;
}

std::optional<Tally> decode_tally(std::string_view value) {
  Decoder in(value);
  Tally tally;
  for (std::size_t s = 0; s < kFirstStates; ++s) tally.counts[s] = in.varint();
  tally.unmet = in.varint();
  tally.live_workers = in.varint();
  tally.hosts = in.varint();
  tally.job_time = std::chrono::milliseconds(in.up_to(kLongestSpan));
  tally.rules = in.u8();
  tally.ending = in.varint();
  for (std::size_t s = kFirstStates; s < kJobStates && !in.at_end(); ++s)
    tally.counts[s] = in.varint();
  if (!in.at_end()) {
    if (in.u8() != 1) return std::nullopt;
    tally.ordered = true;
  }
  if (!tally.is_possible()) return std::nullopt;
  return in.whole(tally);
}

Key action_key(std::uint32_t number) {
  return Key(Table::action).be32(number);
}

Key run_key(std::uint32_t number, WorkerEpoch worker) {
  return Key(Table::action_run).be32(number).be64(raw(worker));
}

std::optional<RunName> run_in(std::string_view key) {
  constexpr std::size_t kSize = 13;
  if (!is_in(Table::action_run, key) || key.size() != kSize) return std::nullopt;
  return RunName{static_cast<std::uint32_t>(number_at(key, 1, 4)),
                 WorkerEpoch{number_at(key, 5, 8)}};
}

Key due_key(std::uint32_t number) {
  return Key(Table::due_action).be32(number);
}

std::string encode(const Limit& limit) {
  Encoder out;
  out.varint(limit.most).text(limit.name);
  if (limit.kind != LimitKind::entry || limit.before_set)
    out.u8(static_cast<std::uint8_t>(limit.kind));
  if (limit.before_set) out.varint(*limit.before_set);
  return std::move(out).bytes();
}

std::optional<Limit> decode_limit(std::string_view value) {
  Decoder in(value);
  Limit limit;
  limit.most = in.u32();
  limit.name = in.text();
  if (!in.at_end()) {
    const std::uint8_t kind = in.u8();
    if (kind > static_cast<std::uint8_t>(LimitKind::workflow)) return std::nullopt;
    limit.kind = static_cast<LimitKind>(kind);
  }
  if (!in.at_end()) limit.before_set = in.u32();
  return in.whole(std::move(limit));
}

Key slots_key(std::uint32_t limit) {
  return Key(Table::slots).be32(limit);
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
    u->core = std::chrono::milliseconds(in.up_to(kLongestSpan));
    u->node = std::chrono::milliseconds(in.up_to(kLongestSpan));
  }
  return in.whole(expense);
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
  record.max_failures = in.u32();
  return in.whole(record);
}

}  // namespace torc::claim
