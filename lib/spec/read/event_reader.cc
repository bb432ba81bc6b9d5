// What a spec says about events: actions, failures, and the limits of the whole workflow.
#include <fmt/format.h>

#include <cstdlib>

#include "lib/base/limits.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/read/parameter_reader.h"
#include "lib/spec/read/readers.h"

namespace torc::spec {
namespace {

bool names_jobs(Trigger trigger) {
  return trigger == Trigger::on_jobs_ready || trigger == Trigger::on_jobs_complete;
}

bool gives(const MapReader& reader, std::string_view key) {
  return reader.has(key) || reader.rejected(key);
}

// Keys that go with one value of another key: required with it, refused with any other.
void check_partners(const MapReader& reader, const Action& action) {
  const Session& session = reader.session();
  const auto stray = [&](std::string_view key, std::string_view owner) {
    if (const Node* node = reader.find(key)) {
      session.error(*node, fmt::format("{} belongs to {}", torc::quoted(key), owner),
                    "remove it, or change the action");
    }
  };
  const auto missing = [&](std::string_view what, std::string remedy) {
    session.report.error(action.place, fmt::format("an action without {}", what),
                         std::move(remedy));
  };
  if (reader.has("action_type")) {
    if (action.kind == Action::Kind::run_commands) {
      if (!gives(reader, "commands")) missing("'commands'", "add 'commands: […]'");
      if (reader.has("commands") && action.commands.empty())
        session.error(*reader.find("commands"), "'commands' is empty",
                      "write at least one command, or remove the action");
      for (const std::string_view key : {"scheduler", "scheduler_type", "num_allocations",
                                         "start_one_worker_per_node", "max_parallel_jobs"}) {
        stray(key, "schedule_nodes");
      }
    } else {
      if (!gives(reader, "scheduler")) missing("'scheduler'", "add 'scheduler: …'");
      stray("commands", "run_commands");
    }
  }
  if (!reader.has("trigger_type")) return;
  if (!names_jobs(action.trigger)) {
    stray("jobs", "on_jobs_ready and on_jobs_complete");
    stray("job_name_regexes", "on_jobs_ready and on_jobs_complete");
  } else if (!gives(reader, "jobs") && !gives(reader, "job_name_regexes")) {
    missing("jobs", "name them with 'jobs: […]' or 'job_name_regexes: […]'");
  }
}

FailureRule read_rule(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::failure_rule);
  FailureRule rule;
  for (const std::string& code : reader.words("exit_codes"))
    rule.exit_codes.push_back(std::atoi(code.c_str()));
  rule.all_exit_codes = reader.boolean("match_all_exit_codes", false);
  for (const std::string& cause : reader.words("on"))
    rule.on.push_back(static_cast<FailureCause>(reader.position_of("on", cause)));
  rule.script = reader.text("recovery_script");
  if (const Node* script = reader.find("recovery_script")) refuse_references(session, *script);
  rule.max_retries = reader.integer("max_retries", rule.max_retries);
  rule.memory_multiplier = reader.decimal("memory_multiplier", 1);
  rule.runtime_multiplier = reader.decimal("runtime_multiplier", 1);
  rule.learn = reader.boolean("learn", false);
  if (rule.learn && rule.memory_multiplier <= 1 && rule.runtime_multiplier <= 1)
    session.warn(*reader.find("learn"), "'learn' beside no multiplier above 1 changes nothing",
                 "add memory_multiplier or runtime_multiplier, or remove it");
  if (reader.has("backoff")) {
    const auto backoff = parse_spec_duration(reader.text("backoff"));
    if (backoff.ok()) rule.backoff = *backoff;
  }
  if (!gives(reader, "exit_codes") && !gives(reader, "match_all_exit_codes") &&
      !gives(reader, "on")) {
    session.error(map, "a rule that does not say what it is for",
                  "add 'exit_codes: […]', 'match_all_exit_codes: true' or 'on: …'");
  } else if (const Node* codes = reader.find("exit_codes");
             codes != nullptr && rule.all_exit_codes) {
    session.error(*codes, "'exit_codes' beside 'match_all_exit_codes: true'",
                  "keep one of the two");
  } else if (!rule.all_exit_codes && rule.exit_codes.empty() && rule.on.empty() &&
             !reader.rejected("exit_codes") && !reader.rejected("on")) {
    session.warn(map, "a rule that is for no end of a job",
                 "list exit_codes, say match_all_exit_codes: true or 'on: …', or remove it");
  }
  rule.place = session.place(map);
  return rule;
}

// Those in texts of the data; what is a key stays as it is.
void check_texts(const Session& session, const Node& node,
                 const std::vector<Parameter>& parameters) {
  if (node.kind == NodeKind::scalar)
    (void)check_placeholders(session, node, parameters, InName::no);
  const std::size_t step = node.kind == NodeKind::map ? 2 : 1;
  for (std::size_t i = step - 1; i < node.items.size(); i += step)
    check_texts(session, *node.items[i], parameters);
}

// False: the name has placeholders that nothing fills in.
bool check_data_placeholders(const MapReader& reader, const std::vector<Parameter>& parameters) {
  const Node* data = reader.find("data");
  // Without parameters braces are the data's own.
  if (data != nullptr && !parameters.empty()) check_texts(reader.session(), *data, parameters);
  const Node* name = reader.find("name");
  return name == nullptr || check_placeholders(reader.session(), *name, parameters, InName::yes);
}

}  // namespace

UserDataEntry read_user_data(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::user_data);
  UserDataEntry entry;
  entry.name = reader.name();
  if (const Node* data = reader.find("data"); data != nullptr && data->kind != NodeKind::null)
    entry.data = read_json_value(session, "data", *data, kMaxUserDataBytes);
  entry.is_ephemeral = reader.boolean("is_ephemeral", false);
  OwnParameters own = read_own_parameters(reader);
  entry.parameters = std::move(own.parameters);
  entry.mode = own.mode;
  entry.place = reader.name_place();
  entry.places = reader.places();
  entry.sound = own.sound && reader.has("name");
  if (own.complete && !check_data_placeholders(reader, entry.parameters)) entry.sound = false;
  if (entry.sound && entry.parameters.empty() && entry.name.size() > kMaxUserDataName) {
    session.error(*reader.find("name"),
                  fmt::format("the name has {} bytes; names of user data have at most {}",
                              entry.name.size(), kMaxUserDataName),
                  "shorten it");
    entry.sound = false;
  }
  return entry;
}

Action read_action(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::action);
  Action action;
  action.trigger = reader.choice<Trigger>("trigger_type");
  action.kind = reader.choice<Action::Kind>("action_type");
  action.jobs = reader.words("jobs");
  action.job_name_regexes = reader.words("job_name_regexes");
  action.commands = reader.words("commands");
  action.scheduler = reader.text("scheduler");
  action.num_allocations = reader.integer("num_allocations", action.num_allocations);
  action.max_parallel_jobs = reader.positive("max_parallel_jobs");
  action.start_one_worker_per_node = reader.boolean("start_one_worker_per_node", false);
  action.persistent = reader.boolean("persistent", false);
  action.place = session.place(map);
  action.places = reader.places();
  check_expressions(reader, "job_name_regexes");
  if (const Node* commands = reader.find("commands")) {
    if (commands->kind == NodeKind::scalar) refuse_references(session, *commands);
    for (const Node* command : commands->items) refuse_references(session, *command);
  }
  check_partners(reader, action);
  return action;
}

FailureHandler read_failure_handler(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::failure_handler);
  FailureHandler handler;
  handler.name = reader.name();
  handler.place = reader.name_place();
  const Node* rules = reader.find("rules");
  if (rules == nullptr) return handler;
  if (rules->items.empty()) session.error(*rules, "'rules' is empty", "write at least one rule");
  for (const Node* rule : maps_in(session, *rules, Where::failure_rule))
    handler.rules.push_back(read_rule(session, *rule));
  return handler;
}

Budget read_budget(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::budget);
  Budget budget;
  if (reader.has("core_hours")) budget.core_hours = reader.decimal("core_hours", 0);
  if (reader.has("node_hours")) budget.node_hours = reader.decimal("node_hours", 0);
  return budget;
}

LeaseConfig read_lease(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::lease);
  LeaseConfig lease;
  const auto read = [&](std::string_view key, std::optional<std::chrono::seconds>& to) {
    const Node* node = reader.find(key);
    if (node == nullptr) return;
    if (const auto duration = parse_spec_duration(session.text(*node)); duration.ok())
      to = *duration;
  };
  read("ttl", lease.ttl);
  read("beat", lease.heartbeat);
  constexpr std::chrono::seconds kShortest{10};
  constexpr std::chrono::hours kLongest{24};
  if (lease.ttl && *lease.ttl < kShortest) {
    session.error(*reader.find("ttl"), "a ttl of less than 10 seconds", "write PT10S or more");
  }
  if (lease.ttl && *lease.ttl > kLongest) {
    session.error(*reader.find("ttl"), "a ttl of more than a day",
                  "write P1D or less: so long the jobs of a dead worker would wait");
  }
  if (!lease.ttl && lease.heartbeat && *lease.heartbeat * 3 > kUsualTtl) {
    session.error(*reader.find("beat"), "fewer than three heartbeats in a ttl of 5 minutes",
                  "give a longer ttl too; five heartbeats are usual");
  }
  // A worker is given up after several heartbeats that nobody saw; fewer would take a slow disk for
  // death.
  if (lease.ttl && lease.heartbeat && *lease.heartbeat * 3 > *lease.ttl) {
    session.error(*reader.find("beat"), "fewer than three heartbeats in one ttl",
                  "make ttl longer or beat shorter; five heartbeats are usual");
  }
  return lease;
}

std::vector<LimitUse> read_limit_uses(const MapReader& reader) {
  const Node* node = reader.find("limits");
  std::vector<LimitUse> uses;
  if (node == nullptr) return uses;
  const Session& session = reader.session();
  if (node->kind == NodeKind::map) {
    for (const Limit& limit : read_limits(session, *node))
      uses.push_back({limit.name, limit.most, limit.place});
    return uses;
  }
  const std::vector<std::string> names = reader.words("limits");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Node& at = node->kind == NodeKind::scalar ? *node : *node->items[i];
    uses.push_back({names[i], 1, session.place(at)});
  }
  return uses;
}

std::vector<Limit> read_limits(const Session& session, const Node& map) {
  std::vector<Limit> limits;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const auto told = parse_integer(session.text(*map.items[i + 1]));
    const std::int64_t most = told.ok() ? told->value_or(1) : 1;
    const bool is_one = most >= 0 && most <= INT32_MAX;  // what is none has been reported
    limits.push_back({session.text(*map.items[i]), static_cast<std::uint32_t>(is_one ? most : 1),
                      session.place(*map.items[i]), false});
  }
  return limits;
}

}  // namespace torc::spec
