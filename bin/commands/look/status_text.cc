// What `torc status` prints for people.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bin/commands/look/status_picture.h"
#include "bin/commands/run/progress.h"
#include "bin/tables.h"
#include "lib/base/labels.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/offer.h"
#include "lib/report/job_view.h"
#include "lib/report/start_by_hand.h"
#include "lib/report/worker_places.h"

namespace torc::cli {
namespace {

using claim::JobState;

constexpr std::size_t kShownWorkers = 50;

void print_actions(const App& app, const claim::ActionTally& t) {
  if (t.due + t.running + t.failed + t.gates == 0) return;
  say(app.out, "\nactions: {} due, {} running, {} ended, {} of them failed; see torc actions\n",
      show_count(t.due), show_count(t.running), show_count(t.ended), show_count(t.failed));
  if (t.gates > 0)
    say(app.out, "no job starts before the actions of on_workflow_start have ended\n");
}

// Of each job of several nodes that some of the workers are part of, or kept for, a line.
void print_gangs(const App& app, const std::vector<report::WorkerNow>& workers) {
  std::set<claim::ClaimToken> shown;
  std::map<JobId, std::size_t> kept;
  for (const report::WorkerNow& w : workers) {
    if (w.reservation) ++kept[w.reservation->job];
    if (!w.gang || !shown.insert(w.gang->gang.token).second) continue;
    const claim::Gang& gang = w.gang->gang;
    if (shown.size() > kShownWorkers) continue;
    const auto confirmed =
        std::ranges::count_if(gang.members, [](const claim::GangMember& m) { return m.confirmed; });
    std::string how(word_of(gang.stage));
    if (gang.stage == claim::GangStage::forming)
      how = fmt::format("{} of them have confirmed", confirmed);
    if (gang.stage == claim::GangStage::over) how = "over, its nodes end what is left of it";
    if (gang.asks()) how = "failed, which is reported once all of its nodes have shown life since";
    std::string whose;
    for (const claim::GangMember& m : gang.members) {
      if (!m.left) whose += fmt::format("{}{}", whose.empty() ? "" : ", ", claim::raw(m.worker));
    }
    say(app.out, "job #{} (attempt {}) has {} nodes, of the workers {}: {}\n", raw(gang.token.job),
        gang.token.attempt, gang.members.size(), whose, how);
  }
  for (const auto& [job, nodes] : kept)
    say(app.out, "{} kept for job #{}, which waits for more\n",
        nodes == 1 ? "one node is" : fmt::format("{} nodes are", nodes), raw(job));
}

// Those that Slurm does not show: they are not submitted, or nobody knows yet.
void print_ledger(const App& app, const report::AllocationList& ledger) {
  const auto wanted = report::count_of(ledger, claim::AllocationStage::wanted);
  const auto intents = report::count_of(ledger, claim::AllocationStage::intent);
  if (wanted > 0) {
    say(app.out, "\n{} wanted and not yet submitted; torc submit sends what may be sent now\n",
        wanted == 1 ? "one allocation is" : fmt::format("{} allocations are", show_count(wanted)));
  }
  if (intents > 0) {
    say(app.out, "\nwhether the batch system has {} is not known yet; see torc allocations\n",
        intents == 1 ? "one allocation" : fmt::format("{} allocations", show_count(intents)));
  }
}

// Of whom nobody knows how much time they have left.
void print_unknown_ends(const App& app, const StatusPicture& picture) {
  std::uint64_t assumed = 0;
  std::uint64_t unknown = 0;
  for (const report::WorkerNow& w : picture.situation.workers) {
    const claim::WorkerInfo& info = w.worker.info;
    if (info.allocation.empty() || info.end_is_told) continue;
    ++(info.ends_at.count() != 0 ? assumed : unknown);
  }
  if (assumed > 0)
    say(app.out,
        "Slurm did not tell {} when its time ends: the walltime of the batch script counts\n",
        assumed == 1 ? "one worker" : fmt::format("{} workers", assumed));
  if (unknown > 0)
    say(app.out, "Slurm did not tell {} when its time ends, and nothing else does\n",
        unknown == 1 ? "one worker" : fmt::format("{} workers", unknown));
}

void print_workers(const App& app, const StatusPicture& picture) {
  const std::vector<report::WorkerNow>& workers = picture.situation.workers;
  if (workers.empty()) return;
  const WallTime now = app.clock.wall_now();
  std::vector<Table::Column> columns = {
      {"worker", Align::right}, {"host", Align::left, Shorten::yes}, {"allocation"}};
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.shared) columns.push_back({std::string(kind.word), Align::right});
  }
  columns.insert(columns.end(), {{"holds", Align::right}, {"done", Align::right}, {"heartbeat"}});
  Table table(std::move(columns));
  for (const report::WorkerNow& found : workers) {
    if (table.rows() == kShownWorkers) break;
    const claim::Worker& w = found.worker;
    std::vector<std::string> cells = {std::to_string(claim::raw(w.epoch)), w.info.host,
                                      w.info.allocation.empty() ? "-" : w.info.allocation};
    const Resources has = claim::total_of(w.info);
    for (const ResourceKind& kind : kResourceKinds) {
      if (kind.shared) cells.push_back(show_number(kind, kind.get(has)));
    }
    cells.insert(cells.end(),
                 {show_count(w.held), show_count(w.finished), show_age(found.heard_at, now)});
    table.add(std::move(cells));
  }
  say(app.out, "\n");
  say_table(app, table);
  if (workers.size() > kShownWorkers) {
    say(app.out, "… and {} more (--json shows all)\n", workers.size() - kShownWorkers);
  }
  std::vector<const claim::Worker*> all;
  all.reserve(workers.size());
  for (const report::WorkerNow& found : workers) all.push_back(&found.worker);
  say(app.out, "{}", report::say_kinds(all));
  print_gangs(app, workers);
  print_unknown_ends(app, picture);
  say(app.out, "{}", report::say_absences(picture.situation, now));
}

// What Slurm says, whether somebody is at work or not; where it says nothing, why.
void print_allocations(const App& app, const StatusPicture& picture) {
  const auto& slurm = picture.situation.slurm;
  const WallTime now = app.clock.wall_now();
  const auto& rows = picture.situation.ledger.rows;
  if (!slurm && picture.situation.has_launcher && !rows.empty()) {
    say(app.out, "\n");
    say_table(app, report::allocation_table(rows, now));
  }
  if (!slurm) return;
  if (slurm->allocations.empty()) {
    const std::string said = report::say_slurm(picture.situation, now);
    if (!said.empty()) say(app.out, "\n{}\n", said);
    return;
  }
  Table table({{"allocation"},
               {"scheduler", Align::left, Shorten::yes},
               {"Slurm says" + report::say_asked(*slurm, now), Align::left, Shorten::yes}});
  for (const slurm::ShownAllocation& a : slurm->allocations) {
    if (table.rows() == kShownWorkers) break;
    table.add(
        {printable(a.id), a.script.empty() ? "-" : printable(a.script), report::say_state(a, now)});
  }
  say(app.out, "\n");
  say_table(app, table);
}

// What is missing that a command line gives.
void print_remedies(const App& app, const StatusPicture& picture, const std::string& store) {
  std::size_t told = 0;
  for (const auto& [labels, jobs] : picture.unserved_labels) {
    if (told++ == kShownFailures) break;
    say(app.out, "{}no worker serves {}, which {} for: torc worker {} --label {}\n",
        told == 1 ? "\n" : "", say_labels(labels),
        jobs == 1 ? "one ready job waits" : fmt::format("{} ready jobs wait", show_count(jobs)),
        store, shell_word(labels));
  }
  std::vector<claim::JobClass> unserved;  // by what a worker is told of
  for (const Unserved& u : picture.unserved) {
    const bool is_told = (u.lacks & (claim::mismatch::kNodes | claim::mismatch::kNamed)) != 0;
    if (is_told && !u.allocation) unserved.push_back(u.job_class);
  }
  if (!unserved.empty() && picture.situation.anybody_at_work())
    say(app.out, "\nstart workers for them: {}\n",
        report::say(report::hand_starts(store, unserved)));
  std::chrono::seconds least{0};
  for (const Unserved& u : picture.unserved) {
    if ((u.lacks & claim::mismatch::kTime) == 0 || u.allocation) continue;
    const auto time = least_time(u.job_class.need);
    least = least.count() == 0 ? time : std::min(least, time);
  }
  if (least.count() == 0) return;
  say(app.out,
      "\nsome of them need at least {}, and no worker has that much time left: start one with more "
      "(--time-limit, or the walltime of its allocation), or let them need less: torc set {} NAME "
      "runtime=…, or min_time=… where they save their state\n",
      show_exactly(least), store);
}

void print_unserved(const App& app, const StatusPicture& picture) {
  if (picture.unserved.empty()) return;
  say(app.out, "\nready, but no worker that is there could ever run them:\n");
  Table table({{"jobs", Align::right},
               {"first", Align::left, Shorten::yes},
               {"each needs", Align::left, Shorten::yes},
               {"waits for", Align::left, Shorten::yes}});
  for (const Unserved& u : picture.unserved) {
    table.add({show_count(u.jobs), printable(u.name), show_need(u.job_class),
               u.allocation ? "an allocation" : show_lacks(u)});
  }
  say_table(app, table);
}

std::string show_recoveries(std::uint32_t had, std::uint32_t most) {
  if (had == 0) return "";
  // Jobs that came later by another file may be the only ones that are.
  return fmt::format("; recovered {} of {}", had, plural(std::max(had, most), "time"));
}

void print_failures(const App& app, const StatusPicture& picture, const std::string& store) {
  const claim::WorkflowState& w = picture.workflow;
  if (!picture.failures.empty()) {
    Table table({{"failed job", Align::left, Shorten::yes},
                 {"attempt", Align::right},
                 {"why", Align::left, Shorten::yes}});
    for (const StatusPicture::Failure& f : picture.failures) {
      table.add({printable(f.name), std::to_string(f.job.attempt),
                 f.reason + show_recoveries(f.recoveries, picture.recoveries)});
    }
    say(app.out, "\n");
    say_table(app, table);
    const std::uint64_t all = report::jobs_with(w, claim::trait::kTroubled);
    if (all > picture.failures.size()) {
      say(app.out, "… and {} more; all of them: torc results {} --failed\n",
          show_count(all - picture.failures.size()), store);
    }
  }
  if (picture.recoveries > 0 && !picture.failures.empty()) {
    say(app.out,
        "\non_failure: recover runs again what it can, each job at most {}; what failed here "
        "is left to you: torc recover {}\n",
        plural(picture.recoveries, "time"), store);
  }
  if (!picture.failures.empty() && !w.halted()) {
    say(app.out, "\nonce that is fixed: torc retry {} --failed\n", store);
  }
  if (w.halted()) {
    say(app.out,
        "\nnothing more is started: {} failed, and max_failures is {}. Go on with: "
        "torc retry {} --failed\n",
        plural(report::failures(w), "job"), show_count(w.max_failures), store);
  }
  if (picture.next_due) {
    say(app.out, "\n{} failed and will be tried again, the next {}\n",
        plural(w.of(JobState::delayed), "job"),
        picture.next_due->count() == 0 ? "as soon as a worker asks"
                                       : "in " + show_duration(*picture.next_due));
  }
  if (const auto n = w.of(JobState::pending_failed); n > 0) {
    say(app.out,
        "\n{} failed and {} for a decision. To run {} again: torc retry {} --failed. "
        "To let {} fail: torc cancel {} --state pending_failed\n",
        plural(n, "job"), n == 1 ? "waits" : "wait", n == 1 ? "it" : "them", store,
        n == 1 ? "it" : "them", store);
  }
  if (w.of(JobState::held) > 0) {
    const std::uint64_t held = w.of(JobState::held);
    say(app.out, "\n{} held: torc release {} --all\n",
        held == 1 ? "1 job is" : show_count(held) + " jobs are", store);
  }
  if (w.jobs_over() && w.of(JobState::blocked) > 0) {
    say(app.out, "\n{}\n", report::show_blocked(w));
  }
}

// What is over, what runs, what is left, of each.
void print_stages(const App& app, const std::vector<report::StageCounts>& stages) {
  Table table({{"stage", Align::left, Shorten::yes},
               {"jobs", Align::right},
               {"completed", Align::right},
               {"failed", Align::right},
               {"canceled", Align::right},
               {"at work", Align::right},
               {"ready", Align::right},
               {"waiting", Align::right}});
  for (const report::StageCounts& s : stages) {
    table.add(
        {printable(s.name), show_count(s.jobs()), show_count(s.of(JobState::completed)),
         show_count(s.of(JobState::failed) + s.of(JobState::terminated) +
                    s.of(JobState::pending_failed)),
         show_count(s.of(JobState::canceled)),
         show_count(s.of(JobState::claimed) + s.of(JobState::running)),
         show_count(s.of(JobState::ready)),
         show_count(s.of(JobState::blocked) + s.of(JobState::held) + s.of(JobState::delayed))});
  }
  say(app.out, "\n");
  say_table(app, table);
}

}  // namespace

void print_status(const App& app, const StatusPicture& picture, const store::Store& store) {
  const claim::WorkflowState& w = picture.workflow;
  const auto& ledger = picture.situation.ledger;
  for (const std::string& line : report::concerns_of(ledger, app.clock.wall_now()))
    say(app.out, "{}\n\n", line);
  say(app.out, "{}  {}  ({})\n{}\n\n", printable(w.name), verdict_of(picture),
      store.directory().string(),
      progress_text({w, 0},
                    app.out_is_terminal ? std::optional(app.terminal_columns) : std::nullopt));
  Table table({{"state"}, {"jobs", Align::right}});
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (w.counts[s] == 0) continue;
    table.add({std::string(claim::to_string(static_cast<JobState>(s))), show_count(w.counts[s])});
  }
  say_table(app, table);
  if (w.unmet > 0) {
    say(app.out, "{} of the canceled {} not needed: a condition did not come true\n",
        show_count(w.unmet), w.unmet == 1 ? "is" : "are");
  }
  if (const std::string outdated = report::show_outdated(w); !outdated.empty())
    say(app.out, "{}\n", outdated);
  if (picture.stages) print_stages(app, *picture.stages);
  const std::string shown = workflow::shown_path(app, store.directory());
  print_workers(app, picture);
  if (!w.finished() || !picture.situation.workers.empty()) print_allocations(app, picture);
  if (!w.finished()) print_ledger(app, ledger);
  const std::string nobody =
      report::say_stuck(picture.situation) + report::say_nobody(app, picture.situation, shown);
  if (!nobody.empty()) say(app.out, "\n{}", nobody);
  print_unserved(app, picture);
  print_remedies(app, picture, shown);
  say(app.out, "{}", report::quota_text(picture.quota, table_columns(app)));
  print_actions(app, w.actions);
  print_failures(app, picture, shown);
}

}  // namespace torc::cli
