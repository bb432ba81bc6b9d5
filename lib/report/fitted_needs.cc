#include "lib/report/fitted_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/text.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"

namespace torc::report {
namespace {

using claim::EndCause;
using spec::Need;
using std::chrono::microseconds;

constexpr std::uint64_t kWorthBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kWorthSeconds = std::uint64_t{30} * 60;
// Below this its CPU time tells little.
constexpr microseconds kShort = std::chrono::seconds(1);

constexpr std::size_t index(Need need) {
  return static_cast<std::size_t>(need);
}

std::uint64_t up_to(double amount, std::uint64_t step) {
  const double steps = std::max(1.0, std::ceil(amount / static_cast<double>(step)));
  return static_cast<std::uint64_t>(steps) * step;
}

std::uint64_t rounded_time(double seconds) {
  return up_to(seconds, seconds < 3600 ? 60 : 900);
}

// More, where it was too little: `use` times a multiplier, and more than was asked for by it.
Fit raised(std::uint64_t asked, double used, double by, bool ended, FitReason ended_for,
           std::uint64_t (*round)(double)) {
  double wanted = used * by;
  if (ended) wanted = std::max(wanted, static_cast<double>(asked) * by);
  return {std::max(asked, round(wanted)), ended ? ended_for : FitReason::above};
}

}  // namespace

std::string_view to_string(FitReason reason) {
  constexpr std::string_view kWords[] = {"none", "out_of_memory", "timed_out", "above", "wasted"};
  return word_of(reason, kWords);
}

Fit fitted(Need need, std::uint64_t asked, const NeedUse& use, const FitRules& rules) {
  const Fit as_it_is{asked, FitReason::none};
  const auto asks = static_cast<double>(asked);
  const double seconds = static_cast<double>(use.longest.count()) / 1e6;
  const bool may_lower = rules.lowers && !use.in_part && use.jobs > 0 && use.completed == use.jobs;
  switch (need) {
    case Need::memory: {
      const auto most = static_cast<double>(use.most_memory.value);
      if (use.out_of_memory > 0 || most > asks)
        return raised(asked, most, rules.memory, use.out_of_memory > 0, FitReason::out_of_memory,
                      rounded_memory);
      const std::uint64_t enough = rounded_memory(most * rules.memory);
      const bool worth = may_lower && use.weighed == use.jobs && enough + kWorthBytes < asked;
      return worth ? Fit{enough, FitReason::wasted} : as_it_is;
    }
    case Need::runtime:
    case Need::time_limit: {
      if (use.timed_out > 0 || seconds > asks)
        return raised(asked, seconds, rules.runtime, use.timed_out > 0, FitReason::timed_out,
                      rounded_time);
      const std::uint64_t enough = rounded_time(seconds * rules.runtime);
      const bool worth = may_lower && need == Need::runtime && enough + kWorthSeconds < asked;
      return worth ? Fit{enough, FitReason::wasted} : as_it_is;
    }
    case Need::cpus: {
      // A job cannot have used more than it had: whether it could use more is not known.
      const double enough = std::max(1.0, std::ceil(use.most_cpus * rules.cpus - 1e-9));
      const bool worth = may_lower && use.longest >= kShort && use.most_cpus > 0 && enough < asks;
      return worth ? Fit{static_cast<std::uint64_t>(enough), FitReason::wasted} : as_it_is;
    }
  }
  return as_it_is;
}

namespace {

void put(Resources& resources, Need need, std::uint64_t amount) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.word == spec::word(need)) kind.put(resources, amount);
  }
}

// CPUs and memory of a worker.
using Shape = std::pair<std::uint32_t, std::uint64_t>;

// Jobs of the file that the store has as the file has them.
struct Part {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  Resources asked;
  NeedUse use;
  std::map<Shape, microseconds> time;  // by the worker that had them
  std::uint64_t measured = 0;
  std::array<const spec::NeedValue*, spec::kNeeds.size()> values{};
};

struct Shared {
  spec::NeedValue value;
  Need need{};
  NeedUse use;
  std::string kept;
};

// Of one part, with amounts in place of those of its values: what nobody else could have meanwhile.
double core_hours(const Part& part, std::uint64_t cpus, std::uint64_t memory) {
  double hours = 0;
  for (const auto& [shape, time] : part.time) {
    const auto& [node_cpus, node_memory] = shape;
    double cores = static_cast<double>(cpus);
    if (node_cpus > 0 && node_memory > 0)
      cores = std::max(cores, static_cast<double>(node_cpus) * static_cast<double>(memory) /
                                  static_cast<double>(node_memory));
    if (node_cpus > 0) cores = std::min(cores, static_cast<double>(node_cpus));
    hours += cores * static_cast<double>(time.count()) / 3.6e9;
  }
  return hours * part.asked.nodes;
}

void note(Part& part, const claim::Job& job, const std::optional<claim::Worker>& worker) {
  const claim::Outcome& o = job.outcome;
  NeedUse& use = part.use;
  ++use.jobs;
  const bool ran = !claim::is_live(job.state) && o.cause != EndCause::none &&
                   o.cause != EndCause::not_started && !claim::is_loss(o.cause) &&
                   o.started_at.count() != 0;
  if (!ran) return;
  ++part.measured;
  const microseconds time = std::max<microseconds>(o.ended_at - o.started_at, microseconds{0});
  if (o.cause == EndCause::out_of_memory) ++use.out_of_memory;
  if (o.cause == EndCause::timed_out) ++use.timed_out;
  use.most_memory = std::max(use.most_memory, o.max_rss);
  use.longest = std::max(use.longest, time);
  if (job.state == claim::JobState::completed) {
    ++use.completed;
    if (o.max_rss.value > 0) ++use.weighed;
  }
  if (time.count() > 0)
    use.most_cpus = std::max(
        use.most_cpus, static_cast<double>(o.cpu_time.count()) / static_cast<double>(time.count()));
  part.time[worker ? Shape{worker->info.cpus, worker->info.memory.value} : Shape{}] += time;
}

void join(NeedUse& all, const NeedUse& use) {
  all.jobs += use.jobs;
  all.completed += use.completed;
  all.weighed += use.weighed;
  all.out_of_memory += use.out_of_memory;
  all.timed_out += use.timed_out;
  all.most_memory = std::max(all.most_memory, use.most_memory);
  all.longest = std::max(all.longest, use.longest);
  all.most_cpus = std::max(all.most_cpus, use.most_cpus);
  all.in_part = all.in_part || use.in_part;
}

class Fitting {
 public:
  Fitting(const claim::Reader& reader, const workflow::LoadedSpec& loaded,
          const spec::NeedValues& values, const FitRules& rules)
      : reader_(reader), loaded_(loaded), values_(values), rules_(rules) {}

  Result<NeedChanges> run() {
    for (const spec::ExpandedEntry& entry : loaded_.expansion->entries) TORC_TRY(add(entry));
    TORC_TRY(measure());
    for (const Part& part : parts_) share(part);
    decide();
    return tell();
  }

 private:
  Result<void> add(const spec::ExpandedEntry& entry) {
    Part part;
    part.count = entry.count;
    part.asked = static_cast<const Resources&>(entry.resources);
    for (const Need need : spec::kNeeds) {
      const spec::NeedValue* value = values_.find(entry.source, entry.resources.name, need);
      part.values[index(need)] = value;
      if (value == nullptr) continue;
      Shared& shared = shared_[value->begin];
      shared.value = *value;
      shared.need = need;
      if (!entry.resources.one_of.empty() && shared.kept.empty())
        shared.kept = "its jobs have alternatives (one_of)";
    }
    TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(entry.recipe));
    TORC_ASSIGN(const auto id, workflow::find_job(book_, reader_, recipe.name(0)));
    const auto page = id ? book_.find(reader_, *id) : nullptr;
    const bool same = page && page->job_template.first == *id &&
                      page->job_template.count == entry.count &&
                      page->recipe.name(entry.count - 1) == recipe.name(entry.count - 1);
    if (same) {
      part.first = raw(*id);
      part.asked = claim::read_class(reader_, page->job_template.job_class).need;
      part.use.in_part = part.asked.nodes > 1;
    } else {
      part.use.in_part = true;  // nothing is known of them
    }
    for (const Need need : spec::kNeeds) {
      const spec::NeedValue* value = part.values[index(need)];
      if (!same || value == nullptr || !value->fixed.empty()) continue;
      Shared& shared = shared_[value->begin];
      if (spec::amount_of(part.asked, need) != value->amount && shared.kept.empty())
        shared.kept = fmt::format("the file has changed since: the jobs had {}",
                                  spec::show_need(need, spec::amount_of(part.asked, need)));
    }
    parts_.push_back(std::move(part));
    return {};
  }

  Result<void> measure() {
    std::map<std::uint64_t, Part*> by_first;
    for (Part& part : parts_) {
      if (part.first != 0) by_first.emplace(part.first, &part);
    }
    std::map<std::uint64_t, std::optional<claim::Worker>> workers;
    return claim::scan_jobs(reader_, std::nullopt, [&](JobId id, const claim::Job& job) {
      auto part = by_first.upper_bound(raw(id));
      if (part == by_first.begin()) return true;
      --part;
      if (raw(id) - part->first >= part->second->count) return true;
      const std::uint64_t epoch = claim::raw(job.worker);
      auto worker = workers.find(epoch);
      if (worker == workers.end())
        worker = workers.emplace(epoch, claim::read_worker(reader_, job.worker)).first;
      note(*part->second, job, worker->second);
      return true;
    });
  }

  void share(const Part& part) {
    for (const spec::NeedValue* value : part.values) {
      if (value != nullptr) join(shared_[value->begin].use, part.use);
    }
  }

  // A runtime within its time limit, and not below its min_time, for each of its jobs.
  void decide() {
    for (auto& [begin, shared] : shared_)
      fits_[begin] = fitted(shared.need, shared.value.amount, shared.use, rules_);
    for (const Part& part : parts_) {
      const spec::NeedValue* runtime = part.values[index(Need::runtime)];
      const spec::NeedValue* limit = part.values[index(Need::time_limit)];
      if (runtime == nullptr) continue;
      Fit& fit = fits_[runtime->begin];
      if (limit != nullptr) {
        const bool stays = !kept(*limit).empty();
        fit.amount = std::min(fit.amount, stays ? limit->amount : fits_[limit->begin].amount);
      }
      fit.amount = std::max(fit.amount, static_cast<std::uint64_t>(part.asked.min_time.count()));
      if (fit.amount == runtime->amount) fit.reason = FitReason::none;
    }
  }

  [[nodiscard]] std::string kept(const spec::NeedValue& value) const {
    return value.fixed.empty() ? shared_.at(value.begin).kept : value.fixed;
  }

  // With `only`, of that value alone.
  [[nodiscard]] double hours(const Part& part, bool after,
                             std::optional<std::size_t> only = {}) const {
    const auto amount = [&](Need need) {
      const spec::NeedValue* value = part.values[index(need)];
      const std::uint64_t now = need == Need::cpus ? part.asked.cpus : part.asked.memory.value;
      const bool changes =
          after && value != nullptr && kept(*value).empty() && (!only || *only == value->begin);
      return changes ? fits_.at(value->begin).amount : now;
    };
    return core_hours(part, amount(Need::cpus), amount(Need::memory));
  }

  NeedChanges tell() {
    NeedChanges changes;
    for (const Part& part : parts_) {
      changes.measured += part.measured;
      changes.core_hours += hours(part, false);
      changes.saved_core_hours += hours(part, false) - hours(part, true);
    }
    for (const auto& [begin, shared] : shared_) {
      const Fit& fit = fits_.at(begin);
      if (fit.reason == FitReason::none || fit.amount == shared.value.amount) continue;
      NeedChange change{shared.value, shared.need, shared.use.jobs, fit, kept(shared.value), 0};
      for (const Part& part : parts_)
        change.saved_core_hours += hours(part, false) - hours(part, true, begin);
      changes.all.push_back(std::move(change));
    }
    return changes;
  }

  const claim::Reader& reader_;
  const workflow::LoadedSpec& loaded_;
  const spec::NeedValues& values_;
  const FitRules& rules_;
  workflow::RecipeBook book_;
  std::vector<Part> parts_;
  std::map<std::size_t, Shared> shared_;  // by NeedValue::begin
  std::map<std::size_t, Fit> fits_;
};

}  // namespace

std::map<std::size_t, std::uint64_t> NeedChanges::amounts() const {
  std::map<std::size_t, std::uint64_t> amounts;
  for (const NeedChange& change : all) {
    if (change.kept.empty()) amounts.emplace(change.value.begin, change.fit.amount);
  }
  return amounts;
}

bool is_as_planned(const workflow::LoadedSpec& before, const workflow::LoadedSpec& after,
                   const spec::NeedValues& values,
                   const std::map<std::size_t, std::uint64_t>& amounts) {
  if (!after.expansion) return false;
  const auto& old = before.expansion->entries;
  const auto& now = after.expansion->entries;
  return std::equal(old.begin(), old.end(), now.begin(), now.end(),
                    [&](const spec::ExpandedEntry& a, const spec::ExpandedEntry& b) {
                      spec::ResourceRequirements wanted = a.resources;
                      for (const Need need : spec::kNeeds) {
                        const auto* value = values.find(a.source, a.resources.name, need);
                        const auto amount =
                            value == nullptr ? amounts.end() : amounts.find(value->begin);
                        if (amount != amounts.end()) put(wanted, need, amount->second);
                      }
                      return a.first == b.first && a.count == b.count && a.recipe == b.recipe &&
                             a.scheduler == b.scheduler && a.labels == b.labels &&
                             a.priority == b.priority && wanted.same_needs(b.resources);
                    });
}

Result<NeedChanges> fit_needs(const claim::Reader& reader, const workflow::LoadedSpec& loaded,
                              const spec::NeedValues& values, const FitRules& rules) {
  return Fitting(reader, loaded, values, rules).run();
}

}  // namespace torc::report
