// torc set: jobs get other needs, another label or priority; limits of the workflow are other ones.
#include <cstdint>
#include <optional>

#include "bin/commands/change/change_jobs.h"
#include "bin/commands/change/set_kept_attempts.h"
#include "bin/commands/change/set_limits.h"
#include "bin/commands/change/set_workdir.h"
#include "bin/commands/workdir.h"
#include "lib/base/quantities.h"
#include "lib/workflow/change/setting_words.h"

namespace torc::cli {
namespace {

using claim::JobState;

// Of those that were set: what `torc retry` is told to let `over` of them run again.
std::string retry_words(const ChangeReport& report, std::uint64_t over) {
  constexpr std::uint64_t kMostNames = 5;
  const claim::Change& change = report.change;
  if (over > kMostNames || change.total() != over || report.names.size() != over) {
    const bool canceled = change.changed[static_cast<std::size_t>(JobState::canceled)] > 0;
    return canceled ? "--failed --canceled" : "--failed";
  }
  std::string words;
  for (std::size_t i = 0; i < over; ++i)
    words += (i == 0 ? "" : " ") + workflow::job_word(report.names[i], change.first[i]);
  return words;
}

// The words are names and settings, KEY=VALUE.
Result<Exit> run_set(const App& app, const ChangeOptions& options) {
  TORC_ASSIGN(auto words, workflow::parse_setting(options.jobs.words));
  ChangeOptions named = options;
  named.jobs.words = words.names;
  const ChangeKind kind{
      fmt::format("set {} of", words.shown),
      fmt::format("would set {} of", words.shown),
      claim::states_with(claim::trait::kSettable),
      [&](claim::Transaction& tx, claim::JobRanges jobs) -> Result<claim::Change> {
        TORC_TRY(workflow::check_mode(tx, words.setting));
        return claim::set_jobs(tx, jobs, words.setting);
      },
      false,
      true};
  return run_change(app, named, kind, [&](const ChangeReport& report, const Path& store) {
    std::uint64_t over = 0;
    for (const JobState state :
         {JobState::failed, JobState::terminated, JobState::canceled, JobState::pending_failed})
      over += report.change.changed[static_cast<std::size_t>(state)];
    if (over > 0) {
      say(app.out, "{}: torc retry {} {}\n",
          over == 1
              ? "one of these jobs has ended; this counts when it is tried again"
              : fmt::format("{} of these jobs have ended; this counts when they are tried again",
                            show_count(over)),
          workflow::shown_path(app, store), retry_words(report, over));
    }
    const auto n = report.change.changed[static_cast<std::size_t>(JobState::claimed)] +
                   report.change.changed[static_cast<std::size_t>(JobState::running)];
    if (n > 0) {
      say(app.out, "{} of them are claimed or running: this counts only for another attempt\n",
          show_count(n));
    }
  });
}

}  // namespace

void add_set(Command& c) {
  auto& o = add_change(c, "Change what jobs need, their label or priority, or a limit",
                       "[STORE] NAME… KEY=VALUE…: " + workflow::setting_keys());
  add_all(c, o.jobs, "all jobs that have not completed");
  add_state(c, o.jobs, claim::states_with(claim::trait::kSettable));
  auto& limits = c.options<std::vector<std::string>>();
  const Flag limit =
      c.option(
           "--limit", limits,
           "instead of jobs: how much there is of one of the workflow's limits (max_parallel, an "
           "entry, a name); may be repeated")
          .value("NAME=N")
          .one_at_a_time();
  auto& kept = c.options<std::optional<std::uint32_t>>();
  const Flag keep = c.option("--keep-attempts", kept,
                             "instead of jobs: how many attempts of each job before its newest are "
                             "kept (50)")
                        .value("N")
                        .excludes(limit);
  auto& workdir = c.options<std::string>();
  add_workdir(c, workdir, "instead of jobs: where the jobs of the workflow run from now on")
      .excludes(limit)
      .excludes(keep);
  c.run([&](const App& app) {
    if (kept) return set_kept_attempts(app, o, *kept);
    if (!workdir.empty()) return set_workdir(app, o, workdir);
    return limits.empty() ? run_set(app, o) : set_limits(app, o, limits);
  });
}

}  // namespace torc::cli
