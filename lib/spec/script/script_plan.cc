#include "lib/spec/script/script_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/language/language.h"
#include "lib/spec/script/script_options.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

// Options of #TORC that are no keys, or keys of another name.
constexpr std::array kSpecial =
    std::to_array<std::string_view>({"name", "array", "nodes", "env", "input-file", "output-file",
                                     "account", "partition", "qos", "constraint", "walltime"});
// Keys of a job that a script has already, or that hold more than one word.
constexpr std::array kNoOptions =
    std::to_array<std::string_view>({"command", "input_files", "output_files", "parameters_file",
                                     "use_parameters", "use_parameters_file", "parameter_mode"});
// What Slurm calls it, or other programs, and what it is called here.
constexpr auto kOtherWords =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"cpus-per-task", "cpus"},
                                                                  {"mem", "memory"},
                                                                  {"time", "runtime"},
                                                                  {"job-name", "name"},
                                                                  {"gres", "gpus"},
                                                                  {"ntasks", "cpus"},
                                                                  {"gpus-per-node", "gpus"},
                                                                  {"output", "output-file"},
                                                                  {"input", "input-file"}});

std::string key_of(std::string_view option) {
  std::string key(option);
  std::ranges::replace(key, '-', '_');
  return key == "nodes" ? "num_nodes" : key;
}

bool is_one_word(Type type) {
  switch (type) {
    case Type::word:
    case Type::line:
    case Type::text:
    case Type::prose:
    case Type::integer:
    case Type::boolean:
    case Type::memory:
    case Type::duration:
    case Type::choice:
    case Type::gpus:
    case Type::decimal:
    case Type::names:
      return true;
    default:
      return false;
  }
}

bool is_plain(Type type) {
  return type == Type::integer || type == Type::boolean || type == Type::gpus ||
         type == Type::decimal;
}

// Null: no option of #TORC says it.
const Key* key_at(Where where, std::string_view option) {
  const Key* key = find_key(where, key_of(option));
  if (key == nullptr || !is_one_word(key->type)) return nullptr;
  return std::ranges::find(kNoOptions, key->name) == kNoOptions.end() ? key : nullptr;
}

const Key* job_or_workflow(std::string_view option, Where& where) {
  where = Where::job;
  if (const Key* key = key_at(Where::job, option)) return key;
  where = Where::workflow;
  return key_at(Where::workflow, option);
}

bool is_switch(std::string_view option) {
  Where where{};
  const Key* key = job_or_workflow(option, where);
  return key != nullptr && key->type == Type::boolean;
}

std::vector<std::string> torc_options() {
  std::vector<std::string> names(kSpecial.begin(), kSpecial.end());
  for (const Where where : {Where::job, Where::workflow}) {
    for (std::string name : key_names(where)) {
      std::ranges::replace(name, '_', '-');
      if (key_at(where, name) != nullptr) names.push_back(std::move(name));
    }
  }
  return names;
}

class TorcReader {
 public:
  TorcReader(const Source& source, Report& report, ScriptPlan& plan)
      : source_(source), report_(report), plan_(plan) {}

  void read(const ScriptLine& line) {
    for (const ScriptOption& option : options_of_torc(line, is_switch, source_, report_)) {
      if (is_special(option.name.text))
        take_special(option);
      else
        take_key(option);
    }
  }

 private:
  static bool is_special(std::string_view name) {
    return std::ranges::find(kSpecial, name) != kSpecial.end();
  }
  void error(const ScriptText& at, std::string message, std::string remedy) {
    report_.error(source_.place(at.begin, at.bytes), std::move(message), std::move(remedy));
  }
  void refuse_twice(const ScriptOption& option) {
    error(option.name, fmt::format("'--{}' is given twice", option.name.text),
          "keep one of the two");
  }
  void set_once(ScriptMap& map, const std::string& key, const ScriptOption& option, bool plain) {
    if (map.has(key)) return refuse_twice(option);
    map.set(key, option.value, plain);
  }

  void take_special(const ScriptOption& option) {
    const std::string& name = option.name.text;
    if (name == "array") return take_array(option);
    if (name == "env") return take_variable(option);
    if (name == "input-file") return plan_.inputs.push_back(option.value);
    if (name == "output-file") return plan_.outputs.push_back(option.value);
    if (name == "constraint")
      return plan_.add_extra("--constraint=" + shell_word(option.value.text), option.value);
    const bool of_job = name == "name" || name == "nodes";
    set_once(of_job ? plan_.job : plan_.scheduler, key_of(name), option, name == "nodes");
  }

  void take_array(const ScriptOption& option) {
    if (plan_.array) return refuse_twice(option);
    auto array = parse_array(option.value.text);
    if (!array) return error(option.value, array.error().what, array.error().remedy);
    plan_.array = *std::move(array);
    plan_.array_place = option.value;
  }

  void take_variable(const ScriptOption& option) {
    const std::string& text = option.value.text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return error(option.value, fmt::format("{} sets no variable", torc::quoted(text)),
                   "write --env NAME=VALUE; one for each variable");
    ScriptText value = option.value;
    value.text = text.substr(equals + 1);
    if (plan_.env.has(text.substr(0, equals))) return refuse_twice(option);
    plan_.env.set(text.substr(0, equals), std::move(value));
  }

  void take_key(const ScriptOption& option) {
    Where where{};
    const Key* key = job_or_workflow(option.name.text, where);
    if (key == nullptr) return refuse_unknown(option);
    ScriptMap& map = where == Where::job ? plan_.job : plan_.workflow;
    if (key->type == Type::names) return map.append(std::string(key->name), option.value);
    const std::string name(meaning_of(*key)->name);
    if (!option.has_value) {
      if (map.has(name)) return refuse_twice(option);
      ScriptText yes = option.name;
      yes.text = "true";
      return map.set(name, std::move(yes), true);
    }
    set_once(map, name, option, is_plain(key->type));
  }

  void refuse_unknown(const ScriptOption& option) {
    const std::string& name = option.name.text;
    const auto* const other =
        std::ranges::find(kOtherWords, name, [](const auto& pair) { return pair.first; });
    const std::string guess =
        other == kOtherWords.end() ? report_.guess(name, torc_options) : std::string(other->second);
    error(option.name, fmt::format("unknown option {} of #TORC", torc::quoted("--" + name)),
          guess.empty() ? "its options are the keys of a job: --cpus, --memory, --gpus, --runtime, "
                          "--nodes, --array, --name, --env"
                        : fmt::format("did you mean '--{}'?", guess));
  }

  const Source& source_;
  Report& report_;
  ScriptPlan& plan_;
};

}  // namespace

const ScriptField* ScriptMap::find(std::string_view key) const {
  const auto found = std::ranges::find(fields_, key, &ScriptField::key);
  return found == fields_.end() ? nullptr : &*found;
}

ScriptField& ScriptMap::field(std::string key) {
  const auto found = std::ranges::find(fields_, key, &ScriptField::key);
  if (found != fields_.end()) return *found;
  fields_.push_back({std::move(key), {}});
  return fields_.back();
}

void ScriptMap::set(std::string key, ScriptText value, bool plain) {
  ScriptField& to = field(std::move(key));
  to.values.clear();
  to.values.push_back(std::move(value));
  to.plain = plain;
}

void ScriptMap::append(std::string key, ScriptText value) {
  ScriptField& to = field(std::move(key));
  to.values.push_back(std::move(value));
  to.is_list = true;
}

void ScriptPlan::add_extra(const std::string& option, const ScriptText& at) {
  if (extra.empty()) {
    extra_place = at;
  } else {
    extra += ' ';
  }
  extra += option;
}

ScriptPlan plan_script(const Source& source, Report& report) {
  ScriptPlan plan;
  plan.head = read_script_head(source, report);
  TorcReader reader(source, report, plan);
  for (const ScriptLine& line : plan.head.lines) {
    if (line.directive == Directive::torc) reader.read(line);
  }
  translate_sbatch(source, report, plan);
  return plan;
}

}  // namespace torc::spec
