#include "bin/commands/change/apply_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/change/change_report.h"
#include "bin/commands/ringing.h"
#include "bin/commands/spec_report.h"
#include "bin/locate.h"
#include "bin/trust.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/transactions/undo.h"
#include "lib/report/job_view.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/change/renewed_scripts.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

using nlohmann::ordered_json;
using workflow::Applied;
using workflow::Edit;

constexpr std::size_t kShownEdits = 16;
constexpr std::size_t kShownJobs = 8;
constexpr std::size_t kListedJobs = 1000;

// "10 jobs align_{i} (align_21 to align_30)", "job merge"
std::string jobs_of(const Edit& edit) {
  if (edit.jobs == 1) return "job " + printable(edit.first);
  return fmt::format("{} {} ({} to {})", plural(edit.jobs, "job"), printable(edit.entry),
                     printable(edit.first), printable(edit.last));
}

// What becomes of those that have run: "; 3 had run and run again". Of what is ended for it a line
// of its own tells.
std::string past_of(const Edit& edit, OldJobs old_jobs) {
  std::string text;
  if (edit.over > 0)
    text = fmt::format("; {} had run and {} again", show_count(edit.over),
                       edit.over == 1 ? "runs" : "run");
  if (edit.spared > 0)
    text += fmt::format("; {} had run and {} {}", show_count(edit.spared),
                        edit.spared == 1 ? "keeps" : "keep",
                        edit.spared == 1 ? "its result" : "their results");
  if (edit.live > 0 && old_jobs != OldJobs::are_restarted)
    text += fmt::format("; {} at work {} by what {} {}", show_count(edit.live),
                        edit.live == 1 ? "ends" : "end", edit.live == 1 ? "it" : "they",
                        edit.live == 1 ? "was" : "were");
  return text;
}

// `others`: what else is said of the same jobs.
std::string line_of(const Edit& edit, const std::vector<Edit>& others, OldJobs old_jobs) {
  switch (edit.kind) {
    case Edit::Kind::added:
      return fmt::format("+ {}{}{}", jobs_of(edit), edit.what.empty() ? "" : ": ",
                         printable(edit.what));
    case Edit::Kind::returned:
      return fmt::format("+ {}, in the file again", jobs_of(edit));
    case Edit::Kind::removed:
      return fmt::format(
          "- {}{}{}", jobs_of(edit),
          edit.over > 0
              ? fmt::format("; {} had run: the results stay in the history", show_count(edit.over))
              : std::string(),
          edit.live > 0 ? fmt::format("; {} at work {} ended", show_count(edit.live),
                                      edit.live == 1 ? "is" : "are")
                        : std::string());
    case Edit::Kind::redefined:
    case Edit::Kind::rewired:
      return fmt::format("~ {}: {}{}", jobs_of(edit), printable(edit.what),
                         past_of(edit, old_jobs));
    case Edit::Kind::terms: {
      const bool runs_again = std::ranges::any_of(others, [&](const Edit& other) {
        const bool is_other =
            other.kind == Edit::Kind::redefined || other.kind == Edit::Kind::rewired;
        return is_other && other.over > 0 && other.first == edit.first && other.last == edit.last;
      });
      if (runs_again) return fmt::format("~ {}: {}", jobs_of(edit), printable(edit.what));
      return fmt::format(
          "~ {}: {}; nothing runs again for it{}", jobs_of(edit), printable(edit.what),
          edit.failed == 0 ? std::string()
                           : fmt::format(", nor {} that failed: `torc retry "
                                         "--failed` tries them again",
                                         edit.failed == 1 ? "does the one"
                                                          : "do the " + show_count(edit.failed)));
    }
    case Edit::Kind::settings:
      return fmt::format("~ {}: {}", printable(edit.entry), printable(edit.what));
  }
  return "";
}

std::string_view kind_of(Edit::Kind kind) {
  switch (kind) {
    case Edit::Kind::added:
      return "added";
    case Edit::Kind::removed:
      return "removed";
    case Edit::Kind::returned:
      return "returned";
    case Edit::Kind::redefined:
      return "redefined";
    case Edit::Kind::rewired:
      return "rewired";
    case Edit::Kind::terms:
      return "terms";
    case Edit::Kind::settings:
      return "settings";
  }
  return "";
}

bool is_told_by_edit(const Applied& applied, const workflow::StaleJob& job) {
  return std::ranges::any_of(applied.difference.recipes.changed, [&](const auto& entry) {
    return raw(job.id) - raw(entry.first) < entry.count;
  });
}

// Jobs whose files or data changed; what the file says otherwise is told by its line.
void print_stale(const App& app, const Applied& applied) {
  std::size_t shown = 0;
  std::uint64_t more = 0;
  for (const workflow::StaleJob& job : applied.stale) {
    if (is_told_by_edit(applied, job)) continue;
    if (shown == kShownJobs) {
      ++more;
      continue;
    }
    ++shown;
    say(app.out, "~ job {}: {}\n", printable(job.name), fmt::join(job.reasons, "; "));
  }
  if (more > 0) say(app.out, "  and {} more\n", show_count(more));
}

}  // namespace

namespace {

// The copy of the workflow file in a store, in whatever form that is.
struct KeptCopy {
  std::string name;  // "spec.yaml"; empty: there is none
  std::string text;
};

// Error: it is there and cannot be read. What replaces it could not be taken back.
Result<KeptCopy> kept_copy(const App& app, const store::Store& store) {
  const Path copy = workflow::spec_copy_in(app, store.directory());
  auto text = workflow::read_spec_copy(app, copy);
  if (text) return KeptCopy{copy.filename().string(), *std::move(text)};
  if (text.error().kind == ErrorKind::not_found) return KeptCopy{};
  return std::move(text).error();
}

// By the counters: completed jobs fewer than before, though earlier results may count again.
std::int64_t lost_results(std::uint64_t redone, std::uint64_t taken_back) {
  return static_cast<std::int64_t>(redone) - static_cast<std::int64_t>(taken_back);
}

Result<std::uint64_t> completed_in(const claim::Reader& reader) {
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  return workflow.of(claim::JobState::completed);
}

// A change that is given up where it loses more results than were confirmed.
workflow::MakeChange bounded(workflow::MakeChange change, Confirmed& confirmed) {
  return [change = std::move(change), &confirmed](const store::Store::Body& body) {
    return change([&](store::Transaction& tx) -> Result<void> {
      confirmed.by_now.reset();
      TORC_ASSIGN(const std::uint64_t before, completed_in(tx));
      TORC_TRY(body(tx));
      TORC_ASSIGN(const std::uint64_t after, completed_in(tx));
      const std::int64_t more =
          lost_results(before, after) - lost_results(confirmed.redone, confirmed.taken_back);
      if (more <= 0) return {};
      confirmed.by_now = confirmed.redone + static_cast<std::uint64_t>(more);
      return Error{ErrorKind::busy, "more results would be lost than were confirmed",
                   "try again; nothing was changed"};
    });
  };
}

}  // namespace

Result<Applied> apply_file(const App& app, store::Store& store, const workflow::LoadedSpec& loaded,
                           const workflow::ApplyTerms& terms, bool dry_run, Confirmed* confirmed) {
  TORC_ASSIGN(const KeptCopy kept, kept_copy(app, store));
  const bool is_the_copy =
      kept.name == workflow::spec_copy_name(loaded.file) && kept.text == loaded.kept_text();
  Keeping keeping;
  if (!kept.name.empty() && !is_the_copy)
    keeping = {true, kept.name, kept.text, claim::mark_of_text(loaded.kept_text())};
  auto change = ringing_change(app, store, dry_run, keeping);
  if (confirmed != nullptr) change = bounded(std::move(change), *confirmed);
  TORC_ASSIGN(Applied applied, workflow::apply(app, store, loaded, terms, change));
  if (dry_run) return applied;
  // Before the copy is another one: by it is told what a person has edited.
  const auto renewed = workflow::renew_scripts(app, store.directory(), loaded);
  if (!renewed) {
    say(app.err, "torc: warning: {}\n", renewed.error().text());
    return applied;  // the copy stays, by which it is tried again
  }
  const workflow::RenewedScripts& scripts = *renewed;
  for (const std::string& written : scripts.written) {
    say(app.err, "torc: note: {} was rewritten to match the file\n",
        printable((store.directory() / written).string()));
  }
  for (const std::string& left : scripts.left) {
    say(app.err,
        "torc: warning: {} was left as it is: it was edited, or was made from another template; "
        "what the file says now is not in it\n",
        printable((store.directory() / left).string()));
  }
  if (is_the_copy) return applied;
  // What counts is done.
  const auto replaced =
      workflow::replace_spec_copy(app, store.directory(), loaded.file, loaded.kept_text());
  if (!replaced) say(app.err, "torc: warning: {}\n", replaced.error().text());
  return applied;
}

void print_applied(const App& app, const Applied& applied, bool dry_run, OldJobs old_jobs) {
  const auto& edits = applied.difference.edits;
  for (std::size_t i = 0; i < edits.size() && i < kShownEdits; ++i)
    say(app.out, "{}\n", line_of(edits[i], edits, old_jobs));
  if (edits.size() > kShownEdits)
    say(app.out, "  and {}; `torc apply FILE --dry-run --json` has all\n",
        plural(edits.size() - kShownEdits, "further difference"));
  print_stale(app, applied);
  const std::uint64_t again = applied.done.again.total();
  if (again > 0) {
    // One more takes no more room than to say that there is one.
    const std::size_t most = again == kShownJobs + 1 ? kShownJobs + 1 : kShownJobs;
    const auto shown = static_cast<std::ptrdiff_t>(std::min(most, applied.again.size()));
    say(app.out, "{} {} again: {}{}\n", plural(again, "job"),
        dry_run      ? "would run"
        : again == 1 ? "runs"
                     : "run",
        printable(fmt::format(
            "{}", fmt::join(applied.again.begin(), applied.again.begin() + shown, ", "))),
        again > static_cast<std::uint64_t>(shown) ? ", …" : "");
  }
  say(app.out, "{}", show_withdrawn(applied.done.again, applied.withdrawn, dry_run));
  if (applied.done.taken_back > 0) {
    say(app.out, "{} {} again: the file is as it was when {} made\n",
        plural(applied.done.taken_back, "earlier result"),
        dry_run                        ? "would count"
        : applied.done.taken_back == 1 ? "counts"
                                       : "count",
        applied.done.taken_back == 1 ? "it was" : "they were");
  }
  if (const std::uint64_t accepted = applied.accepted(); accepted > 0) {
    say(app.out, "{} {} with the files as they are now\n", plural(accepted, "result"),
        dry_run         ? "would count"
        : accepted == 1 ? "counts"
                        : "count");
  }
  if (const std::uint64_t ended = applied.done.again.ending; ended > 0) {
    say(app.out, "{} of these {} at work and {} ended first\n", show_count(ended),
        ended == 1 ? "is" : "are", ended == 1 ? "is" : "are");
  }
  if (applied.running > 0) {
    const bool one = applied.running == 1;
    say(app.out, "{} at work {} as the file described them; ", plural(applied.running, "job"),
        one ? "goes on" : "go on");
    if (old_jobs == OldJobs::are_waited_for)
      say(app.out, "when {} ended, {} again as it does now\n", one ? "it has" : "they have",
          one ? "it runs" : "they run");
    else
      say(app.out, "apply it again when {} ended, and {} again as it does now\n",
          one ? "it has" : "they have", one ? "it runs" : "they run");
  }
  // Of a name, and of what counts from the next attempt on.
  if (const std::uint64_t later = claim::jobs_in(applied.done.kept) - applied.running; later > 0) {
    const bool one = later == 1;
    say(app.out, "{} at work {} not been changed yet; {} when {} ended\n", plural(later, "job"),
        one ? "has" : "have",
        old_jobs == OldJobs::are_waited_for ? "that is done" : "apply it again",
        one ? "it has" : "they have");
  }
}

ordered_json applied_json(const store::Store& store, const Applied& applied, bool dry_run) {
  ordered_json edits = ordered_json::array();
  for (const Edit& edit : applied.difference.edits) {
    edits.push_back({{"edit_kind", kind_of(edit.kind)},
                     {"entry", edit.entry},
                     {"first_job", edit.first},
                     {"last_job", edit.last},
                     {"jobs", edit.jobs},
                     {"ended_jobs", edit.over},
                     {"spared_jobs", edit.spared},
                     {"running_jobs", edit.live},
                     {"difference", edit.what}});
  }
  ordered_json stale = ordered_json::array();
  for (std::size_t i = 0; i < applied.stale.size() && i < kListedJobs; ++i)
    stale.push_back({{"job", applied.stale[i].name}, {"changes", applied.stale[i].reasons}});
  return {{"store", store.directory().string()},
          {"dry_run", dry_run},
          {"edits", std::move(edits)},
          {"stale_jobs", applied.stale.size()},
          {"stale", std::move(stale)},
          {"again_jobs", applied.done.again.total()},
          {"redone_jobs", applied.redone()},
          {"again_names", applied.again},
          {"withdrawn_jobs", claim::jobs_of(applied.done.again.withdrawn)},
          {"withdrawn_names", applied.withdrawn},
          {"added_jobs", applied.done.added.count},
          {"taken_back_jobs", applied.done.taken_back},
          {"renewed_jobs", applied.accepted()},
          {"kept_running_jobs", applied.running}};
}

namespace {

// Who accepts a result, and nothing speaks against it, may have meant another one.
void note_needless_accept(const App& app, const workflow::ApplyTerms& terms,
                          const Applied& applied) {
  if (!terms.spared || applied.accepted() > 0) return;
  for (const Edit& edit : applied.difference.edits) {
    if (edit.spared > 0) return;
  }
  say(app.err, "torc: note: nothing speaks against the results that --accept names\n");
}

}  // namespace

Result<Exit> apply_and_tell(const App& app, const ApplyRequest& request) {
  TORC_ASSIGN(auto loaded, workflow::load_spec(app, request.file));
  if (!loaded.expansion) return refuse_spec(app, loaded, request.json, "nothing was changed");
  if (!request.json) print_diagnostics(app, loaded);
  Path path = workflow::default_store(app, loaded);
  if (!request.store.empty()) {
    TORC_ASSIGN(path, locate_store(app, request.store));
  } else {
    TORC_TRY(check_has_store(app, request.file, path));
    TORC_TRY(check_found_store(app, path));
    workflow::write_for_group_of(app, path);
  }
  TORC_ASSIGN(const auto store, store::Store::open(app.world, path, store::Tuning{}));
  if (request.store.empty()) TORC_TRY(refuse_other_file(app, *store, loaded.file));
  TORC_ASSIGN(const workflow::Applied applied,
              apply_file(app, *store, loaded, request.terms, request.dry_run));
  if (request.json) {
    say(app.out, "{}\n", report::json_text(applied_json(*store, applied, request.dry_run)));
    if (!request.dry_run) settle_allocations(app, *store, Telling::err_alone);
    return Exit::ok;
  }
  note_needless_accept(app, request.terms, applied);
  if (applied.nothing()) {
    say(app.out, "nothing differs: the store is what {} says\n", request.file);
    return Exit::ok;
  }
  print_applied(app, applied, request.dry_run,
                request.terms.restarts_running ? OldJobs::are_restarted : OldJobs::go_on);
  if (request.dry_run) {
    say(app.out, "nothing was changed (--dry-run)\n");
    return Exit::ok;
  }
  say_presence(app, *store);
  settle_allocations(app, *store, Telling::out_and_err);
  return Exit::ok;
}

}  // namespace torc::cli
