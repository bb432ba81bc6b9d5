#include "lib/spec/expand/job_dependencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

// The lowest number in both; 0: none. Precondition: both are normalised.
std::uint64_t first_common(const std::vector<Range>& a, const std::vector<Range>& b) {
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (x->end() <= y->first) {
      ++x;
    } else if (y->end() <= x->first) {
      ++y;
    } else {
      return std::max(x->first, y->first);
    }
  }
  return 0;
}

}  // namespace

std::vector<JobDependencies::Upstream> JobDependencies::upstreams_of(std::size_t e) {
  const JobEntry& entry = workflow_.jobs[e];
  const Family& family = jobs_[e];
  std::vector<Upstream> all;
  const auto take = [&](std::optional<RangeMap> map, Place place, bool by_name,
                        Condition condition) {
    if (map) all.push_back({*std::move(map), place, by_name, condition});
  };
  for (std::size_t i = 0; i < entry.depends_on.size(); ++i) {
    const Place place = entry.place_of("depends_on", i);
    take(names_.names({&family, entry.depends_on[i], place}), place, true, Condition::afterok);
  }
  for (std::size_t i = 0; i < entry.depends.size(); ++i) {
    const auto& [condition, name] = entry.depends[i];
    const Place place = entry.place_of("depends", i);
    take(names_.names({&family, name, place}), place, true, condition);
  }
  for (std::size_t i = 0; i < entry.depends_on_regexes.size(); ++i) {
    const Reference expression{&family, entry.depends_on_regexes[i],
                               entry.place_of("depends_on_regexes", i)};
    take(names_.expression(expression), expression.place, false, Condition::afterok);
  }
  for (std::size_t i = 0; i < entry.input_datasets.size(); ++i) {
    const RangeMap* const writers = writers_of(entry.input_datasets[i]);
    if (writers) take(*writers, entry.place_of("input_datasets", i), false, Condition::afterok);
  }
  if (after_ != 0) {
    RangeMap spawner;
    spawner.push({{after_, 1}});
    take(std::move(spawner), {}, false, Condition::afterok);
  }
  for (const JobFiles* files : {&files_, &user_data_}) {
    for (const RangeMap& inputs : files->of(e).inputs) {
      RangeMap makers = files->makers(inputs);
      if (!makers.is_empty()) take(std::move(makers), {}, false, Condition::afterok);
    }
  }
  return all;
}

const RangeMap* JobDependencies::writers_of(const std::string& dataset) {
  if (!writers_) {
    std::map<std::string, std::vector<Range>> found;
    for (std::size_t o = 0; o < workflow_.jobs.size(); ++o) {
      for (const std::string& name : workflow_.jobs[o].output_datasets) {
        if (jobs_[o].count > 0) found[name].push_back({jobs_[o].first, jobs_[o].count});
      }
    }
    writers_.emplace();
    for (auto& [name, ranges] : found) {
      normalise(ranges);
      (*writers_)[name].push(ranges);
    }
  }
  const auto at = writers_->find(dataset);
  return at == writers_->end() ? nullptr : &at->second;
}

void JobDependencies::report_self(const Family& family, const Upstream& upstream) {
  std::vector<Range> jobs;
  for (std::uint64_t k = 0; k < family.count; ++k) {
    jobs.clear();
    upstream.jobs.append_to(jobs, k);
    if (jobs.size() == 1 && jobs[0] == Range{family.first + k, 1}) {
      report_.error(
          upstream.place,
          fmt::format("job {} depends on itself", torc::quoted(jobs_.name(jobs[0].first))),
          "take it out of its dependencies");
      return;
    }
  }
}

// Nothing completes and fails.
void JobDependencies::warn_of_both(const Family& family, const std::vector<Upstream>& all) {
  const auto has = [&](Condition condition) {
    return std::ranges::find(all, condition, &Upstream::condition) != all.end();
  };
  if (!has(Condition::afternotok) || !has(Condition::afterok)) return;
  std::uint64_t block = family.count;  // as in add_sets()
  for (const Upstream& upstream : all) {
    if (upstream.jobs.varies()) block = std::min(block, upstream.jobs.period());
  }
  std::vector<Range> completed;
  std::vector<Range> failed;
  for (const Upstream& upstream : all) {
    if (upstream.condition != Condition::afternotok) continue;
    for (std::uint64_t k = 0; k < family.count; k += block) {
      completed.clear();
      failed.clear();
      upstream.jobs.append_to(failed, k);
      for (const Upstream& other : all) {
        if (other.condition == Condition::afterok) other.jobs.append_to(completed, k);
      }
      normalise(completed);
      normalise(failed);
      const std::uint64_t job = first_common(completed, failed);
      if (job == 0) continue;
      std::string name;
      family.append_name(name, k);
      const bool is_here = job >= jobs_[0].first;  // and not in a workflow that is added to
      report_.add(
          Severity::warning, upstream.place,
          fmt::format("{} can never start: {} would have to both complete and fail",
                      torc::quoted(name), is_here ? torc::quoted(jobs_.name(job)) : "a job"),
          "keep one of the two conditions; afterany is for either end");
      return;
    }
  }
}

void JobDependencies::add(std::size_t e) {
  const Family& family = jobs_[e];
  if (family.count == 0) return;
  const std::vector<Upstream> all = upstreams_of(e);
  for (const Upstream& upstream : all) {
    if (upstream.by_name) report_self(family, upstream);
  }
  warn_of_both(family, all);
  for (std::size_t c = 0; c < kConditions; ++c) add_sets(family, all, static_cast<Condition>(c));
}

void JobDependencies::add_sets(const Family& family, const std::vector<Upstream>& all,
                               Condition condition) {
  // Jobs of one block have the same upstreams: the periods of a product divide each other.
  std::uint64_t block = family.count;
  bool any = false;
  for (const Upstream& upstream : all) {
    if (upstream.condition != condition) continue;
    any = true;
    if (upstream.jobs.varies()) block = std::min(block, upstream.jobs.period());
  }
  if (!any) return;
  DependencySetBuilder& sets = sets_[static_cast<std::size_t>(condition)];
  std::vector<Range> ranges;
  std::vector<Range> without_self;
  for (std::uint64_t k = 0; k < family.count; k += block) {
    ranges.clear();
    for (const Upstream& upstream : all) {
      if (upstream.condition == condition) upstream.jobs.append_to(ranges, k);
    }
    normalise(ranges);
    if (ranges.empty()) continue;
    const Range own{family.first + k, block};
    if (ranges.back().end() <= own.first || ranges.front().first >= own.end()) {
      sets.add(ranges, own);
      continue;
    }
    for (std::uint64_t job = own.first; job < own.end(); ++job) {
      without_self = ranges;
      remove(without_self, job);
      if (!without_self.empty()) sets.add(without_self, {job, 1});
    }
  }
}

void JobDependencies::take(Expansion& expansion) && {
  expansion.dependencies = std::move(sets_[0]).take();
  for (std::size_t c = 1; c < kConditions; ++c) {
    for (DependencySet& set : std::move(sets_[c]).take())
      expansion.conditional.push_back({static_cast<Condition>(c), std::move(set)});
  }
}

}  // namespace torc::spec
