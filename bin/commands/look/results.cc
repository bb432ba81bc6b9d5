// torc results: a row for each attempt that ended.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/past_attempts.h"
#include "lib/report/accounted_attempts.h"
#include "lib/report/job_view.h"
#include "lib/report/slurm_usage.h"
#include "lib/worker/text/outcome_text.h"

namespace torc::cli {
namespace {

struct ResultsOptions {
  SelectOptions jobs;         // [STORE] [NAME…], and states
  bool failed = false;        // jobs that ended as failed or terminated
  bool all_attempts = false;  // also those before the newest
  bool json = false;
  bool csv = false;
};

using claim::EndCause;
using claim::JobState;
using nlohmann::ordered_json;

// A longer list is printed in pages of this size, so that a million jobs need no memory.
constexpr std::size_t kResultsPage = 1000;

struct ResultRow {
  JobId job{};
  std::uint32_t attempt = 0;
  JobState state{};
  claim::WorkerEpoch worker{};
  claim::Outcome outcome;
  std::uint32_t alternative = 0;
  std::string missing_output = {};
  bool is_past = false;        // before the newest of its job
  bool by_sacct = false;       // some of its figures
  std::string node_list = {};  // of its step, as Slurm's accounting tells it
};

// It saved its state when it was told to end, said so by its exit code, and goes on.
bool is_checkpoint(const ResultRow& row, const workflow::RecipeBook::Page* page) {
  const std::int32_t code = page == nullptr ? 0 : page->recipe.checkpoint_exit_code();
  return code != 0 && (row.is_past || row.state == JobState::ready) &&
         row.outcome.cause == EndCause::exited && row.outcome.exit_code == code;
}

// A job that never ran has no attempt that ended.
bool is_result(const claim::Job& job) {
  return job.attempt > 0 && !claim::is_live(job.state) && job.outcome.cause != EndCause::none &&
         !claim::is_passed_over(job);
}

std::chrono::microseconds runtime_of(const claim::Outcome& o) {
  const bool ran = o.started_at.count() != 0 && o.ended_at > o.started_at;
  return ran ? o.ended_at - o.started_at : WallTime{};
}

// Where it was: by its worker, which is the head's of a job of several nodes.
struct Place {
  std::string host;
  std::string node;  // as its group calls it, of the rank that ended it
};

std::string show_place(const Place& place, const claim::Outcome& o) {
  if (place.node.empty()) return "-";
  return o.rank == 0 ? printable(place.node)
                     : fmt::format("{} (rank {})", printable(place.node), o.rank);
}

std::string csv_field(const ordered_json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

class Results {
 public:
  Results(const App& app, const ResultsOptions& options) : app_(app), options_(options) {}
  Result<Exit> run();

 private:
  Result<void> show(const claim::Reader& reader);
  Result<void> choose(const claim::Reader& reader, const std::vector<std::string>& names);
  [[nodiscard]] bool wanted(JobState state) const;
  Result<void> visit(const claim::Reader& reader,
                     const std::function<void(const ResultRow&)>& tell);
  void begin();
  void add(const claim::Reader& reader, ResultRow row);
  void end();
  void say_what_is_left_out() const;
  // `alternative`: as people number them; 0: there are none.
  [[nodiscard]] static ordered_json json_of(const ResultRow& row, const std::string& name,
                                            std::uint32_t alternative, const Place& place);
  Place place_of(const claim::Reader& reader, const ResultRow& row);
  const Place& place_of(const claim::Reader& reader, claim::WorkerEpoch worker);
  [[nodiscard]] Table new_page() const;

  const App& app_;
  const ResultsOptions& options_;
  std::unique_ptr<store::Store> store_;
  std::optional<std::vector<claim::JobRange>> jobs_;  // those named; nothing: all
  std::vector<JobState> states_;                      // empty: any
  report::AccountedAttempts accounted_;
  std::uint64_t cut_ = 0;   // jobs with earlier attempts than are kept
  std::uint32_t kept_ = 0;  // of each job before its newest
  workflow::RecipeBook book_;
  std::map<claim::WorkerEpoch, Place> places_;
  Table page_{{}};
  bool has_alternatives_ = false;  // of what jobs need
  std::uint64_t shown_ = 0;
};

// Who says the figures is shown where it could be somebody else than torc.
Table Results::new_page() const {
  std::vector<Table::Column> columns = {{"job", Align::left, Shorten::yes},
                                        {"attempt", Align::right},
                                        {"state"},
                                        {"ending"},
                                        {"exit", Align::right},
                                        {"time", Align::right},
                                        {"CPU time", Align::right, Shorten::no, 3},
                                        {"peak memory", Align::right, Shorten::no, 1},
                                        {"read", Align::right, Shorten::no, 4},
                                        {"written", Align::right, Shorten::no, 5},
                                        {"node", Align::left, Shorten::yes, 2}};
  if (has_alternatives_) columns.push_back({"alternative", Align::right});
  if (!accounted_.empty()) columns.push_back({"from"});
  return Table(std::move(columns));
}

bool Results::wanted(JobState state) const {
  return states_.empty() || std::ranges::find(states_, state) != states_.end();
}

Result<void> Results::visit(const claim::Reader& reader,
                            const std::function<void(const ResultRow&)>& tell) {
  Result<void> readable;
  const auto job_at = [&](JobId id, const claim::Job& job) {
    if (!wanted(job.state)) return true;
    const bool is_newest_told = is_result(job);
    if (options_.all_attempts && job.attempt > (is_newest_told ? 1U : 0U)) {
      std::uint32_t first = 0;
      readable = claim::scan_past_attempts(reader, id, [&](JobId, const claim::Job& past) {
        if (first == 0) first = past.attempt;
        if (past.attempt < job.attempt || !is_newest_told)
          tell({id,
                past.attempt,
                past.state,
                past.worker,
                past.outcome,
                past.alternative,
                {},
                true});
        return true;
      });
      if (first > 1) ++cut_;
    }
    if (is_newest_told)
      tell({id, job.attempt, job.state, job.worker, job.outcome, job.alternative});
    return readable.ok();
  };
  if (jobs_) {
    TORC_TRY(claim::scan_jobs_of(reader, *jobs_, job_at));
  } else if (states_.empty()) {
    TORC_TRY(claim::scan_jobs(reader, std::nullopt, job_at));
  } else {
    for (const JobState state : states_) TORC_TRY(claim::scan_jobs(reader, state, job_at));
  }
  return readable;
}

const Place& Results::place_of(const claim::Reader& reader, claim::WorkerEpoch worker) {
  const auto [at, fresh] = places_.try_emplace(worker);
  if (fresh && claim::raw(worker) != 0) {
    if (const auto known = claim::read_worker(reader, worker))
      at->second = {known->info.host, worker::node_of(known->info)};
  }
  return at->second;
}

Place Results::place_of(const claim::Reader& reader, const ResultRow& row) {
  Place place = place_of(reader, row.worker);
  if (row.outcome.rank != 0) place.node = place_of(reader, row.outcome.member).node;
  return place;
}

ordered_json Results::json_of(const ResultRow& row, const std::string& name,
                              std::uint32_t alternative, const Place& place) {
  const claim::Outcome& o = row.outcome;
  ordered_json out;
  out["job_id"] = raw(row.job);
  out["job"] = name;
  out["attempt"] = row.attempt;
  out["state"] = claim::to_string(row.state);
  report::add_end(out, o, true);
  out["errno"] = json_or_null(o.os_errno);
  out["started_at"] = json_time(o.started_at);
  out["ended_at"] = json_time(o.ended_at);
  out["elapsed_seconds"] = json_if(o.started_at.count() != 0, json_seconds(runtime_of(o)));
  report::add_use(out, o, true);
  out["told_by"] = report::to_string(row.by_sacct ? report::Source::sacct : report::Source::torc);
  report::add_activity(out, o);
  report::add_worker(out, row.worker, place.host);
  out["node_name"] = json_or_null(place.node);
  out["rank"] = json_or_null(o.rank);
  out["node_list"] = json_or_null(row.node_list);
  out["alternative"] = json_or_null(alternative);
  out["missing_output"] = json_or_null(row.missing_output);
  return out;
}

void Results::begin() {
  page_ = new_page();
  if (options_.json) say(app_.out, "[");
  if (!options_.csv) return;
  const ordered_json fields = json_of({}, {}, 0, {});
  std::string titles;
  for (const auto& [key, value] : fields.items()) titles += (titles.empty() ? "" : ",") + key;
  say(app_.out, "{}\n", titles);
}

void Results::add(const claim::Reader& reader, ResultRow row) {
  if (const auto told = accounted_.find({row.job, row.attempt}); told != accounted_.end()) {
    row.by_sacct = report::merge(told->second, row.outcome);
    row.node_list = told->second.node_list;
  }
  row.missing_output = worker::missing_output(reader, book_, row.job, row.outcome);
  const std::string name = workflow::job_name(book_, reader, row.job);
  const Place place = place_of(reader, row);
  const std::uint32_t alternative =
      report::shown_alternative(reader, book_, row.job, row.worker, row.alternative);
  const bool saved = is_checkpoint(row, book_.find(reader, row.job).get());
  if (saved) row.state = JobState::ready;  // the record of a past one tells its outcome alone
  const bool first = shown_++ == 0;
  if (options_.json) {
    say(app_.out, "{}\n  {}", first ? "" : ",",
        report::json_line(json_of(row, name, alternative, place)));
    return;
  }
  if (options_.csv) {
    std::string line;
    for (const ordered_json& value : json_of(row, name, alternative, place))
      line += (line.empty() ? "" : ",") + csv_field(value);
    say(app_.out, "{}\n", line);
    return;
  }
  const claim::Outcome& o = row.outcome;
  std::vector<std::string> cells = {printable(name),
                                    std::to_string(row.attempt),
                                    std::string(claim::to_string(row.state)),
                                    saved ? "checkpoint" : std::string(claim::to_string(o.cause)),
                                    report::show_exit(o),
                                    show_duration(runtime_of(o)),
                                    show_duration(o.cpu_time),
                                    report::show_peak(o),
                                    report::show_read(o),
                                    report::show_written(o),
                                    show_place(place, o)};
  if (has_alternatives_)
    cells.push_back(alternative == 0 ? std::string("-") : std::to_string(alternative));
  if (!accounted_.empty()) cells.emplace_back(row.by_sacct ? "sacct" : "torc");
  page_.add(std::move(cells));
  if (page_.rows() < kResultsPage) return;
  say_table(app_, page_);
  page_ = new_page();
}

void Results::end() {
  if (options_.json) say(app_.out, "{}]\n", shown_ == 0 ? "" : "\n");
  if (options_.json || options_.csv) return;
  if (!page_.empty()) say_table(app_, page_);
  if (shown_ == 0) say(app_.out, "no such attempt has ended\n");
}

// Rows are for programs too, so this goes to the other stream.
void Results::say_what_is_left_out() const {
  if (cut_ == 0) return;
  say(app_.err, "torc: of {} only the newest {} are kept\n", plural(cut_, "job"),
      plural(kept_, "earlier attempt"));
}

Result<void> Results::show(const claim::Reader& reader) {
  kept_ = claim::kept_attempts(reader);
  has_alternatives_ = false;
  TORC_TRY(claim::scan_classes(reader, [&](const claim::JobClass& c) {
    has_alternatives_ = !c.others.empty();
    return !has_alternatives_;
  }));
  begin();
  TORC_TRY(visit(reader, [&](const ResultRow& row) { add(reader, row); }));
  end();
  return {};
}

// Each of the names by itself, or a glob, a stage or a list of them.
Result<void> Results::choose(const claim::Reader& reader, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  TORC_ASSIGN(jobs_, select_jobs(reader, Selection{names, "", {}, false}));
  return {};
}

Result<Exit> Results::run() {
  TORC_ASSIGN(const auto where, locate_store_and_names(app_, options_.jobs.words));
  TORC_ASSIGN(store_, store::Store::open(app_.world, where.store, store::Tuning{}));
  states_ =
      options_.failed ? claim::states_with(claim::trait::kTroubled) : states_of(options_.jobs);
  report::KeptAttempts kept = report::read_accounted(store_->directory());
  accounted_ = std::move(kept.attempts);
  if (!kept.whole) say(app_.err, "torc: {}\n", report::kKeptInPart);
  TORC_TRY(store_->view(store::Freshness::latest, [&](const claim::Reader& reader) {
    Result<void> done = choose(reader, where.names);
    return done ? show(reader) : done;
  }));
  say_what_is_left_out();
  return Exit::ok;
}

}  // namespace

void add_results(Command& c) {
  auto& o = c.options<ResultsOptions>();
  c.about("Show how attempts ended, how long they took and what they used");
  c.argument("NAME", o.jobs.words,
             "[STORE] [NAME…]: jobs by name, by #NUMBER, 'align_*', stage:align, @FILE or - "
             "(default: all)")
      .value("[STORE] [NAME…]");
  const Flag failed = c.flag("--failed", o.failed, "only of jobs that failed or were terminated");
  add_state(c, o.jobs, claim::all_states(), "only of jobs in one of these states, with commas")
      .excludes(failed);
  c.flag("--all-attempts", o.all_attempts,
         fmt::format("also attempts before the newest, of each job the last {}",
                     claim::kKeptAttempts));
  const Flag json = c.flag("--json", o.json, "machine-readable output");
  c.flag("--csv", o.csv, "comma-separated values with a line of titles").excludes(json);
  c.shows_tables();
  c.footer(
      "\nAn attempt before the newest has the state that its end alone would have given its job.");
  c.run([&o](const App& app) { return Results(app, o).run(); });
}

}  // namespace torc::cli
