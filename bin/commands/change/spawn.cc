// torc spawn: a running job adds jobs, as the attempt that it is.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bin/commands/change/print_added.h"
#include "bin/commands/commands.h"
#include "bin/commands/ringing.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/labels.h"
#include "lib/base/number.h"
#include "lib/base/plural.h"
#include "lib/claim/queries/queries.h"
#include "lib/spec/language/language.h"
#include "lib/spec/sweep/definitions.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/change/stored_workflow.h"

namespace torc::cli {
namespace {

struct SpawnOptions {
  std::string file;  // empty: one job by the flags below
  std::string name;
  std::string command;
  std::vector<std::string> depends_on;
  std::vector<std::string> parameters;  // "i=1:10"
  std::vector<std::string> env;         // "NAME=VALUE"
  std::string resources, scheduler, labels;
  std::optional<std::int32_t> priority;
  std::string state;  // JSON, or @FILE
  bool now = false;   // without waiting for the job that spawns
  bool dry_run = false;
  bool json = false;
};

using nlohmann::ordered_json;

// It travels in one environment variable, of which Linux takes 128 KiB.
constexpr std::size_t kMaxState = 64U << 10U;

// Who asks: the attempt of a job, as its environment says.
struct Spawner {
  claim::ClaimToken token;
  std::string workflow;  // id of the store that it belongs to
};

Result<std::uint64_t> number_in(const App& app, const char* variable) {
  const auto text = app.env(variable);
  const auto number = text ? whole_number<std::uint64_t>(*text) : std::nullopt;
  if (number.value_or(0) > 0) return *number;
  return Error{ErrorKind::invalid,
               fmt::format("torc spawn works only within a job, and this is not one: {} is {}",
                           variable, text ? fmt::format("'{}'", *text) : "not set"),
               "from outside use `torc add`"};
}

Result<Spawner> find_spawner(const App& app) {
  Spawner spawner;
  TORC_ASSIGN(const std::uint64_t job, number_in(app, "TORC_JOB_ID"));
  TORC_ASSIGN(const std::uint64_t attempt, number_in(app, "TORC_ATTEMPT_ID"));
  TORC_ASSIGN(const std::uint64_t claim, number_in(app, "TORC_CLAIM_ID"));
  spawner.token = {JobId{job}, static_cast<std::uint32_t>(attempt), claim};
  spawner.workflow = app.env("TORC_WORKFLOW_ID").value_or("");
  return spawner;
}

Result<std::string> read_state(const App& app, const std::string& given) {
  std::string text = given;
  if (given.starts_with('@')) {
    TORC_ASSIGN(text, store::read_file(app.world.disk,
                                       (app.directory / given.substr(1)).lexically_normal()));
  }
  if (text.empty()) return text;
  const auto json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return Error{ErrorKind::invalid, "the state is not valid JSON",
                 "--state '{\"x\": 1}', or --state @FILE with such a text in the file"};
  }
  text = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (text.size() <= kMaxState) return text;
  return Error{ErrorKind::invalid,
               fmt::format("the state has {} bytes; the limit is {}", text.size(), kMaxState),
               "put it into a file, and hand on the file's name"};
}

// "NAME=VALUE" as a key of `to`.
Result<void> put_pair(ordered_json& to, const std::string& pair, std::string_view flag) {
  const std::size_t sign = pair.find('=');
  if (sign == std::string::npos || sign == 0) {
    return Error{ErrorKind::invalid, fmt::format("{} takes NAME=VALUE, not '{}'", flag, pair), ""};
  }
  to[pair.substr(0, sign)] = pair.substr(sign + 1);
  return {};
}

class Spawn {
 public:
  Spawn(const App& app, const SpawnOptions& options, Spawner spawner, std::string state)
      : app_(app),
        options_(options),
        spawner_(std::move(spawner)),
        state_(std::move(state)),
        now_(app.clock.wall_now()) {}

  [[nodiscard]] bool limit_reached() const { return limit_reached_; }

  Result<workflow::AdditionTerms> admit(const claim::Reader& reader, workflow::AdditionText& text) {
    limit_reached_ = false;
    TORC_TRY(check_holder(reader));
    TORC_ASSIGN(workflow::StoredWorkflow live_workers, workflow::StoredWorkflow::of(reader));
    workflow::AdditionTerms terms;
    TORC_ASSIGN(terms.origin, origin(reader, live_workers));
    if (!options_.now) terms.after = raw(spawner_.token.job);
    if (options_.file.empty()) {
      const spec::ExistingWorkflow::Job parent = live_workers.job(raw(spawner_.token.job));
      TORC_ASSIGN(text.text, job_text(live_workers, parent, terms.origin));
      terms.resources = parent.resources;
    }
    return terms;
  }

 private:
  // A job that was given to another worker, or is over, adds nothing any more.
  Result<void> check_holder(const claim::Reader& reader) const {
    const auto job = claim::read_job(reader, spawner_.token.job);
    if (claim::is_held_by(reader, spawner_.token)) return {};
    const std::string is =
        !job ? "there is no such job"
        : claim::is_live(job->state)
            ? fmt::format("attempt {} has it now{}", job->attempt,
                          job->attempt == spawner_.token.attempt ? ", of another claim" : "")
            : fmt::format("it is {} at attempt {}", claim::to_string(job->state), job->attempt);
    return Error{ErrorKind::fenced,
                 fmt::format("job {} is not at attempt {} any more: {}; nothing was added",
                             raw(spawner_.token.job), spawner_.token.attempt, is),
                 "end this process: what it does no longer counts"};
  }

  Result<claim::Origin> origin(const claim::Reader& reader,
                               workflow::StoredWorkflow& live_workers) {
    claim::Origin origin;
    origin.parent = spawner_.token.job;
    origin.attempt = spawner_.token.attempt;
    origin.at = now_;
    origin.by = workflow::who_asks(app_);
    origin.state = state_;
    TORC_ASSIGN(const auto before, claim::read_origin(reader, spawner_.token.job));
    origin.depth = (before ? before->depth : 0) + 1;
    origin.root = before && before->depth > 0 ? before->root : spawner_.token.job;
    const std::uint32_t most =
        live_workers.settings().max_iterations.value_or(spec::kMaxIterations);
    if (origin.depth < most) return origin;
    limit_reached_ = true;
    return Error{ErrorKind::invalid,
                 fmt::format("'{}' has had its {}: this is number {}; nothing was added",
                             live_workers.job(raw(origin.root)).texts.name,
                             plural(most, "iteration"), origin.depth),
                 "to allow more, raise max_iterations under dynamic_jobs in the workflow file"};
  }

  // A file of one job, as the flags say; what they do not say is as of the job that spawns.
  Result<std::string> job_text(workflow::StoredWorkflow& live_workers,
                               const spec::ExistingWorkflow::Job& parent,
                               const claim::Origin& origin) const {
    const SpawnOptions& o = options_;
    ordered_json job;
    job["name"] =
        !o.name.empty()
            ? o.name
            : fmt::format("{}.{}", live_workers.job(raw(origin.root)).texts.name, origin.depth + 1);
    job["command"] = o.command.empty() ? parent.texts.command : o.command;
    if (!o.depends_on.empty()) job["depends_on"] = o.depends_on;
    for (const std::string& pair : o.parameters)
      TORC_TRY(put_pair(job["parameters"], pair, "--param"));
    for (const auto& [name, value] : parent.texts.env) job["env"][name] = value;
    for (const std::string& pair : o.env) TORC_TRY(put_pair(job["env"], pair, "--env"));
    if (!o.resources.empty()) job["resource_requirements"] = o.resources;
    const std::string& scheduler = o.scheduler.empty() ? parent.scheduler : o.scheduler;
    const std::string& labels = o.labels.empty() ? parent.labels : o.labels;
    if (!scheduler.empty()) job["scheduler"] = scheduler;
    if (!labels.empty()) job["labels"] = labels_of(labels);
    job["priority"] = o.priority.value_or(parent.priority);
    inherit(job, live_workers, parent);
    return ordered_json{{"jobs", ordered_json::array({job})}}.dump(
        2, ' ', false, ordered_json::error_handler_t::replace);
  }

  // Keys for which there is no flag.
  static void inherit(ordered_json& job, const workflow::StoredWorkflow& live_workers,
                      const spec::ExistingWorkflow::Job& parent) {
    const spec::Stdio& stdio = parent.texts.stdio;
    const spec::Stdio& usual = live_workers.settings().execution.stdio;
    if (stdio.mode != usual.mode || stdio.delete_on_success != usual.delete_on_success) {
      const auto modes = spec::words_of(spec::find_key(spec::Where::stdio, "mode")->choices);
      job["stdio"] = {{"mode", modes.at(static_cast<std::size_t>(stdio.mode))},
                      {"delete_on_success", stdio.delete_on_success}};
    }
    if (parent.texts.checkpoint_exit_code != 0)
      job["checkpoint_exit_code"] = parent.texts.checkpoint_exit_code;
    if (parent.crash_limit != 0) job["crash_limit"] = parent.crash_limit;
    for (const auto& [name, amount] : parent.limits) job["limits"][name] = amount;
    const spec::Launch& launch = parent.texts.launch;
    if (launch.on != spec::LaunchOn::automatic) job["launch"] = spec::word(launch.on);
    if (launch.end != spec::LaunchEnd::first_failure) job["launch_end"] = spec::word(launch.end);
    if (launch.tasks_per_node != 0) job["ntasks_per_node"] = launch.tasks_per_node;
    if (parent.cancels) job["cancel_on_blocking_job_failure"] = true;
    if (!parent.failure_handler) return;
    for (spec::FailureHandler& known : spec::known_failure_handlers(live_workers)) {
      const std::string name = std::exchange(known.name, parent.failure_handler->name);
      if (!spec::same_rules(known, *parent.failure_handler)) continue;
      job["failure_handler"] = name;
      return;
    }
  }

  const App& app_;
  const SpawnOptions& options_;
  Spawner spawner_;
  std::string state_;
  WallTime now_;
  bool limit_reached_ = false;
};

// The flag of which a line of the generated text was made; empty: of none.
std::string flag_of(const std::string& text, std::size_t line) {
  static const std::map<std::string, std::string, std::less<>> kFlags = {
      {"name", "--name"},
      {"command", "--command"},
      {"depends_on", "--depends-on"},
      {"parameters", "--param"},
      {"env", "--env"},
      {"resource_requirements", "--resources"},
      {"scheduler", "--scheduler"},
      {"labels", "--label"},
      {"priority", "--priority"}};
  constexpr std::string_view kKey = "      \"";  // of the only job, as dump(2) indents it
  std::string flag;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size() && number < line; ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view one = std::string_view(text).substr(at, end - at);
    if (one.starts_with(kKey)) {
      const std::string_view key =
          one.substr(kKey.size(), one.find('"', kKey.size()) - kKey.size());
      const auto known = kFlags.find(key);
      flag = known == kFlags.end() ? "" : known->second;
    }
    at = end + 1;
  }
  return flag;
}

// Nobody wrote the text that was made of the flags: its lines say nothing.
void name_flags(const std::string& text, std::vector<spec::Diagnostic>& diagnostics) {
  for (spec::Diagnostic& d : diagnostics) {
    if (d.place.line == 0) continue;
    const std::string flag = flag_of(text, d.place.line);
    d.file = flag.empty() ? "torc spawn" : flag;
    d.place = {};
    d.source_line.clear();
  }
}

bool describes_a_job(const SpawnOptions& o) {
  return !o.name.empty() || !o.command.empty() || !o.depends_on.empty() || !o.parameters.empty() ||
         !o.env.empty() || !o.resources.empty() || !o.scheduler.empty() || !o.labels.empty() ||
         o.priority.has_value();
}

Result<workflow::AdditionText> text_of(const App& app, const SpawnOptions& o) {
  if (o.file.empty()) return workflow::AdditionText{"the flags", "", app.directory};
  if (describes_a_job(o)) {
    return Error{ErrorKind::invalid, "both a file and flags that describe a job were given",
                 "write all of it into the file, or leave the file out"};
  }
  return workflow::read_addition(app, o.file);
}

Result<std::unique_ptr<store::Store>> open_own_store(const App& app, const Spawner& spawner) {
  TORC_ASSIGN(auto store, open_store(app, ""));
  if (spawner.workflow.empty() || store->identity().instance_hex() == spawner.workflow)
    return store;
  return Error{ErrorKind::invalid,
               "TORC_STORE names another store than the one that this job belongs to",
               "leave TORC_STORE as the worker set it"};
}

Result<Exit> run(const App& app, const SpawnOptions& options) {
  TORC_ASSIGN(auto spawner, find_spawner(app));
  TORC_ASSIGN(auto state, read_state(app, options.state));
  TORC_ASSIGN(const auto text, text_of(app, options));
  TORC_ASSIGN(auto store, open_own_store(app, spawner));
  Spawn spawn(app, options, std::move(spawner), std::move(state));
  std::string made;  // of the flags
  auto added = workflow::add_to(
      app, *store, text,
      [&](const claim::Reader& reader, workflow::AdditionText& t) {
        auto terms = spawn.admit(reader, t);
        made = t.text;
        return terms;
      },
      ringing_change(app, *store, options.dry_run, Keeping{.is_kept = false}));
  if (!added) {
    const Exit exit = report(app, added.error());
    return spawn.limit_reached() ? Exit::failed : exit;
  }
  if (options.file.empty()) name_flags(made, added->diagnostics);
  return print_added(app, *store, text, *added, options.dry_run, options.json);
}

}  // namespace

void add_spawn(Command& c) {
  auto& o = c.options<SpawnOptions>();
  c.about("Within a job: add further jobs, or its own next iteration");
  c.argument("FILE", o.file, "a file with 'jobs:', or - for stdin; else the flags describe one")
      .value("FILE|-");
  c.option("--name", o.name, "its name (default: that of the first iteration and a number)");
  c.option("--command", o.command, "its command (default: that of the job that spawns)");
  c.option("--depends-on", o.depends_on, "a job that must complete first; may be repeated")
      .value("NAME");
  c.option("--param", o.parameters, "a parameter: one job for each of its values")
      .value("NAME=VALUES");
  c.option("--env", o.env, "an environment variable").value("NAME=VALUE");
  c.option("--resources", o.resources, "a name of resource_requirements");
  c.option("--scheduler", o.scheduler, "a name of slurm_schedulers");
  c.option("--label", o.labels, "only workers with this label run it, or with all of NAME,NAME");
  c.option("--priority", o.priority, "higher first");
  c.option("--state", o.state, "state to hand on, which jobs find in TORC_SPAWN_STATE")
      .value("JSON|@FILE");
  c.flag("--now", o.now, "do not wait for the completion of the job that spawns");
  c.flag("--dry-run", o.dry_run, "say what would be added and add nothing");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
