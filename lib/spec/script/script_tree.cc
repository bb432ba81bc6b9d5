#include "lib/spec/script/script_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "lib/base/end_margins.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"
#include "lib/spec/forms/form_text.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/script/script_plan.h"
#include "lib/spec/yaml/yaml_text.h"
#include "lib/spec/yaml/yaml_writer.h"

namespace torc::spec {
namespace {

constexpr std::string_view kTask = "task";          // the parameter of an array
constexpr std::string_view kScheduler = "slurm";    // the name of what asks Slurm
constexpr std::string_view kScriptFile = "script";  // the name of the script as a file
constexpr std::string_view kStdin = "<stdin>";

// What Slurm sets and scripts rely on, as far as the text of the script names it.
struct Given {
  std::string_view variable;
  std::string_view value;
};
constexpr Given kGiven[] = {{"SLURM_SUBMIT_DIR", "\"$PWD\""},
                            {"SLURM_JOB_ID", "\"${SLURM_JOB_ID:-$TORC_JOB_ID}\""},
                            {"SLURM_ARRAY_JOB_ID", "\"$TORC_WORKFLOW_ID\""}};

// The file's name without its ending, as the name of a workflow and its store.
std::string name_of_file(std::string_view file) {
  file = file.substr(file.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  if (dot != std::string_view::npos && dot > 0) file = file.substr(0, dot);
  std::string name(file);
  std::ranges::replace_if(
      name, [](char c) { return c == '{' || c == '}' || c == '$' || c == '/'; }, '_');
  name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
  return name.empty() ? "script" : name;
}

bool is_one_line(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    if (c.bytes == 0 || c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0)) return false;
    i += c.bytes;
  }
  return true;
}

bool has_task(std::string_view text) {
  return text.find("{task}") != std::string_view::npos ||
         text.find("{task:") != std::string_view::npos;
}

// As people write it: it is what messages name.
std::string_view short_key(std::string_view key) {
  return key == "num_cpus" ? "cpus" : key == "num_gpus" ? "gpus" : key;
}

class Builder {
 public:
  Builder(const Source& source, ScriptPlan& plan, Tree& tree)
      : source_(source), plan_(plan), writer_(tree) {}

  const Node& build() {
    const ScriptText& first = plan_.head.interpreter;
    whole_ = {{}, first.begin, first.bytes};
    names();
    Node& root = map();
    put(root, "name", workflow_name_);
    put_all(root, plan_.workflow);
    Node& files = list();
    add_file(files, {std::string(kScriptFile), whole_.begin, whole_.bytes}, path());
    for (const ScriptText& file : plan_.inputs) add_file(files, file, file);
    for (const ScriptText& file : plan_.outputs) add_file(files, file, file);
    put(root, "files", files);
    Node& jobs = list();
    const bool asks = plan_.has_sbatch || !plan_.scheduler.fields().empty() || !plan_.extra.empty();
    writer_.append(jobs, job(asks && !plan_.job.has("scheduler")));
    put(root, "jobs", jobs);
    if (asks) {
      Node& schedulers = list();
      writer_.append(schedulers, scheduler());
      put(root, "slurm_schedulers", schedulers);
    }
    return root;
  }

 private:
  Node& map() { return writer_.make(NodeKind::map, whole_.begin, whole_.bytes); }
  Node& list() { return writer_.make(NodeKind::sequence, whole_.begin, whole_.bytes); }
  Node& scalar(const ScriptText& text, bool plain = false) {
    return writer_.scalar(text.begin, text.bytes, text.text, plain);
  }
  // Of what stands nowhere in the script.
  ScriptText made(std::string text) const { return {std::move(text), whole_.begin, whole_.bytes}; }
  static ScriptText at(const ScriptText& place, std::string text) {
    return {std::move(text), place.begin, place.bytes};
  }

  void put(Node& to, std::string_view key, const Node& value) {
    writer_.append(to, writer_.scalar(value.offset, value.length, std::string(key), true));
    writer_.append(to, value);
  }
  void put(Node& to, std::string_view key, const ScriptText& text, bool plain = false) {
    put(to, key, scalar(text, plain));
  }
  void put_all(Node& to, const ScriptMap& from) {
    for (const ScriptField& field : from.fields()) {
      if (!field.is_list) {
        put(to, field.key, field.values.front(), field.plain);
        continue;
      }
      Node& all = list();
      for (const ScriptText& value : field.values) writer_.append(all, scalar(value));
      put(to, field.key, all);
    }
  }

  // Of the job as the lines say it, else of the file; the workflow's is the same without
  // placeholders.
  void names() {
    const ScriptField* said = plan_.job.find("name");
    job_name_ = said == nullptr ? made(name_of_file(source_.file())) : said->values.front();
    workflow_name_ = job_name_;
    if (has_task(job_name_.text)) workflow_name_.text = name_of_file(source_.file());
    std::ranges::replace(workflow_name_.text, '/', '_');
    plain_name_ = workflow_name_;
    if (plan_.array && !has_task(job_name_.text)) job_name_.text += "_{task}";
  }

  ScriptText path() const {
    const std::string& file = source_.file();
    const bool needs_dot = file.find('/') == std::string::npos || file.starts_with('-');
    return made(needs_dot ? "./" + file : file);
  }

  void add_file(Node& files, const ScriptText& name, const ScriptText& path) {
    Node& file = map();
    put(file, "name", name);
    put(file, "path", path);
    if (plan_.array && has_task(path.text)) put(file, "parameters", parameters());
    writer_.append(files, file);
  }

  Node& parameters() {
    const ScriptArray& array = *plan_.array;
    Node& all = map();
    if (array.numbers.empty()) {
      const std::string step = array.step == 1 ? "" : fmt::format(":{}", array.step);
      put(all, kTask, at(plan_.array_place, fmt::format("{}:{}{}", array.first, array.last, step)));
      return all;
    }
    Node& numbers = list();
    for (const std::int64_t n : array.numbers)
      writer_.append(numbers, scalar(at(plan_.array_place, std::to_string(n)), true));
    put(all, kTask, numbers);
    return all;
  }

  Node& job(bool binds) {
    Node& job = map();
    put(job, "name", job_name_);
    put(job, "command", command());
    for (const ScriptField& field : plan_.job.fields()) {
      if (field.key != "name" && !field.is_list)
        put(job, short_key(field.key), field.values.front(), field.plain);
    }
    if (plan_.gpu_type) {
      Node& named = map();
      put(named, "gpus/" + plan_.gpu_type->text, at(*plan_.gpu_type, std::to_string(plan_.gpus)),
          true);
      put(job, "resources", named);
    }
    // A batch script runs once, on the first node; also where torc is below Slurm.
    if (plan_.job.has("num_nodes") && !plan_.job.has("launch"))
      put(job, "launch", at(plan_.job.find("num_nodes")->values.front(), "head"));
    if (binds) put(job, "scheduler", made(std::string(kScheduler)));
    if (plan_.array) put_array(job);
    put_environment(job);
    put_lists(job);
    return job;
  }

  void put_lists(Node& job) {
    for (const ScriptField& field : plan_.job.fields()) {
      if (!field.is_list) continue;
      Node& all = list();
      for (const ScriptText& value : field.values) writer_.append(all, scalar(value));
      put(job, field.key, all);
    }
    Node& inputs = list();
    writer_.append(inputs, scalar(made(std::string(kScriptFile))));
    for (const ScriptText& file : plan_.inputs) writer_.append(inputs, scalar(file));
    put(job, "input_files", inputs);
    if (plan_.outputs.empty()) return;
    Node& outputs = list();
    for (const ScriptText& file : plan_.outputs) writer_.append(outputs, scalar(file));
    put(job, "output_files", outputs);
  }

  void put_array(Node& job) {
    put(job, "parameters", parameters());
    if (plan_.array->at_once > 0 && !plan_.job.has("max_parallel"))
      put(job, "max_parallel", at(plan_.array_place, std::to_string(plan_.array->at_once)), true);
  }

  void put_environment(Node& job) {
    ScriptMap all;
    const auto give = [&](const char* name, std::string value, const ScriptText& place) {
      all.set(name, at(place, std::move(value)));
    };
    if (plan_.array) {
      const ScriptArray& array = *plan_.array;
      give("TORC_ARRAY_TASK_ID", "{task}", plan_.array_place);
      give("SLURM_ARRAY_TASK_ID", "{task}", plan_.array_place);
      give("SLURM_ARRAY_TASK_COUNT", std::to_string(array.count()), plan_.array_place);
      give("SLURM_ARRAY_TASK_MIN", std::to_string(array.first), plan_.array_place);
      give("SLURM_ARRAY_TASK_MAX", std::to_string(array.last), plan_.array_place);
    }
    if (plan_.has_sbatch) {
      give("SLURM_JOB_NAME", plain_name_.text, plain_name_);
      if (plan_.cpus_per_task > 0)
        give("SLURM_CPUS_PER_TASK", std::to_string(plan_.cpus_per_task), whole_);
      if (plan_.tasks > 0) give("SLURM_NTASKS", std::to_string(plan_.tasks), whole_);
    }
    for (const ScriptField& field : plan_.env.fields()) all.set(field.key, field.values.front());
    if (all.fields().empty()) return;
    Node& env = map();
    put_all(env, all);
    put(job, "env", env);
  }

  // The interpreter and the path, as the kernel would have it, whether the file may be executed or
  // not.
  ScriptText command() const {
    const ScriptText script = path();
    std::string call = shell_word(plan_.head.interpreter.text) + " ";
    if (!plan_.head.argument.empty()) call += shell_word(plan_.head.argument) + " ";
    std::string set;
    for (const Given& given : kGiven) {
      if (plan_.has_sbatch && source_.text().find(given.variable) != std::string_view::npos)
        set += fmt::format("{}={} ", given.variable, given.value);
    }
    std::string text;
    if (plan_.directory) {
      if (!set.empty()) text = "export " + set + "&& ";
      const bool absolute = script.text.starts_with('/');
      text += fmt::format("cd {} && {}{}{}", shell_word(plan_.directory->text), call,
                          absolute ? "" : "\"$OLDPWD\"/", shell_word(script.text));
    } else {
      text = set + call + shell_word(script.text);
    }
    if (plan_.stdin_file) text += " < " + shell_word(plan_.stdin_file->text);
    return made(std::move(text));
  }

  // An allocation for one job, as sbatch would make it.
  Node& scheduler() {
    Node& to = map();
    put(to, "name", made(std::string(kScheduler)));
    put_all(to, plan_.scheduler);
    if (const ScriptField* nodes = plan_.job.find("num_nodes"))
      put(to, "nodes", nodes->values.front(), true);
    put_walltime(to);
    put_amounts(to);
    return to;
  }

  void put_walltime(Node& to) {
    if (plan_.scheduler.has("walltime")) return;
    const KeptFree kept = RunSettings{}.kept_free();
    std::chrono::seconds longest{0};
    ScriptText place;
    for (const char* key : {"runtime", "time_limit"}) {
      const ScriptField* field = plan_.job.find(key);
      if (field == nullptr) continue;
      const auto time = parse_spec_duration(field->values.front().text);
      if (!time || *time <= longest) continue;
      longest = *time;
      place = field->values.front();
    }
    if (longest.count() == 0) return;
    const auto minutes =
        std::chrono::duration_cast<std::chrono::minutes>(shortest_walltime(longest, kept));
    put(to, "walltime", at(place, std::to_string(minutes.count())));
  }

  void put_amounts(Node& to) {
    if (const ScriptField* memory = plan_.job.find("memory")) {
      if (const auto bytes = parse_memory(memory->values.front().text))
        put(to, "mem",
            at(memory->values.front(),
               fmt::format("{}M", (bytes->value + (1U << 20U) - 1) >> 20U)));
    }
    put_gres(to);
    std::string extra = plan_.extra;
    ScriptText place = plan_.extra_place;
    if (const ScriptField* cpus = plan_.job.find("num_cpus"); cpus && !plan_.is_exclusive) {
      if (extra.empty()) place = cpus->values.front();
      extra += (extra.empty() ? "" : " ");
      extra += "--cpus-per-task=" + cpus->values.front().text;
    }
    if (!extra.empty()) put(to, "extra", at(place, extra));
  }

  void put_gres(Node& to) {
    if (plan_.gpu_type) {
      put(to, "gres",
          at(*plan_.gpu_type, fmt::format("gpu:{}:{}", plan_.gpu_type->text, plan_.gpus)));
    } else if (const ScriptField* gpus = plan_.job.find("num_gpus")) {
      const ScriptText& value = gpus->values.front();
      if (std::ranges::all_of(value.text, is_digit) && value.text != "0")
        put(to, "gres", at(value, "gpu:" + value.text));
    }
  }

  const Source& source_;
  ScriptPlan& plan_;
  TreeWriter writer_;
  ScriptText whole_;  // the place of what stands nowhere
  ScriptText job_name_, workflow_name_, plain_name_;
};

// What no job can be made of.
bool check_source(const Source& source, Report& report) {
  if (source.text().size() > kMaxSpecBytes) {
    report.error({}, fmt::format("a script of more than {} MiB", kMaxSpecBytes >> 20U),
                 "let a small script run it");
    return false;
  }
  if (source.file().starts_with(kStdin)) {
    report.error({1, 1, 2}, "a script from standard input: jobs run it by its path",
                 "save it, and name the file");
    return false;
  }
  if (!is_one_line(source.file()) || has_task(source.file())) {
    report.error({}, fmt::format("the name of the script cannot stand in a command"),
                 "rename it: letters, digits, '_', '-' and '.' are fine");
    return false;
  }
  return true;
}

Tree read_checked(const Source& source, Report& report) {
  Tree tree;
  if (!check_source(source, report)) return tree;
  try {
    ScriptPlan plan = plan_script(source, report);
    if (plan.head.interpreter.text.empty()) return tree;
    tree.root = &Builder(source, plan, tree).build();
  } catch (const FormMistake& mistake) {
    tree.root = nullptr;
    report_mistake(source, report, "script", mistake);
  } catch (const std::exception& e) {
    tree.root = nullptr;
    report_failure(report, "script", e);
  }
  return tree;
}

}  // namespace

bool is_script(const Source& source) {
  if (!source.text().starts_with("#!")) return false;
  const std::string& file = source.file();
  return std::ranges::none_of(
      std::initializer_list<std::string_view>{".yaml", ".yml", ".json", ".json5", ".kdl"},
      [&](std::string_view ending) { return file.ends_with(ending); });
}

Tree read_script(const Source& source, Report& report) {
  return read_checked(source, report);
}

std::string script_as_yaml(const Source& source) {
  Report report(source);
  const Tree tree = read_checked(source, report);
  if (tree.root == nullptr) return {};
  return fmt::format("# What the script {} stands for.\n{}", source.file(), to_yaml(*tree.root));
}

}  // namespace torc::spec
