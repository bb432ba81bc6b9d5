// torc cluster: what a cluster offers, and which of its partitions are right for a job.
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "bin/commands/commands.h"
#include "bin/commands/prepare/known_cluster.h"
#include "bin/flags.h"
#include "bin/tables.h"
#include "lib/base/quantities.h"
#include "lib/cluster/match.h"
#include "lib/cluster/profile.h"
#include "lib/cluster/show.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

constexpr std::uint64_t kMost = 10'000'000;

struct ClusterOptions {
  ClusterSource source;
  bool json = false;
  bool yaml = false;
  cluster::Need need;
  std::uint64_t nodes = 1;
  std::uint64_t cpus = 1;
  std::uint64_t gpus = 0;
};

Result<Exit> show(const App& app, const ClusterOptions& options) {
  TORC_ASSIGN(const KnownCluster known, know_cluster(app, options.source));
  if (options.json)
    say(app.out, "{}\n", report::json_text(to_json(known.cluster, known.profile)));
  else if (options.yaml)
    say(app.out, "{}", cluster::to_profile(known.cluster));
  else
    say(app.out, "{}", to_text(known.cluster, table_columns(app)));
  return Exit::ok;
}

Result<Exit> match(const App& app, const ClusterOptions& options) {
  TORC_ASSIGN(const KnownCluster known, know_cluster(app, options.source));
  cluster::Need need = options.need;
  need.nodes = static_cast<std::uint32_t>(options.nodes);
  need.cpus = static_cast<std::uint32_t>(options.cpus);
  need.gpus = static_cast<std::uint32_t>(options.gpus);
  const auto fits = cluster::match(known.cluster, need);
  if (options.json)
    say(app.out, "{}\n", report::json_text(to_json(known.cluster, need, fits, known.profile)));
  else
    say(app.out, "{}", to_text(known.cluster, need, fits, table_columns(app)));
  const bool any = !fits.empty() && fits.front().why_not.empty();
  return any ? Exit::ok : Exit::failed;
}

void add_source(Command& c, ClusterOptions& o) {
  add_cluster_source(c, o.source);
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
}

}  // namespace

void add_cluster(Command& c) {
  c.about("Show what a cluster offers, and which partition is right for a job");
  c.footer(
      "\nSlurm is asked (scontrol, sinfo, and sacctmgr where there is accounting), or a profile is "
      "read:\na file that `torc cluster show --yaml` prints, for editing and for other machines.\n"
      "\nWhat Slurm says is kept in $XDG_CACHE_HOME/torc/clusters, or ~/.cache/torc/clusters: for "
      "a "
      "minute it is\nnot asked again, and where it does not answer you see what it said before, "
      "and when.");
  Command& shown = c.add("show");
  auto& of_show = shown.options<ClusterOptions>();
  shown.about("Partitions, their nodes and limits, and the limits of your accounts");
  add_source(shown, of_show);
  shown.flag("--yaml", of_show.yaml, "as a profile");
  shown.run([&of_show](const App& app) { return show(app, of_show); });
  Command& matched = c.add("match");
  auto& of_match = matched.options<ClusterOptions>();
  matched.about("Which partitions can hold a job, the best first; exit code 1: none can");
  matched.option("--cpus", of_match.cpus, "of each node").between(std::uint64_t{1}, kMost);
  matched.option("--memory", of_match.need.memory, parse_memory, "of each node, e.g. 16g")
      .value("SIZE");
  matched.option("--gpus", of_match.gpus, "of each node").between(std::uint64_t{0}, kMost);
  matched.option("--gpu-type", of_match.need.gpu_type, "type of the GPUs, e.g. a100").value("TYPE");
  matched
      .option("--walltime", of_match.need.walltime, parse_spec_duration,
              "how long it runs, e.g. 4h")
      .value("TIME");
  matched.option("--nodes", of_match.nodes, "nodes at once").between(std::uint64_t{1}, kMost);
  matched.option("--account", of_match.need.account, "the account that it would run under")
      .value("NAME");
  add_source(matched, of_match);
  matched.run([&of_match](const App& app) { return match(app, of_match); });
  c.only_names_others("use `torc cluster show` or `torc cluster match`");
}

}  // namespace torc::cli
