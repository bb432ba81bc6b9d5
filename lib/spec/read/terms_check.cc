#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/read/readers.h"

namespace torc::spec {
namespace {

std::string did_you_mean(const std::string& guess) {
  return fmt::format("did you mean {}?", torc::quoted(guess));
}

// What the jobs of an entry have of limits.
void check_uses(const Session& session, const JobEntry& job,
                const std::map<std::string, const Limit*>& known,
                const std::set<std::string>& entries) {
  std::set<std::string> named;
  for (const LimitUse& use : job.limits) {
    if (!named.insert(use.name).second) {
      session.report.error(use.place,
                           fmt::format("the limit {} is given twice", torc::quoted(use.name)),
                           fmt::format("write limits: {{{}: 2}} for two of it", use.name));
      continue;
    }
    if (!known.contains(use.name)) {
      if (entries.contains(use.name)) {
        session.report.error(use.place,
                             fmt::format("{} is an entry of 'jobs': its limit is for its own jobs",
                                         torc::quoted(use.name)),
                             "give the limit that jobs share another name");
      } else {
        const std::string guess = session.report.guess(use.name, [&] {
          std::vector<std::string> names;
          names.reserve(known.size());
          for (const auto& [name, limit] : known) names.push_back(name);
          return names;
        });
        session.report.error(use.place, fmt::format("no limit is named {}", torc::quoted(use.name)),
                             guess.empty()
                                 ? "say in the workflow's 'limits' how much there is of it"
                                 : did_you_mean(guess));
      }
      continue;
    }
    const Limit* limit = known.at(use.name);
    if (use.amount <= limit->most) continue;
    session.report.error(
        use.place,
        fmt::format("job {} needs {} of {}, and there are {}: it could never run",
                    torc::quoted(job.name), use.amount, torc::quoted(use.name), limit->most),
        "raise the limit, or let the job need less");
  }
}

}  // namespace

void check_limits(const Session& session, const Workflow& workflow) {
  std::set<std::string> entries;
  std::set<std::string> used;
  for (const JobEntry& job : workflow.jobs) {
    if (!job.name.empty()) entries.insert(job.name);
    for (const LimitUse& use : job.limits) used.insert(use.name);
  }
  std::map<std::string, const Limit*> known;
  for (const Limit& limit : workflow.limits) {
    if (limit.is_there || !entries.contains(limit.name)) known.emplace(limit.name, &limit);
  }
  for (const JobEntry& job : workflow.jobs) check_uses(session, job, known, entries);
  for (const Limit& limit : workflow.limits) {
    if (limit.is_there || entries.contains(limit.name) || used.contains(limit.name)) continue;
    const std::string guess = session.report.guess(limit.name, [&] {
      std::set<std::string> meant = entries;
      meant.insert(used.begin(), used.end());
      return std::vector<std::string>(meant.begin(), meant.end());
    });
    const std::string what =
        fmt::format("no entry of 'jobs' is named {}, and no job has it among its limits",
                    torc::quoted(limit.name));
    if (guess.empty()) {
      session.report.add(Severity::warning, limit.place, what,
                         fmt::format("name an entry as it is written, with its braces; or say "
                                     "limits: [{}] in the jobs that it is for",
                                     limit.name));
    } else {
      session.report.error(limit.place, what, did_you_mean(guess));
    }
  }
}

namespace {

void check_times_of(const Session& session, const Resources& r, const std::string& name,
                    Place place) {
  const auto tell = [&](const std::string& what, std::string remedy) {
    session.report.error(place, fmt::format("{} {}", torc::quoted(name), what), std::move(remedy));
  };
  if (r.time_limit.count() > 0 && r.runtime > r.time_limit) {
    tell(fmt::format("is expected to run {} and is ended after {}", show_exactly(r.runtime),
                     show_exactly(r.time_limit)),
         "let time_limit be the longer one");
  }
  if (r.min_time.count() > 0 && longest_time(r).count() > 0 && r.min_time > longest_time(r)) {
    tell(fmt::format("needs at least {} and is ended after {}", show_exactly(r.min_time),
                     show_exactly(longest_time(r))),
         "min_time is a part of the runtime");
  }
}

}  // namespace

namespace {

bool same_times(const Resources& a, const Resources& b) {
  return a.runtime == b.runtime && a.time_limit == b.time_limit && a.min_time == b.min_time;
}

// Whether whoever has what `other` needs has what `one` needs.
bool needs_no_more(const Resources& one, const Resources& other) {
  const auto has = [&](const Amount& a) {
    const Amount* there = find_amount(other.named, a.name);
    if (there == nullptr) return false;
    // All that there is may be less than so much.
    return there->thousandths == kAllThereIs ? a.thousandths == kAllThereIs
                                             : a.thousandths <= there->thousandths;
  };
  if (one.locality == Locality::strict && other.locality != Locality::strict) return false;
  return one.cpus <= other.cpus && one.memory <= other.memory && one.gpus <= other.gpus &&
         least_time(one) <= least_time(other) && std::ranges::all_of(one.named, has);
}

// An alternative that fits nowhere where one that is tried before it does not.
void check_order(const Session& session, const std::vector<Alternative>& all,
                 const std::string& name, Place place) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      const bool first = all[j].weight > all[i].weight || (all[j].weight == all[i].weight && j < i);
      if (!first || !needs_no_more(all[j].needs, all[i].needs)) continue;
      session.report.add(
          Severity::warning, place,
          fmt::format("alternative {} of {} is never taken: alternative {} is tried before it and "
                      "needs no more",
                      i + 1, torc::quoted(name), j + 1),
          "write the one that needs more first, or give it a larger weight");
      break;
    }
  }
}

}  // namespace

void check_times(const Session& session, const Workflow& workflow) {
  for (const ResourceRequirements& r : workflow.resource_requirements) {
    for (const Resources& one : choices_of(r)) check_times_of(session, one, r.name, r.place);
    // What is learned of how long jobs run may put them in another order.
    if (!workflow.learn_runtimes) check_order(session, r.one_of, r.name, r.place);
  }
  for (const JobEntry& job : workflow.jobs) {
    const auto found = std::ranges::find(workflow.resource_requirements, job.resource_requirements,
                                         &ResourceRequirements::name);
    const bool is_named =
        !job.resource_requirements.empty() && found != workflow.resource_requirements.end();
    const ResourceRequirements* const set = is_named ? &*found : nullptr;
    const ResourceRequirements needs = job.needs_with(set);
    const std::vector<Resources> choices = choices_of(needs);
    if (std::ranges::any_of(choices,
                            [](const Resources& r) { return r.named.size() > kMostNamed; })) {
      session.report.error(job.place_of_need({"resources"}),
                           fmt::format("{} needs more than {} resources with its set",
                                       torc::quoted(job.name), kMostNamed),
                           "name fewer");
    }
    // What the set alone gets wrong was told there.
    const std::vector<Resources> before =
        choices_of(set == nullptr ? ResourceRequirements{} : *set);
    if (!std::ranges::equal(choices, before, same_times)) {
      for (const Resources& one : choices) {
        check_times_of(session, one, job.name,
                       job.place_of_need({"time_limit", "min_time", "runtime", "one_of"}));
      }
    }
    if (!job.one_of.empty() && !workflow.learn_runtimes)
      check_order(session, needs.one_of, job.name, job.place_of("one_of"));
    if (job.checkpoint_exit_code != 0 || needs.min_time.count() == 0) continue;
    session.report.add(
        Severity::warning, job.place_of_need({"min_time"}),
        fmt::format("{} starts where {} are left and has no checkpoint_exit_code: what it has not "
                    "finished by the end of its worker's time is lost",
                    torc::quoted(job.name), show_exactly(needs.min_time)),
        "give it a checkpoint_exit_code, or leave min_time out");
  }
}

}  // namespace torc::spec
