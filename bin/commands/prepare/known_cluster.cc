#include "bin/commands/prepare/known_cluster.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/cluster/from_slurm.h"
#include "lib/cluster/kept_profile.h"
#include "lib/cluster/profile.h"
#include "lib/store/disk/disk.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::cli {
namespace {

constexpr std::size_t kMostOfConfiguration = std::size_t{1} << 22;

Result<KnownCluster> read_profile(const App& app, const std::string& file) {
  const std::string remedy = "`torc cluster show --yaml` prints one";
  // What the user has named may be a pipe.
  const auto text = workflow::read_spec_text(app, (app.directory / file).lexically_normal(),
                                             {"cluster profile", ""});
  if (!text.ok()) return invalid(text.error().what, remedy);
  if (text->size() > cluster::kMostProfileBytes)
    return invalid(fmt::format("{} is larger than any profile of a cluster ({})", file,
                               show_bytes(ByteCount{text->size()})),
                   remedy);
  const spec::Source source(*text, file);
  spec::Report mistakes(source);
  auto read = cluster::read_profile(source, mistakes);
  if (!read) {
    say(app.err, "{}", spec::to_text(std::move(mistakes).sorted()));
    return Error{ErrorKind::invalid, fmt::format("{} is not a profile of a cluster", file),
                 "`torc cluster show --yaml` prints one to begin with"};
  }
  return KnownCluster{*std::move(read), file};
}

std::optional<Path> caches_of(const App& app) {
  const auto caches = app.env("XDG_CACHE_HOME");
  if (caches && caches->starts_with('/')) {
    Path named = Path(*caches).lexically_normal();
    return named.has_filename() ? named : named.parent_path();  // "/caches/" is "/caches"
  }
  const auto home = app.env("HOME");
  if (home && home->starts_with('/')) return Path(*home) / ".cache";
  return std::nullopt;
}

void note(const App& app, const Error& error) {
  say(app.err, "torc: note: {}{}{}\n", error.what, error.remedy.empty() ? "" : "; ", error.remedy);
}

}  // namespace

void add_cluster_source(Command& c, ClusterSource& source) {
  const Flag profile =
      c.option("--profile", source.profile, "use this cluster profile, instead of asking Slurm")
          .value("FILE");
  c.flag("--refresh", source.refresh, "ask Slurm, and do not use answers that were kept")
      .excludes(profile);
}

std::string cluster_here(const App& app) {
  const auto name_in = [&](const Path& file) {
    const auto text = store::read_file(app.world.disk, file, kMostOfConfiguration);
    return text.ok() ? cluster::configured_name(*text) : std::string();
  };
  if (const auto own = app.env("SLURM_CONF")) return name_in(app.directory / *own);
  if (const auto told = app.env("SLURM_CLUSTER_NAME")) return *told;
  for (const char* file : {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
                           "/run/slurm/conf/slurm.conf", "/usr/local/etc/slurm.conf"}) {
    if (std::string name = name_in(file); !name.empty()) return name;
  }
  return {};
}

Result<KnownCluster> know_cluster(const App& app, const ClusterSource& source) {
  if (!source.profile.empty()) return read_profile(app, source.profile);
  const WallTime now = app.clock.wall_now();
  const auto caches = caches_of(app);
  const std::string name = cluster_here(app);
  Result<cluster::Cluster> kept = Error{ErrorKind::not_found, "no profile is kept", ""};
  if (caches && !source.refresh) kept = cluster::kept(*caches, name, app.world.uid, now);
  const auto from_kept = [&] {
    return KnownCluster{*std::move(kept), (*caches / cluster::kept_file(name)).string()};
  };
  if (kept.ok() && cluster::is_fresh(*kept, now)) return from_kept();
  const std::string user = app.env("USER").value_or(app.env("LOGNAME").value_or(""));
  auto asked = cluster::ask_slurm(worker::query_program(app, kAskLimit), user, now);
  if (!asked.ok()) {
    if (!kept.ok()) {
      if (kept.error().kind != ErrorKind::not_found) note(app, kept.error());
      return asked.error();
    }
    say(app.err, "torc: note: this is what Slurm said {}; it does not answer now: {}\n",
        show_age(kept->read_at, now), asked.error().what);
    return from_kept();
  }
  if (caches && !cluster::kept_file(asked->name).empty()) {
    if (auto done = cluster::keep(*caches, *asked); !done.ok()) note(app, done.error());
  }
  return KnownCluster{*std::move(asked), ""};
}

}  // namespace torc::cli
