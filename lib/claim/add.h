// Jobs that are added to a living workflow, by a person or by a job of it. One transaction, which
// costs what is added and what that waits for, however large the workflow is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/claimer.h"
#include "lib/claim/plan.h"

namespace torc::claim {

// Where added jobs come from.
struct Origin {
  JobRange jobs;
  JobId parent{};             // the job that added them; 0: a person did
  std::uint32_t attempt = 0;  // of the parent
  std::uint32_t depth = 0;    // additions by jobs that led to them; 0: a person added them
  JobId root{};               // with which these began; 0: with nobody's
  WallTime at{};
  std::string by;     // "user@host"
  std::string state;  // what the parent hands on to them; opaque here
};

// How many jobs there are; the first of an addition is the next.
[[nodiscard]] Result<std::uint64_t> count_jobs(const Reader& reader);

// `addition` is a plan of further jobs: its templates begin at the next job, its classes are its
// own numbering, members of its dependency sets are its own jobs, and upstream may be any job
// whatever its state: the barrier starts with what has not completed. Its name, settings and sort
// method count for nothing; a definition takes the place of one with the same key.
// `origin.jobs` is filled in. Nothing is written on an Error (invalid: the plan is none).
Result<JobRange> add_jobs(Transaction& tx, Plan addition, Origin origin);

// --- reading ---

// nullopt: it was there from the beginning. Error corrupt: its record cannot be read.
[[nodiscard]] Result<std::optional<Origin>> read_origin(const Reader& reader, JobId id);
// What a job waits for or waited for, without its members.
[[nodiscard]] DependencySet read_dependencies(const Reader& reader, JobId id);
[[nodiscard]] std::optional<std::string> read_definition(const Reader& reader,
                                                         std::string_view key);
// The last definition whose key is at most `key` and begins with `prefix`.
[[nodiscard]] std::optional<Definition> definition_up_to(const Reader& reader,
                                                         std::string_view prefix,
                                                         std::string_view key);
void scan_definitions(const Reader& reader, std::string_view prefix,
                      const std::function<bool(const Definition&)>& visit);

// --- as written ---

[[nodiscard]] std::string encode(const Origin& origin);
[[nodiscard]] std::optional<Origin> decode_origin(std::string_view key, std::string_view value);

struct Additions {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // job that was added
};
[[nodiscard]] std::optional<Additions> decode_additions(std::string_view value);

}  // namespace torc::claim
