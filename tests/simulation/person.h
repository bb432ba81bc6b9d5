// Somebody who edits the workflow file of a simulated life and applies it, takes jobs out and puts
// them back, with the code of `torc apply` and `torc rm`. Each command is a process that can be
// killed, or loses the replies to its requests; what did not say that it was done is said again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "tests/property/fiber.h"
#include "tests/simulation/cluster.h"

namespace torc::simulation {

class Person final : public Waiter {
 public:
  explicit Person(Cluster& cluster);
  ~Person() override;

  // Goes through the edits of the scenario, one after the other.
  void begin();
  // Nothing is left to say.
  [[nodiscard]] bool is_done() const;

  // --- Waiter, for the command that runs ---
  [[nodiscard]] bool alive() const override { return alive_; }
  void wait(Time time) override;
  void wait_for_filesystem() override;
  [[nodiscard]] bool loses_replies() const override;

 private:
  void next();
  void decide();
  void say();
  void be_in_trouble();
  void kill();
  void resume();
  void ended();

  // --- in the process of a command ---
  void run();
  Result<void> apply();
  Result<void> remove();
  Result<void> put_back();
  Result<void> change(const store::Store::Body& body);
  [[nodiscard]] Result<std::vector<claim::JobRange>> numbers();
  void committed(const store::Reader& reader);
  void is_so(const store::Reader& reader, EditedWorkflow::Seen seen);

  Cluster& cluster_;
  World& world_;
  Node node_;
  std::vector<WorkflowFile> files_;  // as they were, the newest last
  std::size_t at_ = 0;               // the edit
  SeededEntropy random_{0};          // of the edit

  // What is to be done, and how often it was tried.
  Edit::What what_{};
  WorkflowFile file_;
  std::vector<std::string> names_;
  bool ends_running_ = false;
  int tries_ = 0;
  bool was_committed_ = false;  // by an earlier try
  bool was_kept_ = false;       // and workers had jobs then that it was to change
  bool wrote_ = false;          // this try
  bool given_up_ = false;

  bool alive_ = false;
  bool succeeded_ = false;
  bool in_thread_ = false;
  std::unique_ptr<Fiber> thread_;
  std::uint64_t resume_version_ = 0;
  std::uint64_t command_ = 0;
};

}  // namespace torc::simulation
