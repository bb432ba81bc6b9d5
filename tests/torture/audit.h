// What must hold after a round, whatever was killed and frozen in it. Nothing here trusts the code
// that decided it: the jobs' own files say what ran, the commit files say who claimed and ended
// what, and the dependencies are those of the plan.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/torture/crew.h"
#include "tests/torture/options.h"
#include "tests/torture/plan.h"

namespace torc::torture {

// Results that somebody saw accepted. A second look must find the same.
class Accepted {
 public:
  // `jobs`: what `torc jobs --json` prints. Throws Violation.
  void see(const nlohmann::json& jobs);

 private:
  std::map<std::string, std::string> results_;
};

// What a round came to, for people.
struct Account {
  std::uint64_t attempts = 0;      // commands started
  std::uint64_t ran_twice = 0;     // jobs whose command ran to its end more than once
  std::uint64_t given_up = 0;      // jobs that lost the most workers that torc allows
  std::uint64_t not_reached = 0;   // after those
  std::uint64_t killed = 0;        // that killed themselves or their workers, and so failed
  std::uint64_t commits = 0;       // engine journal
  std::uint64_t expired = 0;       // workers, engine journal
  std::uint64_t not_replayed = 0;  // rounds so long that their first commits were collected
};

// Each throws Violation. `jobs`, `status`: what torc prints with --json.
void audit_counts(const nlohmann::json& jobs, const nlohmann::json& status);
// Attempts by the jobs' own files against what was accepted, and everything against the plan.
// `clocks` (ns): how far the clocks that the jobs read may be apart.
void audit_files(const Plan& plan, const Path& record, const nlohmann::json& jobs,
                 std::int64_t clocks, Account& account);
// Replays the commit files of `store`: each transition by who may make it, when.
void audit_chain(const Plan& plan, const Path& store, const nlohmann::json& jobs,
                 const Ledger& ledger, Account& account);

}  // namespace torc::torture
