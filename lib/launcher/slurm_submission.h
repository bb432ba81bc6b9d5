// What an sbatch that should submit has done, by how it ended and what it printed. Only reads
// texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/launcher/launcher.h"
#include "lib/slurm/verdict.h"

namespace torc::launcher {

// `accepted` and `refused` take positive signs: an id, alone on its line and the only one, from an
// sbatch that succeeded; words of sbatch, or of the controller by sbatch, that are known to come
// when nothing was submitted. So is `later`. Everything else is `unclear`: what was killed, what is
// cut, what broke off after something was sent, and every word that is not known.
[[nodiscard]] SubmitAnswer read_submission(const slurm::SbatchOutput& output);

// What `Batch job submission failed: WORDS` means; `unclear` also of words that are not known.
[[nodiscard]] Submitted meaning_of_failure(std::string_view words);

}  // namespace torc::launcher
