#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/read/readers.h"

namespace torc::spec {
namespace {

template <class Names>
std::string did_you_mean(const std::string& name, const Names& known, std::string otherwise) {
  const std::string guess = nearest(name, {known.begin(), known.end()});
  return guess.empty() ? std::move(otherwise)
                       : fmt::format("did you mean {}?", torc::quoted(guess));
}

// What the jobs of an entry have of limits.
void check_uses(const Session& session, const JobEntry& job, const Workflow& workflow,
                const std::set<std::string>& entries) {
  std::set<std::string> known;
  for (const Limit& limit : workflow.limits) {
    if (limit.is_there || !entries.contains(limit.name)) known.insert(limit.name);
  }
  std::set<std::string> named;
  for (const LimitUse& use : job.limits) {
    if (!named.insert(use.name).second) {
      session.report.error(use.place,
                           fmt::format("the limit {} stands there twice", torc::quoted(use.name)),
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
        session.report.error(
            use.place, fmt::format("no limit is named {}", torc::quoted(use.name)),
            did_you_mean(use.name, known,
                         "say in the workflow's 'limits' how much there is of it"));
      }
      continue;
    }
    const auto limit = std::ranges::find(workflow.limits, use.name, &Limit::name);
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
  for (const JobEntry& job : workflow.jobs) check_uses(session, job, workflow, entries);
  for (const Limit& limit : workflow.limits) {
    if (limit.is_there || entries.contains(limit.name) || used.contains(limit.name)) continue;
    std::set<std::string> meant = entries;
    meant.insert(used.begin(), used.end());
    const std::string what =
        fmt::format("no entry of 'jobs' is named {}, and no job has it among its limits",
                    torc::quoted(limit.name));
    if (nearest(limit.name, {meant.begin(), meant.end()}).empty()) {
      session.report.add(Severity::warning, limit.place, what,
                         fmt::format("name an entry as it is written, with its braces; or say "
                                     "limits: [{}] in the jobs that it is for",
                                     limit.name));
    } else {
      session.report.error(limit.place, what, did_you_mean(limit.name, meant, ""));
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

void check_times(const Session& session, const Workflow& workflow) {
  for (const ResourceRequirements& r : workflow.resource_requirements)
    check_times_of(session, r, r.name, r.place);
  for (const JobEntry& job : workflow.jobs) {
    const auto found = std::ranges::find(workflow.resource_requirements, job.resource_requirements,
                                         &ResourceRequirements::name);
    const bool is_named =
        !job.resource_requirements.empty() && found != workflow.resource_requirements.end();
    const ResourceRequirements* const set = is_named ? &*found : nullptr;
    const Resources needs = job.needs.over_set(set);
    if (needs.named.size() > kMostNamed) {
      session.report.error(job.place_of_need({"resources"}),
                           fmt::format("{} needs more than {} resources with its set",
                                       torc::quoted(job.name), kMostNamed),
                           "name fewer");
    }
    // What the set alone gets wrong was told there.
    const Resources before = SaidNeeds().over_set(set);
    if (needs.runtime != before.runtime || needs.time_limit != before.time_limit ||
        needs.min_time != before.min_time) {
      check_times_of(session, needs, job.name,
                     job.place_of_need({"time_limit", "min_time", "runtime"}));
    }
    if (job.checkpoint_exit_code != 0 || needs.min_time.count() == 0) continue;
    session.report.add(
        Severity::warning, job.place_of_need({"min_time"}),
        fmt::format("{} starts where {} are left and has no checkpoint_exit_code: what it has not "
                    "done by the end of its worker's time is lost",
                    torc::quoted(job.name), show_exactly(needs.min_time)),
        "give it a checkpoint_exit_code, or leave min_time out");
  }
}

}  // namespace torc::spec
