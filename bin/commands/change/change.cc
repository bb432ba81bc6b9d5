// torc cancel, retry, hold, release, set: they choose jobs, change them, and say what changed.
#include <algorithm>
#include <functional>

#include "bin/commands/change/change_report.h"
#include "bin/commands/commands.h"
#include "bin/commands/selection.h"
#include "lib/base/quantities.h"
#include "lib/workflow/change/setting_words.h"
#include "lib/workflow/change/trial.h"

namespace torc::cli {
namespace {

using claim::Change;
using claim::JobState;

struct ChangeOptions {
  SelectOptions jobs;
  bool failed = false;    // retry: what failed or was terminated
  bool canceled = false;  // retry: what was canceled
  bool dry_run = false;
  bool json = false;
};

// One of the commands.
struct ChangeKind {
  std::string done;                  // "canceled 3 jobs"
  std::string would;                 // "would cancel 3 jobs"
  std::vector<claim::JobState> all;  // what --all chooses
  std::function<Result<Change>(claim::Transaction&, claim::JobRanges)> apply;
};

// One transaction changes at most so many jobs; a larger request is a series of them. Each holds by
// itself, so that a series that is cut off can simply be asked for again.
constexpr std::uint64_t kJobsACommit = 100'000;

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

Result<ChangeReport> change_jobs(store::Store& store, const Selection& selection,
                                 const ChangeKind& kind, bool dry_run) {
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

bool is_given(const ChangeOptions& o) {
  return !o.jobs.name.empty() || !o.jobs.state.empty() || o.jobs.all || o.failed || o.canceled;
}

Selection selection_of(const ChangeOptions& o, std::vector<std::string> names,
                       const ChangeKind& kind) {
  Selection selection;
  selection.names = std::move(names);
  selection.regex = o.jobs.name;
  if (const auto state = claim::state_named(o.jobs.state)) selection.states = {*state};
  if (o.failed) selection.states = claim::states_with(claim::trait::kTroubled);
  if (o.canceled) selection.states.push_back(JobState::canceled);
  if (o.jobs.all) selection.states = kind.all;
  return selection;
}

// The flags that all of them have. `names`: what --help says of the jobs that are named.
ChangeOptions& add_change(Command& c, const std::string& about,
                          const std::string& names = kNamesHelp) {
  auto& o = c.options<ChangeOptions>();
  c.about(about);
  add_names(c, o.jobs, names);
  c.flag("--dry-run", o.dry_run, "say what would change and change nothing");
  c.flag("--json", o.json, "machine-readable output");
  return o;
}

// `after`: tells what a person should know besides.
Result<Exit> run_change(const App& app, const ChangeOptions& options, const ChangeKind& kind,
                        const std::function<void(const ChangeReport&, const Path&)>& after = {}) {
  TORC_ASSIGN(auto where, locate_store_and_names(app, options.jobs.words));
  if (where.names.empty() && !is_given(options)) {
    return Error{ErrorKind::invalid, "no job was named",
                 "name jobs, or choose some by a flag; --help lists them"};
  }
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  TORC_ASSIGN(const auto changed,
              change_jobs(*store, selection_of(options, where.names, kind), kind, options.dry_run));
  if (options.json) {
    print_change_json(app, *store, changed, options.dry_run);
  } else {
    print_change(app, changed, options.dry_run ? kind.would : kind.done, options.dry_run,
                 where.store);
    if (after && !options.dry_run && changed.change.total() > 0) after(changed, where.store);
  }
  return Exit::ok;
}

Result<Exit> run_cancel(const App& app, const ChangeOptions& options) {
  const ChangeKind kind{"canceled", "would cancel", claim::states_with(claim::trait::kCancelable),
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

// The words are names and settings, KEY=VALUE.
Result<Exit> run_set(const App& app, const ChangeOptions& options) {
  TORC_ASSIGN(auto words, workflow::parse_setting(options.jobs.words));
  ChangeOptions named = options;
  named.jobs.words = words.names;
  const ChangeKind kind{fmt::format("set {} of", words.shown),
                        fmt::format("would set {} of", words.shown),
                        claim::states_with(claim::trait::kSettable),
                        [&](claim::Transaction& tx, claim::JobRanges jobs) {
                          return claim::set_jobs(tx, jobs, words.setting);
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

void add_cancel(Command& c) {
  auto& o =
      add_change(c, "Cancel jobs; what runs is ended by its worker, undecided failures stand");
  add_all(c, o.jobs, "all jobs that are not over");
  add_state(c, o.jobs, claim::states_with(claim::trait::kCancelable));
  c.run([&o](const App& app) { return run_cancel(app, o); });
}

void add_retry(Command& c) {
  auto& o = add_change(c, "Let jobs that failed, were terminated or canceled run again");
  c.flag("--failed", o.failed,
         "all that failed or were terminated, also those that wait for a decision");
  c.flag("--canceled", o.canceled, "all that were canceled");
  c.run([&o](const App& app) {
    const ChangeKind kind{"to run again:", "would run again:", {}, claim::retry_jobs};
    return run_change(app, o, kind, [&](const ChangeReport& done, const Path& store) {
      say_without_workers(app, done.live_workers, store);
    });
  });
}

void add_hold(Command& c) {
  auto& o = add_change(c, "Keep jobs from being claimed until they are released");
  add_all(c, o.jobs, "all jobs that are ready, delayed or blocked");
  add_state(c, o.jobs, claim::states_with(claim::trait::kHoldable));
  c.run([&o](const App& app) {
    const auto holdable = claim::states_with(claim::trait::kHoldable);
    return run_change(app, o, {"held", "would hold", holdable, claim::hold_jobs});
  });
}

void add_release(Command& c) {
  auto& o = add_change(c, "Let held jobs be claimed again");
  add_all(c, o.jobs, "all held jobs");
  c.run([&o](const App& app) {
    const auto release = [&](claim::Transaction& tx, claim::JobRanges jobs) {
      return claim::release_jobs(tx, jobs, app.clock.wall_now());
    };
    return run_change(app, o, {"released", "would release", {JobState::held}, release});
  });
}

void add_set(Command& c) {
  auto& o = add_change(c, "Change what jobs need, their label or their priority",
                       "[STORE] NAME… KEY=VALUE…: " + workflow::setting_keys());
  add_all(c, o.jobs, "all jobs that have not completed");
  add_state(c, o.jobs, claim::states_with(claim::trait::kSettable));
  c.run([&o](const App& app) { return run_set(app, o); });
}

}  // namespace torc::cli
