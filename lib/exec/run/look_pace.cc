#include "lib/exec/run/look_pace.h"

#include <algorithm>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kSoonest = 10ms;
constexpr nanoseconds kLatestLimited = 1s;
constexpr nanoseconds kLatest = 10s;
constexpr int kShare = 250;  // time that passes for each unit of processor time
constexpr nanoseconds kCredit = 5s;

// Half the time in which it reaches its limit, if it goes on growing as since the look before.
nanoseconds time_to_limit(const MemoryWatch& watch, ByteCount used, nanoseconds since) {
  if (used <= watch.before || used >= watch.limit) return kLatest;
  const auto grown = static_cast<double>(used.value - watch.before.value);
  const auto left = static_cast<double>(watch.limit.value - used.value);
  const double time = static_cast<double>(since.count()) * left / grown / 2;
  return time >= static_cast<double>(kLatest.count())
             ? kLatest
             : nanoseconds(static_cast<std::int64_t>(time));
}

}  // namespace

nanoseconds time_to_next_look(const MemoryWatch& watch, ByteCount used, BootTime now,
                              std::optional<BootTime> next_sample) {
  const bool limited = watch.limit.value != 0;
  nanoseconds wait = std::max<nanoseconds>(kFirstLook, (now - watch.since) / 8);
  wait = std::min(wait, limited ? kLatestLimited : kLatest);
  if (limited) wait = std::min(wait, time_to_limit(watch, used, now - watch.last));
  if (next_sample) wait = std::min(wait, *next_sample - now);
  return std::max(wait, kSoonest);
}

void LookBudget::pay(BootTime now, nanoseconds processor_time) {
  paid_until_ = std::max(paid_until_, now - kCredit) + kShare * processor_time;
}

}  // namespace torc::exec
