// torc bench: what commits cost in a directory.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/store/bench_processes.h"
#include "bin/flags.h"
#include "bin/signals.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/table.h"
#include "lib/doctor/doctor_report.h"
#include "lib/report/job_view.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/engine_name.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

struct BenchOptions {
  std::string directory = ".";
  std::chrono::seconds seconds{10};
  std::uint64_t processes = 4;
  std::string engine = "auto";
  bool json = false;
};

using nlohmann::ordered_json;
using std::chrono::nanoseconds;

// The share of the whole time that each measurement gets.
constexpr double kBaselineShare = 0.15;
constexpr double kOneShare = 0.25;
constexpr double kManyShare = 0.225;
// Until the processes of a measurement have opened the store.
constexpr nanoseconds kHeadStart = std::chrono::milliseconds(300);

struct Figure {
  std::string name;   // for people
  std::string field;  // of the JSON
  std::uint64_t writers = 1;
  std::uint64_t operations = 0;
  double per_second = 0;
  store::Latency latency;
  std::optional<double> requests;   // per commit
  std::optional<double> modifying;  // per commit
  std::uint64_t conflicts = 0;
};

// A directory of this user for the copies of the processes that play nodes.
class CopyRoots {
 public:
  static Result<CopyRoots> make(const App& app, std::uint64_t count) {
    for (const doctor::ReplicaPlace& place : doctor::probe_replica_places(app.world)) {
      if (place.refusal) continue;
      std::string pattern = (place.root / "torc-bench-XXXXXX").string();
      if (::mkdtemp(pattern.data()) == nullptr) continue;
      CopyRoots out(pattern);
      for (std::uint64_t i = 0; i < count; ++i) {
        const Path root = out.directory_ / std::to_string(i);
        std::error_code failed;
        std::filesystem::create_directory(root, failed);
        if (failed) return os_error(failed.value(), "cannot make " + root.string());
        out.roots_.push_back(root);
      }
      return out;
    }
    return Error{ErrorKind::io, "there is no place for this node's copy of a store",
                 "set TMPDIR to a directory on a local disk"};
  }
  CopyRoots(CopyRoots&& other) noexcept
      : directory_(std::move(other.directory_)), roots_(std::move(other.roots_)) {
    other.directory_.clear();
  }
  CopyRoots& operator=(CopyRoots&&) = delete;
  ~CopyRoots() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  [[nodiscard]] const std::vector<Path>& roots() const { return roots_; }

 private:
  explicit CopyRoots(Path directory) : directory_(std::move(directory)) {}
  Path directory_;
  std::vector<Path> roots_;
};

Figure figure_of(std::string name, std::string field,
                 const std::vector<doctor::BenchSamples>& measured, bool counts_requests) {
  Figure out;
  out.name = std::move(name);
  out.field = std::move(field);
  out.writers = measured.size();
  std::vector<nanoseconds> times;
  std::uint64_t requests = 0;
  std::uint64_t modifying = 0;
  for (const doctor::BenchSamples& one : measured) {
    times.insert(times.end(), one.times.begin(), one.times.end());
    const double seconds = std::chrono::duration<double>(one.elapsed).count();
    if (seconds > 0) out.per_second += static_cast<double>(one.times.size()) / seconds;
    out.conflicts += one.conflicts;
    requests += one.requests;
    modifying += one.modifying;
  }
  out.operations = times.size();
  if (counts_requests && !times.empty()) {
    out.requests = static_cast<double>(requests) / static_cast<double>(times.size());
    out.modifying = static_cast<double>(modifying) / static_cast<double>(times.size());
  }
  out.latency = store::summarize(std::move(times));
  return out;
}

class Bench {
 public:
  Bench(const App& app, const BenchOptions& options) : app_(app), options_(options) {}
  Result<Exit> run();

 private:
  Result<void> measure();
  Result<void> baselines(const Path& trial);
  Result<void> commits(const Path& trial, store::Engine engine);
  Result<void> in_processes(const std::string& name, const std::string& field, const Path& store,
                            const std::vector<Path>& roots, double share);
  void tell(const std::string& line) const {
    if (!options_.json) say(app_.err, "{} …\n", line);
  }
  [[nodiscard]] nanoseconds share(double part) const {
    return std::chrono::duration_cast<nanoseconds>(options_.seconds * part);
  }
  void show() const;
  void show_json() const;

  const App& app_;
  const BenchOptions& options_;
  Path directory_;
  store::FilesystemType type_;
  store::Engine engine_ = store::Engine::journal;
  std::optional<store::PublishMethod> method_;
  std::vector<Figure> figures_;
};

Result<void> Bench::baselines(const Path& trial) {
  tell("appending");
  const BootTime begun = app_.clock.boot_now();
  TORC_ASSIGN(const auto append,
              doctor::bench_append(app_.world, trial, begun + share(kBaselineShare), interrupted));
  figures_.push_back(figure_of("append + fdatasync", "append", {append}, false));
  const Path names = trial / "names";
  TORC_TRY(app_.world.disk.make_directory(names));
  auto method = store::probe_publish(app_.world.disk, app_.world.entropy, names);
  if (!method) {
    // The journal cannot be here; one file of LMDB can.
    return engine_ == store::Engine::lmdb ? Result<void>() : Result<void>(method.error());
  }
  method_ = *method;
  tell("making files by " + std::string(to_string(method_->primitive)));
  TORC_ASSIGN(const auto made,
              doctor::bench_publish(app_.world, names, *method_,
                                    app_.clock.boot_now() + share(kBaselineShare), interrupted));
  figures_.push_back(figure_of(fmt::format("file by {}", to_string(method_->primitive)), "publish",
                               {made}, false));
  return {};
}

Result<void> Bench::in_processes(const std::string& name, const std::string& field,
                                 const Path& store, const std::vector<Path>& roots, double part) {
  if (interrupted()) return {};
  tell(name);
  const BootTime from = app_.clock.boot_now() + kHeadStart;
  TORC_ASSIGN(const auto measured,
              bench_in_processes(app_, store, roots, from, from + share(part), interrupted));
  figures_.push_back(figure_of(name, field, measured, engine_ == store::Engine::journal));
  return {};
}

Result<void> Bench::commits(const Path& trial, store::Engine engine) {
  const Path store = trial / "bench.torc";
  TORC_ASSIGN(const CopyRoots copies, CopyRoots::make(app_, options_.processes));
  store::World world = app_.world;
  world.replica_roots = {copies.roots().front()};
  TORC_TRY(doctor::make_bench_store(world, store, engine));
  TORC_TRY(in_processes("commits of one worker", "one_worker", store, {copies.roots().front()},
                        kOneShare));
  if (options_.processes < 2) return {};
  TORC_TRY(in_processes(fmt::format("commits of {} workers of this node", options_.processes),
                        "several_workers", store,
                        std::vector<Path>(options_.processes, copies.roots().front()), kManyShare));
  if (engine_ != store::Engine::journal) return {};
  return in_processes(
      fmt::format("commits of {} workers as if on nodes of their own", options_.processes),
      "several_nodes", store, copies.roots(), kManyShare);
}

Result<void> Bench::measure() {
  std::error_code failed;
  directory_ = std::filesystem::canonical(app_.directory / options_.directory, failed);
  if (failed) {
    return os_error(failed.value(), "cannot look at " + options_.directory,
                    "name a directory that exists");
  }
  TORC_ASSIGN(const std::uint64_t magic, app_.world.disk.filesystem(directory_));
  type_ = store::filesystem_type(magic);
  TORC_ASSIGN(engine_, workflow::parse_engine(options_.engine));
  if (engine_ == store::Engine::automatic) {
    engine_ =
        type_.sharing == store::Sharing::shared ? store::Engine::journal : store::Engine::lmdb;
  }
  TORC_ASSIGN(const auto trial,
              doctor::TrialDirectory::make(app_.world.disk, app_.world.entropy, directory_));
  TORC_TRY(baselines(trial.path()));
  return commits(trial.path(), engine_);
}

void Bench::show() const {
  say(app_.out, "{}: {}, engine {}\n", directory_.string(), type_.name, to_string(engine_));
  Table table({{"what"},
               {"per second", Align::right},
               {"median", Align::right},
               {"90 %", Align::right},
               {"99 %", Align::right},
               {"worst", Align::right},
               {"requests", Align::right},
               {"modifying", Align::right},
               {"lost races", Align::right}});
  const auto time = [](nanoseconds t) {
    return show_duration(std::chrono::duration_cast<std::chrono::microseconds>(t));
  };
  for (const Figure& f : figures_) {
    table.add({f.name, fmt::format("{:.0f}", f.per_second), time(f.latency.p50),
               time(f.latency.p90), time(f.latency.p99), time(f.latency.max),
               f.requests ? fmt::format("{:.1f}", *f.requests) : "-",
               f.modifying ? fmt::format("{:.1f}", *f.modifying) : "-",
               f.requests ? show_count(f.conflicts) : "-"});
  }
  say(app_.out, "{}requests: to the filesystem, for each commit\n", table.text());
}

void Bench::show_json() const {
  ordered_json out = {{"directory", directory_.string()},
                      {"filesystem_type", type_.name},
                      {"engine", to_string(engine_)}};
  out["put_if_absent"] = method_ ? ordered_json(json_word(to_string(method_->primitive))) : nullptr;
  out["requested_seconds"] = options_.seconds.count();
  for (const char* field : {"append", "publish", "one_worker", "several_workers", "several_nodes"})
    out[field] = nullptr;
  for (const Figure& f : figures_) {
    out[f.field] = {
        {"writers", f.writers},
        {"operations", f.operations},
        {"operations_per_second", f.per_second},
        {"latency", doctor::to_json(f.latency)},
        {"requests_per_commit", json_if(f.requests.has_value(), f.requests.value_or(0))},
        {"modifying_requests_per_commit",
         json_if(f.modifying.has_value(), f.modifying.value_or(0))},
        {"conflicts", json_if(f.requests.has_value(), f.conflicts)}};
  }
  say(app_.out, "{}\n", report::json_text(out));
}

Result<Exit> Bench::run() {
  note_interrupts();
  const Result<void> done = measure();
  if (interrupted()) {
    say(app_.err, "torc: interrupted; nothing was left behind\n");
    return Exit::store;
  }
  TORC_TRY(done);
  options_.json ? show_json() : show();
  return Exit::ok;
}

// The name of the flag says the unit of a number.
Result<std::chrono::seconds> parse_seconds(std::string_view text) {
  const bool is_number =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  return parse_duration(is_number ? fmt::format("{}s", text) : std::string(text));
}

}  // namespace

void add_bench(Command& c) {
  auto& o = c.options<BenchOptions>();
  c.about("Measure what commits cost in a directory");
  c.argument("DIR", o.directory, "directory (default: the working directory)");
  c.option("--seconds", o.seconds, parse_seconds, "seconds in all (default 10)").value("N");
  c.option("--processes", o.processes, "workers at once (default 4)").value("N").between(1, 256);
  c.option("--engine", o.engine, "auto: the one that a store here would have")
      .value("ENGINE")
      .choices({"auto", "lmdb", "journal"})
      .shows_default();
  c.flag("--json", o.json, "machine-readable output");
  c.footer("\nIt makes a store of its own in DIR and removes it again.");
  c.run([&o](const App& app) { return Bench(app, o).run(); });
}

}  // namespace torc::cli
