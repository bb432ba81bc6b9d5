// torc plan: what a workflow would take, and what is probably not meant.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "bin/commands/commands.h"
#include "bin/commands/prepare/allocation_plan.h"
#include "bin/commands/prepare/known_cluster.h"
#include "bin/commands/prepare/plan_write.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "bin/tables.h"
#include "lib/report/job_view.h"
#include "lib/report/plan_report.h"
#include "lib/spec/load/advice.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::cli {
namespace {

struct PlanOptions {
  std::string spec;
  ClusterSource cluster;
  bool no_slurm = false;
  bool json = false;
  PlanWriteOptions write;
};

struct Allocations {
  KnownCluster known;
  cluster::AllocationPlan plan;
};

// About choices. A profile may be that of another cluster than this Slurm's.
bool may_ask(const App& app, const PlanOptions& options, const KnownCluster& known) {
  if (options.no_slurm || options.cluster.profile.empty()) return !options.no_slurm;
  const std::string here = cluster_here(app);
  return !here.empty() && known.cluster.name == here;
}

// nullopt: nothing is known of a cluster. A file without schedulers is looked at without asking
// anybody where no configuration of Slurm tells of a cluster.
Result<std::optional<Allocations>> plan_allocations(const App& app, const PlanOptions& options,
                                                    const workflow::LoadedSpec& loaded) {
  // A cluster is known by what Slurm tells.
  if (!loaded.workflow->launcher.empty()) return std::optional<Allocations>();
  const bool is_told = !options.cluster.profile.empty();
  const bool wants_it = is_told || options.cluster.refresh ||
                        !loaded.workflow->slurm_schedulers.empty() || !cluster_here(app).empty();
  if (!wants_it || (options.no_slurm && !is_told)) return std::optional<Allocations>();
  auto known = know_cluster(app, options.cluster);
  if (!known.ok()) {
    if (is_told) return known.error();
    say(app.err, "torc: note: no choices of allocations are shown: {}; {}\n", known.error().what,
        "give a profile of the cluster with --profile FILE");
    return std::optional<Allocations>();
  }
  PlanQuestion question;
  question.asks_slurm = may_ask(app, options, *known);
  TORC_ASSIGN(auto plan, cli::plan_allocations(app, loaded, *known, question));
  return std::optional(Allocations{*std::move(known), std::move(plan)});
}

Result<Exit> write(const App& app, const PlanOptions& options, const workflow::LoadedSpec& loaded) {
  if (!loaded.workflow->launcher.empty())
    return invalid(
        "schedulers can be written for Slurm only, and the workflow has another launcher",
        "write them by hand");
  if (options.no_slurm && options.cluster.profile.empty())
    return invalid("nothing is known about a cluster", "give a profile of it with --profile FILE");
  TORC_ASSIGN(const KnownCluster known, know_cluster(app, options.cluster));
  return write_plan(app, options.spec, loaded, known, may_ask(app, options, known), options.write);
}

Result<Exit> run(const App& app, const PlanOptions& options) {
  if (options.write.write && workflow::is_stdin(options.spec))
    return invalid("standard input cannot be written into", "name the workflow file");
  TORC_ASSIGN(auto loaded, workflow::load_spec(app, options.spec, workflow::Purpose::look));
  if (!loaded.expansion) return refuse_spec(app, loaded, options.json);
  if (options.write.write) return write(app, options, loaded);
  auto advice = spec::advice(*loaded.workflow, *loaded.expansion, loaded.text, loaded.file);
  loaded.diagnostics.insert(loaded.diagnostics.end(), std::make_move_iterator(advice.begin()),
                            std::make_move_iterator(advice.end()));
  std::stable_sort(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                   [](const spec::Diagnostic& a, const spec::Diagnostic& b) {
                     return std::tie(a.place.line, a.place.column) <
                            std::tie(b.place.line, b.place.column);
                   });
  const report::PlanReport plan = report::make_plan_report(loaded);
  if (!options.json) print_diagnostics(app, loaded);
  TORC_ASSIGN(const auto allocations, plan_allocations(app, options, loaded));
  if (options.json) {
    nlohmann::ordered_json out = to_json(plan, loaded);
    out["allocation_plan"] = allocations ? to_json(allocations->known.cluster, allocations->plan,
                                                   allocations->known.profile)
                                         : nlohmann::ordered_json();
    out["diagnostics"] = diagnostics_json(loaded)["diagnostics"];
    say(app.out, "{}\n", report::json_text(out));
    return Exit::ok;
  }
  say(app.out, "{}", to_text(plan, loaded, table_columns(app)));
  if (allocations) say(app.out, "\n{}", to_text(allocations->known.cluster, allocations->plan));
  return Exit::ok;
}

}  // namespace

void add_plan(Command& c) {
  auto& o = c.options<PlanOptions>();
  c.about("Show stages, critical path, core-hours and what nodes need");
  c.argument("SPEC", o.spec, "workflow file, or - for stdin").required();
  add_cluster_source(c, o.cluster);
  c.flag("--no-slurm", o.no_slurm, "do not ask Slurm, neither about the cluster nor about choices");
  const Flag json = c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  const Flag write =
      c.flag("--write", o.write.write,
             "write slurm_schedulers as recommended into the workflow file (YAML), and bind jobs "
             "where there are several");
  write.excludes(json);
  c.option("--account", o.write.account,
           "account of the allocations (default: one of yours, as Slurm says)")
      .value("NAME")
      .needs(write);
  c.option("-o,--output", o.write.output, "write a new file instead").value("FILE").needs(write);
  c.flag("--overwrite", o.write.overwrite, "replace the slurm_schedulers that are there")
      .needs(write);
  c.flag("--dry-run", o.write.dry_run, "show what would be written and write nothing").needs(write);
  c.footer(
      "With a Slurm, or a profile of a cluster, it shows for each scheduler of the file, and "
      "without any for\nthe best partition: one large allocation, many small ones and chunks "
      "between, each with its walltime,\nwhen Slurm would start it (sbatch --test-only, 15 s for "
      "all), its makespan and its core-hours, and\nwhich is recommended. Nothing is submitted.\n\n"
      "--write puts what is recommended for each partition into the workflow file; all else of it, "
      "comments\nand order too, stays as it is.\n\nExit codes: 0 it was shown, or written; 2 wrong "
      "flags, "
      "or a spec with errors.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
