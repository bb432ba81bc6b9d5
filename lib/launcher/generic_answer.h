// What a batch system that a definition tells of has answered. Only reads texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/launcher/definition.h"
#include "lib/launcher/launcher.h"
#include "lib/slurm/verdict.h"

namespace torc::launcher {

// As read_submission() of slurm_submission.h: `refused` and `later` are words that the definition
// knows, everything else that failed is `unclear`.
[[nodiscard]] SubmitAnswer read_submission(const Definition& definition,
                                           const slurm::SbatchOutput& output);

// The user's own. `answer`: the queue's or the accounting's of `definition`.
struct Told {
  std::vector<Listed> allocations = {};
  bool whole = false;
  std::string failure = {};
};
[[nodiscard]] Told read_answer(const Definition& definition, const Answer& answer,
                               const slurm::SbatchOutput& output, std::string_view user);

// The name of the job of a try.
[[nodiscard]] std::string job_name(const Definition& definition, std::string_view intent);

}  // namespace torc::launcher
