// torc undo: the last thing that a person changed is taken back.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/change/change_report.h"
#include "bin/commands/commands.h"
#include "bin/commands/ringing.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/transactions/undo.h"
#include "lib/report/job_view.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/change/renewed_scripts.h"
#include "lib/workflow/change/take_back.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/make_store.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

using claim::KeptChange;
using nlohmann::ordered_json;

struct UndoOptions {
  std::vector<std::string> words;  // [STORE]
  bool list = false;
  bool dry_run = false;
  bool json = false;
  bool yes = false;  // also what somebody else changed
};

ordered_json json_of(const KeptChange& change) {
  return {{"commit", change.sequence},
          {"changed_at", json_time(change.at)},
          {"changed_by", change.by},
          {"command_line", change.words},
          {"changed_jobs", json_if(!change.is_too_large, change.jobs)},
          {"undoable", change.bytes > 0},
          {"undone_at", json_time(change.undone_at)},
          {"undone_by", json_if(!change.undone_by.empty(), change.undone_by)}};
}

ordered_json json_of(const std::vector<KeptChange>& changes) {
  ordered_json list = ordered_json::array();
  for (const KeptChange& change : changes) list.push_back(json_of(change));
  return list;
}

// `first`: the newest that was not taken back, with the others of its command. `hindrance`: what
// keeps that from being taken back; empty: nothing.
std::string undo_of(const KeptChange& change, const KeptChange* first,
                    const std::string& hindrance) {
  if (change.undone_at != WallTime{}) return "was taken back";
  if (change.is_too_large) return "no: it is too large";
  if (change.bytes == 0) return "no: it is not kept any more";
  if (first == nullptr || change.is_of_the_same_command(*first))
    return hindrance.empty() ? "yes" : "no: " + hindrance;
  return hindrance.empty() ? "after those above" : "no: another came after it";
}

Result<Exit> list(const App& app, store::Store& store, const UndoOptions& options) {
  std::vector<KeptChange> changes;
  std::string hindrance;
  const auto look = [&](const claim::Reader& reader) -> Result<void> {
    changes.clear();
    TORC_TRY(claim::scan_changes(reader, [&](const KeptChange& change) {
      changes.push_back(change);
      return true;
    }));
    TORC_ASSIGN(const auto hinders, workflow::what_hinders_taking_back(reader));
    hindrance = hinders.value_or("");
    return {};
  };
  TORC_TRY(store.view(store::Freshness::latest, look));
  const auto newest = std::ranges::find(changes, WallTime{}, &KeptChange::undone_at);
  const KeptChange* const first = newest == changes.end() ? nullptr : &*newest;
  if (options.json) {
    // Of older ones nobody knows before those above are taken back.
    for (KeptChange& change : changes) {
      const bool is_first = first != nullptr && change.is_of_the_same_command(*first);
      if (!is_first || !hindrance.empty()) change.bytes = 0;
    }
    const ordered_json out = {{"store", store.directory().string()},
                              {"kept_changes", json_of(changes)}};
    say(app.out, "{}\n", report::json_text(out));
    return Exit::ok;
  }
  if (changes.empty()) {
    say(app.out, "nobody has changed anything since the workflow was made\n");
    return Exit::ok;
  }
  Table table({{"time"},
               {"by", Align::left, Shorten::yes, 2},
               {"command", Align::left, Shorten::yes},
               {"jobs", Align::right, Shorten::no, 3},
               {"can be taken back", Align::left, Shorten::yes}});
  for (const KeptChange& change : changes) {
    table.add({show_time(change.at), change.by, change.words,
               change.is_too_large ? "-" : show_count(change.jobs),
               undo_of(change, first, hindrance)});
  }
  say_table(app, table);
  return Exit::ok;
}

std::uint64_t jobs_of(const std::vector<KeptChange>& changes) {
  std::uint64_t jobs = 0;
  for (const KeptChange& change : changes) jobs += change.jobs;
  return jobs;
}

// The copy of the workflow file, and the batch scripts that were made by it. What counts is done.
void put_file_back(const App& app, store::Store& store, const workflow::TakenBack& taken) {
  const auto now = workflow::read_spec_copy(app, workflow::spec_copy_in(app, store.directory()));
  if (now && *now != taken.text_before && claim::mark_of_text(*now) != taken.text_after) {
    say(app.err,
        "torc: note: {} stays: it is not what the command made of it, so somebody has applied "
        "another one\n",
        workflow::spec_copy_in(app, store.directory()).filename().string());
    return;
  }
  const auto loaded = workflow::load_spec_text(
      app, (store.directory() / workflow::spec_copy_name(taken.file)).string(), taken.text_before);
  if (loaded.expansion) {
    if (const auto renewed = workflow::renew_scripts(app, store.directory(), loaded); !renewed)
      say(app.err, "torc: warning: {}\n", renewed.error().text());
  }
  const auto replaced =
      workflow::replace_spec_copy(app, store.directory(), taken.file, taken.text_before);
  if (!replaced) say(app.err, "torc: warning: {}\n", replaced.error().text());
}

// A file that still says what was taken back, or is another one than it was, is followed again.
void say_what_the_file_says(const App& app, store::Store& store, const workflow::TakenBack& taken) {
  const std::string& words = taken.changes.front().words;
  const auto is_of = [&](std::string_view command) { return words.starts_with(command); };
  if (taken.file.empty()) {
    if (is_of("torc reinit") || is_of("torc apply") || is_of("torc run"))
      say(app.out, "what changed of files is found again by the next `torc run FILE`\n");
    return;
  }
  const auto settings = workflow::read_settings(store);
  if (!settings) return;
  const Path file = workflow::find_workflow_file(settings->directory, store.directory());
  if (file.empty()) return;
  const auto text = workflow::read_spec_text(app, file);
  if (!text || *text == taken.text_before) return;
  say(app.out,
      "{} still says what was taken back: the next `torc run` or `torc apply` of it would do it "
      "again. The file as it was is in {}\n",
      printable(workflow::shown_path(app, file)),
      printable(
          workflow::shown_path(app, store.directory() / workflow::spec_copy_name(taken.file))));
}

Exit refuse(const App& app, const workflow::TakenBack& taken) {
  if (taken.changes.empty()) {
    say(app.out, "there is nothing to take back; `torc undo --list` shows what was changed\n");
    return Exit::ok;
  }
  const KeptChange& newest = taken.changes.front();
  say(app.err, "torc: error: `{}` of {} cannot be taken back: {}\n", printable(newest.words),
      show_time(newest.at), taken.why_not);
  say(app.err, "  {}nothing was changed\n", taken.advice.empty() ? "" : taken.advice + "; ");
  return Exit::failed;
}

void print_undone(const App& app, const workflow::TakenBack& taken, bool dry_run) {
  const KeptChange& newest = taken.changes.front();
  const std::uint64_t jobs = jobs_of(taken.changes);
  say(app.out, "{} `{}` of {} by {}", dry_run ? "would take back" : "took back",
      printable(newest.words), show_time(newest.at), printable(newest.by));
  if (newest.words.starts_with("torc add ") && jobs > 0) {
    say(app.out, ": {} job{} {} gone again\n", show_count(jobs), jobs == 1 ? "" : "s",
        dry_run     ? "would be"
        : jobs == 1 ? "is"
                    : "are");
    return;
  }
  if (jobs > 0)
    say(app.out, ": {} job{} {} as before", show_count(jobs), jobs == 1 ? "" : "s",
        dry_run     ? "would be"
        : jobs == 1 ? "is"
                    : "are");
  say(app.out, "\n");
}

// A job that is named is not what it takes back.
Result<Path> locate(const App& app, const UndoOptions& options) {
  if (options.words.size() <= 1 &&
      (options.words.empty() || names_a_store(app, options.words.front())))
    return locate_store(app, options.words.empty() ? "" : options.words.front());
  std::string names;
  for (const std::string& word : options.words) names += " " + shell_word(word);
  return invalid(
      fmt::format("torc undo takes a change back as a whole, and '{}' is no store",
                  printable(options.words.back())),
      fmt::format("`torc undo --list` shows what was changed; `torc redo{}` runs jobs again",
                  names));
}

Result<Exit> run(const App& app, const UndoOptions& options) {
  TORC_ASSIGN(const Path path, locate(app, options));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, path, store::Tuning{}));
  if (options.list) return list(app, *store, options);
  const auto change = ringing_change(app, *store, options.dry_run, Keeping{.is_kept = false});
  const auto whose =
      options.dry_run || options.yes ? workflow::Whose::anybodys : workflow::Whose::own;
  TORC_ASSIGN(const auto taken, workflow::take_back(app, change, whose));
  const bool done = !taken.changes.empty() && taken.why_not.empty();
  if (done && !options.dry_run && !taken.file.empty()) put_file_back(app, *store, taken);
  if (options.json) {
    const ordered_json out = {{"store", store->directory().string()},
                              {"dry_run", options.dry_run},
                              {"undone", done},
                              {"refusal", json_if(!taken.why_not.empty(), taken.why_not)},
                              {"kept_changes", json_of(taken.changes)}};
    say(app.out, "{}\n", report::json_text(out));
  } else if (done) {
    print_undone(app, taken, options.dry_run);
    say_what_the_file_says(app, *store, taken);
    if (!options.dry_run) say_presence(app, *store);
  } else {
    return refuse(app, taken);
  }
  if (done && !options.dry_run)
    settle_allocations(app, *store, options.json ? Telling::err_alone : Telling::out_and_err);
  return done || taken.changes.empty() ? Exit::ok : Exit::failed;
}

}  // namespace

void add_undo(Command& c) {
  auto& o = c.options<UndoOptions>();
  c.about("Take back the last change: redo, reset, retry, cancel, hold, set, rm, add, apply, …");
  c.argument("STORE", o.words, "the store (default: found from here)").value("[STORE]");
  c.flag("--list", o.list, "what was changed, when, by whom, and whether it can be taken back");
  c.flag("-n,--dry-run", o.dry_run, "say what would be taken back and change nothing");
  c.flag("--yes", o.yes, "also what somebody else changed");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.footer(
      "Said again, it takes back what was changed before that. A change stays where a job that it\n"
      "concerns was started or has ended since.\n\n"
      "Examples:\n"
      "  torc redo stage:align --dry-run   look first\n"
      "  torc reset stage:align --yes; torc undo   or afterwards");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
