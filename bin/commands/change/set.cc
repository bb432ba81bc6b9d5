// torc set: jobs get other needs, another label or priority; limits of the workflow are other ones.
#include "bin/commands/change/change_jobs.h"
#include "bin/commands/change/set_limits.h"
#include "lib/base/quantities.h"
#include "lib/workflow/change/setting_words.h"

namespace torc::cli {
namespace {

using claim::JobState;

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
  return run_change(app, named, kind, [&](const ChangeReport& report, const Path&) {
    const auto n = report.change.changed[static_cast<std::size_t>(JobState::claimed)] +
                   report.change.changed[static_cast<std::size_t>(JobState::running)];
    if (n > 0) {
      say(app.out, "{} of them are claimed or run: only another attempt would have it\n",
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
  c.option("--limit", limits,
           "instead of jobs: how much there is of one of the workflow's limits (max_parallel, an "
           "entry, a name); may be repeated")
      .value("NAME=N")
      .one_at_a_time();
  c.run([&](const App& app) {
    return limits.empty() ? run_set(app, o) : set_limits(app, o, limits);
  });
}

}  // namespace torc::cli
