// torc schedule-nodes: so many allocations of a scheduler, on a person's word.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/report/job_view.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/workflow/change/addition.h"

namespace torc::cli {
namespace {

struct ScheduleOptions {
  std::string store;
  std::string scheduler;
  std::uint64_t allocations = 1;
  std::uint64_t max_parallel_jobs = 0;
  bool json = false;
};

constexpr std::uint64_t kMostAtOnce = 10'000;

Result<std::uint32_t> find_scheduler(const claim::Reader& reader, const std::string& name) {
  TORC_ASSIGN(const auto all, claim::read_schedulers(reader));
  if (all.empty()) {
    return invalid("the workflow has no slurm_schedulers",
                   "add one to its file, by hand or with `torc plan --write --account NAME`, and "
                   "make the store anew");
  }
  if (name.empty() && all.size() == 1) return std::uint32_t{1};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) return static_cast<std::uint32_t>(i + 1);
    names.push_back(all[i].name);
  }
  std::string list;
  for (const std::string& one : names) list += (list.empty() ? "" : ", ") + printable(one);
  if (name.empty())
    return invalid("the workflow has several schedulers", "choose with --scheduler: " + list);
  const std::string near = spec::nearest(name, names);
  return invalid(
      fmt::format("the workflow has no scheduler '{}'", printable(name)),
      near.empty() ? "it has " + list : fmt::format("did you mean '{}'?", printable(near)));
}

// What became of those that were asked for, where they are not there.
void say_what_became(const App& app, const std::vector<std::uint32_t>& asked,
                     const report::AllocationList& all) {
  std::size_t withdrawn = 0;
  for (const report::AllocationRow& row : all.rows) {
    if (row.allocation.end == claim::AllocationEnd::withdrawn &&
        std::ranges::find(asked, row.number) != asked.end())
      ++withdrawn;
  }
  if (withdrawn == 0) return;
  say(app.out, "{} withdrawn again: nothing is left that workers of {} could run\n",
      withdrawn == asked.size() ? "what you asked for was"
                                : fmt::format("{} of the {} that you asked for were",
                                              show_count(withdrawn), show_count(asked.size())),
      withdrawn == 1 ? "it" : "them");
}

Result<Exit> run(const App& app, const ScheduleOptions& options) {
  TORC_ASSIGN(auto store, open_store(app, options.store));
  TORC_TRY(expect_shared(app, *store));
  std::vector<std::uint32_t> asked;
  TORC_TRY(store->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    claim::Wish wish;
    TORC_ASSIGN(wish.scheduler, find_scheduler(tx, options.scheduler));
    wish.count = static_cast<std::uint32_t>(options.allocations);
    wish.who = workflow::who_asks(app);
    wish.max_parallel_jobs = static_cast<std::uint32_t>(options.max_parallel_jobs);
    TORC_ASSIGN(asked, claim::want(tx, wish, app.clock.wall_now()));
    return {};
  }));
  TORC_ASSIGN(const auto pass, pass_here(app, *store, allocate::Turn::now));
  TORC_ASSIGN(const Exit exit, tell_pass(app, *store, pass, options.json));
  if (options.json) return exit;
  TORC_ASSIGN(const auto all, read_list(*store, report::Which::all));
  say_what_became(app, asked, all);
  return exit;
}

}  // namespace

void add_schedule_nodes(Command& c) {
  auto& o = c.options<ScheduleOptions>();
  c.about("Ask for allocations of a scheduler of the workflow");
  c.argument("STORE", o.store, "store");
  c.option("--scheduler", o.scheduler, "of which scheduler (default: the only one)").value("NAME");
  c.option("-n,--num-allocations,--num-hpc-jobs", o.allocations, "how many")
      .value("N")
      .between(std::uint64_t{1}, kMostAtOnce)
      .shows_default();
  c.option("--max-parallel-jobs", o.max_parallel_jobs,
           "each worker runs at most N jobs at a time, whatever they need")
      .value("N")
      .between(std::uint64_t{1}, std::uint64_t{1'000'000});
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
