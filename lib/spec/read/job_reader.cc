#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "lib/base/amounts.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/read/parameter_reader.h"
#include "lib/spec/read/readers.h"
#include "lib/spec/text/placeholder.h"

namespace torc::spec {
namespace {

// The conditions in the order of the file, and the place of each name as of an element of depends.
void read_depends(const Session& session, const Node& map, JobEntry& job) {
  const MapReader reader(session, map, Where::depends);
  for (const Condition condition :
       {Condition::afterok, Condition::afternotok, Condition::afterany, Condition::after}) {
    const Node* value = reader.find(to_string(condition));
    if (value == nullptr) continue;
    const bool one = value->kind == NodeKind::scalar;
    const std::vector<std::string> names = reader.words(to_string(condition));
    for (std::size_t i = 0; i < names.size(); ++i) {
      job.places.emplace(fmt::format("depends[{}]", job.depends.size()),
                         session.place(one ? *value : *value->items[i]));
      job.depends.emplace_back(condition, names[i]);
    }
  }
  if (map.items.empty())
    session.error(map, "'depends' is empty", "write a condition and names, as afterany: [prepare]");
}

// A placeholder may stand for anything; a digit is valid wherever its value could be, also in
// {1,{n}}.
std::string with_samples(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (const Placeholder& p : placeholders(text)) {
    out.append(text.substr(done, p.begin - done)).append("1");
    done = p.end;
  }
  return out.append(text.substr(done));
}

}  // namespace

void check_expressions(const MapReader& reader, std::string_view key) {
  const Node* list = reader.find(key);
  if (list == nullptr) return;
  RE2::Options quiet;
  quiet.set_log_errors(false);
  const std::vector<const Node*> items =
      list->kind == NodeKind::scalar ? std::vector<const Node*>{list} : list->items;
  for (const Node* item : items) {
    const std::string text = reader.session().text(*item);
    const RE2 expression(with_samples(text), quiet);
    if (expression.ok()) continue;
    reader.session().error(
        *item,
        fmt::format("{} is not a regular expression: {}", torc::quoted(text), expression.error()),
        "write it in RE2's syntax, and in single quotes, where '\\' needs no doubling");
  }
}

namespace {

// By alternative; nullptr: it has none of its own.
std::vector<const Node*> all_commands(const MapReader& reader) {
  std::vector<const Node*> all;
  const Node* list = reader.find("one_of");
  for (const Node* one : list == nullptr ? std::vector<const Node*>() : list->items) {
    const Node* command = nullptr;
    for (std::size_t i = 0; one->kind == NodeKind::map && i + 1 < one->items.size(); i += 2) {
      if (one->items[i]->text == "command") command = one->items[i + 1];
    }
    all.push_back(command != nullptr && command->kind == NodeKind::scalar ? command : nullptr);
  }
  return all;
}

std::vector<const Node*> commands_of_alternatives(const MapReader& reader) {
  std::vector<const Node*> all = all_commands(reader);
  std::erase(all, nullptr);
  return all;
}

// As "one_of[1].command".
void place_commands(const MapReader& reader, JobEntry& job) {
  const std::vector<const Node*> all = all_commands(reader);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != nullptr) job.places.emplace(command_key(i), reader.session().place(*all[i]));
  }
}

// False: the name has placeholders that nothing fills in.
bool check_job_placeholders(const MapReader& reader, const std::vector<Parameter>& parameters) {
  const Session& session = reader.session();
  bool sound = true;
  if (const Node* name = reader.find("name"))
    sound = check_placeholders(session, *name, parameters, InName::yes);
  for (const std::string_view key : {"command", "invocation_script", "label", "was"}) {
    if (const Node* node = reader.find(key))
      (void)check_placeholders(session, *node, parameters, InName::no);
  }
  if (const Node* labels = reader.find("labels")) {
    const bool one = labels->kind == NodeKind::scalar;
    for (const Node* item : one ? std::vector<const Node*>{labels} : labels->items)
      (void)check_placeholders(session, *item, parameters, InName::no);
  }
  for (const Node* command : commands_of_alternatives(reader))
    (void)check_placeholders(session, *command, parameters, InName::no);
  if (const Node* env = reader.find("env")) {
    for (std::size_t i = 1; i < env->items.size(); i += 2) {
      (void)check_placeholders(session, *env->items[i], parameters, InName::no);
    }
  }
  return sound;
}

}  // namespace

namespace {

std::vector<std::string> read_labels(const MapReader& reader) {
  const Session& session = reader.session();
  const Node* one = reader.find("label");
  const Node* list = reader.find("labels");
  if (one != nullptr && list != nullptr) {
    session.error(*list, "a job has 'labels' or 'label', not both",
                  "write all of them in 'labels', and leave 'label' out");
    return {};
  }
  const char* key = one != nullptr ? "label" : "labels";
  std::vector<std::string> labels = reader.words(key);
  const Node* value = one != nullptr ? one : list;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Node& at = value->kind == NodeKind::scalar ? *value : *value->items[i];
    if (labels[i].find(',') != std::string::npos) {
      session.error(at, fmt::format("the label {} has a comma", torc::quoted(labels[i])),
                    "write several labels as labels: [gpu, ssd]");
    } else if (trimmed(labels[i]) != labels[i]) {
      session.error(
          at, fmt::format("the label {} begins or ends with a blank", torc::quoted(labels[i])),
          "write it without");
    } else if (std::find(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(i),
                         labels[i]) != labels.begin() + static_cast<std::ptrdiff_t>(i)) {
      session.error(at, fmt::format("the label {} is given twice", torc::quoted(labels[i])),
                    "once is enough");
    }
  }
  return labels;
}

// One line stands before the command; lines are run before it.
std::string script_of(std::string_view text) {
  const bool lines = text.find_first_of("\r\n") != std::string_view::npos;
  std::string script(lines ? text.substr(0, text.find_last_not_of(" \t\r\n") + 1) : trimmed(text));
  if (lines && !script.empty()) script += '\n';
  return script;
}

}  // namespace

JobEntry read_job(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::job);
  JobEntry job;
  job.name = reader.name();
  job.was = reader.text("was");
  job.command = reader.text("command");
  job.priority = reader.integer("priority", 0);
  job.invocation_script = script_of(reader.text("invocation_script"));
  if (const Node* env = reader.find("env")) job.env = read_environment(session, *env);
  job.labels = read_labels(reader);
  job.depends_on = reader.words("depends_on");
  job.depends_on_regexes = reader.words("depends_on_regexes");
  job.input_files = reader.words("input_files");
  job.output_files = reader.words("output_files");
  job.input_file_regexes = reader.words("input_file_regexes");
  job.output_file_regexes = reader.words("output_file_regexes");
  job.input_datasets = reader.words("input_datasets");
  job.output_datasets = reader.words("output_datasets");
  job.input_user_data = reader.words("input_user_data");
  job.output_user_data = reader.words("output_user_data");
  job.input_user_data_regexes = reader.words("input_user_data_regexes");
  job.output_user_data_regexes = reader.words("output_user_data_regexes");
  job.failure_handler = reader.text("failure_handler");
  job.cancel_on_blocking_job_failure = reader.boolean("cancel_on_blocking_job_failure", false);
  job.max_parallel = reader.positive("max_parallel");
  job.limits = read_limit_uses(reader);
  job.crash_limit = reader.positive("crash_limit");
  job.checkpoint_exit_code = reader.integer("checkpoint_exit_code", 0);
  if (reader.has("allow_missing_outputs"))
    job.allow_missing_outputs = reader.boolean("allow_missing_outputs", false);
  if (reader.has("launch"))
    job.launch.on = reader.text("launch") == "all" ? LaunchOn::all : LaunchOn::head;
  if (reader.text("launch_end") == "all") job.launch.end = LaunchEnd::all;
  job.launch.tasks_per_node = reader.positive("ntasks_per_node").value_or(0);
  OwnParameters own = read_own_parameters(reader);
  job.parameters = std::move(own.parameters);
  job.mode = own.mode;
  job.resource_requirements = reader.text("resource_requirements");
  job.needs = read_needs(reader);
  job.one_of = read_alternatives(reader);
  job.scheduler = reader.text("scheduler");
  if (const Node* stdio = reader.find("stdio")) job.stdio = read_stdio(session, *stdio);
  job.place = reader.name_place();
  job.places = reader.places();
  place_commands(reader, job);
  if (const Node* depends = reader.find("depends")) read_depends(session, *depends, job);
  for (const std::string_view key :
       {"depends_on_regexes", "input_file_regexes", "output_file_regexes",
        "input_user_data_regexes", "output_user_data_regexes"}) {
    check_expressions(reader, key);
  }
  job.sound = own.sound && reader.has("name");
  if (own.complete && !check_job_placeholders(reader, job.parameters)) job.sound = false;
  return job;
}

Dataset read_dataset(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::dataset);
  return {reader.name(), reader.name_place()};
}

FileEntry read_file(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::file);
  FileEntry file;
  file.name = reader.name();
  file.path = reader.text("path");
  OwnParameters own = read_own_parameters(reader);
  file.parameters = std::move(own.parameters);
  file.mode = own.mode;
  file.place = reader.name_place();
  file.places = reader.places();
  file.sound = own.sound && reader.has("name");
  for (const std::string_view key : {"name", "path"}) {
    const Node* node = reader.find(key);
    if (own.complete && node != nullptr &&
        !check_placeholders(session, *node, file.parameters, InName::yes))
      file.sound = false;
  }
  return file;
}

namespace {

// A part of one, or all. False: a number of them.
bool read_gpus(SaidNeeds& needs, const std::string& text) {
  const auto amount = parse_amount(text);
  if (!amount || (*amount >= kWhole && *amount != kAllThereIs)) return false;
  set_amount(needs.named, {std::string(kGpus), *amount});
  return true;
}

void read_named(const Session& session, const Node& map, SaidNeeds& r) {
  std::set<std::string> variables;
  const bool has_gpus = r.over({}).gpus > 0 || find_amount(r.named, kGpus) != nullptr;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const Node& of = *map.items[i];
    const auto name = resource_name(session.text(of));
    const auto amount = parse_amount(session.text(*map.items[i + 1]));
    if (!name || !amount) continue;
    if (!variables.insert(variable_of(*name)).second) {
      session.error(of,
                    fmt::format("{} is written the same in an environment variable as another "
                                "name here ({})",
                                torc::quoted(of.text), variable_of(*name)),
                    "give one of them another name");
    }
    if (is_gpu(*name) && has_gpus) {
      session.error(of, fmt::format("{} beside num_gpus", torc::quoted(of.text)),
                    "of which type its GPUs are is said of all of them: write one of the two");
      continue;
    }
    const std::string_view base = base_name(*name);
    const bool mixes = std::ranges::any_of(r.named, [&](const Amount& a) {
      return a.name != *name && (is_of(a.name, *name) || a.name == base);
    });
    if (mixes)
      session.error(of, fmt::format("{} beside a type of it", torc::quoted(of.text)),
                    "the type is said of all of it: write one of the two");
    if (r.named.size() == kMostNamed) {
      session.error(of, fmt::format("more than {} resources", kMostNamed), "name fewer");
      return;
    }
    set_amount(r.named, {*name, *amount});
  }
}

}  // namespace

SaidNeeds read_needs(const MapReader& reader) {
  SaidNeeds needs;
  for (const ResourceKind& kind : kResourceKinds) {
    if (!reader.has(kind.key)) continue;
    const std::string text = reader.text(kind.key);
    switch (kind.measure) {
      case Measure::count:
        if (kind.word == kGpus && read_gpus(needs, text)) break;
        needs.amounts.emplace_back(&kind, reader.integer(kind.key, std::uint64_t{0}));
        break;
      case Measure::bytes:
        if (const auto bytes = parse_memory(text); bytes.ok())
          needs.amounts.emplace_back(&kind, bytes->value);
        break;
      case Measure::seconds:
        if (const auto time = parse_spec_duration(text); time.ok())
          needs.amounts.emplace_back(&kind, static_cast<std::uint64_t>(time->count()));
        break;
      case Measure::locality:
        if (const auto locality = locality_named(text))
          needs.amounts.emplace_back(&kind, static_cast<std::uint64_t>(*locality));
        break;
    }
  }
  if (const Node* node = reader.find("resources")) read_named(reader.session(), *node, needs);
  return needs;
}

std::vector<SaidAlternative> read_alternatives(const MapReader& reader) {
  std::vector<SaidAlternative> all;
  const Node* list = reader.find("one_of");
  if (list == nullptr) return all;
  const Session& session = reader.session();
  const std::vector<const Node*> maps = maps_in(session, *list, Where::alternative);
  for (const Node* map : maps) {
    const MapReader one(session, *map, Where::alternative);
    all.push_back({read_needs(one), one.integer("weight", kUsualWeight), one.text("command")});
  }
  if (maps.size() < list->items.size()) return {};  // reported
  if (maps.size() < 2) {
    session.error(*list,
                  maps.empty() ? "'one_of' has no alternatives" : "'one_of' has one alternative",
                  "write at least two, or what the job needs without one_of");
    return {};
  }
  if (maps.size() > kMostAlternatives) {
    session.error(*list,
                  fmt::format("'one_of' has {} alternatives; the limit is {}", maps.size(),
                              kMostAlternatives),
                  "write fewer");
    return {};
  }
  return all;
}

ResourceRequirements read_requirements(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::resources);
  ResourceRequirements r;
  r.name = reader.name();
  r.place = reader.name_place();
  static_cast<Resources&>(r) = read_needs(reader).over({});
  for (const SaidAlternative& one : read_alternatives(reader))
    r.one_of.push_back({one.needs.over(static_cast<const Resources&>(r)), one.weight});
  for (const Node* command : commands_of_alternatives(reader)) {
    session.error(*command, "a set of resource requirements has no commands",
                  "write one_of in the jobs themselves to give alternatives commands of their own");
  }
  return r;
}

}  // namespace torc::spec
