// The names that torc itself gives to what it keeps of attempts and workers below a store. What has
// another name is somebody else's, and no business of `torc clean`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/units.h"

namespace torc::clean {

enum class Part : std::uint8_t {
  output,    // of its command, or of the recovery script after it
  directory  // its own: TORC_ATTEMPT_DIR
};
// What is kept of one attempt under a name of its own.
struct AttemptName {
  JobId job{};
  std::uint32_t attempt = 0;
  Part part = Part::output;
};
// `folder` ("000012") lies in the directory of job output, `name` in it. nullopt: torc gives no
// such name there.
[[nodiscard]] std::optional<AttemptName> attempt_name(std::string_view folder,
                                                      std::string_view name);

// Packed output: the worker that wrote it.
struct PackedName {
  std::uint64_t worker = 0;
  bool is_index = false;
  std::optional<JobId> job;  // of a file of one attempt alone
};
[[nodiscard]] std::optional<PackedName> packed_name(std::string_view name);

// A log in logs/ of the store: of an allocation, or of the workers of one node of it.
struct LogName {
  std::string allocation;
  std::string node;  // empty: of all
};
[[nodiscard]] std::optional<LogName> log_name(std::string_view name);

// A store of `torc exec` in .torc-exec: 20260501-120000, 20260501-120000-2.
[[nodiscard]] bool is_exec_store(std::string_view name);
// In a store, right below it.
[[nodiscard]] bool is_in_store(std::string_view name);

}  // namespace torc::clean
