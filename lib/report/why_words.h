// How jobs, their state and their place are called in the sentences of `torc why`, and the commands
// that are recommended for them. A part of why.h.
#pragma once

#include <string>
#include <utility>

#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

class WhyWords {
 public:
  // `reader` and `book` outlive this. `store`: as a word of commands.
  WhyWords(const claim::Reader& reader, workflow::RecipeBook& book, std::string store)
      : reader_(reader), book_(book), store_(std::move(store)) {}

  // In a sentence, and as a word of a command.
  [[nodiscard]] std::string name(JobId id) const;
  [[nodiscard]] std::string word(JobId id) const;
  [[nodiscard]] const std::string& store() const { return store_; }
  // "torc retry STORE b"
  [[nodiscard]] std::string command(const char* what, JobId id) const;
  // What lets those run again that were canceled because of this job.
  [[nodiscard]] std::string remedy_for(JobId root) const;

  // "b, which is failed (exit code 1)".
  [[nodiscard]] std::string state_of(JobId id) const;
  // " since …, with worker 3 on node7" behind what somebody waits for; nothing where it says
  // nothing.
  [[nodiscard]] std::string place_of(JobId id) const;

 private:
  const claim::Reader& reader_;
  workflow::RecipeBook& book_;
  std::string store_;
};

}  // namespace torc::report
