// A workflow whose file people edit while it runs: what the newest file says, what each claim of a
// job was for, and whether the store agrees. A result counts if it was made by the command that the
// file says now and from those results of the jobs before it that count now.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/plan/workflow_plan.h"
#include "tests/simulation/workflow_file.h"
#include "tests/simulation/world.h"

namespace torc::simulation {

class EditedWorkflow {
 public:
  EditedWorkflow(const Scenario& scenario, World& world);

  [[nodiscard]] const WorkflowFile& file() const { return file_; }
  // The first one.
  [[nodiscard]] static WorkflowFile file_of(const Scenario& scenario);

  // In the commit that grants it. Its command's exit code.
  void claims(const claim::Reader& reader, const claim::ClaimToken& token);
  [[nodiscard]] int exit_code_of(const claim::ClaimToken& token) const;

  // After a change by a person, when the store is what that file says; when these have been taken
  // out of it, or put back.
  // Seen later: what workers had then they may have lost since.
  enum class Seen : std::uint8_t { at_once, later };
  void applied(const claim::Reader& reader, const WorkflowFile& file, Seen seen);
  void taken_out(const claim::Reader& reader, const std::vector<std::string>& named);
  void put_back(const claim::Reader& reader, const std::vector<std::string>& named);

  // Workers had jobs that go on as they were: the file is to be applied again when these are over.
  [[nodiscard]] bool is_unsettled() const { return !kept_.empty(); }
  [[nodiscard]] bool has_removed() const { return !removed_.empty(); }
  [[nodiscard]] std::vector<std::string> names() const;          // of the file
  [[nodiscard]] std::vector<std::string> removed_names() const;  // taken out by people

  // `canceled`: by people.
  void check_end(const claim::Reader& reader, const std::set<std::uint64_t>& canceled);

 private:
  struct Made {
    std::string command;
    std::map<std::uint64_t, std::uint64_t> from;  // claims of the results of what it waited for
  };
  struct Stored {
    claim::Job job;
    std::string name;
    std::string command;
    std::set<std::uint64_t> upstream;
    int priority = 0;
    bool is_removed = false;
  };
  // All jobs of the store, by number, and their numbers by name.
  void read(const claim::Reader& reader);
  void read_one(const claim::Reader& reader, workflow::RecipeBook& book, std::uint64_t id);
  [[nodiscard]] bool is_as_in_file(const Stored& stored) const;
  [[nodiscard]] std::string how_it_differs(const Stored& stored) const;
  void check_definitions(Seen seen);
  void check_results();
  void check_made(std::uint64_t id, const Stored& stored);
  void check_over(std::uint64_t id, const Stored& stored, const std::set<std::uint64_t>& canceled);
  [[nodiscard]] bool waits_in_vain(const Stored& stored) const;
  void wrong(std::uint64_t id, const Stored& stored, const std::string& what);
  void note_removed();

  World& world_;
  WorkflowFile file_;
  std::map<std::string, FileJob> jobs_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Made> made_;  // by job and claim
  std::set<std::uint64_t> kept_;                                  // by what an earlier file said
  std::set<std::uint64_t> removed_;                               // that the file has
  std::vector<Stored> stored_;
  std::map<std::string, std::uint64_t> numbers_;
};

}  // namespace torc::simulation
