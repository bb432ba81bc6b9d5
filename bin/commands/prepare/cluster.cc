// torc cluster: what a cluster offers, and which of its partitions are right for a job.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "lib/base/quantities.h"
#include "lib/cluster/from_slurm.h"
#include "lib/cluster/match.h"
#include "lib/cluster/profile.h"
#include "lib/cluster/show.h"
#include "lib/report/job_view.h"
#include "lib/store/disk/disk.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

constexpr std::chrono::seconds kAskLimit{20};
constexpr std::uint64_t kMost = 10'000'000;

struct ClusterOptions {
  std::string profile;  // empty: Slurm is asked
  bool json = false;
  bool yaml = false;
  cluster::Need need;
  std::uint64_t nodes = 1;
  std::uint64_t cpus = 1;
  std::uint64_t gpus = 0;
};

struct Known {
  cluster::Cluster cluster;
  std::string profile;  // empty: Slurm told it
};

Result<Known> read_profile(const App& app, const std::string& file) {
  const Path path = (app.directory / file).lexically_normal();
  TORC_ASSIGN(const std::string text, store::read_file(app.world.disk, path));
  if (text.size() > cluster::kMostProfileBytes)
    return Error{ErrorKind::invalid,
                 fmt::format("{} is larger than any profile of a cluster ({})", file,
                             show_bytes(ByteCount{text.size()})),
                 "`torc cluster show --yaml` prints one"};
  const spec::Source source(text, file);
  spec::Report mistakes(source);
  auto read = cluster::read_profile(source, mistakes);
  if (!read) {
    say(app.err, "{}", spec::to_text(std::move(mistakes).sorted()));
    return Error{ErrorKind::invalid, fmt::format("{} is no profile of a cluster", file),
                 "`torc cluster show --yaml` prints one to begin with"};
  }
  return Known{*std::move(read), file};
}

Result<Known> learn(const App& app, const ClusterOptions& options) {
  if (!options.profile.empty()) return read_profile(app, options.profile);
  const std::string user = app.env("USER").value_or(app.env("LOGNAME").value_or(""));
  TORC_ASSIGN(auto asked, cluster::ask_slurm(worker::query_program(app, kAskLimit), user,
                                             app.clock.wall_now()));
  return Known{std::move(asked), ""};
}

Result<Exit> show(const App& app, const ClusterOptions& options) {
  TORC_ASSIGN(const Known known, learn(app, options));
  if (options.json)
    say(app.out, "{}\n", report::json_text(to_json(known.cluster, known.profile)));
  else if (options.yaml)
    say(app.out, "{}", cluster::to_profile(known.cluster));
  else
    say(app.out, "{}", to_text(known.cluster));
  return Exit::ok;
}

Result<Exit> match(const App& app, const ClusterOptions& options) {
  TORC_ASSIGN(const Known known, learn(app, options));
  cluster::Need need = options.need;
  need.nodes = static_cast<std::uint32_t>(options.nodes);
  need.cpus = static_cast<std::uint32_t>(options.cpus);
  need.gpus = static_cast<std::uint32_t>(options.gpus);
  const auto fits = cluster::match(known.cluster, need);
  if (options.json)
    say(app.out, "{}\n", report::json_text(to_json(known.cluster, need, fits, known.profile)));
  else
    say(app.out, "{}", to_text(known.cluster, need, fits));
  const bool any = !fits.empty() && fits.front().why_not.empty();
  return any ? Exit::ok : Exit::unfinished;
}

void add_source(Command& c, ClusterOptions& o) {
  c.option("--profile", o.profile, "what this file says, instead of asking Slurm").value("FILE");
  c.flag("--json", o.json, "machine-readable output");
}

}  // namespace

void add_cluster(Command& c) {
  c.about("Show what a cluster offers, and which partition is right for a job");
  c.footer(
      "\nSlurm is asked (scontrol, sinfo, and sacctmgr where there is accounting), or a profile is "
      "read:\na file that `torc cluster show --yaml` prints, for editing and for other machines.");
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
  matched.option("--gpu-type", of_match.need.gpu_type, "of the GPUs, e.g. a100").value("TYPE");
  matched.option("--walltime", of_match.need.walltime, parse_spec_duration, "how long, e.g. 4h")
      .value("TIME");
  matched.option("--nodes", of_match.nodes, "nodes at once").between(std::uint64_t{1}, kMost);
  matched.option("--account", of_match.need.account, "by which it is to run").value("NAME");
  add_source(matched, of_match);
  matched.run([&of_match](const App& app) { return match(app, of_match); });
  c.only_names_others("say `torc cluster show` or `torc cluster match`");
}

}  // namespace torc::cli
