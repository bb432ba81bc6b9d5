// torc status: counts, workers, failures; from any node.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/look/unserved.h"
#include "bin/commands/run/progress.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/json_value.h"
#include "lib/base/labels.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/tables/state.h"
#include "lib/report/job_view.h"
#include "lib/report/quota_view.h"
#include "lib/report/situation_text.h"
#include "lib/report/start_by_hand.h"
#include "lib/report/worker_places.h"
#include "lib/store/engine/engine_name.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

struct StatusOptions {
  std::string store;
  bool json = false;
};

using claim::JobState;
using nlohmann::ordered_json;

constexpr std::size_t kShownFailures = 10;
constexpr std::size_t kShownWorkers = 50;

struct Failure {
  JobId id{};
  std::string name;
  claim::Job job;
  std::string reason;
};

struct Picture {
  claim::WorkflowState workflow;
  report::Situation situation;
  std::vector<Unserved> unserved;
  std::map<std::string, std::uint64_t> unserved_labels;  // ready jobs by what they ask for
  report::QuotaView quota;
  std::vector<Failure> failures;                      // the first few
  std::optional<std::chrono::microseconds> next_due;  // of the delayed jobs
};

// The labels of ready jobs that no worker that is at work has all of, and how many of them wait.
Result<void> find_unserved_labels(const claim::Reader& reader, Picture& picture) {
  Result<void> counted;
  TORC_TRY(claim::scan_ready_classes(reader, [&](const claim::JobClass& c, const auto& head) {
    const auto serves = [&](const report::WorkerNow& w) {
      const claim::WorkerInfo& info = w.worker.info;
      return w.is_at_work() && (info.any_binding || covers_labels(info.labels, c.labels));
    };
    if (c.labels.empty() || std::ranges::any_of(picture.situation.workers, serves)) return true;
    const auto jobs = claim::count_ready(reader, head.job_class);
    if (!jobs) counted = jobs.error();
    if (jobs) picture.unserved_labels[c.labels] += *jobs;
    return jobs.ok();
  }));
  return counted;
}

Result<Picture> look(const App& app, store::Store& store, WallTime now) {
  Picture picture;
  TORC_ASSIGN(const auto situation, report::look_around(app, store, report::AskSlurm::yes));
  const auto fill = [&](const claim::Reader& reader) -> Result<void> {
    picture = {};
    picture.situation = situation;
    TORC_ASSIGN(picture.workflow, claim::read_workflow(reader));
    workflow::RecipeBook book;
    TORC_TRY(find_unserved(reader, now, picture.situation, kShownFailures, book, picture.unserved));
    TORC_TRY(find_unserved_labels(reader, picture));
    TORC_ASSIGN(picture.quota, report::look_at_quota(reader, book));
    claim::State state_of(reader);
    picture.next_due = claim::next_due(state_of, now);
    TORC_TRY(state_of.sound());
    std::vector<JobState> troubled = claim::states_with(claim::trait::kTroubled);
    std::reverse(troubled.begin(), troubled.end());  // what a person is to decide comes first
    for (const JobState state : troubled) {
      // Else all that are set aside would be read to learn it.
      if (picture.workflow.of(state) == 0) continue;
      TORC_TRY(claim::scan_jobs(reader, state, [&](JobId id, const claim::Job& job) {
        if (picture.failures.size() >= kShownFailures) return false;
        picture.failures.push_back({id, workflow::job_name(book, reader, id), job,
                                    worker::show_end(reader, book, id, job.outcome)});
        return true;
      }));
    }
    return {};
  };
  TORC_TRY(store.view(store::Freshness::latest, fill));
  return picture;
}

ordered_json runs_json(const claim::ActionTally& t) {
  return {{"due", t.due},
          {"running", t.running},
          {"completed", t.ended - std::min(t.ended, t.failed)},
          {"failed", t.failed}};
}

void print_actions(const App& app, const claim::ActionTally& t) {
  if (t.due + t.running + t.failed + t.gates == 0) return;
  say(app.out, "\nactions: {} due, {} running, {} ended, {} of them failed; see torc actions\n",
      show_count(t.due), show_count(t.running), show_count(t.ended), show_count(t.failed));
  if (t.gates > 0)
    say(app.out, "no job starts before the actions of on_workflow_start have ended\n");
}

std::string_view verdict_of(const Picture& picture) {
  return report::workflow_verdict(picture.workflow, picture.situation.anybody_at_work());
}

std::string_view word_of(claim::GangStage stage) {
  constexpr std::string_view kWords[] = {"forming", "complete", "running", "over"};
  return kWords[static_cast<std::size_t>(stage)];
}

ordered_json gang_json(const claim::GangPart& part) {
  return {{"job_id", raw(part.gang.token.job)},
          {"attempt", part.gang.token.attempt},
          {"rank", part.rank},
          {"nodes", part.gang.members.size()},
          {"gang_stage", word_of(part.gang.stage)}};
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

ordered_json to_json(const App& app, const Picture& picture, const store::Store& store,
                     WallTime now) {
  const claim::WorkflowState& w = picture.workflow;
  const report::Situation& around = picture.situation;
  ordered_json workers = ordered_json::array();
  for (const report::WorkerNow& w_now : around.workers) {
    const claim::Worker& worker = w_now.worker;
    ordered_json one = {{"worker", claim::raw(worker.epoch)},
                        {"host", worker.info.host},
                        {"pid", worker.info.pid},
                        {"allocation", json_or_null(worker.info.allocation)},
                        {"scheduler", json_or_null(worker.info.scheduler)},
                        {"label", json_or_null(worker.info.labels)},
                        {"jobs", worker.held},
                        {"finished_jobs", worker.finished},
                        {"registered_at", json_seconds(worker.info.registered_at)},
                        {"last_commit_at", json_seconds(worker.last_seen)}};
    report::add_presence(one, around, w_now);
    report::add_shared(one, claim::total_of(worker.info));
    one["group"] = json_or_null(worker.info.group);
    one["node_name"] = json_or_null(worker.info.node_name);
    one["gang"] = w_now.gang ? gang_json(*w_now.gang) : ordered_json();
    one["reserved"] = w_now.reservation.has_value();
    workers.push_back(std::move(one));
  }
  ordered_json unserved = ordered_json::array();
  for (const Unserved& u : picture.unserved) {
    unserved.push_back({{"first_job", u.name},
                        {"jobs", u.jobs},
                        {"needs", show_need(u.job_class)},
                        {"allocation_waits", u.allocation}});
  }
  ordered_json unserved_labels = ordered_json::array();
  for (const auto& [labels, jobs] : picture.unserved_labels)
    unserved_labels.push_back({{"labels", labels_of(labels)}, {"jobs", jobs}});
  ordered_json failures = ordered_json::array();
  for (const Failure& f : picture.failures) {
    failures.push_back({{"job_id", raw(f.id)},
                        {"job", f.name},
                        {"state", claim::to_string(f.job.state)},
                        {"reason", f.reason}});
  }
  ordered_json out = {
      {"workflow", w.name},
      {"state", verdict_of(picture)},
      {"store", store.directory().string()},
      {"store_id", store.identity().id_hex()},
      {"engine", to_string(store.identity().engine)},
      {"jobs", w.jobs},
      {"jobs_by_state", report::counts_json(w.counts)},
      {"not_needed_jobs", w.unmet},
      {"halted", w.halted()},
      {"next_retry_at", json_if(picture.next_due.has_value(),
                                json_seconds(now + picture.next_due.value_or(WallTime{})))},
      {"workers", std::move(workers)},
      {"unserved", std::move(unserved)},
      {"unserved_labels", std::move(unserved_labels)},
      {"limits", report::limits_json(picture.quota)},
      {"budget", report::budget_json(picture.quota)},
      {"actions", w.actions.actions},
      {"action_runs_by_state", runs_json(w.actions)},
      {"failures", std::move(failures)}};
  report::add_situation(out, app, around, workflow::shown_path(app, store.directory()));
  return out;
}

// Of whom nobody knows how much time they have left.
void print_unknown_ends(const App& app, const Picture& picture) {
  std::uint64_t assumed = 0;
  std::uint64_t unknown = 0;
  for (const report::WorkerNow& w : picture.situation.workers) {
    const claim::WorkerInfo& info = w.worker.info;
    if (info.allocation.empty() || info.end_is_told) continue;
    ++(info.ends_at.count() != 0 ? assumed : unknown);
  }
  if (assumed > 0)
    say(app.out, "Slurm has told {} no end of its time: the walltime of the batch script counts\n",
        assumed == 1 ? "one worker" : fmt::format("{} workers", assumed));
  if (unknown > 0)
    say(app.out, "Slurm has told {} no end of its time, and none is known\n",
        unknown == 1 ? "one worker" : fmt::format("{} workers", unknown));
}

void print_workers(const App& app, const Picture& picture) {
  const std::vector<report::WorkerNow>& workers = picture.situation.workers;
  if (workers.empty()) return;
  const WallTime now = app.clock.wall_now();
  std::vector<Table::Column> columns = {{"worker", Align::right}, {"host"}, {"allocation"}};
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
  say(app.out, "\n{}", table.text());
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
void print_allocations(const App& app, const Picture& picture) {
  const auto& slurm = picture.situation.slurm;
  if (!slurm) return;
  const WallTime now = app.clock.wall_now();
  if (slurm->allocations.empty()) {
    const std::string said = report::say_slurm(picture.situation, now);
    if (!said.empty()) say(app.out, "\n{}\n", said);
    return;
  }
  Table table({{"allocation"}, {"scheduler"}, {"Slurm says" + report::say_asked(*slurm, now)}});
  for (const slurm::ShownAllocation& a : slurm->allocations) {
    if (table.rows() == kShownWorkers) break;
    table.add(
        {printable(a.id), a.script.empty() ? "-" : printable(a.script), report::say_state(a, now)});
  }
  say(app.out, "\n{}", table.text());
}

// What is missing that a command line gives.
void print_remedies(const App& app, const Picture& picture, const std::string& store) {
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
      "\nno worker has the time that is left for some of them, {} at least: start one with more "
      "(--time-limit, or the walltime of its allocation), or let them need less: torc set {} NAME "
      "runtime=…, or min_time=… where they save their state\n",
      show_exactly(least), store);
}

void print_unserved(const App& app, const Picture& picture) {
  if (picture.unserved.empty()) return;
  say(app.out, "\nready, but no worker that is there could ever run them:\n");
  Table table({{"jobs", Align::right}, {"first"}, {"each needs"}, {"waits for"}});
  for (const Unserved& u : picture.unserved) {
    table.add({show_count(u.jobs), printable(u.name), show_need(u.job_class),
               u.allocation ? "an allocation" : show_lacks(u)});
  }
  say(app.out, "{}", table.text());
}

void print_failures(const App& app, const Picture& picture, const std::string& store) {
  const claim::WorkflowState& w = picture.workflow;
  if (!picture.failures.empty()) {
    Table table({{"failed job"}, {"attempt", Align::right}, {"why"}});
    for (const Failure& f : picture.failures) {
      table.add({printable(f.name), std::to_string(f.job.attempt), f.reason});
    }
    say(app.out, "\n{}", table.text());
    const std::uint64_t all = report::jobs_with(w, claim::trait::kTroubled);
    if (all > picture.failures.size()) {
      say(app.out, "… and {} more; all of them: torc results {} --failed\n",
          show_count(all - picture.failures.size()), store);
    }
  }
  if (w.halted()) {
    say(app.out,
        "\nnothing more is started: {} job(s) failed, and max_failures is {}. Go on with: "
        "torc retry --failed\n",
        show_count(report::failures(w)), show_count(w.max_failures));
  }
  if (picture.next_due) {
    say(app.out, "\n{} job(s) failed and are tried again, the next {}\n",
        show_count(w.of(JobState::delayed)),
        picture.next_due->count() == 0 ? "as soon as a worker asks"
                                       : "in " + show_duration(*picture.next_due));
  }
  if (const auto n = w.of(JobState::pending_failed); n > 0) {
    say(app.out,
        "\n{} job(s) failed and wait for a decision. To run them again: torc retry --failed. "
        "To let them fail: torc cancel --state pending_failed\n",
        show_count(n));
  }
  if (w.of(JobState::held) > 0) {
    say(app.out, "\n{} job(s) are held: torc release --all\n", show_count(w.of(JobState::held)));
  }
  if (w.jobs_over() && w.of(JobState::blocked) > 0) {
    say(app.out, "\n{} job(s) {}\n", show_count(w.of(JobState::blocked)), report::show_blocked(w));
  }
}

void print_picture(const App& app, const Picture& picture, const store::Store& store) {
  const claim::WorkflowState& w = picture.workflow;
  say(app.out, "{}  {}  ({})\n{}\n\n", printable(w.name), verdict_of(picture),
      store.directory().string(),
      progress_text({w, 0},
                    app.out_is_terminal ? std::optional(app.terminal_columns) : std::nullopt));
  Table table({{"state"}, {"jobs", Align::right}});
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (w.counts[s] == 0) continue;
    table.add({std::string(claim::to_string(static_cast<JobState>(s))), show_count(w.counts[s])});
  }
  say(app.out, "{}", table.text());
  if (w.unmet > 0) {
    say(app.out, "{} of the canceled were not needed: their condition did not come true\n",
        show_count(w.unmet));
  }
  const std::string shown = workflow::shown_path(app, store.directory());
  print_workers(app, picture);
  if (!w.finished() || !picture.situation.workers.empty()) print_allocations(app, picture);
  const std::string nobody =
      report::say_stuck(picture.situation) + report::say_nobody(app, picture.situation, shown);
  if (!nobody.empty()) say(app.out, "\n{}", nobody);
  print_unserved(app, picture);
  print_remedies(app, picture, shown);
  say(app.out, "{}", report::quota_text(picture.quota));
  print_actions(app, w.actions);
  print_failures(app, picture, shown);
}

Result<Exit> run(const App& app, const StatusOptions& options) {
  TORC_ASSIGN(auto store, open_store(app, options.store));
  const WallTime now = app.clock.wall_now();
  TORC_ASSIGN(auto picture, look(app, *store, now));
  if (options.json)
    say(app.out, "{}\n", report::json_text(to_json(app, picture, *store, now)));
  else
    print_picture(app, picture, *store);
  return Exit::ok;
}

}  // namespace

void add_status(Command& c) {
  auto& o = c.options<StatusOptions>();
  c.about("Show progress, workers and failures");
  c.argument("STORE", o.store, "store");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
