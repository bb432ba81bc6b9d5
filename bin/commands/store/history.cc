// torc history: who claimed, started, finished, expired what, and when.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/look/moment.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/audit/history.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/past_attempts.h"
#include "lib/claim/tables/tables.h"
#include "lib/report/job_view.h"
#include "lib/report/situation_text.h"
#include "lib/store/engine/engine_name.h"
#include "lib/store/journal/chain.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

struct HistoryOptions {
  std::vector<std::string> words;  // [STORE] [NAME…]
  std::string job;                 // one name more
  std::optional<std::uint64_t> worker;
  std::string since;        // a duration or a local time; empty: from the beginning
  std::uint64_t limit = 0;  // the newest so many; 0: all
  bool json = false;
};

using claim::Event;
using claim::EventKind;
using nlohmann::ordered_json;

constexpr std::size_t kEventsPage = 1000;

// Of an attempt that was lost with its worker: it is told when that was found.
bool is_loss(const Event& event) {
  return (event.kind == EventKind::finished || event.kind == EventKind::requeued) &&
         claim::is_loss(event.outcome.cause);
}

class History {
 public:
  History(const App& app, const HistoryOptions& options) : app_(app), options_(options) {}
  Result<Exit> run();

 private:
  Result<void> prepare();
  Result<void> collect();
  void take(const Event& event, bool from_state);
  void show(const claim::Reader& reader);
  void show_table(const claim::Reader& reader, const std::vector<const Event*>& events);
  void show_json(const claim::Reader& reader, const std::vector<const Event*>& events);
  void show_extent(const claim::Reader& reader) const;
  void show_now() const;
  [[nodiscard]] bool wanted(const Event& event, WallTime at) const;
  [[nodiscard]] bool is_about_jobs(const Event& event) const;
  void scan_past_attempts(const claim::Reader& reader,
                          const std::function<bool(const store::Entry&)>& tell) const;
  [[nodiscard]] std::vector<const Event*> newest() const;
  std::string host_of(const claim::Reader& reader, claim::WorkerEpoch worker);
  std::string name_of(const claim::Reader& reader, JobId job);
  std::string what(const claim::Reader& reader, const Event& event);
  static std::string trigger_of(const claim::Reader& reader, const Event& event);

  const App& app_;
  const HistoryOptions& options_;
  std::unique_ptr<store::Store> store_;
  report::Situation situation_;
  std::optional<std::vector<claim::JobRange>> jobs_;  // nothing: all
  WallTime since_{};
  store::ChainExtent extent_;
  std::vector<Event> from_state_;
  std::deque<Event> from_chain_;
  WallTime clock_{};  // newest time met in the chain, for events without one
  std::map<claim::WorkerEpoch, std::string> hosts_;
  workflow::RecipeBook book_;
};

bool History::is_about_jobs(const Event& event) const {
  if (event.kind == EventKind::changed || event.kind == EventKind::undone)
    return std::ranges::any_of(
        event.jobs, [&](const claim::JobRange& range) { return claim::has_one_of(*jobs_, range); });
  return claim::has_one_of(*jobs_, {event.job, event.kind == EventKind::added ? event.count : 1}) ||
         claim::has_job(*jobs_, raw(event.parent));
}

bool History::wanted(const Event& event, WallTime at) const {
  if (jobs_ && !is_about_jobs(event)) return false;
  if (options_.worker && claim::raw(event.worker) != *options_.worker) return false;
  return since_.count() == 0 || at >= since_;
}

void History::take(const Event& event, bool from_state) {
  if (!from_state && event.at.count() != 0) clock_ = event.at;
  if (!wanted(event, event.at.count() != 0 || from_state ? event.at : clock_)) return;
  if (from_state) {
    from_state_.push_back(event);
    return;
  }
  from_chain_.push_back(event);
  if (options_.limit > 0 && from_chain_.size() > options_.limit) from_chain_.pop_front();
}

Result<void> History::prepare() {
  TORC_ASSIGN(const auto where, locate_store_and_names(app_, options_.words));
  std::vector<std::string> names = where.names;
  if (!options_.job.empty()) names.push_back(options_.job);
  TORC_ASSIGN(store_, store::Store::open(app_.world, where.store, store::Tuning{}));
  // What has happened is told also where that cannot be read.
  if (auto found = report::look_around(app_, *store_, report::AskSlurm::yes))
    situation_ = *std::move(found);
  if (!options_.since.empty()) {
    TORC_ASSIGN(since_, parse_moment("--since", options_.since, app_.clock.wall_now()));
  }
  if (names.empty()) return {};
  return store_->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(jobs_, select_jobs(reader, Selection{names, "", {}, false}));
    return {};
  });
}

// Of few jobs those of each; of more, all that there are, of which take() leaves others out.
void History::scan_past_attempts(const claim::Reader& reader,
                                 const std::function<bool(const store::Entry&)>& tell) const {
  constexpr std::uint64_t kFew = 1000;
  if (!jobs_ || claim::jobs_in(*jobs_) > kFew) {
    reader.scan_prefix(claim::Key(claim::Table::past_attempt), tell);
    return;
  }
  for (const claim::JobRange& range : *jobs_) {
    for (std::uint64_t i = 0; i < range.count; ++i)
      reader.scan_prefix(claim::Key(claim::Table::past_attempt, raw(range.first) + i), tell);
  }
}

// The commits first: what they do not tell is asked of a state that is at least as new.
Result<void> History::collect() {
  bool from_state = false;
  claim::Historian historian([&](const Event& event) { take(event, from_state); });
  TORC_ASSIGN(extent_, store::read_chain(app_.world, store_->directory(),
                                         [&](std::uint64_t sequence, std::uint64_t author,
                                             std::string_view writes) {
                                           return historian.commit(sequence, author, writes);
                                         }));
  from_state = true;
  return store_->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    from_state_.clear();
    const auto tell = [&](const store::Entry& e) {
      historian.rest(e.key, e.value);
      return true;
    };
    const auto tell_changes = [&](const store::Entry& e) {
      return claim::is_in(claim::Table::change, e.key) && tell(e);
    };
    const auto tell_additions = [&](const store::Entry& e) {
      return claim::is_in(claim::Table::addition, e.key) && tell(e);
    };
    reader.scan_prefix(claim::Key(claim::Table::worker), tell);
    reader.scan_prefix(claim::Key(claim::Table::job), tell);
    scan_past_attempts(reader, tell);
    reader.scan_prefix(claim::Key(claim::Table::action_run), tell);
    reader.scan_prefix(claim::Key(claim::Table::gang), tell);
    reader.scan(claim::Key(claim::Table::addition, 0), tell_additions);
    reader.scan(claim::Key(claim::Table::change, 0), tell_changes);
    std::stable_sort(from_state_.begin(), from_state_.end(),
                     [](const Event& a, const Event& b) { return a.at < b.at; });
    show(reader);
    return {};
  });
}

std::vector<const Event*> History::newest() const {
  std::vector<const Event*> out;
  for (const Event& event : from_state_) out.push_back(&event);
  for (const Event& event : from_chain_) out.push_back(&event);
  if (options_.limit > 0 && out.size() > options_.limit)
    out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(options_.limit));
  return out;
}

std::string History::host_of(const claim::Reader& reader, claim::WorkerEpoch worker) {
  if (claim::raw(worker) == 0) return {};
  const auto [at, fresh] = hosts_.try_emplace(worker);
  if (fresh) {
    if (const auto known = claim::read_worker(reader, worker)) at->second = known->info.host;
  }
  return at->second;
}

std::string History::name_of(const claim::Reader& reader, JobId job) {
  return raw(job) == 0 ? std::string() : workflow::job_name(book_, reader, job);
}

// " (on_workflow_start)"
std::string History::trigger_of(const claim::Reader& reader, const Event& event) {
  const auto value = reader.get(claim::action_key(event.action));
  const auto action = value ? claim::decode_action(*value) : std::nullopt;
  return action ? fmt::format(" ({})", claim::to_string(action->trigger)) : std::string();
}

std::string History::what(const claim::Reader& reader, const Event& event) {
  switch (event.kind) {
    case EventKind::finished:
    case EventKind::requeued:
      return fmt::format(
          "{}: {}{}", claim::to_string(event.state),
          worker::show_outcome(event.outcome,
                               worker::missing_output(reader, book_, event.job, event.outcome)),
          is_loss(event) ? "; last heard of " + show_time(event.outcome.ended_at) : std::string());
    case EventKind::action_started:
    case EventKind::action_ended:
    case EventKind::action_returned: {
      const std::string which = fmt::format("action {}{}", event.action, trigger_of(reader, event));
      return event.kind == EventKind::action_ended
                 ? which + ": " + worker::show_outcome(event.outcome)
                 : which;
    }
    case EventKind::expired: {
      const auto worker = claim::read_worker(reader, event.worker);
      const std::string by = claim::raw(event.author) == 0
                                 ? ""
                                 : fmt::format("by worker {}; ", claim::raw(event.author));
      return worker ? fmt::format("{}its last commit was {}", by, show_time(worker->last_seen))
                    : by;
    }
    case EventKind::changed:
    case EventKind::undone:
      return event.by == workflow::who_asks(app_)
                 ? printable(event.command)
                 : fmt::format("{}, by {}", printable(event.command), printable(event.by));
    case EventKind::gang_claimed:
      return fmt::format("{} nodes", event.count);
    case EventKind::added:
      if (raw(event.parent) == 0)
        return fmt::format("{}, by {}", plural(event.count, "job"), printable(event.by));
      return fmt::format("{}, by {}, attempt {}, {}", plural(event.count, "job"),
                         printable(name_of(reader, event.parent)), event.attempt,
                         printable(event.by));
    default:
      return "";
  }
}

void History::show_extent(const claim::Reader& reader) const {
  const std::uint32_t kept = claim::kept_attempts(reader) + 1;
  const std::string attempts = kept == 1 ? "attempt" : show_count(kept) + " attempts";
  if (store_->identity().engine == store::Engine::lmdb) {
    say(app_.out, "engine lmdb keeps no commits: told from the state, of each job its last {}\n",
        attempts);
  } else if (extent_.first != 1) {
    say(app_.out, "{}; of what is older the state tells each job's last {}\n",
        extent_.first == 0 ? std::string("no commits are left")
                           : fmt::format("commits from {} on are left", extent_.first),
        attempts);
  }
  if (!extent_.without_gap)
    say(app_.out, "some commits are missing between: collected, or lost in a repair\n");
  for (const Path& file : extent_.unreadable)
    say(app_.err, "torc: warning: {} is damaged: see `torc verify`\n", file.string());
}

void History::show_table(const claim::Reader& reader, const std::vector<const Event*>& events) {
  const auto new_page = [] {
    return Table({{"time"},
                  {"commit", Align::right, Shorten::no, 1},
                  {"event"},
                  {"job", Align::left, Shorten::yes},
                  {"attempt", Align::right},
                  {"worker", Align::left, Shorten::yes, 2},
                  {"what", Align::left, Shorten::yes}});
  };
  Table page = new_page();
  for (const Event* e : events) {
    const std::string host = host_of(reader, e->worker);
    page.add({show_time(e->at), e->sequence == 0 ? "-" : std::to_string(e->sequence),
              std::string(claim::to_string(e->kind)),
              raw(e->job) == 0 ? "-" : name_of(reader, e->job),
              e->attempt == 0 || e->kind == EventKind::added ? "-" : std::to_string(e->attempt),
              claim::raw(e->worker) == 0
                  ? "-"
                  : fmt::format("{}{}{}", claim::raw(e->worker), host.empty() ? "" : " on ", host),
              what(reader, *e)});
    if (page.rows() < kEventsPage) continue;
    say_table(app_, page);
    page = new_page();
  }
  if (!page.empty()) say_table(app_, page);
  if (events.empty()) say(app_.out, "nothing that fits has happened\n");
}

void History::show_json(const claim::Reader& reader, const std::vector<const Event*>& events) {
  ordered_json head = {
      {"store", store_->directory().string()},
      {"engine", to_string(store_->identity().engine)},
      {"first_commit", json_or_null(extent_.first)},
      {"last_commit", json_or_null(extent_.last)},
      {"complete", extent_.first == 1 && extent_.without_gap && extent_.unreadable.empty()}};
  report::add_situation(head, app_, situation_, workflow::shown_path(app_, store_->directory()));
  std::string text = report::json_text(head);
  text.erase(text.rfind('\n'));
  say(app_.out, "{},\n  \"events\": [", text);
  bool first = true;
  for (const Event* e : events) {
    const bool added = e->kind == EventKind::added;
    ordered_json row;
    row["at"] = json_time(e->at);
    row["heard_at"] = is_loss(*e) ? json_time(e->outcome.ended_at) : ordered_json(nullptr);
    row["commit"] = json_or_null(e->sequence);
    row["event"] = claim::to_string(e->kind);
    row["job_id"] = json_or_null(raw(e->job));
    row["job"] = report::job_name_json(reader, book_, e->job);
    row["attempt"] = json_if(!added && e->attempt != 0, e->attempt);
    report::add_worker(row, e->worker, host_of(reader, e->worker));
    row["author"] = json_or_null(claim::raw(e->author));
    row["action"] = json_or_null(e->action);
    row["state"] = json_if(!added && raw(e->job) != 0, claim::to_string(e->state));
    report::add_end(row, e->outcome, e->outcome.cause != claim::EndCause::none);
    row["missing_output"] = json_or_null(worker::missing_output(reader, book_, e->job, e->outcome));
    row["change"] = nullptr;
    if (e->kind == EventKind::changed || e->kind == EventKind::undone)
      row["change"] = {
          {"command_line", e->command}, {"changed_by", e->by}, {"changed_jobs", e->count}};
    row["addition"] = nullptr;
    if (added) {
      row["addition"] = {{"added_jobs", e->count},
                         {"added_by", e->by},
                         {"parent", report::job_name_json(reader, book_, e->parent)},
                         {"parent_attempt", json_if(raw(e->parent) != 0, e->attempt)}};
    }
    say(app_.out, "{}\n    {}", first ? "" : ",", report::json_line(row));
    first = false;
  }
  say(app_.out, "{}]\n}}\n", first ? "" : "\n  ");
}

// Why nothing more happens, where it should.
void History::show_now() const {
  const std::string nobody =
      report::say_nobody(app_, situation_, workflow::shown_path(app_, store_->directory()));
  if (nobody.empty()) return;
  const WallTime now = app_.clock.wall_now();
  const std::string slurm = report::say_slurm(situation_, now);
  say(app_.out, "\n{}{}{}{}", report::say_absences(situation_, now), slurm,
      slurm.empty() ? "" : "\n", nobody);
}

void History::show(const claim::Reader& reader) {
  const std::vector<const Event*> events = newest();
  if (options_.json) {
    show_json(reader, events);
  } else {
    show_extent(reader);
    show_table(reader, events);
    show_now();
  }
}

Result<Exit> History::run() {
  TORC_TRY(prepare());
  TORC_TRY(collect());
  return Exit::ok;
}

}  // namespace

void add_history(Command& c) {
  auto& o = c.options<HistoryOptions>();
  c.about("Show who claimed, started, finished, lost what and when");
  c.argument("NAME", o.words,
             "[STORE] [NAME…]: of these jobs only, by name, by #NUMBER, 'align_*', stage:align, "
             "@FILE or - (default: of all)")
      .value("[STORE] [NAME…]");
  c.option("--job", o.job, "the same of one").value("NAME");
  c.option("--worker", o.worker, "of this worker only").value("N");
  c.option("--since", o.since, "not older than 2h, or than '2026-05-01 12:00'").value("TIME");
  c.option("--limit", o.limit, "the newest N events (0: all)").value("N");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.footer(
      "\nIt is told from the commits that are still there; of what is older, and for engine lmdb, "
      "the\n"
      "state tells the attempts of each job. Times are those of the workers' clocks.");
  c.run([&o](const App& app) { return History(app, o).run(); });
}

}  // namespace torc::cli
