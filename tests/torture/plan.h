// The workflow of one round: stages of jobs, each after some of the jobs before it, known here so
// that the audit need not ask torc what depends on what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/torture/options.h"

namespace torc::torture {

// Whom a job kills with SIGKILL when it has waited.
enum class Deadly : std::uint8_t { no, self, group, worker };
// As the job program knows it.
[[nodiscard]] std::string_view to_string(Deadly whom);

struct PlannedJob {
  std::string name;
  std::vector<std::size_t> needs;  // indices of jobs before it
  int microseconds = 0;
  Deadly deadly = Deadly::no;  // nobody needs it then
};

using Plan = std::vector<PlannedJob>;

[[nodiscard]] Plan random_plan(std::size_t jobs, std::mt19937_64& random);

// Makes so many of the jobs that nobody needs deadly, the first of them for its worker.
void make_deadly(Plan& plan, std::size_t count, std::mt19937_64& random);

// Lets so many of the jobs that nobody needs run for longer than a lease.
void make_long(Plan& plan, std::size_t count, std::mt19937_64& random);

// The workflow file. Each job appends to `record`/<name>.<attempt>; `clock`: "", or "wall" where
// jobs run on several machines.
[[nodiscard]] std::string spec_of(const Plan& plan, const Path& job_program, const Path& record,
                                  const std::string& clock = "");

// A number of [low, high].
template <class Integer>
Integer between(std::mt19937_64& random, Integer low, Integer high) {
  return std::uniform_int_distribution<Integer>(low, high)(random);
}

}  // namespace torc::torture
