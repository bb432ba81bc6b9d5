#include "bin/commands/allocate/passes.h"
#include "bin/tables.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/allocations.h"
#include "lib/launcher/generic_launcher.h"
#include "lib/launcher/slurm_launcher.h"
#include "lib/launcher/worker_script.h"
#include "lib/report/job_view.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/plan/command_runner.h"
#include "lib/workflow/plan/kept_launcher.h"
#include "lib/workflow/plan/slurm_question.h"

namespace torc::cli {

namespace {

// As the batch system calls who runs this process; empty: not known.
std::string name_of_user() {
  std::vector<char> room(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_name;
}

// Whether the program that submits is on PATH.
bool can_submit(const App& app, const std::optional<launcher::Definition>& definition) {
  return workflow::can_ask_slurm(app, definition ? definition->submit.front().c_str() : "sbatch");
}

}  // namespace

bool has_batch_system(const App& app, store::Store& store) {
  const auto definition = workflow::kept_definition(app, store);
  return !definition.ok() || can_submit(app, *definition);
}

bool may_look_at_queue(const App& app, store::Store& store) {
  const auto definition = workflow::kept_definition(app, store);
  if (!definition.ok()) return true;  // which find_launcher() tells
  return can_submit(app, *definition) &&
         (!*definition || workflow::is_for_lookers(app, store, **definition));
}

Result<std::unique_ptr<launcher::Launcher>> find_launcher(const App& app, store::Store& store) {
  TORC_ASSIGN(auto definition, workflow::kept_definition(app, store));
  if (definition && !can_submit(app, definition)) {
    return Error{ErrorKind::unsupported,
                 fmt::format("there is no {} here: no {} on PATH", printable(definition->launcher),
                             printable(definition->submit.front())),
                 "run it on a node of the cluster, or load the module of its batch system"};
  }
  if (definition) {
    return launcher::generic_launcher(
        {workflow::command_runner(app), name_of_user(), *std::move(definition)});
  }
  if (!can_submit(app, definition)) {
    return Error{ErrorKind::unsupported, "there is no batch system here: no sbatch on PATH",
                 "run it on a node of the cluster, or load its module (module load slurm)"};
  }
  launcher::SlurmSetup setup;
  setup.run = workflow::command_runner(app);
  setup.user = getuid();
  setup.cluster = app.env("SLURM_CLUSTER_NAME").value_or("");
  return launcher::slurm_launcher(std::move(setup));
}

bool is_login_node(const App& app) {
  return !app.env("SLURM_JOB_ID") && app.env(launcher::kAllocationVariable).value_or("").empty();
}

Result<void> expect_shared(const App& app, const store::Store& store) {
  if (store.identity().engine != store::Engine::lmdb) return {};
  const std::string shown = shell_word(workflow::shown_path(app, store.directory()));
  return Error{ErrorKind::unsupported,
               fmt::format("{} is a store for one host (engine lmdb): workers of allocations on "
                           "other nodes cannot open it",
                           shown),
               fmt::format("`torc backup {} NEW --engine journal`, with NEW on a filesystem that "
                           "all nodes share, makes a copy for many hosts; `torc run` works here",
                           shown)};
}

Result<allocate::PassReport> pass_here(const App& app, store::Store& store, allocate::Turn turn) {
  TORC_TRY(expect_shared(app, store));
  TORC_ASSIGN(const auto launcher, find_launcher(app, store));
  return allocate::make_pass(app, store, *launcher,
                             {turn, is_login_node(app), workflow::who_asks(app)});
}

void settle_allocations(const App& app, store::Store& store, Telling telling) {
  if (!expect_shared(app, store)) return;
  bool has_work = false;
  const auto looked =
      store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
        TORC_ASSIGN(const auto passes, claim::read_pass_state(reader));
        has_work = passes.has_work;
        return {};
      });
  if (!looked.ok() || !has_work || !has_batch_system(app, store)) return;
  auto pass = pass_here(app, store, allocate::Turn::now);
  if (!pass) {
    (void)report(app, pass.error());
    return;
  }
  if (telling == Telling::err_alone) pass->submitted = pass->canceled = 0;
  print_pass(app, *pass);
}

void print_unanswered(const App& app, const std::string& unanswered) {
  if (!unanswered.empty())
    say(app.err, "torc: warning: the batch system did not say what is in its queue: {}\n",
        unanswered);
}

void print_pass(const App& app, const allocate::PassReport& report) {
  print_unanswered(app, report.unanswered);
  for (const std::string& line : report.said) say(app.err, "torc: warning: {}\n", line);
  if (report.submitted > 0) {
    say(app.out, "submitted {}\n", plural(report.submitted, "allocation"));
  }
  if (report.canceled > 0) {
    say(app.out, "canceled {} that nothing needs\n", plural(report.canceled, "allocation"));
  }
}

Result<Exit> tell_pass(const App& app, store::Store& store, const allocate::PassReport& pass,
                       bool json) {
  TORC_ASSIGN(const auto list, read_list(store, report::Which::live));
  if (json) {
    say(app.out, "{}\n", report::json_text(report::to_json(list, app.clock.wall_now())));
  } else {
    print_pass(app, pass);
    print_list(app, list);
  }
  return pass.refused > 0 ? Exit::usage : Exit::ok;
}

void print_crontab(const App& app, const Path& store) {
  std::string line = fmt::format("*/5 * * * * {} allocations tick {}",
                                 shell_word(app.program.string()), shell_word(store.string()));
  // There it would end the command.
  for (std::size_t at = 0; (at = line.find('%', at)) != std::string::npos; at += 2)
    line.insert(at, 1, '\\');
  say(app.out,
      "\na pass over its allocations every five minutes, also when no worker lives; the line for "
      "`crontab -e`\n(or scrontab -e), to be taken out when the workflow is done:\n{}\n",
      line);
}

Result<report::AllocationList> read_list(store::Store& store, report::Which which) {
  report::AllocationList list;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(list, report::list_allocations(reader, which));
    return {};
  }));
  return list;
}

void print_list(const App& app, const report::AllocationList& list) {
  const WallTime now = app.clock.wall_now();
  for (const std::string& line : report::concerns_of(list, now)) say(app.out, "{}\n", line);
  if (list.rows.empty()) return;
  say_table(app, report::allocation_table(list.rows, now));
  const bool is_there = std::ranges::any_of(list.rows, [](const report::AllocationRow& row) {
    return claim::may_be_there(row.allocation);
  });
  if (!is_there || list.answered_at.count() == 0) return;
  const std::string age = show_age(list.answered_at, now);
  say(app.out, "as the queue {} {}\n", age == "now" ? "says" : "said", age);
}

}  // namespace torc::cli
