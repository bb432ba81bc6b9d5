#include "bin/commands/run/chosen.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <utility>

#include "bin/commands/change/confirm.h"
#include "bin/commands/change/reset_jobs.h"
#include "bin/commands/job_words.h"
#include "bin/commands/selection.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/reset.h"
#include "lib/report/job_view.h"
#include "lib/report/stages.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

using claim::JobState;

// Jobs may have directories of their names.
bool has_job(const App& app, const Path& directory, const std::string& name) {
  const auto store = store::Store::open(app.world, directory, store::Tuning{});
  bool has = false;
  if (!store) return has;
  (void)(*store)->view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    workflow::RecipeBook book;
    TORC_ASSIGN(const auto id, workflow::find_job(book, reader, name));
    has = id.has_value();
    return {};
  });
  return has;
}

}  // namespace

bool names_what_is_run(const App& app, const std::string& word) {
  if (workflow::is_stdin(word) || names_a_store(app, word)) return true;
  const Path path = app.directory / word;
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  // Of what does not answer nobody knows that it is none.
  if (kind == std::filesystem::file_type::none || kind == std::filesystem::file_type::unknown)
    return true;
  const bool is_there = kind != std::filesystem::file_type::not_found;
  if (is_there && kind != std::filesystem::file_type::directory) return true;
  const auto found = locate_store(app, "");
  if (!found) return true;
  // Else it is a name that nobody has.
  return (is_there || has_workflow_ending(path)) && !has_job(app, *found, word);
}

Result<ChoiceOptions> with_lists(const App& app, ChoiceOptions options) {
  TORC_ASSIGN(options.names, job_words(app, options.names));
  TORC_ASSIGN(options.force, job_words(app, options.force));
  return options;
}

namespace {

Result<std::vector<claim::JobRange>> named_jobs(const claim::Reader& reader,
                                                const ChoiceOptions& options) {
  Selection selection;
  selection.names = options.names;
  workflow::RecipeBook book;
  for (const std::string& word : options.until) {
    TORC_ASSIGN(const auto job, workflow::find_job(book, reader, word));
    const bool is_stage = !job && !stage_in(word) && !expression_of_glob(word);
    selection.names.push_back(is_stage ? "stage:" + word : word);
  }
  return select_jobs(reader, selection);
}

}  // namespace

Error all_removed() {
  return invalid(
      "what was named is no longer in the workflow: its file does not have it, or `torc rm` took "
      "it out",
      "write it into the file and apply that, or `torc rm --undo NAME`");
}

Result<ChosenJobs> chosen_jobs(const claim::Reader& reader, const ChoiceOptions& options) {
  if (!options.chooses()) return ChosenJobs();
  TORC_ASSIGN(const auto named, named_jobs(reader, options));
  claim::Change left;
  TORC_ASSIGN(const auto jobs, claim::in_the_file(reader, named, left));
  if (jobs.empty() && left.removed > 0) return all_removed();
  TORC_ASSIGN(const auto upstreams, claim::with_upstreams(reader, jobs));
  TORC_ASSIGN(auto all, claim::in_the_file(reader, upstreams, left));
  return std::make_shared<const std::vector<claim::JobRange>>(std::move(all));
}

Result<ChosenJobs> chosen_jobs(store::Store& store, const ChoiceOptions& options) {
  ChosenJobs chosen;
  if (!options.chooses()) return chosen;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(chosen, chosen_jobs(reader, options));
    return {};
  }));
  return chosen;
}

Result<void> check_names(const claim::Reader& reader, const ChoiceOptions& options) {
  if (options.chooses()) TORC_TRY(chosen_jobs(reader, options));
  if (!options.force.empty())
    TORC_TRY(select_jobs(reader, Selection{options.force, "", {}, false}));
  return {};
}

Result<bool> force_jobs(const App& app, store::Store& store, const ChoiceOptions& options, bool yes,
                        bool silent) {
  if (options.force.empty()) return true;
  ResetOptions reset;
  reset.yes = yes || silent || !can_ask(app);  // who says --force has said it
  Selection selection;
  selection.names = options.force;
  if (!reset.yes) {
    ResetOptions planned = reset;
    planned.dry_run = true;
    TORC_ASSIGN(const auto plan, reset_jobs(app, store, selection, planned));
    const std::uint64_t completed = plan.change.lost_results();
    if (completed > 0) {
      print_change(app, plan, "would run again:", true, store.directory());
      if (!confirms_redoing(app, completed)) {
        say(app.err,
            "torc: not confirmed: nothing was changed and nothing was run; --yes does not ask\n");
        return false;
      }
    }
    reset.yes = true;
  }
  TORC_ASSIGN(const auto done, reset_jobs(app, store, selection, reset));
  if (!silent && (done.change.total() > 0 || done.change.removed > 0))
    print_change(app, done, "to run again:", false, store.directory());
  return true;
}

std::uint64_t ChosenCounts::jobs() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Result<ChosenCounts> count_chosen(const claim::Reader& reader,
                                  const std::vector<claim::JobRange>& jobs) {
  ChosenCounts found;
  TORC_TRY(claim::scan_jobs_of(reader, jobs, [&](JobId, const claim::Job& job) {
    ++found.counts[static_cast<std::size_t>(job.state)];
    if (job.state == JobState::canceled && job.outcome.cause == claim::EndCause::unmet)
      ++found.unmet;
    if (job.state == JobState::canceled && job.revoked != claim::Revoked::no) ++found.ending;
    return true;
  }));
  return found;
}

Result<ChosenCounts> count_chosen(store::Store& store, const std::vector<claim::JobRange>& jobs) {
  ChosenCounts found;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(found, count_chosen(reader, jobs));
    return {};
  }));
  return found;
}

nlohmann::ordered_json to_json(const ChosenCounts& counts) {
  return {{"jobs", counts.jobs()},
          {"jobs_by_state", report::counts_json(counts.counts)},
          {"not_needed_jobs", counts.unmet}};
}

Exit exit_of(const ChosenCounts& counts) {
  if (counts.all_completed()) return Exit::ok;
  if (counts.of(JobState::failed) + counts.of(JobState::terminated) +
          counts.of(JobState::pending_failed) >
      0)
    return Exit::failed;
  const std::uint64_t over =
      counts.of(JobState::completed) + counts.of(JobState::canceled) + counts.of(JobState::blocked);
  return over == counts.jobs() ? Exit::failed : Exit::unfinished;
}

std::string show(const ChosenCounts& counts) {
  std::string text = fmt::format("{} of {} that {} asked for completed",
                                 show_count(counts.of(JobState::completed)),
                                 plural(counts.jobs(), "job"), counts.jobs() == 1 ? "was" : "were");
  const auto tell = [&](std::uint64_t jobs, std::string_view what) {
    if (jobs > 0) text += fmt::format(", {} {}", show_count(jobs), what);
  };
  tell(counts.of(JobState::failed) + counts.of(JobState::terminated), "failed");
  tell(counts.of(JobState::canceled) - counts.unmet, "canceled");
  tell(counts.unmet, "not needed");
  tell(counts.of(JobState::pending_failed), "failed and to be decided");
  tell(counts.of(JobState::held), "held");
  tell(counts.of(JobState::ready) + counts.of(JobState::delayed), "left to run");
  tell(counts.of(JobState::claimed) + counts.of(JobState::running), "with other workers");
  tell(counts.of(JobState::blocked), "waiting");
  return text;
}

}  // namespace torc::cli
