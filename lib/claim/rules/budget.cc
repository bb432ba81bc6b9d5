#include "lib/claim/rules/budget.h"

#include <algorithm>

namespace torc::claim {
namespace {

using std::chrono::milliseconds;

// Further than anything is counted: sums of two stay within the type.
constexpr milliseconds kMost{std::int64_t{1} << 61};

milliseconds product(std::uint64_t n, milliseconds time, std::uint64_t per) {
  const double exact =
      static_cast<double>(n) * static_cast<double>(time.count()) / static_cast<double>(per);
  if (exact >= static_cast<double>(kMost.count())) return kMost;
  if (exact >= 1e15) return milliseconds(static_cast<std::int64_t>(exact));
  return milliseconds(static_cast<std::int64_t>(n) * time.count() / static_cast<std::int64_t>(per));
}

milliseconds sum(milliseconds a, milliseconds b) {
  return std::min(a + b, kMost);
}

std::uint64_t fits(milliseconds most, milliseconds committed, milliseconds one) {
  if (most.count() == 0) return UINT64_MAX;
  if (committed >= most) return 0;
  if (one.count() == 0) return UINT64_MAX;
  return static_cast<std::uint64_t>((most - committed) / one);
}

}  // namespace

Rate rate_of(const Requirement& need, std::uint32_t worker_cpus) {
  constexpr std::uint64_t kNode = 1000;
  Rate rate{std::uint64_t{need.cpus} * need.nodes, kNode * need.nodes};
  if (need.nodes == 1 && worker_cpus != 0)
    rate.millinodes = std::min(kNode, (kNode * need.cpus + worker_cpus - 1) / worker_cpus);
  return rate;
}

Usage cost(const Rate& rate, milliseconds time) {
  return {product(rate.cores, time, 1), product(rate.millinodes, time, 1000)};
}

void add(Usage& to, const Usage& what) {
  to.core = sum(to.core, what.core);
  to.node = sum(to.node, what.node);
}

milliseconds time_of(const Outcome& outcome) {
  if (outcome.started_at == WallTime{} || outcome.ended_at <= outcome.started_at) return {};
  return std::chrono::round<milliseconds>(outcome.ended_at - outcome.started_at);
}

Usage left(const Expense& e) {
  const auto rest = [](milliseconds most, milliseconds spent, milliseconds promised) {
    return std::max(milliseconds{0}, most - sum(spent, promised));
  };
  return {rest(e.most.core, e.spent.core, e.promised.core),
          rest(e.most.node, e.spent.node, e.promised.node)};
}

std::uint64_t affordable(const Expense& e, const Usage& cost) {
  return std::min(fits(e.most.core, sum(e.spent.core, e.promised.core), cost.core),
                  fits(e.most.node, sum(e.spent.node, e.promised.node), cost.node));
}

bool is_beyond(const Expense& expense, const Requirement& need) {
  // On a worker so large that a part of a node is next to nothing.
  return affordable(expense, cost(rate_of(need, UINT32_MAX), expected_time(need))) == 0;
}

bool is_beyond(const Expense& expense, const JobClass& job_class) {
  return is_beyond(expense, job_class.need) &&
         std::ranges::all_of(job_class.others,
                             [&](const Alternative& one) { return is_beyond(expense, one.need); });
}

}  // namespace torc::claim
