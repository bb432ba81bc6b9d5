// What the lines of a script say of its job, of the workflow and of what is asked of Slurm: keys of
// the language with the places of their values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/script/script_array.h"
#include "lib/spec/script/script_head.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

struct ScriptField {
  std::string key;
  std::vector<ScriptText> values;
  bool is_list = false;
  bool plain = false;  // numbers, true
};

// In the order in which they are to be written. Each key is there once.
class ScriptMap {
 public:
  [[nodiscard]] const ScriptField* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  // In place of what is there.
  void set(std::string key, ScriptText value, bool plain = false);
  // A further element of a list.
  void append(std::string key, ScriptText value);
  [[nodiscard]] const std::vector<ScriptField>& fields() const { return fields_; }

 private:
  ScriptField& field(std::string key);
  std::vector<ScriptField> fields_;
};

struct ScriptPlan {
  ScriptHead head;
  ScriptMap workflow;
  ScriptMap job;
  ScriptMap env;
  ScriptMap scheduler;                      // of the keys that a person has said
  std::vector<ScriptText> inputs, outputs;  // paths of files
  std::optional<ScriptArray> array;
  ScriptText array_place;               // of its value
  std::optional<ScriptText> directory;  // to change to
  std::optional<ScriptText> stdin_file;
  std::optional<ScriptText> gpu_type;  // with the number of them: "gpus/a100", in place of `gpus`
  std::uint64_t gpus = 0;
  std::uint64_t tasks = 0;          // of sbatch, on all nodes; 0: not said
  std::uint64_t cpus_per_task = 0;  // 0: not said
  bool has_sbatch = false;
  bool is_exclusive = false;
  std::string extra;  // options of sbatch
  ScriptText extra_place;
  void add_extra(const std::string& option, const ScriptText& at);
};

// Lines of #TORC win over those of #SBATCH.
[[nodiscard]] ScriptPlan plan_script(const Source& source, Report& report);

// Of lines of #SBATCH, into what the lines of #TORC have left open.
void translate_sbatch(const Source& source, Report& report, ScriptPlan& plan);

}  // namespace torc::spec
