// A store's workflow as an addition to it sees it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/transaction.h"
#include "lib/spec/sweep/existing_workflow.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

class StoredWorkflow : public spec::ExistingWorkflow {
 public:
  // `reader` outlives this, and nothing is written to it meanwhile.
  static Result<StoredWorkflow> of(const claim::Reader& reader);

  [[nodiscard]] std::optional<std::string> definition(std::string_view key) const override;
  void each_definition(std::string_view prefix,
                       const std::function<bool(const spec::Definition&)>& visit) const override;
  [[nodiscard]] std::optional<spec::Definition> definition_up_to(
      std::string_view prefix, std::string_view key) const override;

  [[nodiscard]] const spec::RunSettings& settings() const override { return settings_.run; }
  [[nodiscard]] std::uint64_t jobs() const override { return jobs_; }
  [[nodiscard]] std::optional<std::uint64_t> find_job(std::string_view name) override;
  void each_entry(
      Entries which,
      const std::function<bool(std::uint64_t first, const spec::Recipe& recipe)>& visit) override;
  [[nodiscard]] Job job(std::uint64_t number) override;
  [[nodiscard]] bool is_removed(std::uint64_t number) const override;
  // From now on what it may say anew (claim::can_be_spawned_again()) is.
  void spawned_by(const claim::Origin& origin) { spawner_ = origin; }
  [[nodiscard]] Naming naming(std::uint64_t number) override;
  [[nodiscard]] std::optional<std::uint32_t> limit_of(std::string_view entry) override;
  [[nodiscard]] std::vector<spec::Limit> named_limits() override;
  [[nodiscard]] std::optional<std::uint32_t> max_parallel() override;
  // The lookups above have no word for a record that cannot be read: after an Error here nothing
  // that they did not find counts.
  [[nodiscard]] const Result<void>& sound() const { return sound_; }

 private:
  StoredWorkflow(const claim::Reader& reader, WorkflowSettings settings, std::uint64_t jobs)
      : reader_(&reader), settings_(std::move(settings)), jobs_(jobs) {}
  void read_sweeps_once();
  void note(Result<void> read);
  const std::vector<claim::Limit>& limits();
  std::optional<std::uint32_t> most_of(const claim::Limit& limit);

  struct Entry {
    std::uint64_t first = 0;
    spec::Recipe recipe;
  };
  const claim::Reader* reader_;
  WorkflowSettings settings_;
  std::uint64_t jobs_;
  RecipeBook book_;
  Result<void> sound_;
  std::optional<std::vector<Entry>> sweeps_;
  std::optional<std::vector<claim::Limit>> limits_;
  claim::Origin spawner_;  // without a parent: it is none
};

}  // namespace torc::workflow
