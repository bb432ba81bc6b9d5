#include "lib/claim/tables/allocation_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/base/codec.h"
#include "lib/base/limits.h"

namespace torc::claim {
namespace {

std::optional<std::uint32_t> number_in(Table table, std::string_view key, std::uint32_t most) {
  if (!is_in(table, key) || key.size() != 5) return std::nullopt;
  const std::uint64_t number = number_at(key, 1, 4);
  if (number == 0 || number > most) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

void put_time(Encoder& out, WallTime time) {
  out.svarint(in_reach(time).count());
}

// Thousandths of an hour.
void put_hours(Encoder& out, double hours) {
  const double most = 1e12;
  out.varint(static_cast<std::uint64_t>(std::llround(std::min(std::max(hours, 0.0), most) * 1000)));
}
double take_hours(Decoder& in) {
  return static_cast<double>(in.up_to(std::uint64_t{1} << 52U)) / 1000;
}

void put_terms(Encoder& out, const AllocateTerms& t) {
  out.varint(t.min).varint(t.max).varint(t.max_queued).varint(t.backlog);
  out.varint(t.min_utilization).svarint(in_reach(t.workers_idle).count());
  put_hours(out, t.budget_core_hours);
  put_hours(out, t.budget_node_hours);
}

AllocateTerms take_terms(Decoder& in) {
  AllocateTerms t;
  t.min = in.u32();
  t.max = in.u32();
  t.max_queued = in.u32();
  t.backlog = in.u32();
  t.min_utilization = static_cast<std::uint32_t>(in.up_to(1000));
  t.workers_idle = in.seconds();
  t.budget_core_hours = take_hours(in);
  t.budget_node_hours = take_hours(in);
  return t;
}

constexpr unsigned kSerialize = 1;
constexpr unsigned kFromLogin = 2;
constexpr unsigned kManaged = 4;
constexpr unsigned kNotFromHere = 8;
constexpr unsigned kToldOff = 16;
constexpr unsigned kSchedulerFlags = 31;

}  // namespace

Key allocation_key(std::uint32_t number) {
  return Key(Table::allocation).be32(number);
}
std::optional<std::uint32_t> allocation_in(std::string_view key) {
  return number_in(Table::allocation, key, kMostAllocations);
}
Key live_allocation_key(std::uint32_t number) {
  return Key(Table::live_allocation).be32(number);
}
std::optional<std::uint32_t> live_allocation_in(std::string_view key) {
  return number_in(Table::live_allocation, key, kMostAllocations);
}
Key scheduler_key(std::uint32_t number) {
  return Key(Table::scheduler).be32(number);
}
std::optional<std::uint32_t> scheduler_in(std::string_view key) {
  return number_in(Table::scheduler, key, kMostSchedulers);
}

std::string encode(const Allocation& a) {
  Encoder out;
  out.u8(static_cast<std::uint8_t>(a.stage)).varint(a.scheduler);
  out.u8(static_cast<std::uint8_t>(a.by)).varint(a.action).text(a.who).text(a.why);
  out.varint(a.nodes).svarint(in_reach(a.walltime).count()).varint(a.max_parallel_jobs);
  for (const WallTime time : {a.wanted_at, a.submitted_at, a.started_at, a.ends_at, a.ended_at,
                              a.absent_since, a.expected_start})
    put_time(out, time);
  out.varint(a.tries).text(a.submitter).text(a.mark).varint(a.user).varint(a.absent);
  out.text(a.cluster).text(a.id).text(a.state).text(a.reason).u8(a.is_surplus ? 1 : 0);
  out.u8(static_cast<std::uint8_t>(a.end)).text(a.said).varint(a.core_seconds).varint(a.cpus);
  if (a.used_core_ms > 0) out.varint(a.used_core_ms);
  return std::move(out).bytes();
}

std::optional<Allocation> decode_allocation(std::string_view value) {
  Decoder in(value);
  Allocation a;
  const std::uint8_t stage = in.u8();
  a.scheduler = in.u32();
  const std::uint8_t by = in.u8();
  a.action = in.u32();
  a.who = in.text();
  a.why = in.text();
  a.nodes = in.u32();
  a.walltime = in.seconds();
  a.max_parallel_jobs = in.u32();
  for (WallTime* time : {&a.wanted_at, &a.submitted_at, &a.started_at, &a.ends_at, &a.ended_at,
                         &a.absent_since, &a.expected_start})
    *time = in.wall_time();
  a.tries = in.u32();
  a.submitter = in.text();
  a.mark = in.text();
  a.user = in.u32();
  a.absent = in.u32();
  a.cluster = in.text();
  a.id = in.text();
  a.state = in.text();
  a.reason = in.text();
  const std::uint8_t surplus = in.u8();
  const std::uint8_t end = in.u8();
  a.said = in.text();
  a.core_seconds = in.varint();
  a.cpus = in.u32();
  if (in.ok() && !in.at_end()) {
    a.used_core_ms = in.varint();
    if (a.used_core_ms == 0) return std::nullopt;
  }
  if (stage > static_cast<std::uint8_t>(kLastAllocationStage) ||
      by > static_cast<std::uint8_t>(AskedBy::person) || surplus > 1 ||
      end > static_cast<std::uint8_t>(kLastAllocationEnd) || a.scheduler == 0 ||
      a.scheduler > kMostSchedulers || a.nodes == 0 || a.walltime.count() < 0)
    return std::nullopt;
  a.stage = static_cast<AllocationStage>(stage);
  a.by = static_cast<AskedBy>(by);
  a.is_surplus = surplus == 1;
  a.end = static_cast<AllocationEnd>(end);
  return in.whole(std::move(a));
}

std::string encode(const Scheduler& s) {
  Encoder out;
  out.text(s.name).text(s.script).text(s.job_name).varint(s.nodes);
  out.svarint(in_reach(s.walltime).count());
  put_terms(out, s.terms);
  out.u8(static_cast<std::uint8_t>(
      (s.serialize ? kSerialize : 0U) | (s.from_login ? kFromLogin : 0U) |
      (s.is_managed ? kManaged : 0U) | (s.not_from_here ? kNotFromHere : 0U) |
      (s.is_told_off ? kToldOff : 0U)));
  out.text(s.stopped).varint(s.failures);
  put_time(out, s.not_before);
  out.text(s.said);
  write_resources(out, s.node);
  write_later_resources(out, s.node);
  return std::move(out).bytes();
}

std::optional<Scheduler> decode_scheduler(std::string_view value) {
  Decoder in(value);
  Scheduler s;
  s.name = in.text();
  s.script = in.text();
  s.job_name = in.text();
  s.nodes = in.u32();
  s.walltime = in.seconds();
  s.terms = take_terms(in);
  const unsigned flags = in.u8();
  s.serialize = (flags & kSerialize) != 0;
  s.from_login = (flags & kFromLogin) != 0;
  s.is_managed = (flags & kManaged) != 0;
  s.not_from_here = (flags & kNotFromHere) != 0;
  s.is_told_off = (flags & kToldOff) != 0;
  s.stopped = in.text();
  s.failures = in.u32();
  s.not_before = in.wall_time();
  s.said = in.text();
  s.node = read_resources(in);
  if (flags > kSchedulerFlags || s.nodes == 0 || s.walltime.count() < 0 ||
      !read_later_resources(in, s.node))
    return std::nullopt;
  return in.whole(std::move(s));
}

Key left_node_key(std::string_view node) {
  return Key(Table::left_node, name_hash(node));
}

std::string encode(const LeftNode& left) {
  Encoder out;
  out.text(left.node).text(left.cluster);
  put_time(out, left.at);
  return std::move(out).bytes();
}

std::optional<LeftNode> decode_left_node(std::string_view value) {
  Decoder in(value);
  LeftNode left;
  left.node = in.text();
  left.cluster = in.text();
  left.at = in.wall_time();
  return in.whole(std::move(left));
}

std::string encode(const AllocationBook& book) {
  Encoder out;
  out.varint(book.allocations).varint(book.live).varint(book.wanted).varint(book.passes);
  put_time(out, book.passed_at);
  put_time(out, book.left_at);
  if (book.looked_at.count() != 0 || book.answered_at.count() != 0) {
    put_time(out, book.looked_at);
    put_time(out, book.answered_at);
  }
  return std::move(out).bytes();
}

std::optional<AllocationBook> decode_book(std::string_view value) {
  Decoder in(value);
  AllocationBook book;
  book.allocations = in.up_to(kMostAllocations);
  book.live = in.up_to(kMostAllocations);
  book.wanted = in.up_to(kMostAllocations);
  book.passes = in.varint();
  book.passed_at = in.wall_time();
  book.left_at = in.wall_time();
  if (!in.at_end()) {
    book.looked_at = in.wall_time();
    book.answered_at = in.wall_time();
  }
  return in.whole(book);
}

}  // namespace torc::claim
