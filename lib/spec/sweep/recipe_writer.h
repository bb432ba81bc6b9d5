// Writes what Recipe::decode() reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/sweep/range.h"

namespace torc::spec {

// Combinations offset .. offset + count - 1 of some parameters.
struct Window {
  std::span<const Parameter> parameters;
  ParameterMode mode = ParameterMode::product;
  std::uint64_t offset = 0;
  std::uint64_t count = 1;
};

// What jobs take and make: files by their paths, or user data by their names. They are numbered
// from 1 through `tables` in order; `inputs` and `outputs` map a job's index to such numbers, those
// that the command refers to first.
struct TakenAndMade {
  struct Table {
    Window window;
    const Pattern* text = nullptr;
  };
  std::vector<Table> tables;
  std::vector<const RangeMap*> inputs;
  std::vector<const RangeMap*> outputs;
};

// Refers to what it is made of.
struct RecipeParts {
  Window window;
  const Pattern* name = nullptr;
  const Pattern* invocation_script = nullptr;
  const Pattern* command = nullptr;
  std::vector<std::pair<std::size_t, const Pattern*>> commands;  // of alternatives, ascending
  std::vector<std::pair<std::string_view, const Pattern*>> env;
  Stdio stdio;
  std::int32_t checkpoint_exit_code = 0;
  bool allow_missing_outputs = false;  // kept only of jobs that have output files
  Launch launch;
  TakenAndMade files;
  TakenAndMade user_data;
};

// Of a sweep with ranges some hundred bytes, however many jobs; lists are written once.
[[nodiscard]] std::string encode_recipe(const RecipeParts& parts);

}  // namespace torc::spec
