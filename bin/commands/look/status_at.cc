#include "bin/commands/look/status_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bin/commands/look/moment.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/audit/history.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/report/job_view.h"
#include "lib/report/past_state.h"
#include "lib/store/journal/chain.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

using claim::JobState;
using nlohmann::ordered_json;

struct Then {
  std::string workflow;
  WallTime at{};
  report::PastState state;
  std::vector<std::string> running;
};

// What had not been started is `waiting`: whether it was ready nobody remembers.
constexpr JobState kShownStates[] = {JobState::ready,  JobState::running,  JobState::completed,
                                     JobState::failed, JobState::canceled, JobState::terminated};
constexpr std::string_view name_of(JobState state) {
  return state == JobState::ready ? "waiting" : claim::to_string(state);
}

// When the commits up to this one had been made, as far as their files are still there; 0: not
// known.
Result<WallTime> time_in_chain(const App& app, const store::Store& store, std::uint64_t commit) {
  WallTime newest{};
  if (store.identity().engine != store::Engine::journal) return newest;
  claim::Historian historian([&](const claim::Event& event) {
    if (event.sequence != 0 && event.sequence <= commit) newest = std::max(newest, event.at);
  });
  TORC_TRY(
      store::read_chain(app.world, store.directory(),
                        [&](std::uint64_t sequence, std::uint64_t author, std::string_view writes) {
                          return historian.commit(sequence, author, writes);
                        }));
  return newest;
}

Result<WallTime> time_of(const App& app, const store::Store& store, const claim::Reader& reader,
                         const std::string& when) {
  const WallTime now = app.clock.wall_now();
  const auto commit = whole_number<std::uint64_t>(when);
  if (!commit) {
    TORC_ASSIGN(const WallTime at, parse_moment("--at", when, now));
    if (at <= now) return at;
    return invalid(fmt::format("--at {} has not come yet", printable(when)),
                   "`torc status` tells how it is now");
  }
  TORC_ASSIGN(const WallTime in_chain, time_in_chain(app, store, *commit));
  TORC_ASSIGN(const auto at, report::time_of_commit(reader, *commit));
  if (at) return std::max(*at, in_chain);
  return Error{ErrorKind::invalid,
               fmt::format("--at {}: there are {} commits", when, show_count(reader.sequence())),
               "`torc history` shows them"};
}

Result<Then> look(const App& app, store::Store& store, const std::string& when) {
  Then then;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    then = {};
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
    then.workflow = workflow.name;
    TORC_ASSIGN(then.at, time_of(app, store, reader, when));
    TORC_ASSIGN(then.state, report::state_at(reader, then.at));
    workflow::RecipeBook book;
    for (const JobId id : then.state.running)
      then.running.push_back(workflow::job_name(book, reader, id));
    return {};
  }));
  return then;
}

void print(const App& app, const store::Store& store, const Then& then) {
  say(app.out, "{} {}  ({})\ntold by the attempts and changes that are kept\n\n",

      printable(then.workflow),
      then.at == WallTime{} ? std::string("before anything was run") : "at " + show_time(then.at),
      printable(workflow::shown_path(app, store.directory())));
  Table table({{"state"}, {"jobs", Align::right}});
  for (const JobState state : kShownStates) {
    if (then.state.of(state) > 0)
      table.add({std::string(name_of(state)), show_count(then.state.of(state))});
  }
  say_table(app, table);
  if (then.state.forgotten > 0) {
    say(app.out,
        "\n{} of those that waited may have completed: no attempt of {} that long ago is kept\n",
        show_count(then.state.forgotten), then.state.forgotten == 1 ? "it" : "them");
  }
  if (then.running.empty()) return;
  const std::uint64_t more = then.state.of(JobState::running) - then.running.size();
  say(app.out, "\nrunning: {}{}\n", printable(fmt::format("{}", fmt::join(then.running, ", "))),
      more == 0 ? "" : fmt::format(" and {} more", show_count(more)));
}

ordered_json json_of(const store::Store& store, const Then& then) {
  ordered_json states = ordered_json::object();
  for (const JobState state : kShownStates)
    states[std::string(name_of(state))] = then.state.of(state);
  return {{"store", store.directory().string()},
          {"workflow", then.workflow},
          {"at", json_time(then.at)},
          {"jobs", then.state.jobs},
          {"past_jobs_by_state", std::move(states)},
          {"forgotten_jobs", then.state.forgotten},
          {"first_running", then.running}};
}

}  // namespace

Result<Exit> status_at(const App& app, store::Store& store, const std::string& when, bool json) {
  TORC_ASSIGN(const Then then, look(app, store, when));
  if (json) {
    say(app.out, "{}\n", report::json_text(json_of(store, then)));
  } else {
    print(app, store, then);
  }
  return Exit::ok;
}

}  // namespace torc::cli
