// Input files that no job makes and that are not there: an error of the workflow, which is told
// before anything runs and counts against no job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/spec/expand/expansion.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

struct MissingInputs {
  struct File {
    std::string path;  // as the workflow names it
    std::string job;   // the first that takes it
    JobId id{};
  };
  std::vector<File> first;  // in the order of their jobs
  std::uint64_t files = 0;  // with those that were left out
};

// Told all jobs first.
class InputSearch {
 public:
  // That relative paths mean.
  explicit InputSearch(Path directory) : directory_(std::move(directory)) {}

  // `over`: those of its jobs that will not run, ascending; what they make counts all the same.
  // `removed`: those that the workflow has no more, ascending: nobody makes what they made.
  void add(JobId first, spec::Recipe recipe, std::vector<claim::JobRange> over = {},
           std::vector<claim::JobRange> removed = {});
  // At most `most` by name. Files of a directory that many are in are looked for in a listing of
  // it. What cannot be looked at (EIO, EACCES, a filesystem that is not mounted) is not missing:
  // nothing is known of it. So is what another node may have made a moment ago: a name that is not
  // there is looked for again after its directory was listed.
  [[nodiscard]] MissingInputs find(std::size_t most) const;

 private:
  struct Entry {
    JobId first{};
    spec::Recipe recipe;
    std::vector<claim::JobRange> over;
    std::vector<claim::JobRange> removed;
  };
  Path directory_;
  std::vector<Entry> entries_;
};

// Of all jobs of a file.
[[nodiscard]] Result<MissingInputs> missing_inputs(const spec::Expansion& expansion,
                                                   const Path& directory, std::size_t most);
// For the input files of those jobs of a store that are not over. `only`: of these; null: of all.
// It looks at no file itself.
[[nodiscard]] Result<InputSearch> search_for_inputs(const claim::Reader& reader,
                                                    const Path& directory,
                                                    const std::vector<claim::JobRange>* only);
// Whether any job of the store takes files.
[[nodiscard]] Result<bool> takes_files(const claim::Reader& reader);

// "3 input files are not there, and no job makes them: 'a' (of 'x'), 'b' (of 'y') and 1 more".
[[nodiscard]] std::string show(const MissingInputs& missing);

}  // namespace torc::workflow
