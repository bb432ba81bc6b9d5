#include "lib/claim/audit/verify_parts.h"

#include <fmt/format.h>

#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/budget.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

std::string say_limit(const Limit& limit) {
  return limit.kind == LimitKind::workflow ? "the workflow's limit"
                                           : fmt::format("'{}'", limit.name);
}

class QuotaAudit {
 public:
  QuotaAudit(const Reader& reader, const PlanTables& plan) : reader_(reader), plan_(plan) {}

  Result<void> run(const std::map<std::uint64_t, std::uint64_t>& occupied) {
    TORC_TRY(scan_limits(reader_, [&](const LimitState& one) {
      limits_.push_back(one);
      return true;
    }));
    for (const auto& [id, worker] : occupied) add(id, WorkerEpoch{worker});
    TORC_TRY(state_.sound());
    TORC_TRY(check_limits());
    return check_budget();
  }

 private:
  void add(std::uint64_t id, WorkerEpoch worker) {
    const auto rank = state_.rank_of(id);
    const std::uint32_t number = rank ? rank->job_class : plan_.span_of(id).job_class;
    const auto [it, added] = classes_.try_emplace(number);
    if (added) it->second = state_.job_class(number);
    for (const LimitShare& one : it->second.limits) used_[one.number] += one.amount;
    const auto [cpus, first] = cpus_.try_emplace(worker);
    if (first) {
      if (const auto known = state_.worker(worker)) cpus->second = known->info.cpus;
    }
    const auto job = state_.record(id);
    const Requirement& need = it->second.need_of(job ? job->alternative : 0);
    const Usage one = cost(rate_of(need, cpus->second), expected_time(need));
    promised_.core += one.core;
    promised_.node += one.node;
  }

  Result<void> check_limits() {
    std::uint64_t taken = 0;  // limits with any slot taken
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const LimitState& one = limits_[i];
      const std::uint64_t used = used_[static_cast<std::uint32_t>(i + 1)];
      if (one.used > 0) ++taken;
      if (one.used == used) continue;
      return wrong(fmt::format("{} of {} are counted as in use where {} are", one.used,
                               say_limit(one.limit), used));
    }
    TORC_TRY(each(reader_, Table::slots, [&](const store::Entry&) -> Result<void> {
      if (taken-- == 0) return wrong("slots are taken of a limit that is none");
      return {};
    }));
    if (count_entries(reader_, Table::limit) != limits_.size())
      return wrong("a limit is missing or unreadable");
    return each(reader_, Table::job_class, [&](const store::Entry& e) -> Result<void> {
      const auto job_class = decode_class(e.value);
      if (!job_class) return unreadable(e.key);
      if (!job_class->limits.empty() && job_class->limits.back().number > limits_.size())
        return wrong("a class has a limit that is none");
      return {};
    });
  }

  Result<void> check_budget() {
    const auto expense = read_expense(reader_);
    if (!expense) {
      if (const Key key(Table::expense); reader_.get(key)) return unreadable(key);
      return {};
    }
    if (expense->promised == promised_) return {};
    return wrong(fmt::format(
        "{} ms of a CPU and {} ms of a node are promised of the budget, and jobs have {} and {}",
        expense->promised.core.count(), expense->promised.node.count(), promised_.core.count(),
        promised_.node.count()));
  }

  const Reader& reader_;
  const PlanTables& plan_;
  State state_{reader_};
  std::vector<LimitState> limits_;
  std::map<std::uint32_t, std::uint64_t> used_;
  std::map<std::uint32_t, JobClass> classes_;
  std::map<WorkerEpoch, std::uint32_t> cpus_;
  Usage promised_;
};

}  // namespace

Result<void> audit_quota(const Reader& reader, const PlanTables& plan,
                         const std::map<std::uint64_t, std::uint64_t>& occupied) {
  return QuotaAudit(reader, plan).run(occupied);
}

}  // namespace torc::claim
