#include "bin/commands/change/change_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/why.h"
#include "lib/report/job_view.h"
#include "lib/report/situation_text.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

using claim::Change;
using claim::JobState;
using nlohmann::ordered_json;

constexpr std::size_t kShownNames = 5;

}  // namespace

ChangeReport report_of(store::Store& store, Change change) {
  ChangeReport report;
  report.change = std::move(change);
  const auto seen =
      store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
        workflow::RecipeBook book;
        report.names.clear();
        for (const JobId id : report.change.first)
          report.names.push_back(workflow::job_name(book, reader, id));
        report.withdrawn.clear();
        for (const JobId id : report.change.first_withdrawn)
          report.withdrawn.push_back(workflow::job_name(book, reader, id));
        report.followers.clear();
        for (const Change::Group& group : report.change.followers) {
          std::vector<std::string>& names = report.followers.emplace_back();
          for (const JobId id : group.first) names.push_back(workflow::job_name(book, reader, id));
        }
        report.passed_over.clear();
        for (const JobId id : report.change.passed_over) {
          const JobId root = claim::root_of_cancellation(reader, id);
          report.passed_over.push_back(
              {workflow::job_name(book, reader, id), workflow::job_name(book, reader, root), root,
               claim::read_job(reader, root).value_or(claim::Job{}).state});
        }
        return {};
      });
  if (!seen.ok()) {
    report.unseen = seen.error();
    // What was read in part may not fit what was changed.
    report.names.clear();
    report.withdrawn.clear();
    report.passed_over.clear();
    report.followers.assign(report.change.followers.size(), {});
  }
  return report;
}

void print_change_json(const App& app, const store::Store& store, const ChangeReport& report,
                       bool dry_run) {
  const Change& change = report.change;
  ordered_json passed_over = ordered_json::array();
  for (const ChangeReport::PassedOver& p : report.passed_over)
    passed_over.push_back({{"job", p.name}, {"root_job", p.because}});
  ordered_json followers = ordered_json::array();
  for (std::size_t i = 0; i < report.followers.size(); ++i) {
    const Change::Group& g = change.followers[i];
    followers.push_back({{"state_before", claim::to_string(g.before)},
                         {"state_after", claim::to_string(g.after)},
                         {"changed_jobs", g.jobs},
                         {"changed_names", report.followers[i]}});
  }
  const ordered_json out = {{"store", store.directory().string()},
                            {"dry_run", dry_run},
                            {"changed_jobs", change.total()},
                            {"changed_names", report.names},
                            {"changed_by_state", report::counts_json(change.changed)},
                            {"withdrawn_jobs", claim::jobs_of(change.withdrawn)},
                            {"withdrawn_names", report.withdrawn},
                            {"ending_jobs", change.ending},
                            {"left_alone_by_state", report::counts_json(change.left)},
                            {"passed_over", std::move(passed_over)},
                            {"followers", std::move(followers)}};
  say(app.out, "{}\n", report::json_text(out));
}

// ", which was ready", of several states ", before that 1 blocked, 3 ready"; what is only tried
// out is in them yet.
std::string show_before(const Change& change, bool dry_run) {
  const std::string counts = report::show_counts(change.changed);
  const auto in_some = [](std::uint64_t n) { return n > 0; };
  if (dry_run) return ": " + counts;
  if (std::ranges::count_if(change.changed, in_some) != 1) return ", before that " + counts;
  const auto at = std::ranges::find_if(change.changed, in_some) - change.changed.begin();
  const auto state = static_cast<JobState>(at);
  const bool ended = state == JobState::failed || state == JobState::completed;
  return fmt::format(", which {} {}",
                     ended                 ? "had"
                     : change.total() == 1 ? "was"
                                           : "were",
                     claim::to_string(state));
}

void print_change(const App& app, const ChangeReport& report, std::string_view done, bool dry_run,
                  const Path& store) {
  if (report.unseen)
    say(app.err, "torc: note: not all of it can be shown: {}\n", report.unseen->what);
  const Change& change = report.change;
  const std::uint64_t total = change.total();
  if (total == 0) {
    say(app.out, "nothing to change\n");
  } else {
    say(app.out, "{} {}{}\n", done, plural(total, "job"), show_before(change, dry_run));
    say(app.out, "  {}\n", show_first(report.names, total));
  }
  say(app.out, "{}", show_withdrawn(change, report.withdrawn, dry_run));
  for (std::size_t i = 0; i < report.followers.size(); ++i) {
    const Change::Group& g = change.followers[i];
    say(app.out, "because of that {} {} {}, not {}: {}\n", plural(g.jobs, "job"),
        dry_run       ? "would be"
        : g.jobs == 1 ? "is now"
                      : "are now",
        claim::to_string(g.after), claim::to_string(g.before),
        show_first(report.followers[i], g.jobs));
  }
  const std::string left = report::show_counts(change.left);
  if (!left.empty()) say(app.out, "left alone: {}\n", left);
  if (change.removed > 0) {
    say(app.out,
        "  {} of these {} out of the workflow: its file no longer has {}, or `torc rm` took {} out "
        "(`torc rm --undo` brings back)\n",
        show_count(change.removed), change.removed == 1 ? "is" : "are",
        change.removed == 1 ? "it" : "them", change.removed == 1 ? "it" : "them");
  }
  for (std::size_t i = 0; i < report.passed_over.size() && i < kShownNames; ++i) {
    const ChangeReport::PassedOver& p = report.passed_over[i];
    say(app.out,
        "  {} was canceled because of {}, which is {}; it waits again with: torc {} {} {}\n",
        printable(p.name), printable(p.because), claim::to_string(p.state),
        p.state == JobState::completed ? "reset" : "retry", workflow::shown_path(app, store),
        workflow::job_word(p.because, p.root));
  }
  if (change.ending > 0 && !dry_run) {
    say(app.out, "{} of them were running; their workers are told to end them\n",
        show_count(change.ending));
  }
}

void say_presence(const App& app, store::Store& store) {
  // What was changed is changed: where nobody can be looked for, nothing is said of them.
  const auto found = report::look_around(app, store, report::AskSlurm::no);
  if (!found.ok()) return;
  say(app.out, "{}{}", report::say_absences(*found, app.clock.wall_now()),
      report::say_nobody(app, *found, workflow::shown_path(app, store.directory())));
}

std::string show_withdrawn(const Change& change, const std::vector<std::string>& names,
                           bool dry_run) {
  const std::uint64_t jobs = claim::jobs_of(change.withdrawn);
  if (jobs == 0) return "";
  const bool by_one = change.total() == 1;
  return fmt::format("{} that {} spawned {} only if {} {} again: {}\n", plural(jobs, "job"),
                     by_one ? "it" : "they",
                     dry_run     ? "would run"
                     : jobs == 1 ? "runs"
                                 : "run",
                     by_one ? "it spawns" : "they spawn", jobs == 1 ? "it" : "them",
                     show_first(names, jobs));
}

std::string show_first(const std::vector<std::string>& names, std::uint64_t all) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShownNames; ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  return text + (all > kShownNames ? ", …" : "");
}

}  // namespace torc::cli
