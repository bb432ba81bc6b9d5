#include "lib/spec/expand/action_jobs.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace torc::spec {

std::vector<std::vector<Range>> jobs_of_actions(const Workflow& workflow, Resolver& job_names,
                                                Report& report) {
  std::vector<std::vector<Range>> all;
  const Family nobody;
  for (const Action& action : workflow.actions) {
    std::vector<Range>& jobs = all.emplace_back();
    bool sound = true;
    const auto take = [&](const std::optional<RangeMap>& found) {
      sound = sound && found.has_value();
      if (found) found->append_to(jobs, 0);
    };
    const auto place_in = [&](std::string_view key, std::size_t i) {
      const auto element = action.places.find(fmt::format("{}[{}]", key, i));
      if (element != action.places.end()) return element->second;
      const auto whole = action.places.find(std::string(key));
      return whole == action.places.end() ? action.place : whole->second;
    };
    for (std::size_t i = 0; i < action.jobs.size(); ++i)
      take(job_names.names({&nobody, action.jobs[i], place_in("jobs", i)}));
    for (std::size_t i = 0; i < action.job_name_regexes.size(); ++i) {
      take(job_names.expression(
          {&nobody, action.job_name_regexes[i], place_in("job_name_regexes", i)}));
    }
    normalise(jobs);
    const bool of_jobs =
        action.trigger == Trigger::on_jobs_ready || action.trigger == Trigger::on_jobs_complete;
    const bool named = !action.jobs.empty() || !action.job_name_regexes.empty();
    if (of_jobs && named && sound && jobs.empty())
      report.error(action.place, "the action is about no job", "name jobs that there are");
  }
  return all;
}

}  // namespace torc::spec
