// The options in the lines of a script: `#TORC --cpus 4`, `#SBATCH -c4 --mem=8G`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/script/script_head.h"

namespace torc::spec {

// What an option of sbatch means to torc.
enum class Sbatch : std::uint8_t {
  name,
  array,
  cpus_per_task,
  tasks,
  tasks_per_node,
  nodes,
  memory,
  memory_per_cpu,
  memory_per_gpu,
  time,
  gres,
  gpus,
  gpus_per_node,
  gpus_per_task,
  account,
  partition,
  qos,
  tmp,
  directory,
  environment,
  input,
  refused,     // nothing that torc does is the same
  allocation,  // for the batch script of the allocation, as it is
  output,      // torc keeps what jobs print
  nothing,     // has no effect here
  unknown
};

struct ScriptOption {
  ScriptText name;  // the long one without dashes
  bool has_value = false;
  ScriptText value;                  // in place of the name where there is none
  Sbatch meaning = Sbatch::unknown;  // of a line of #SBATCH
};

// Of one line. Reports what is no option, and options without the value that they need. `unknown`
// ones are there, with what may be their value.
[[nodiscard]] std::vector<ScriptOption> options_of_sbatch(const ScriptLine& line,
                                                          const Source& source, Report& report);
// Of `#TORC`. `is_switch`: whether an option may stand without a value.
[[nodiscard]] std::vector<ScriptOption> options_of_torc(const ScriptLine& line,
                                                        bool (*is_switch)(std::string_view name),
                                                        const Source& source, Report& report);

// Long options of sbatch, for guesses.
[[nodiscard]] std::vector<std::string> sbatch_options();

}  // namespace torc::spec
