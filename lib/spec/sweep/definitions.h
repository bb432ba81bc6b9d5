// What of a workflow additions to it may refer to by name, besides jobs, in the form in which a
// store keeps it: small values under short keys, a sweep of a million files as one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/codec.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/range.h"

namespace torc::spec {

struct Definition {
  std::string key;  // bytes, at most 30
  std::string value;
};

// Where they are read from.
class Definitions {
 public:
  virtual ~Definitions() = default;
  [[nodiscard]] virtual std::optional<std::string> definition(std::string_view key) const = 0;
  virtual void each_definition(std::string_view prefix,
                               const std::function<bool(const Definition&)>& visit) const = 0;
  // The last one whose key begins with `prefix` and is at most `key`.
  [[nodiscard]] virtual std::optional<Definition> definition_up_to(std::string_view prefix,
                                                                   std::string_view key) const = 0;
};

// --- resource requirements, failure handlers, schedulers, shared parameters, variables ---

// Where it was written does not count.
[[nodiscard]] bool same_rules(const FailureHandler& a, const FailureHandler& b);

// Those of the workflow that `known` (null: nothing is known) does not have.
[[nodiscard]] std::vector<Definition> definitions_of(const Workflow& workflow,
                                                     const Definitions* known);

// Few of each, so all are read.
[[nodiscard]] std::vector<ResourceRequirements> known_resources(const Definitions& known);
[[nodiscard]] std::vector<SlurmScheduler> known_schedulers(const Definitions& known);
[[nodiscard]] std::vector<FailureHandler> known_failure_handlers(const Definitions& known);
[[nodiscard]] std::vector<Parameter> known_parameters(const Definitions& known);
[[nodiscard]] Environment known_variables(const Definitions& known);

// --- files, and user data, which are files without a path ---

enum class Kept : char { files = 'f', user_data = 'u' };

// Combinations offset .. offset + count - 1 of an entry, numbered from `first` among all that the
// workflow ever had.
struct KeptFiles {
  FileEntry entry;
  std::uint64_t offset = 0;
  std::uint64_t count = 1;
  std::uint64_t first = 1;
};
[[nodiscard]] Definition define(Kept kind, const KeptFiles& files);
// The number of the next file.
[[nodiscard]] std::uint64_t next_number(const Definitions& known, Kept kind);
[[nodiscard]] Definition define_next(Kept kind, std::uint64_t number);
// Those that have just this name and no parameters.
[[nodiscard]] std::optional<KeptFiles> read_single(const Definitions& known, Kept kind,
                                                   std::string_view name);
[[nodiscard]] std::vector<KeptFiles> read_sweeps(const Definitions& known, Kept kind);
// All those without parameters, until `visit` returns false: for expressions, and near names.
void each_single(const Definitions& known, Kept kind,
                 const std::function<bool(const KeptFiles&)>& visit);

// File first + n is made by job `job + n * step`.
struct Made {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t job = 0;
  std::uint64_t step = 0;
};
// Joins what continues the run before.
void append(std::vector<Made>& runs, std::uint64_t file, std::uint64_t job);
[[nodiscard]] Definition define(Kept kind, const Made& run);
[[nodiscard]] std::uint64_t maker_of(const Definitions& known, Kept kind, std::uint64_t file);

}  // namespace torc::spec
