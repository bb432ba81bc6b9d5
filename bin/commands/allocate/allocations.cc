// torc allocations: those that the workflow has asked for; a pass over them; and what a person
// cancels or stops of them.
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/number.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

struct ListOptions {
  std::string store;
  bool all = false;
  bool json = false;
};

Result<Exit> run_list(const App& app, const ListOptions& options) {
  TORC_ASSIGN(auto store, open_store(app, options.store));
  // What the queue said may be old; where it can be asked, and it is due, it is.
  if (may_look_at_queue(app, *store)) {
    TORC_ASSIGN(const auto launcher, find_launcher(app, *store));
    const auto unanswered = allocate::ask_queue(app, *store, *launcher);
    // Who may only read the store sees what it says.
    if (unanswered.ok()) {
      if (!options.json) print_unanswered(app, *unanswered);
    } else if (!options.json) {
      say(app.err, "torc: warning: what the queue says now could not be recorded: {}\n",
          unanswered.error().what);
    }
  }
  TORC_ASSIGN(const auto list,
              read_list(*store, options.all ? report::Which::all : report::Which::live));
  if (options.json) {
    say(app.out, "{}\n", report::json_text(report::to_json(list, app.clock.wall_now())));
    return Exit::ok;
  }
  print_list(app, list);
  if (list.rows.empty()) {
    say(app.out, "no allocation is wanted, queued or running{}\n",
        options.all ? ", or ever was" : "; --all shows those that have ended");
  }
  return Exit::ok;
}

struct TickOptions {
  std::string store;
  bool begun = false;
  bool if_nobody_works = false;
  bool json = false;
};

Result<bool> does_anybody_work(store::Store& store) {
  bool anybody = false;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const auto load, claim::read_load(reader));
    anybody = load.workers > 0;
    return {};
  }));
  return anybody;
}

nlohmann::ordered_json to_json(const allocate::PassReport& pass) {
  nlohmann::ordered_json out;
  out["pass_was_made"] = pass.was_made;
  out["wanted"] = pass.wanted;
  out["submitted"] = pass.submitted;
  out["surplus_canceled"] = pass.canceled;
  out["not_submitted"] = pass.left;
  out["waits_for_login"] = pass.waits_for_login;
  out["unanswered_reason"] = pass.unanswered.empty() ? nlohmann::ordered_json(nullptr)
                                                     : nlohmann::ordered_json(pass.unanswered);
  out["warnings"] = pass.said;
  return out;
}

Result<Exit> run_tick(const App& app, const TickOptions& options) {
  TORC_ASSIGN(auto store, open_store(app, options.store));
  auto turn = options.begun ? allocate::Turn::taken : allocate::Turn::if_due;
  if (options.if_nobody_works) {
    TORC_ASSIGN(const bool anybody, does_anybody_work(*store));
    if (!anybody) turn = allocate::Turn::soon;
  }
  TORC_ASSIGN(const auto pass, pass_here(app, *store, turn));
  if (options.json) {
    say(app.out, "{}\n", report::json_text(to_json(pass)));
  } else {
    print_pass(app, pass);
  }
  return Exit::ok;
}

struct CancelOptions {
  std::vector<std::string> words;  // [STORE] NUMBER...
  bool all = false;
  bool json = false;
};

Result<std::vector<std::uint32_t>> numbers_in(const std::vector<std::string>& words,
                                              std::string& store) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& word : words) {
    const auto number = whole_number<std::uint32_t>(word);
    if (number && *number > 0) {
      numbers.push_back(*number);
    } else if (store.empty()) {
      store = word;
    } else {
      return invalid(fmt::format("'{}' is not the number of an allocation", printable(word)),
                     "torc allocations lists them");
    }
  }
  return numbers;
}

Result<Exit> run_cancel(const App& app, const CancelOptions& options) {
  std::string named;
  TORC_ASSIGN(std::vector<std::uint32_t> numbers, numbers_in(options.words, named));
  if (numbers.empty() != options.all) {
    return invalid("no allocation was named",
                   "give the numbers that `torc allocations` lists, or --all");
  }
  TORC_ASSIGN(auto store, open_store(app, named));
  TORC_ASSIGN(const auto launcher, find_launcher(app, *store));
  const std::string cluster = launcher->cluster();
  std::vector<std::string> ids;
  TORC_TRY(store->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const claim::Allocations live, claim::read_live_allocations(tx));
    std::vector<std::uint32_t> chosen = numbers;
    if (options.all) {
      for (const auto& [number, allocation] : live) chosen.push_back(number);
    }
    for (const std::uint32_t number : numbers) {
      if (!live.contains(number)) {
        return invalid(fmt::format("no live allocation has the number {}", number),
                       "torc allocations lists them");
      }
    }
    TORC_ASSIGN(ids, claim::cancel_allocations(tx, chosen, app.clock.wall_now(), cluster));
    return {};
  }));
  const bool is_done = ids.empty() || launcher->cancel(ids);
  TORC_ASSIGN(const auto list, read_list(*store, report::Which::live));
  if (options.json) {
    say(app.out, "{}\n", report::json_text(report::to_json(list, app.clock.wall_now())));
  } else {
    print_list(app, list);
  }
  if (!is_done) {
    return Error{ErrorKind::io, "the batch system did not cancel them all",
                 "the next pass tries again; to do it yourself use scancel, qdel or the like"};
  }
  return Exit::ok;
}

struct StopOptions {
  std::string store;
  bool json = false;
};

// Nothing is asked for as jobs need it any more, and what was not submitted yet is not to be.
Result<void> stop_asking(claim::Transaction& tx, WallTime now) {
  TORC_ASSIGN(const auto schedulers, claim::read_schedulers(tx));
  for (std::uint32_t s = 1; s <= schedulers.size(); ++s) TORC_TRY(claim::tell_off(tx, s));
  TORC_ASSIGN(const claim::Allocations live, claim::read_live_allocations(tx));
  std::vector<std::uint32_t> wanted;
  for (const auto& [number, allocation] : live) {
    if (allocation.stage == claim::AllocationStage::wanted) wanted.push_back(number);
  }
  TORC_TRY(claim::cancel_allocations(tx, wanted, now));
  return {};
}

Result<Exit> run_stop(const App& app, const StopOptions& options) {
  TORC_ASSIGN(auto store, open_store(app, options.store));
  TORC_TRY(store->commit(
      0, [&](claim::Transaction& tx) { return stop_asking(tx, app.clock.wall_now()); }));
  TORC_ASSIGN(const auto list, read_list(*store, report::Which::live));
  if (options.json) {
    say(app.out, "{}\n", report::json_text(report::to_json(list, app.clock.wall_now())));
    return Exit::ok;
  }
  print_list(app, list);
  say(app.out, "no further allocations are requested until you run `torc submit`{}\n",
      list.rows.empty() ? ""
                        : "; those that are there go on (torc allocations cancel --all ends them)");
  return Exit::ok;
}

struct ReadmitOptions {
  std::vector<std::string> words;  // [STORE] NODE
  bool json = false;
};

Result<Exit> run_readmit(const App& app, const ReadmitOptions& options) {
  TORC_ASSIGN(const auto where, locate_store_and_name(app, options.words));
  TORC_ASSIGN(auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  bool was_left = false;
  TORC_TRY(store->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(was_left, claim::readmit_node(tx, where.name));
    return {};
  }));
  TORC_ASSIGN(const auto list, read_list(*store, report::Which::live));
  if (options.json) {
    say(app.out, "{}\n", report::json_text(report::to_json(list, app.clock.wall_now())));
  } else {
    say(app.out, "{}further allocations may use {}\n",
        was_left ? "" : "it was not excluded: ", printable(where.name));
  }
  return Exit::ok;
}

}  // namespace

void add_allocations(Command& c) {
  auto& o = c.options<ListOptions>();
  c.about("List the allocations of a workflow, and what the queue says about them");
  c.argument("STORE", o.store, "store");
  c.flag("--all", o.all, "also those that have ended");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run_list(app, o); });

  Command& tick = c.add("tick");
  auto& t = tick.options<TickOptions>();
  tick.about("One pass: note what the queue says, submit what is needed, cancel what is not");
  tick.argument("STORE", t.store, "store");
  tick.flag("--begun", t.begun, "whoever starts it has noted that it begins; workers do");
  tick.flag("--if-nobody-works", t.if_nobody_works,
            "even if it is not due, when no worker is alive");
  tick.flag("--json", t.json, "machine-readable output");
  tick.shows_tables();
  tick.run([&t](const App& app) { return run_tick(app, t); });

  Command& cancel = c.add("cancel");
  auto& x = cancel.options<CancelOptions>();
  cancel.about(
      "Cancel allocations; their jobs wait for new ones, which are requested unless stopped");
  cancel.argument("NUMBER", x.words, "their numbers, as torc allocations lists them")
      .value("[STORE] NUMBER…")
      .words(0, 1000);
  cancel.flag("--all", x.all, "all that are wanted, queued or running");
  cancel.flag("--json", x.json, "machine-readable output");
  cancel.shows_tables();
  cancel.run([&x](const App& app) { return run_cancel(app, x); });

  Command& stop = c.add("stop");
  auto& s = stop.options<StopOptions>();
  stop.about("Request no further allocations until torc submit");
  stop.argument("STORE", s.store, "store");
  stop.flag("--json", s.json, "machine-readable output");
  stop.shows_tables();
  stop.run([&s](const App& app) { return run_stop(app, s); });

  Command& readmit = c.add("readmit");
  auto& r = readmit.options<ReadmitOptions>();
  readmit.about("Let further allocations use a node again on which a worker could run no jobs");
  readmit.argument("NODE", r.words, "the node, as the batch system calls it")
      .value("[STORE] NODE")
      .required()
      .words(1, 2);
  readmit.flag("--json", r.json, "machine-readable output");
  readmit.run([&r](const App& app) { return run_readmit(app, r); });
}

}  // namespace torc::cli
