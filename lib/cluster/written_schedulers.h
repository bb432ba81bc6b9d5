// slurm_schedulers written into a workflow file: edits of its text at places that the reader of
// YAML knows; all else of it stays as it is, comments and order too. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/language/workflow.h"

namespace torc::cluster {

struct WrittenScheduler {
  spec::SlurmScheduler
      scheduler;              // its name, account, partition, nodes, walltime, mem, gres, extra
  std::uint32_t at_once = 1;  // allocations that torc itself may ask for
};

// An entry of the list, each line behind `indent`.
[[nodiscard]] std::string text_of(const WrittenScheduler& written, std::string_view indent);

// The scheduler of the job at a place in the file's list of jobs.
struct WrittenBinding {
  std::size_t job = 0;
  std::string scheduler;
};

// Bytes [begin, begin + removed) of the text are replaced.
struct Edit {
  std::size_t begin = 0;
  std::size_t removed = 0;
  std::string text;
};

// `file`: by whose name the form is told. The list stands before `jobs`, or in place of the one
// that is there. Empty: it says all of it already. Errors: invalid (another form than YAML in
// lines; a job that an alias writes; the file would say anything else than before but for this).
Result<std::vector<Edit>> edits_for(std::string_view text, const std::string& file,
                                    const std::vector<WrittenScheduler>& schedulers,
                                    const std::vector<WrittenBinding>& bindings);

// `edits` do not overlap.
[[nodiscard]] std::string with_edits(std::string_view text, std::vector<Edit> edits);

// What changes, as lines "  12 + text" with the numbers of the text as it was, "-" for those that
// go.
[[nodiscard]] std::string show_edits(std::string_view text, std::vector<Edit> edits);

}  // namespace torc::cluster
