#include "lib/claim/rules/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace torc::claim {
namespace {

constexpr std::chrono::seconds kLongestPause{30 * 60};

template <std::size_t N>
std::string_view named(const std::array<std::string_view, N>& names, std::size_t at) {
  return at < N ? names[at] : "?";
}

bool has_ended_by_failure(std::string_view state) {
  return state == "FAILED" || state == "NODE_FAIL" || state == "BOOT_FAIL" ||
         state == "OUT_OF_MEMORY";
}

AllocationEnd end_of(const Allocation& allocation, const Seen& row) {
  if (has_ended_by_failure(row.state)) return AllocationEnd::failed;
  // Of one that never ran some systems say that it began when it ended.
  const bool ran = allocation.stage == AllocationStage::running ||
                   (row.start.count() > 0 && (row.end.count() == 0 || row.end > row.start));
  // Other systems than Slurm do not say why something is over.
  const bool is_canceled = row.state.starts_with("CANCELLED") || allocation.is_surplus;
  if (is_canceled && !ran) return AllocationEnd::canceled;
  return AllocationEnd::over;
}

// What its present run was granted until then.
std::uint64_t granted_until(const Allocation& a, WallTime at) {
  if (a.started_at.count() <= 0 || at <= a.started_at) return 0;
  const auto time = std::chrono::duration_cast<std::chrono::seconds>(at - a.started_at);
  return std::uint64_t{a.cpus} * static_cast<std::uint64_t>(time.count());
}

void finish(Allocation& a, AllocationEnd end, WallTime at) {
  a.stage = AllocationStage::ended;
  a.end = end;
  a.ended_at = at;
  a.is_surplus = false;
  a.expected_start = {};
  a.absent = 0;
  a.absent_since = {};
  a.core_seconds += granted_until(a, at);
}

// It ended, or was taken for that, and is there.
void revive(Allocation& a) {
  if (is_live(a)) return;
  const std::uint64_t counted = granted_until(a, a.ended_at);
  a.core_seconds -= std::min(a.core_seconds, counted);
  // What was to be canceled still is.
  a.is_surplus = a.end == AllocationEnd::canceled;
  a.end = AllocationEnd::none;
  a.ended_at = {};
}

// The newest try is nothing: another one follows, unless it is not to be any more.
void give_up_try(Allocation& a, WallTime now) {
  if (a.is_surplus) return finish(a, AllocationEnd::withdrawn, now);
  a.stage = AllocationStage::wanted;
  a.absent = 0;
  a.absent_since = {};
}

bool is_known_as(std::string_view cluster, std::string_view id, const Allocation& a) {
  return !a.id.empty() && id == a.id &&
         (a.cluster.empty() || cluster.empty() || cluster == a.cluster);
}
bool is_row_of(const Allocation& a, const Seen& row) {
  return is_known_as(row.cluster, row.id, a);
}

void take(Allocation& a, const Seen& row, WallTime now) {
  revive(a);
  a.absent = 0;
  a.absent_since = {};
  if (!row.cluster.empty() || row.id != a.id) a.cluster = row.cluster;
  a.id = row.id;
  a.state = row.state;
  a.reason = row.as == Seen::As::waits ? row.reason : std::string();
  a.expected_start = row.as == Seen::As::waits ? row.start : WallTime{};
  switch (row.as) {
    case Seen::As::waits:
      // Of one that ran and was requeued the next run has not begun.
      if (a.stage == AllocationStage::running) a.core_seconds += granted_until(a, now);
      a.stage = AllocationStage::queued;
      a.started_at = a.ends_at = {};
      break;
    case Seen::As::runs:
      a.stage = AllocationStage::running;
      if (row.start.count() > 0) a.started_at = row.start;
      a.ends_at = row.end;
      if (row.end.count() == 0 && a.started_at.count() > 0 && a.walltime.count() > 0)
        a.ends_at = a.started_at + a.walltime;
      break;
    case Seen::As::over: {
      const AllocationEnd end = end_of(a, row);
      if (row.start.count() > 0 && end != AllocationEnd::canceled) a.started_at = row.start;
      finish(a, end, row.end.count() > 0 ? row.end : now);
      break;
    }
    case Seen::As::other:
      if (a.stage == AllocationStage::intent || a.stage == AllocationStage::wanted)
        a.stage = AllocationStage::queued;
      break;
  }
}

// Of several allocations of one intent that one stays which runs, else the older one.
bool goes_before(const Seen& a, const Seen& b) {
  const auto rank = [](const Seen& row) {
    switch (row.as) {
      case Seen::As::runs:
        return 0;
      case Seen::As::waits:
        return 1;
      case Seen::As::other:
        return 2;
      case Seen::As::over:
        break;
    }
    return 3;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.submitted != b.submitted) return a.submitted < b.submitted;
  if (a.id != b.id) return a.id.size() != b.id.size() ? a.id.size() < b.id.size() : a.id < b.id;
  // Of two rows of one the one that says more.
  return !a.cluster.empty() && b.cluster.empty();
}

}  // namespace

std::string_view to_string(AllocationStage stage) {
  static constexpr std::array<std::string_view, 5> kNames{"wanted", "intent", "queued", "running",
                                                          "ended"};
  return named(kNames, static_cast<std::size_t>(stage));
}

std::string_view to_string(AllocationEnd end) {
  static constexpr std::array<std::string_view, 7> kNames{
      "none", "withdrawn", "refused", "canceled", "over", "failed", "lost"};
  return named(kNames, static_cast<std::size_t>(end));
}

std::string_view to_string(AskedBy by) {
  static constexpr std::array<std::string_view, 3> kNames{"demand", "action", "person"};
  return named(kNames, static_cast<std::size_t>(by));
}

Scheduler restarted(Scheduler scheduler) {
  scheduler.stopped.clear();
  scheduler.failures = 0;
  scheduler.not_before = {};
  scheduler.said.clear();
  return scheduler;
}

Scheduler taken_over(const Scheduler& before, Scheduler now) {
  if (now.node.cpus == 0) now.node = before.node;  // as its workers found it
  now.is_managed = before.is_managed || (now.is_managed && !before.is_told_off);
  now.stopped = before.stopped;
  now.failures = before.failures;
  now.not_before = before.not_before;
  now.said = before.said;
  now.not_from_here = before.not_from_here;
  now.is_told_off = before.is_told_off;
  return now;
}

std::chrono::seconds pause_after(std::uint32_t failures) {
  if (failures == 0) return std::chrono::seconds{0};
  if (failures > 5) return kLongestPause;
  return std::min<std::chrono::seconds>(std::chrono::minutes(1 << (failures - 1)), kLongestPause);
}

std::string intent_name(std::string_view job_name, std::string_view mark, std::uint32_t number,
                        std::uint32_t attempt) {
  return fmt::format("{}-{}-{}.{}", job_name.substr(0, 120), mark, number, attempt);
}

std::vector<std::string> intent_names(const Scheduler& scheduler, std::uint32_t number,
                                      const Allocation& allocation) {
  std::vector<std::string> names;
  const std::uint32_t tries = allocation.tries;
  for (std::uint32_t t = tries > kTriesLookedFor ? tries - kTriesLookedFor + 1 : 1; t <= tries; ++t)
    names.push_back(intent_name(scheduler.job_name, allocation.mark, number, t));
  return names;
}

std::optional<IntentName> read_intent_name(std::string_view name, std::string_view mark) {
  const std::string before = fmt::format("-{}-", mark);
  const auto at = name.rfind(before);
  if (mark.empty() || at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + before.size());
  const auto dot = rest.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  IntentName read;
  const auto number = [](std::string_view text, std::uint32_t& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return !text.empty() && text.front() != '0' && error == std::errc() &&
           end == text.data() + text.size();
  };
  if (!number(rest.substr(0, dot), read.number) || !number(rest.substr(dot + 1), read.attempt))
    return std::nullopt;
  return read;
}

bool may_submit(const Allocation& allocation, const Scheduler& scheduler, WallTime now) {
  if (allocation.stage != AllocationStage::wanted || allocation.is_surplus) return false;
  if (!scheduler.stopped.empty()) return false;
  // A pause that lasts for longer than any is of a clock that went wrong.
  return now >= scheduler.not_before || scheduler.not_before - now > kLongestPause;
}

Allocation begun(Allocation allocation, Submitter by, WallTime now) {
  allocation.stage = AllocationStage::intent;
  ++allocation.tries;
  allocation.submitter = std::move(by.who);
  allocation.mark = std::move(by.mark);
  allocation.cluster = std::move(by.cluster);
  allocation.user = by.user;
  allocation.submitted_at = now;
  allocation.absent = 0;
  allocation.absent_since = {};
  return allocation;
}

AfterTry after_try(Allocation allocation, Scheduler scheduler, std::uint32_t attempt,
                   const AttemptEnd& end, WallTime now) {
  AfterTry after{std::move(allocation), std::move(scheduler), {}};
  Allocation& a = after.allocation;
  Scheduler& s = after.scheduler;
  // Without an id it may be anything: the look for its name tells.
  if (end.what == Attempted::accepted && !end.id.empty()) {
    // What an older try brought is as good as what the next one may bring, as long as there is no
    // other.
    const bool may_be_it =
        (a.stage == AllocationStage::intent || a.stage == AllocationStage::wanted) &&
        a.id.empty() && attempt >= 1 && attempt <= a.tries;
    const bool is_its = is_known_as(end.cluster, end.id, a);
    if (!may_be_it && !is_its) {
      after.surplus = end.id;
      return after;
    }
    s = restarted(std::move(s));
    s.not_from_here = false;
    if (is_its) return after;
    a.stage = AllocationStage::queued;
    a.cluster = end.cluster;
    a.id = end.id;
    a.state = "PENDING";
    a.said = end.said;
    a.absent = 0;
    a.absent_since = {};
    if (a.is_surplus) after.surplus = a.id;
    return after;
  }
  if (a.stage != AllocationStage::intent || a.tries != attempt) return after;
  a.said = end.said;
  switch (end.what) {
    case Attempted::refused:
      if (end.not_from_here) {
        // Nothing is wrong with it: somebody else submits it.
        give_up_try(a, now);
        s.not_from_here = true;
        break;
      }
      finish(a, AllocationEnd::refused, now);
      s.stopped = end.said.empty() ? "the batch system refused it" : end.said;
      break;
    case Attempted::later:
      give_up_try(a, now);
      s.failures = std::min(s.failures, UINT32_MAX - 1) + 1;
      s.not_before = now + pause_after(s.failures);
      s.said = end.said;
      break;
    case Attempted::accepted:
    case Attempted::unclear:
      break;
  }
  return after;
}

namespace {

// Which of the rows is the allocation; nullptr: none.
const Seen* its_row(const Allocation& a, const std::vector<Seen>& rows) {
  const Seen* found = nullptr;
  if (a.id.empty() && !is_live(a)) return found;  // it was never to be
  for (const Seen& row : rows) {
    // That which was said to be it is it.
    if (!a.id.empty() && !is_row_of(a, row)) continue;
    if (row.id.empty()) continue;
    // What an older try brought, and is over, says nothing of the newest one.
    const bool is_past =
        row.as == Seen::As::over && (a.stage == AllocationStage::wanted || row.attempt < a.tries);
    if (a.id.empty() && (row.attempt == 0 || row.attempt > a.tries || is_past)) continue;
    if (found == nullptr || goes_before(row, *found)) found = &row;
  }
  return found;
}

// It is not in a whole answer.
void note_absence(Allocation& a, bool accounting, WallTime now) {
  // The clock of who looked first may be another one, and go ahead.
  if (a.absent == 0 || a.absent_since > now) a.absent_since = now;
  a.absent = std::min(a.absent, UINT32_MAX - 1) + 1;
  const bool is_overdue =
      a.stage == AllocationStage::running && a.ends_at.count() > 0 && now > a.ends_at + kAbsentFor;
  std::chrono::minutes unseen = kLostAfter;
  if (accounting || is_overdue) {
    unseen = kAbsentFor;
  } else if (a.stage == AllocationStage::intent) {
    unseen = kIntentAbsentFor;
  }
  if (a.absent < kAbsentLooks || now < a.absent_since + unseen) return;
  if (a.stage == AllocationStage::intent) return give_up_try(a, now);
  finish(a, a.is_surplus ? AllocationEnd::canceled : AllocationEnd::lost, now);
}

}  // namespace

AfterLook after_look(Allocation allocation, const Look& look, WallTime now) {
  AfterLook after{std::move(allocation), {}};
  Allocation& a = after.allocation;
  const Seen* its = its_row(a, look.rows);
  // What has ended stays so, unless it is there.
  const bool counts =
      its != nullptr && (is_live(a) || its->as == Seen::As::waits || its->as == Seen::As::runs);
  if (counts) {
    take(a, *its, now);
  } else if (its == nullptr && look.whole && may_be_there(a)) {
    note_absence(a, look.accounting, now);
  }
  for (const Seen& row : look.rows) {
    // Nobody waits for what another try brought.
    const bool is_other =
        row.as != Seen::As::over && row.attempt != 0 && !row.id.empty() && !is_row_of(a, row);
    if (is_other && std::ranges::find(after.surplus, row.id) == after.surplus.end())
      after.surplus.push_back(row.id);
  }
  return after;
}

AfterBinding after_binding(Allocation allocation, std::uint32_t attempt, std::string_view cluster,
                           std::string_view id, WallTime start, WallTime now,
                           std::uint32_t node_cpus) {
  AfterBinding after{std::move(allocation), Admission::yes};
  Allocation& a = after.allocation;
  // An older try may bind as long as nothing else has: there is one allocation then, and it works.
  const bool may_be_it = a.id.empty() && !id.empty() && attempt >= 1 && attempt <= a.tries &&
                         (a.stage == AllocationStage::intent || a.stage == AllocationStage::wanted);
  const bool is_known = is_known_as(cluster, id, a);
  const bool is_not_to_be = a.is_surplus || a.end == AllocationEnd::canceled;
  if ((!is_known && !may_be_it) || is_not_to_be) {
    after.admission = Admission::surplus;
    return after;
  }
  revive(a);
  const bool began = a.stage != AllocationStage::running;
  const WallTime before = a.started_at;
  a.stage = AllocationStage::running;
  if (!cluster.empty() || !is_known) a.cluster = cluster;
  a.id = id;
  a.state = "RUNNING";
  a.reason.clear();
  a.expected_start = {};
  a.absent = 0;
  a.absent_since = {};
  if (start.count() > 0) {
    a.started_at = start;
  } else if (a.started_at.count() == 0) {
    a.started_at = now;
  }
  if ((began || a.started_at != before) && a.walltime.count() > 0)
    a.ends_at = a.started_at + a.walltime;
  if (node_cpus > 0)
    a.cpus = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{node_cpus} * a.nodes, UINT32_MAX));
  return after;
}

}  // namespace torc::claim
