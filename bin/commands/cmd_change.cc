// torc cancel, retry, hold, release, set: choose jobs, change them, say what changed.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "bin/commands/change_report.h"
#include "bin/commands/live_commands.h"
#include "bin/commands/selection.h"
#include "lib/base/quantities.h"
#include "lib/base/quote.h"
#include "lib/workflow/setting_words.h"
#include "lib/workflow/trial.h"

namespace torc::cli {
namespace {

using claim::Change;
using claim::JobState;

// One transaction changes at most so many jobs; a larger request is a series of them. Each holds by
// itself, so that a series that is cut off can simply be asked for again.
constexpr std::uint64_t kJobsACommit = 100'000;

// One of the commands.
struct Kind {
  std::string_view done;      // "canceled 3 jobs"
  std::string_view would;     // "would cancel 3 jobs"
  std::vector<JobState> all;  // what --all chooses
  std::function<Result<Change>(claim::Transaction&, claim::JobRanges)> apply;
};

// The next at most `most` jobs of `left`, which shrinks by them.
std::vector<claim::JobRange> take(std::vector<claim::JobRange>& left, std::uint64_t most) {
  std::vector<claim::JobRange> part;
  auto it = left.begin();
  for (; it != left.end() && most > 0; ++it) {
    const std::uint64_t n = std::min(most, it->count);
    part.push_back({it->first, n});
    most -= n;
    if (n < it->count) {
      *it = {JobId{raw(it->first) + n}, it->count - n};
      break;
    }
  }
  left.erase(left.begin(), it);
  return part;
}

Result<ChangeReport> change_jobs(store::Store& store, const Selection& selection, const Kind& kind,
                                 bool dry_run) {
  std::vector<claim::JobRange> jobs;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(jobs, select_jobs(reader, selection));
    return {};
  }));
  Change done;
  while (!jobs.empty()) {
    const auto part = take(jobs, kJobsACommit);
    Change change;
    TORC_TRY(workflow::commit_or_try(store, dry_run, [&](store::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(change, kind.apply(tx, part));
      return {};
    }));
    done.add(change);
  }
  return report_of(store, std::move(done));
}

std::vector<JobState> all_but_completed() {
  std::vector<JobState> states;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (static_cast<JobState>(s) != JobState::completed) states.push_back(static_cast<JobState>(s));
  }
  return states;
}

bool is_given(const ChangeOptions& o) {
  return !o.jobs.name.empty() || !o.jobs.state.empty() || o.jobs.all || o.failed || o.canceled;
}

Selection selection_of(const ChangeOptions& o, std::vector<std::string> names, const Kind& kind) {
  Selection selection;
  selection.names = std::move(names);
  selection.regex = o.jobs.name;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    const auto state = static_cast<JobState>(s);
    if (claim::to_string(state) == o.jobs.state) selection.states.push_back(state);
  }
  if (o.failed)
    selection.states = {JobState::failed, JobState::terminated, JobState::pending_failed};
  if (o.canceled) selection.states.push_back(JobState::canceled);
  if (o.jobs.all) selection.states = kind.all;
  return selection;
}

// `after`: what a person should know besides.
Exit run_change(const App& app, const ChangeOptions& options, const Kind& kind,
                const std::function<void(const ChangeReport&, const Path&)>& after) {
  auto where = locate_store_and_names(app, options.jobs.words);
  if (!where) return report(app, where.error());
  if (where->names.empty() && !is_given(options)) {
    return report(app, Error{ErrorKind::invalid, "no job was named",
                             "name jobs, or choose some by a flag; --help lists them"});
  }
  auto store = store::Store::open(app.world, where->store, store::Tuning{});
  if (!store) return report(app, store.error());
  const auto changed =
      change_jobs(**store, selection_of(options, where->names, kind), kind, options.dry_run);
  if (!changed) return report(app, changed.error());
  if (options.json) {
    print_change_json(app, **store, *changed, options.dry_run);
  } else {
    print_change(app, *changed, options.dry_run ? kind.would : kind.done, options.dry_run,
                 where->store);
    if (after && !options.dry_run && changed->change.total() > 0) after(*changed, where->store);
  }
  return Exit::ok;
}

}  // namespace

Exit run_cancel(const App& app, const ChangeOptions& options) {
  const Kind kind{"canceled",
                  "would cancel",
                  {JobState::blocked, JobState::ready, JobState::claimed, JobState::running,
                   JobState::held, JobState::delayed, JobState::pending_failed},
                  [&](claim::Transaction& tx, claim::JobRanges jobs) {
                    return claim::cancel_jobs(tx, jobs, app.clock.wall_now());
                  }};
  return run_change(app, options, kind, [&](const ChangeReport& done, const Path&) {
    const auto n = done.change.changed[static_cast<std::size_t>(JobState::pending_failed)];
    if (n > 0) {
      say(app.out, "of those that were pending_failed ({}), the failure stands\n", show_count(n));
    }
  });
}

Exit run_retry(const App& app, const ChangeOptions& options) {
  const Kind kind{"to run again:", "would run again:", {}, claim::retry_jobs};
  return run_change(app, options, kind, [&](const ChangeReport& done, const Path& store) {
    say_without_workers(app, done, store);
  });
}

Exit run_hold(const App& app, const ChangeOptions& options) {
  const Kind kind{"held",
                  "would hold",
                  {JobState::blocked, JobState::ready, JobState::delayed},
                  claim::hold_jobs};
  return run_change(app, options, kind, {});
}

Exit run_set(const App& app, const ChangeOptions& options) {
  auto words = workflow::parse_setting(options.jobs.words);
  if (!words) return report(app, words.error());
  ChangeOptions named = options;
  named.jobs.words = words->names;
  const std::string done = fmt::format("set {} of", words->shown);
  const std::string would = fmt::format("would set {} of", words->shown);
  const Kind kind{done, would, all_but_completed(),
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

Exit run_release(const App& app, const ChangeOptions& options) {
  const Kind kind{"released",
                  "would release",
                  {JobState::held},
                  [&](claim::Transaction& tx, claim::JobRanges jobs) {
                    return claim::release_jobs(tx, jobs, app.clock.wall_now());
                  }};
  return run_change(app, options, kind, {});
}

}  // namespace torc::cli
