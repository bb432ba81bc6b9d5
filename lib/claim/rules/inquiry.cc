#include "lib/claim/rules/inquiry.h"

#include <algorithm>

namespace torc::claim {
namespace {

constexpr std::chrono::seconds kEndAge{120};   // it is asked for again after so long,
constexpr std::chrono::seconds kNoEndAge{30};  // or when it is not known,
constexpr std::chrono::seconds kPatience{60};  // or when nothing came of a question

// From 1 to 1.5 times.
std::chrono::nanoseconds spread(std::chrono::nanoseconds time, double dice) {
  return time + std::chrono::duration_cast<std::chrono::nanoseconds>(time * (dice / 2));
}

}  // namespace

std::optional<RunEnd> end_of(const Inquiry& inquiry, const WorkerInfo& worker) {
  const auto is_its = [&](const RunEnd& run) {
    const bool same = worker.allocation_start.count() == 0 || run.start == worker.allocation_start;
    return same && run.cluster == worker.cluster && run.allocation == worker.allocation;
  };
  const auto found = std::find_if(inquiry.ends.begin(), inquiry.ends.end(), is_its);
  return found == inquiry.ends.end() ? std::nullopt : std::optional(*found);
}

void AskTurn::saw(std::uint64_t asked, BootTime now) {
  if (asked_ == asked) return;
  asked_ = asked;
  since_ = now;
}

bool AskTurn::may_ask(BootTime now) const {
  return asked_ && now >= next();
}

BootTime AskTurn::next() const {
  return since_ + interval_;
}

void EndWish::told(BootTime now, double dice) {
  due_ = now + spread(kEndAge, dice);
}

void EndWish::unknown(BootTime now, double dice) {
  due_ = now + spread(kNoEndAge, dice);
}

void EndWish::asked(BootTime now, double dice) {
  if (due_ != BootTime::max()) due_ = std::max(due_, now + spread(kPatience, dice));
}

}  // namespace torc::claim
