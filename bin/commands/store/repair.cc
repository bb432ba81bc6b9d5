// torc repair: shows how much of a damaged store is good, and lets it go on from there when told
// to.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/store/salvage.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/table.h"
#include "lib/claim/audit/history.h"
#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/tables.h"
#include "lib/report/job_view.h"
#include "lib/store/maintenance/repair.h"
#include "lib/workflow/context/live_workers.h"

namespace torc::cli {
namespace {

struct RepairOptions {
  std::string store;
  std::string salvage;  // a directory to be made; empty: none
  bool quarantine_tail = false;
  bool yes = false;
  bool force = false;  // although workers are registered as alive
  bool json = false;
};

using nlohmann::ordered_json;

constexpr std::size_t kShown = 20;

using EventCounts = std::array<std::uint64_t, claim::kEventKinds>;

struct LostPart {
  std::vector<EventCounts> commits;  // as Repair::lost()
  EventCounts all{};
  std::map<claim::WorkerEpoch, std::string> hosts;
};

std::string show_counts(const EventCounts& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", show_count(counts[i]),
                       claim::to_string(static_cast<claim::EventKind>(i)));
  }
  return out.empty() ? "lease renewed" : out;
}

std::string utc_name(WallTime now) {
  const std::time_t seconds = now.count() / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t n = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return {text, n};
}

class Repair {
 public:
  Repair(const App& app, const RepairOptions& options, Path directory)
      : app_(app), options_(options), directory_(std::move(directory)) {}

  Result<Exit> run();

 private:
  Result<void> look();
  Result<Exit> confirm();
  void show() const;
  void show_lost() const;
  [[nodiscard]] bool agreed() const;
  Result<Exit> act();
  // As JSON all is told here; else the caller tells of an Error.
  [[nodiscard]] Result<Exit> finish(Result<Exit> end) const;
  [[nodiscard]] ordered_json to_json() const;
  [[nodiscard]] std::string who(std::uint64_t author) const;

  const App& app_;
  const RepairOptions& options_;
  Path directory_;
  std::unique_ptr<store::Repair> repair_;
  LostPart lost_;
  std::vector<claim::Worker> live_workers_;
  Path quarantine_;
  bool verified_ = false;
};

Result<void> Repair::look() {
  TORC_ASSIGN(repair_, store::Repair::examine(app_.world, directory_));
  return repair_->view([&](const store::Reader& reader) -> Result<void> {
    lost_ = {};
    TORC_ASSIGN(live_workers_, workflow::live_workers(app_, reader));
    std::map<claim::WorkerEpoch, claim::Worker> registered;
    TORC_TRY(claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
      lost_.hosts[worker.epoch] = worker.info.host;
      return true;
    }));
    EventCounts* counts = nullptr;
    claim::Historian historian(
        [&](const claim::Event& event) { ++(*counts)[static_cast<std::size_t>(event.kind)]; });
    reader.scan_prefix(claim::Key(claim::Table::job), [&](const store::Entry& e) {
      historian.base(e.key, e.value);
      return true;
    });
    for (const store::LostCommit& commit : repair_->lost()) {
      EventCounts& mine = lost_.commits.emplace_back();
      counts = &mine;
      if (commit.damage.empty()) {
        TORC_ASSIGN(const std::string writes, repair_->writes_of(commit));
        TORC_TRY(historian.commit(commit.sequence, commit.author, writes));
      }
      for (std::size_t i = 0; i < mine.size(); ++i) lost_.all[i] += mine[i];
    }
    return {};
  });
}

std::string Repair::who(std::uint64_t author) const {
  if (author == 0) return "a command";
  const auto host = lost_.hosts.find(claim::WorkerEpoch{author});
  return host == lost_.hosts.end() ? fmt::format("worker {}", author)
                                   : fmt::format("worker {} on {}", author, host->second);
}

void Repair::show_lost() const {
  const auto& lost = repair_->lost();
  if (lost.empty()) {
    say(app_.out, "{}\n",
        repair_->lost_without_trace() ? "what is lost cannot be listed" : "nothing is lost");
    return;
  }
  Table table({{"lost commit", Align::right},
               {"by", Align::left, Shorten::yes},
               {"what", Align::left, Shorten::yes}});
  for (std::size_t i = 0; i < lost.size(); ++i) {
    // The first and the last ones tell most.
    if (lost.size() > kShown && i == kShown / 2) i = lost.size() - kShown / 2;
    const bool readable = lost[i].damage.empty();
    table.add({std::to_string(lost[i].sequence), readable ? who(lost[i].author) : "?",
               readable ? show_counts(lost_.commits[i]) : "cannot be read"});
  }
  say(app_.out, "\n");
  say_table(app_, table);
  if (lost.size() > kShown) say(app_.out, "… {} commits in all\n", lost.size());
  say(app_.out,
      "\ntogether: {}\njobs whose end is lost run again; jobs whose claim is lost are ready\n",
      show_counts(lost_.all));
}

void Repair::show() const {
  if (repair_->last_good() == 0) {
    say(app_.out, "{}: nothing is left from which it could go on\n", directory_.string());
  } else {
    say(app_.out, "{}: good up to commit {}\n", directory_.string(), repair_->last_good());
  }
  if (!repair_->from_copy().empty()) {
    say(app_.out, "(as this node's copy has it: {})\n", repair_->from_copy().string());
  }
  for (const store::Damage& damage : repair_->damages())
    say(app_.out, "damaged: {}\n", damage.what);
  show_lost();
  if (!live_workers_.empty()) say(app_.out, "\n{}\n", workflow::show_workers(live_workers_));
}

ordered_json Repair::to_json() const {
  ordered_json damaged = ordered_json::array();
  for (const store::Damage& d : repair_->damages())
    damaged.push_back({{"file", d.file.string()}, {"damage", d.what}});
  ordered_json lost = ordered_json::array();
  for (std::size_t i = 0; i < repair_->lost().size(); ++i) {
    const store::LostCommit& commit = repair_->lost()[i];
    ordered_json events;
    for (std::size_t k = 0; k < claim::kEventKinds; ++k)
      events[std::string(claim::to_string(static_cast<claim::EventKind>(k)))] = lost_.commits[i][k];
    lost.push_back({{"commit", commit.sequence},
                    {"file", commit.file.string()},
                    {"author", json_if(commit.damage.empty() && commit.author != 0, commit.author)},
                    {"damage", json_or_null(commit.damage)},
                    {"events_by_kind", std::move(events)}});
  }
  return {{"store", directory_.string()},
          {"clean", !repair_->needed() && verified_},
          {"last_good_commit", repair_->last_good()},
          {"from_copy", json_or_null(repair_->from_copy().string())},
          {"damaged_files", std::move(damaged)},
          {"lost_commits", std::move(lost)},
          {"lost_without_trace", repair_->lost_without_trace()},
          {"registered_workers", live_workers_.size()},
          {"repaired", !quarantine_.empty()},
          {"quarantine", json_or_null(quarantine_.string())},
          {"verified", verified_}};
}

bool Repair::agreed() const {
  if (options_.yes) return true;
  if (isatty(STDIN_FILENO) != 1 || !app_.out_is_terminal) return false;
  say(app_.out, "\nGo on from commit {}, without what is listed above? [y/N] ",
      repair_->last_good());
  std::fflush(app_.out);
  char answer[16] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr &&
         (answer[0] == 'y' || answer[0] == 'Y');
}

Result<Exit> Repair::act() {
  if (!live_workers_.empty() && !options_.force) {
    return finish(Error{ErrorKind::exists,
                        workflow::show_workers(live_workers_) + " in " + directory_.string(),
                        "end them first (scancel, Ctrl-C); when they are surely gone, --force"});
  }
  if (!agreed()) {
    return finish(Error{ErrorKind::invalid, "not confirmed: nothing was repaired",
                        "--yes repairs without asking"});
  }
  auto done = repair_->carry_out(utc_name(app_.clock.wall_now()));
  if (!done) return finish(done.error());
  quarantine_ = *done;
  const auto verified = store::verify(app_.world, directory_, claim::verify_state);
  if (!verified) return finish(verified.error());
  verified_ = true;
  if (!options_.json) {
    say(app_.out, "\nrepaired and verified: the next commit is {}; what did not fit is in {}\n",
        repair_->continues_at(), quarantine_.string());
  }
  return finish(Exit::ok);
}

Result<Exit> Repair::finish(Result<Exit> end) const {
  if (!options_.json) return end;
  ordered_json out = to_json();
  out["error"] = end ? ordered_json(nullptr) : ordered_json(end.error().text());
  say(app_.out, "{}\n", report::json_text(out));
  if (end) return end;
  return end.error().kind == ErrorKind::invalid ? Exit::usage : Exit::store;
}

// What a repair can mend is not all that can be wrong: only a store that every command takes is
// called whole.
Result<Exit> Repair::confirm() {
  const auto verified = store::verify(app_.world, directory_, claim::verify_state);
  if (!verified) {
    Error error = verified.error();
    error.what =
        "nothing was found that could be repaired, but the store is not whole: " + error.what;
    if (error.kind == ErrorKind::busy)
      error.remedy =
          "end all workers and try again; if this is still reported, put the store back from a "
          "backup (`torc backup` makes them)";
    if (error.kind == ErrorKind::corrupt)
      error.remedy =
          "keep a copy of the directory, put the store back from a backup (`torc "
          "backup` makes them), and report it";
    return finish(std::move(error));
  }
  verified_ = true;
  if (!options_.json) {
    say(app_.out, "{}: nothing to repair: the history is whole up to commit {}, and verified\n",
        directory_.string(), verified->last_sequence);
  }
  return finish(Exit::ok);
}

Result<Exit> Repair::run() {
  TORC_TRY(look());
  if (!repair_->needed()) return confirm();
  if (!options_.json) show();
  if (options_.quarantine_tail) return act();
  if (!options_.json && repair_->last_good() == 0) {
    say(app_.out,
        "\nnothing was changed; run this on the nodes that worked in the store, whose copies may "
        "have it, or put it back from a backup (`torc backup` makes them)\n");
  } else if (!options_.json) {
    say(app_.out,
        "\nnothing was changed; `torc repair --quarantine-tail {}` goes on from commit {} and "
        "moves the rest aside\n",
        directory_.string(), repair_->last_good());
  }
  return finish(Exit::store);
}

Result<Exit> run(const App& app, const RepairOptions& options) {
  TORC_ASSIGN(auto path, locate_store(app, options.store));
  if (!options.salvage.empty())
    return run_salvage(app, path, {options.salvage, options.force, options.json});
  return Repair(app, options, path).run();
}

}  // namespace

void add_repair(Command& c) {
  auto& o = c.options<RepairOptions>();
  c.about("Show how much of a damaged store is good; go on from there");
  c.argument("STORE", o.store, "store");
  const Flag tail =
      c.flag("--quarantine-tail", o.quarantine_tail,
             "go on from the last good commit and move what follows to STORE/quarantine/");
  c.option(
       "--salvage", o.salvage,
       "engine lmdb: put what can be read into a new directory, a store where nothing is missing")
      .value("NEW")
      .check([](const std::string& name) {
        return name.empty() ? "is empty; name a directory" : std::string();
      })
      .excludes(tail);
  c.flag("--yes", o.yes, "do not ask");
  c.flag("--force", o.force,
         "even if workers are registered as alive (make sure that they are gone)");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.footer(
      "\nWithout --quarantine-tail it only looks. Nothing is ever deleted, and --salvage "
      "changes\nnothing in STORE. What it makes is a store only if no record is missing and they "
      "fit\ntogether; otherwise it makes lists: jobs.jsonl and records.jsonl.\nExit codes: 0 "
      "nothing to repair, or repaired and verified, or salvaged as a store that is\nverified; 4 "
      "damaged and not repaired;\n2 the repair was not confirmed, or wrong flags.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
