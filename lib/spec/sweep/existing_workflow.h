// The workflow that an addition is made to, as the addition sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/definitions.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/sweep/recipe.h"

namespace torc::spec {

class ExistingWorkflow : public Definitions {
 public:
  // Of the workflow and all its jobs.
  [[nodiscard]] virtual const RunSettings& settings() const = 0;
  // Jobs have the numbers from 1 to this.
  [[nodiscard]] virtual std::uint64_t jobs() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> find_job(std::string_view name) = 0;
  // Entries in the order of their jobs; only those of several jobs, or all.
  enum class Entries : std::uint8_t { sweeps, all };
  virtual void each_entry(
      Entries which,
      const std::function<bool(std::uint64_t first, const Recipe& recipe)>& visit) = 0;

  struct Job {
    RenderedJob texts;
    ResourceRequirements resources;  // without a name
    std::string scheduler, labels;
    std::int32_t priority = 0;
    std::vector<Range> upstream;                                        // sorted, disjoint
    std::vector<std::pair<Condition, std::vector<Range>>> conditional;  // the same, by condition
    bool cancels = false;  // canceled when one of `upstream` ends otherwise
    std::optional<FailureHandler> failure_handler;  // without a name
    std::uint32_t crash_limit = 0;                  // 0: the usual
    std::uint32_t max_parallel = 0;                 // of its entry; 0: no limit
    std::map<std::string, std::uint32_t> limits;    // of the workflow: how much it has of them
  };
  [[nodiscard]] virtual Job job(std::uint64_t number) = 0;
  // Whether the workflow has it no more: a person took it out, or its file has it no more.
  [[nodiscard]] virtual bool is_removed(std::uint64_t /*number*/) const { return false; }
  // What an addition says of a job that is there already.
  enum class Naming : std::uint8_t {
    same,      // it must be the same job, which is left alone
    anew,      // it may be another one, which takes its place
    anew_also  // it is said anew, also where it is the same
  };
  [[nodiscard]] virtual Naming naming(std::uint64_t /*number*/) { return Naming::same; }
  // How many jobs of the entry, by its name as written, run at a time; nullopt: no limit.
  [[nodiscard]] virtual std::optional<std::uint32_t> limit_of(std::string_view entry) = 0;
  // What jobs may name in their limits. Without a place.
  [[nodiscard]] virtual std::vector<Limit> named_limits() { return {}; }
  // How many jobs of the workflow run at a time; nullopt: no limit.
  [[nodiscard]] virtual std::optional<std::uint32_t> max_parallel() { return {}; }
};

}  // namespace torc::spec
