// Lines of #SBATCH as keys of a job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/script/script_options.h"
#include "lib/spec/script/script_plan.h"

namespace torc::spec {
namespace {

constexpr std::uint64_t kMostOfAnything = 1'000'000;

std::uint64_t divided_up(std::uint64_t amount, std::uint64_t parts) {
  return (amount + parts - 1) / parts;
}

std::string show_mebibytes(std::uint64_t bytes) {
  const std::uint64_t mib = divided_up(bytes, 1U << 20U);
  return mib % 1024 == 0 ? fmt::format("{}g", mib / 1024) : fmt::format("{}m", mib);
}

// As people write it: 2d, 1h30m, 90s.
std::string show_time(std::chrono::seconds time) {
  auto left = time.count();
  std::string text;
  for (const auto& [unit, seconds] : {std::pair{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}) {
    if (left / seconds > 0) text += fmt::format("{}{}", left / seconds, unit);
    left %= seconds;
  }
  return text;
}

class Translator {
 public:
  Translator(const Source& source, Report& report, ScriptPlan& plan)
      : source_(source), report_(report), plan_(plan) {}

  void run() {
    for (const ScriptLine& line : plan_.head.lines) {
      if (line.directive != Directive::sbatch) continue;
      plan_.has_sbatch = true;
      // Of two the later one counts, as in Slurm.
      for (ScriptOption& option : options_of_sbatch(line, source_, report_)) take(option);
    }
    if (!plan_.has_sbatch) return;
    tell_idle();
    name();
    shape();
    gpus();
    memory();
    time();
    array();
    environment();
    copy(Sbatch::account, "account");
    copy(Sbatch::partition, "partition");
    copy(Sbatch::qos, "qos");
    copy(Sbatch::tmp, "tmp");
    if (const ScriptText* directory = said(Sbatch::directory)) plan_.directory = *directory;
    if (const ScriptText* file = said(Sbatch::input)) plan_.stdin_file = *file;
  }

 private:
  Place place(const ScriptText& at) const { return source_.place(at.begin, at.bytes); }
  void error(const ScriptText& at, std::string message, std::string remedy) {
    report_.error(place(at), std::move(message), std::move(remedy));
  }
  void warn(const ScriptText& at, std::string message, std::string remedy) {
    report_.add(Severity::warning, place(at), std::move(message), std::move(remedy));
  }
  const ScriptText* said(Sbatch meaning) const {
    const auto found = said_.find(meaning);
    return found == said_.end() ? nullptr : &found->second;
  }
  static ScriptText at(const ScriptText& place, std::string text) {
    return {std::move(text), place.begin, place.bytes};
  }

  void take(ScriptOption& option) {
    const std::string shown = printable(option.name.text);
    switch (option.meaning) {
      case Sbatch::unknown:
        return tell_unknown(option.name);
      case Sbatch::refused:
        return error(option.name, fmt::format("'--{}' cannot be kept here", shown),
                     option.name.text == "wrap"
                         ? "write the command into the script"
                         : "write both jobs into one workflow file, and depends_on into the second "
                           "one; `torc new` makes one to start from");
      case Sbatch::output:
      case Sbatch::nothing:
        idle_.push_back(std::move(option.name));
        return;
      case Sbatch::allocation:
        plan_.is_exclusive = plan_.is_exclusive || option.name.text == "exclusive";
        return plan_.add_extra(option.has_value
                                   ? fmt::format("--{}={}", shown, shell_word(option.value.text))
                                   : fmt::format("--{}", shown),
                               option.value);
      default:
        said_[option.meaning] = std::move(option.value);
    }
  }

  void tell_unknown(const ScriptText& name) {
    const std::string guess = report_.guess(name.text, sbatch_options);
    warn(name,
         fmt::format("'--{}' of sbatch is not known here, and is left out", printable(name.text)),
         guess.empty() ? "remove it, or say in a line of #TORC what it is for"
                       : fmt::format("did you mean '--{}'?", guess));
  }

  void tell_idle() {
    if (idle_.empty()) return;
    std::vector<std::string> names;
    bool output = false;
    for (const ScriptText& name : idle_) {
      const std::string shown = "--" + printable(name.text);
      if (std::ranges::find(names, shown) == names.end()) names.push_back(shown);
      output = output || name.text == "output" || name.text == "error";
    }
    constexpr std::size_t kShown = 8;
    const std::size_t more = names.size() - std::min(names.size(), kShown);
    names.resize(names.size() - more);
    report_.add(Severity::note, place(idle_.front()),
                fmt::format("{}{} {} no effect here", fmt::join(names, ", "),
                            more == 0 ? "" : fmt::format(" and {} more", more),
                            names.size() == 1 ? "has" : "have"),
                output ? "torc keeps what jobs print: `torc logs NAME` shows it"
                       : "torc goes on without it");
  }

  // 0: not said, or wrong, which was reported.
  std::uint64_t number(Sbatch meaning, const char* option) {
    const ScriptText* value = said(meaning);
    if (value == nullptr) return 0;
    const auto n = whole_number<std::uint64_t>(value->text);
    if (n && *n >= 1 && *n <= kMostOfAnything) return *n;
    error(*value,
          fmt::format("{} of {} is not a positive whole number", torc::quoted(value->text), option),
          fmt::format("write {}=4", option));
    return 0;
  }

  void name() {
    if (const ScriptText* name = said(Sbatch::name); name != nullptr && !plan_.job.has("name"))
      plan_.job.set("name", *name);
  }

  // Of "2-4" the smaller one.
  std::uint64_t nodes() {
    const ScriptText* value = said(Sbatch::nodes);
    if (value == nullptr) return 0;
    const std::size_t dash = value->text.find('-');
    const auto least = whole_number<std::uint64_t>(std::string_view(value->text).substr(0, dash));
    const auto most =
        dash == std::string::npos
            ? least
            : whole_number<std::uint64_t>(std::string_view(value->text).substr(dash + 1));
    if (!least || !most || *least < 1 || *least > kMostOfAnything || *most < *least) {
      error(*value,
            fmt::format("{} of --nodes is not a number of nodes", torc::quoted(value->text)),
            "write --nodes=2");
      return 0;
    }
    if (*most != *least) {
      warn(*value, fmt::format("a job has a fixed number of nodes: {} of {}", *least, value->text),
           fmt::format("write --nodes={}, or another number", *least));
    }
    return *least;
  }

  // Nodes, tasks and CPUs. A job over several nodes starts once, on the first, as a batch script.
  void shape() {
    const std::uint64_t each = number(Sbatch::cpus_per_task, "--cpus-per-task");
    const std::uint64_t all_tasks = number(Sbatch::tasks, "--ntasks");
    const std::uint64_t on_node = number(Sbatch::tasks_per_node, "--ntasks-per-node");
    const std::uint64_t said_nodes = nodes();
    nodes_ = std::max<std::uint64_t>(said_nodes, 1);
    const std::uint64_t here = on_node != 0     ? on_node
                               : all_tasks != 0 ? divided_up(all_tasks, nodes_)
                                                : 1;
    plan_.cpus_per_task = each;
    if (all_tasks != 0 || on_node != 0) plan_.tasks = all_tasks != 0 ? all_tasks : on_node * nodes_;
    const ScriptText* from = each != 0      ? said(Sbatch::cpus_per_task)
                             : on_node != 0 ? said(Sbatch::tasks_per_node)
                                            : said(Sbatch::tasks);
    cpus_ = here * std::max<std::uint64_t>(each, 1);
    if (from != nullptr && !plan_.job.has("num_cpus"))
      plan_.job.set("num_cpus", at(*from, std::to_string(cpus_)), true);
    if (nodes_ < 2 || plan_.job.has("num_nodes")) return;
    const ScriptText& place = *said(Sbatch::nodes);
    plan_.job.set("num_nodes", at(place, std::to_string(nodes_)), true);
    if (!plan_.job.has("ntasks_per_node"))
      plan_.job.set("ntasks_per_node", at(from == nullptr ? place : *from, std::to_string(here)),
                    true);
  }

  // "2", "a100", "a100:2": a type, or none, and a number.
  bool take_gpus(const ScriptText& place, std::string_view text, std::uint64_t parts) {
    const std::size_t colon = text.rfind(':');
    const std::string_view last = colon == std::string_view::npos ? text : text.substr(colon + 1);
    std::uint64_t count = 1;
    std::string_view type;
    if (const auto n = whole_number<std::uint64_t>(last); n && *n <= kMostOfAnything) {
      count = *n;
      if (colon != std::string_view::npos) type = text.substr(0, colon);
    } else {
      type = text;
    }
    const bool sound = type.find_first_of(":,()") == std::string_view::npos;
    if (!sound || (type.empty() && last.empty())) {
      error(place, fmt::format("{} is not a number of GPUs", torc::quoted(text)),
            "write a number, with a type in front of it where that counts: 2, a100:2");
      return false;
    }
    plan_.gpus = divided_up(count, parts);
    plan_.gpu_type.reset();
    if (!type.empty()) plan_.gpu_type = at(place, std::string(type));
    return true;
  }

  void gpus() {
    const ScriptText* from = nullptr;
    if (const ScriptText* gres = said(Sbatch::gres)) from = take_gres(*gres) ? gres : nullptr;
    if (const ScriptText* all = said(Sbatch::gpus))
      from = take_gpus(*all, all->text, nodes_) ? all : nullptr;
    if (const ScriptText* node = said(Sbatch::gpus_per_node))
      from = take_gpus(*node, node->text, 1) ? node : nullptr;
    if (const ScriptText* task = said(Sbatch::gpus_per_task)) {
      from = take_gpus(*task, task->text, 1) ? task : nullptr;
      plan_.gpus *= divided_up(std::max<std::uint64_t>(plan_.tasks, 1), nodes_);
    }
    if (from == nullptr || plan_.gpus == 0 || plan_.job.has("num_gpus")) {
      plan_.gpus = 0;
      plan_.gpu_type.reset();
      return;
    }
    if (!plan_.gpu_type) plan_.job.set("num_gpus", at(*from, std::to_string(plan_.gpus)), true);
  }

  // Whether there are GPUs among it.
  bool take_gres(const ScriptText& gres) {
    bool any = false;
    for (const std::string_view one : split(gres.text, ',')) {
      if (one == "gpu") {
        plan_.gpus = 1;
        any = true;
      } else if (one.starts_with("gpu:")) {
        any = take_gpus(gres, one.substr(4), 1);
        if (!any) return false;
      } else if (one != "none") {
        warn(gres, fmt::format("{} of --gres is left out", torc::quoted(one)),
             "say in a workflow file how much of it there is, and who needs it: `resources`");
      }
    }
    return any;
  }

  void memory() {
    if (plan_.job.has("memory")) return;
    if (const ScriptText* all = said(Sbatch::memory)) return take_memory(*all, 1);
    if (const ScriptText* cpu = said(Sbatch::memory_per_cpu)) return take_memory(*cpu, cpus_);
    if (const ScriptText* gpu = said(Sbatch::memory_per_gpu))
      take_memory(*gpu, std::max<std::uint64_t>(plan_.gpus, 1));
  }

  void take_memory(const ScriptText& value, std::uint64_t times) {
    if (value.text == "0") {
      return warn(value, "all the memory of a node cannot be asked for here, and is left out",
                  "say how much the job needs: #TORC --memory 64g");
    }
    const auto bytes = parse_slurm_memory(value.text);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60U;
    if (!bytes || bytes->value == 0 || bytes->value > kMost / times) {
      return error(value, fmt::format("{} is not an amount of memory", torc::quoted(value.text)),
                   "write it as 4000 (MiB), 512M or 8G");
    }
    plan_.job.set("memory", at(value, show_mebibytes(bytes->value * times)));
  }

  void time() {
    const ScriptText* value = said(Sbatch::time);
    if (value == nullptr || plan_.job.has("runtime")) return;
    const auto limit = parse_walltime(value->text);
    if (!limit) return error(*value, limit.error().what, limit.error().remedy);
    if (*limit) plan_.job.set("runtime", at(*value, show_time(**limit)));
  }

  void array() {
    const ScriptText* value = said(Sbatch::array);
    if (value == nullptr || plan_.array) return;
    auto array = parse_array(value->text);
    if (!array) return error(*value, array.error().what, array.error().remedy);
    plan_.array = *std::move(array);
    plan_.array_place = *value;
  }

  // Jobs have all of torc's environment in any case.
  void environment() {
    const ScriptText* value = said(Sbatch::environment);
    if (value == nullptr) return;
    for (const std::string_view one : split(value->text, ',')) {
      const std::size_t equals = one.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        if (one == "NONE" || one == "NIL") {
          warn(
              *value,
              fmt::format("--export={} has no effect here: jobs have the environment of torc", one),
              "start torc with env -i, or unset in the script what must not be there");
        }
        continue;
      }
      const std::string name(one.substr(0, equals));
      if (!plan_.env.has(name))
        plan_.env.set(name, at(*value, std::string(one.substr(equals + 1))));
    }
  }

  void copy(Sbatch meaning, const char* key) {
    if (const ScriptText* value = said(meaning); value != nullptr && !plan_.scheduler.has(key))
      plan_.scheduler.set(key, *value);
  }

  const Source& source_;
  Report& report_;
  ScriptPlan& plan_;
  std::map<Sbatch, ScriptText> said_;
  std::vector<ScriptText> idle_;
  std::uint64_t nodes_ = 1;
  std::uint64_t cpus_ = 1;
};

}  // namespace

void translate_sbatch(const Source& source, Report& report, ScriptPlan& plan) {
  Translator(source, report, plan).run();
}

}  // namespace torc::spec
