// What Slurm says of the batch scripts of a workflow: shared by `torc init`, which has made them,
// and `torc check`, which only renders them.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "bin/app.h"
#include "lib/slurm/verdict.h"
#include "lib/workflow/plan/slurm_question.h"

namespace torc::cli {

struct SlurmAnswers {
  std::vector<workflow::BatchScript> scripts;
  workflow::ReadFrom from = workflow::ReadFrom::standard_input;  // its_file: they were made
  std::optional<std::vector<slurm::Answer>> answers = {};        // one for each; none: not asked

  [[nodiscard]] std::size_t refused() const;
};

// [{"scheduler", "script" (null: there is no file), "answer", "words", "reason"}]; null: Slurm was
// not asked.
[[nodiscard]] nlohmann::ordered_json to_json(const SlurmAnswers& all);

// What is accepted to stdout. To stderr what is refused, at its place in the workflow file: a
// warning where the scripts were made, else an error; and what Slurm did not say.
void print(const App& app, const workflow::LoadedSpec& loaded, const SlurmAnswers& all);

}  // namespace torc::cli
