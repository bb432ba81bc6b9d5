#include "bin/commands/change/change_jobs.h"

#include <algorithm>
#include <cstdint>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/ringing.h"
#include "lib/claim/queries/job_scan.h"

namespace torc::cli {
namespace {

using claim::Change;
using claim::JobState;

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

// Those of `part`, which were chosen by an earlier commit, that are chosen still: by their names,
// or by a state that they have not left since. `part`: sorted, disjoint.
Result<std::vector<claim::JobRange>> still_chosen(const claim::Reader& reader,
                                                  const std::vector<claim::JobRange>& part,
                                                  const Selection& selection) {
  if (selection.states.empty()) return part;
  std::vector<claim::JobRange> named;
  if (!selection.names.empty()) {
    Selection names;
    names.names = selection.names;
    TORC_ASSIGN(named, select_jobs(reader, names));
  }
  JobSet chosen;
  auto at = named.begin();
  TORC_TRY(claim::scan_jobs_of(reader, part, [&](JobId id, const claim::Job& job) {
    while (at != named.end() && raw(at->first) + at->count <= raw(id)) ++at;
    const bool is_named = at != named.end() && raw(at->first) <= raw(id);
    if (is_named || std::ranges::find(selection.states, job.state) != selection.states.end())
      chosen.add(id);
    return true;
  }));
  return std::move(chosen).ranges();
}

Result<ChangeReport> change_jobs(const App& app, store::Store& store, const Selection& selection,
                                 const ChangeKind& kind, bool dry_run) {
  std::vector<claim::JobRange> left;
  Change done;
  bool is_first = true;
  do {
    std::vector<claim::JobRange> rest;
    Change change;
    // What is chosen and the change itself are one transaction: a worker that starts a ready job
    // in between has it no longer ready.
    const auto body = [&](store::Transaction& tx) -> Result<void> {
      change = {};
      rest = left;
      if (is_first) {
        TORC_ASSIGN(rest, select_jobs(tx, selection));
      }
      auto part = take(rest, kind.is_one_commit ? UINT64_MAX : kJobsACommit);
      if (!is_first) {
        TORC_ASSIGN(part, still_chosen(tx, part, selection));
      }
      if (part.empty()) return {};
      TORC_ASSIGN(change, kind.apply(tx, part));
      return {};
    };
    TORC_TRY(change_and_ring(app, store, dry_run, body, [&]() -> std::uint64_t {
      return kind.offers_anew ? change.changed[static_cast<std::size_t>(JobState::ready)] : 0;
    }));
    left = std::move(rest);
    is_first = false;
    done.add(change);
  } while (!left.empty());
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
  selection.states = states_of(o.jobs);
  if (o.failed) selection.states = claim::states_with(claim::trait::kTroubled);
  if (o.canceled) selection.states.push_back(JobState::canceled);
  if (o.jobs.all) selection.states = kind.all;
  return selection;
}

}  // namespace

ChangeOptions& add_change(Command& c, const std::string& about, const std::string& names) {
  auto& o = c.options<ChangeOptions>();
  c.about(about);
  add_names(c, o.jobs, names);
  c.flag("--dry-run", o.dry_run, "say what would change and change nothing");
  c.flag("--json", o.json, "machine-readable output");
  return o;
}

Result<Exit> run_change(const App& app, const ChangeOptions& options, const ChangeKind& kind,
                        const std::function<void(const ChangeReport&, const Path&)>& after) {
  TORC_ASSIGN(auto where, locate_store_and_names(app, options.jobs.words));
  if (where.names.empty() && !is_given(options)) {
    return Error{ErrorKind::invalid, "no job was named",
                 "name jobs, or choose some by a flag; --help lists them"};
  }
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  TORC_ASSIGN(const auto changed, change_jobs(app, *store, selection_of(options, where.names, kind),
                                              kind, options.dry_run));
  if (options.json) {
    print_change_json(app, *store, changed, options.dry_run);
  } else {
    print_change(app, changed, options.dry_run ? kind.would : kind.done, options.dry_run,
                 where.store);
    if (options.dry_run) return Exit::ok;
    const Change& change = changed.change;
    if (after && change.total() > 0) after(changed, where.store);
    const bool concerns_workers = change.ending > 0 ||
                                  change.left[static_cast<std::size_t>(JobState::claimed)] > 0 ||
                                  change.left[static_cast<std::size_t>(JobState::running)] > 0;
    const bool needs_workers = kind.lets_jobs_run && !options.run && change.total() > 0;
    if (concerns_workers || needs_workers) say_presence(app, *store);
  }
  if (!options.dry_run && changed.change.total() > 0) {
    settle_allocations(app, *store, options.json ? Telling::err_alone : Telling::out_and_err);
  }
  return Exit::ok;
}

}  // namespace torc::cli
