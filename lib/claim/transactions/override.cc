#include "lib/claim/transactions/override.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/scheduling/rank.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

void Setting::apply_to(Requirement& need) const {
  for (const ResourceKind& kind : kResourceKinds) {
    if (const auto set = needs.find(kind.word); set != needs.end()) kind.put(need, set->second);
  }
  // Which of them, and what part of one, was said of the number before.
  const auto erase = [&](auto is_replaced) { std::erase_if(need.named, is_replaced); };
  if (needs.contains("gpus") || std::ranges::any_of(named, [](const Amount& a) {
        return is_gpu(a.name) && a.thousandths > 0;
      }))
    erase([](const Amount& a) { return is_gpu(a.name); });
  for (const Amount& a : named) {
    if (a.thousandths > 0 && is_gpu(a.name)) need.gpus = 0;
    // So of a name and its types.
    if (a.thousandths > 0)
      erase([&](const Amount& b) { return is_of(b.name, a.name) || is_of(a.name, b.name); });
    set_amount(need.named, a);
  }
}

JobClass Setting::applied_to(JobClass c) const {
  for (std::uint32_t a = 0; a < c.alternatives(); ++a) apply_to(c.need_of(a));
  if (needs.contains("runtime")) c.learns_from = 0;  // a person knows better
  if (labels) c.labels = *labels;
  if (scheduler) c.scheduler = *scheduler;
  return c;
}

namespace {

class SettingWriter {
 public:
  SettingWriter(Transaction& tx, const Setting& setting)
      : setting_(setting), ledger_(tx, WallTime{}) {}

  Result<Change> run(JobRanges jobs) {
    each_job(ledger_.state(), jobs, [&](std::uint64_t id, const Job& job) { set(id, job); });
    if (too_many_)
      return Error{ErrorKind::invalid,
                   fmt::format("a job would need more than {} named resources", kMostNamed),
                   "NAME=none takes one of them away"};
    TORC_TRY(ledger_.close());
    return std::move(change_);
  }

 private:
  void set(std::uint64_t id, const Job& job) {
    const auto before = ledger_.state().rank_of(id);
    if (!before) return ledger_.state().damaged(Key(Table::span, id));
    Rank after = *before;
    if (job.state != JobState::completed)
      after = {class_for(before->job_class), setting_.priority.value_or(before->priority)};
    if (after == *before) {
      ++change_.left[static_cast<std::size_t>(job.state)];
      return;
    }
    put_rank(ledger_.tx(), ledger_.state(), id, after);
    ledger_.change_rank(id, job, *before, after);
    Job plain = job;
    plain.revoked = Revoked::no;  // that it is to be ended is none of this change
    change_.note(JobId{id}, job, plain);
  }

  // Most jobs are of few classes.
  std::uint32_t class_for(std::uint32_t before) {
    const auto known = classes_.find(before);
    if (known != classes_.end()) return known->second;
    const JobClass old = ledger_.state().job_class(before);
    const JobClass wanted = setting_.applied_to(old);
    for (std::uint32_t a = 0; a < wanted.alternatives(); ++a)
      too_many_ = too_many_ || wanted.need_of(a).named.size() > kMostNamed;
    if (too_many_) return before;
    const std::uint32_t number =
        wanted == old ? before : find_or_add_class(ledger_.tx(), ledger_.state(), wanted);
    classes_.emplace(before, number);
    return number;
  }

  const Setting& setting_;
  Ledger ledger_;
  Change change_;
  bool too_many_ = false;
  std::map<std::uint32_t, std::uint32_t> classes_;
};

}  // namespace

Result<Change> set_jobs(Transaction& tx, JobRanges jobs, const Setting& setting) {
  return SettingWriter(tx, setting).run(jobs);
}

}  // namespace torc::claim
