// What Slurm says of a batch script that is not submitted: what `sbatch --test-only` prints, and
// how it ends. Only reads texts; lib/workflow/plan/slurm_question.h asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torc::slurm {

enum class Verdict : std::uint8_t {
  accepted,   // Slurm would take it, and says when it would start
  refused,    // Slurm would not: sbatch itself says so, for a reason that is none below
  unanswered  // Slurm was not asked, did not answer, or nobody knows what the answer means
};
[[nodiscard]] std::string_view to_string(Verdict verdict);

struct SbatchOutput {
  int exit_code = -1;      // -1: ended by a signal
  int signal = 0;          // 0: none
  bool timed_out = false;  // it was killed for that
  bool truncated = false;  // some of what it printed is lost
  std::string out = {};
  std::string err = {};
};

struct Answer {
  Verdict verdict = Verdict::unanswered;
  // What it printed, by lines, for people: no control characters in it, at most kMostLines lines of
  // at most kMostBytes each. Of one that is accepted, only from "Job N to start at …" on, without
  // "sbatch: "; else the last lines, since reasons come last. Something left out is a "…".
  std::vector<std::string> words = {};
  std::string why = {};  // there is no answer: a clause of ours; else empty
};
inline constexpr std::size_t kMostLines = 10;
inline constexpr std::size_t kMostBytes = 300;

// `refused` takes a positive sign: sbatch failed, by itself, and speaks in its own voice of
// something else than that Slurm, its configuration or its authentication could not be reached. So
// a controller that is down refuses nothing, nor does a wrapper of the site's that broke.
[[nodiscard]] Answer judge(const SbatchOutput& output);

// Lines of a command of a batch system, for people: bounded as above, without control characters;
// of many the last ones.
[[nodiscard]] std::vector<std::string> words_for_people(std::vector<std::string_view> lines);

// Whether "NAME=value" of the user's environment is also that of an sbatch that asks: all but the
// variables by which Slurm tells an allocation's processes of it, some of which sbatch would take
// for wishes. What says where Slurm is, and SBATCH_…, stays.
[[nodiscard]] bool is_for_sbatch(std::string_view entry);

}  // namespace torc::slurm
