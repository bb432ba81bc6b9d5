// Where the jobs come from that were added to a workflow in a store (add.h): how that is written
// and read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

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

// nullopt: it was there from the beginning. Error corrupt: its record cannot be read.
[[nodiscard]] Result<std::optional<Origin>> read_origin(const Reader& reader, JobId id);

// The first job that was added later; beyond all `jobs` when none was. Error corrupt.
[[nodiscard]] Result<std::uint64_t> first_addition(const Reader& reader, std::uint64_t jobs);

[[nodiscard]] std::string encode(const Origin& origin);
[[nodiscard]] std::optional<Origin> decode_origin(std::string_view key, std::string_view value);

struct Additions {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // job that was added
};
[[nodiscard]] std::optional<Additions> decode_additions(std::string_view value);

}  // namespace torc::claim
