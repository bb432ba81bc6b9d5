#include <fmt/format.h>

#include <algorithm>

#include "lib/base/number.h"
#include "lib/base/text/quote.h"
#include "lib/spec/read/readers.h"
#include "lib/spec/read/value_check.h"
#include "lib/spec/text/placeholder.h"
#include "lib/spec/text/reference_text.h"

namespace torc::spec {
namespace {

// What torc gives every job.
constexpr std::string_view kReserved[] = {
    "TORC_STORE",          "TORC_WORKFLOW_NAME", "TORC_WORKFLOW_ID", "TORC_JOB_ID",
    "TORC_JOB_NAME",       "TORC_ATTEMPT_ID",    "TORC_ATTEMPT_DIR", "TORC_OUTPUT_DIR",
    "TORC_NUM_CPUS",       "TORC_MEMORY_BYTES",  "TORC_NUM_GPUS",    "TORC_END_TIME",
    "TORC_NODELIST",       "TORC_HOSTFILE",      "TORC_NUM_NODES",   "TORC_HEAD_NODE",
    "TORC_RETURN_CODE",    "TORC_ITERATION",     "TORC_SPAWN_STATE", "TORC_WORKER",
    "TORC_CLAIM_ID",       "TORC_NODE_RANK",     "TORC_GANG",        "TORC_HOSTFILE_OPENMPI",
    "TORC_HOSTFILE_MPICH", "TORC_ALTERNATIVE"};

// Null: what follows is wrong and has been reported.
bool check_variable_name(const Session& session, const Node& name) {
  if (!is_identifier(name.text)) {
    session.error(name, fmt::format("{} cannot be the name of a variable", torc::quoted(name.text)),
                  "use letters, digits and '_', a letter first");
    return false;
  }
  return true;
}

// A key of one mode in a spec of another.
void check_modes(const MapReader& reader, std::string_view mode) {
  if (mode.empty() || mode == "auto") return;
  for (const Key& key : language()) {
    if (key.where != Where::execution || key.mode.empty() || key.mode == mode) continue;
    // Slurm limits what jobs use: that it shall is no mistake, that it shall not is one.
    if (key.name == "limit_resources" && reader.boolean(key.name, false)) continue;
    if (const Node* node = reader.find(key.name)) {
      reader.session().error(
          *node,
          fmt::format("{} belongs to mode {}, not to {}", torc::quoted(key.name), key.mode, mode),
          "remove it, or change the mode");
    }
  }
}

}  // namespace

void refuse_references(const Session& session, const Node& node) {
  const std::string text = session.text(node);
  for (const ReferenceText& r : reference_texts(text)) {
    session.report.error(
        place_within(session.source, session.place(node), text, r.begin, r.end - r.begin),
        fmt::format("{} means something in 'command' and 'invocation_script' of a job only",
                    torc::quoted(text.substr(r.begin, r.end - r.begin))),
        "write the path, or the name of the user data, itself");
  }
}

Environment read_environment(const Session& session, const Node& map) {
  Environment env;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const Node& name = *map.items[i];
    const Node& value = *map.items[i + 1];
    if (!check_variable_name(session, name)) continue;
    if (std::ranges::find(kReserved, name.text) != std::end(kReserved)) {
      session.error(name, fmt::format("torc sets {} itself", torc::quoted(name.text)),
                    "use another name");
    } else if (value.kind == NodeKind::sequence || value.kind == NodeKind::map) {
      session.error(value, fmt::format("the value of {} must be a text", torc::quoted(name.text)),
                    "put quotes around a text that starts with '{' or '['");
    } else if (value.kind == NodeKind::null && !value.text.empty()) {
      session.error(
          value,
          fmt::format("{} is not a value of the variable {}", value.text, torc::quoted(name.text)),
          fmt::format("write '{}' for this text, '' for an empty one", value.text));
    } else {
      refuse_references(session, value);
      env.emplace_back(name.text, session.text(value));
    }
  }
  return env;
}

void read_variables(Session& session, const Node& map) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const Node& name = *map.items[i];
    const Node& value = *map.items[i + 1];
    if (!check_variable_name(session, name)) continue;
    if (value.kind == NodeKind::sequence || value.kind == NodeKind::map) {
      session.error(value,
                    fmt::format("variable {} must be a text or a number", torc::quoted(name.text)),
                    "for several values use 'parameters'");
      continue;
    }
    std::string text = session.text(value);
    for (const Placeholder& p : placeholders(text)) {
      for (std::size_t later = i; later < map.items.size(); later += 2) {
        if (map.items[later]->text != p.name) continue;
        session.error(value,
                      fmt::format("variable {} uses {}, which is not defined before it",
                                  torc::quoted(name.text), torc::quoted(p.name)),
                      "define it above");
      }
    }
    session.variables.insert_or_assign(name.text, std::move(text));
  }
}

Stdio read_stdio(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::stdio);
  return {reader.choice<StdioMode>("mode"), reader.boolean("delete_on_success", false),
          !reader.has("mode")};
}

ExecutionConfig read_execution(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::execution);
  ExecutionConfig c;
  const std::string mode = reader.text("mode");
  if (mode == "direct") c.mode = ExecutionMode::direct;
  if (mode == "slurm") c.mode = ExecutionMode::slurm;
  check_modes(reader, mode);
  c.limit_resources = reader.boolean("limit_resources", c.limit_resources);
  c.termination_signal =
      as_signal(reader.text("termination_signal")).value_or(c.termination_signal);
  c.sigterm_lead = reader.seconds("sigterm_lead_seconds", c.sigterm_lead);
  c.sigkill_headroom = reader.seconds("sigkill_headroom_seconds", c.sigkill_headroom);
  c.timeout_exit_code = reader.integer("timeout_exit_code", c.timeout_exit_code);
  c.oom_exit_code = reader.integer("oom_exit_code", c.oom_exit_code);
  c.enable_cpu_bind = reader.boolean("enable_cpu_bind", false);
  c.staggered_start = reader.boolean("staggered_start", false);
  c.srun_mpi = reader.text("srun_mpi");
  // It has been checked; without seconds they are 60.
  c.srun_termination_signal = reader.text("srun_termination_signal");
  if (const std::string& said = c.srun_termination_signal; !said.empty()) {
    const std::size_t at = std::min(said.find('@'), said.size());
    c.termination_signal = as_signal(said.substr(0, at)).value_or(c.termination_signal);
    const std::string seconds = said.substr(std::min(at + 1, said.size()));
    c.sigterm_lead = std::chrono::seconds(whole_number<std::int64_t>(seconds).value_or(60));
  }
  if (const Node* stdio = reader.find("stdio")) c.stdio = read_stdio(session, *stdio);
  return c;
}

void override_stdio(const Session& session, const Node& execution, std::vector<JobEntry>& jobs) {
  const Node* map = nullptr;
  for (std::size_t i = 0; i + 1 < execution.items.size(); i += 2) {
    if (execution.items[i]->text == "job_stdio_overrides") map = execution.items[i + 1];
  }
  if (map == nullptr || map->kind != NodeKind::map) return;
  for (std::size_t i = 0; i + 1 < map->items.size(); i += 2) {
    const Node& name = *map->items[i];
    const Node& value = *map->items[i + 1];
    if (value.kind != NodeKind::map) {
      session.error(value, fmt::format("the stdio of {} must be a map", torc::quoted(name.text)),
                    "write {mode: …} behind it");
      continue;
    }
    const Stdio stdio = read_stdio(session, value);
    const auto job = std::ranges::find(jobs, session.text(name), &JobEntry::name);
    if (job != jobs.end()) {
      if (!job->stdio) job->stdio = stdio;
      continue;
    }
    const std::string guess = session.report.guess(name.text, [&] {
      std::vector<std::string> names;
      names.reserve(jobs.size());
      for (const JobEntry& entry : jobs) names.push_back(entry.name);
      return names;
    });
    session.error(name, fmt::format("no entry of 'jobs' is named {}", torc::quoted(name.text)),
                  guess.empty() ? "name an entry as it is written, with its braces"
                                : fmt::format("did you mean {}?", torc::quoted(guess)));
  }
}

ResourceMonitor read_monitor(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::monitor);
  ResourceMonitor monitor;
  bool enabled = reader.boolean("enabled", true);
  std::string granularity = reader.text("granularity");
  monitor.interval = reader.seconds("sample_interval_seconds", monitor.interval);
  if (const Node* node = reader.find("jobs")) {
    const MapReader jobs(session, *node, Where::monitor_part);
    enabled = jobs.boolean("enabled", enabled);
    granularity = jobs.text("granularity", granularity);
  }
  monitor.time_series = enabled && (granularity == "time_series" || granularity == "TimeSeries");
  return monitor;
}

}  // namespace torc::spec
