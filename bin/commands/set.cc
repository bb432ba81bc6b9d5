// torc set: what jobs need, their label, their priority.
#include <string>
#include <vector>

#include "bin/commands/change.h"
#include "bin/commands/commands.h"
#include "lib/base/quantities.h"
#include "lib/workflow/setting_words.h"

namespace torc::cli {
namespace {

using claim::JobState;

std::vector<JobState> all_but_completed() {
  std::vector<JobState> states;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (static_cast<JobState>(s) != JobState::completed) states.push_back(static_cast<JobState>(s));
  }
  return states;
}

// The words are names and settings, KEY=VALUE.
Exit run_set(const App& app, const ChangeOptions& options) {
  auto words = workflow::parse_setting(options.jobs.words);
  if (!words) return report(app, words.error());
  ChangeOptions named = options;
  named.jobs.words = words->names;
  const std::string done = fmt::format("set {} of", words->shown);
  const std::string would = fmt::format("would set {} of", words->shown);
  const ChangeKind kind{done, would, all_but_completed(),
                        [&](claim::Transaction& tx, claim::JobRanges jobs) {
                          return claim::set_jobs(tx, jobs, words->setting);
                        }};
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
  auto& o = add_change(c, "Change what jobs need, their label or their priority",
                       "[STORE] NAME… KEY=VALUE…: priority, runtime, memory, cpus, gpus, label");
  add_all(c, o.jobs, "all jobs that have not completed");
  add_state(c, o.jobs,
            {"blocked", "ready", "claimed", "running", "failed", "canceled", "terminated", "held",
             "delayed", "pending_failed"});
  c.run([&o](const App& app) { return run_set(app, o); });
}

}  // namespace torc::cli
