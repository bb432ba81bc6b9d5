// Where the output of jobs goes for which the file says no mode.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "lib/spec/load/load.h"
#include "lib/spec/sweep/recipe.h"

namespace torc::spec {
namespace {

Result<std::string> no_other_file(const std::string& name) {
  return Error{ErrorKind::not_found, name, ""};
}

struct Modes {
  StdioMode workflow;
  StdioMode sweep;
  StdioMode single;
  bool operator==(const Modes&) const = default;
};

// Of a workflow of so many jobs in a sweep and a single one with `own` keys.
Modes modes_of(int sweep, const std::string& execution, const std::string& own = "",
               std::optional<StdioMode> mode = {}) {
  const std::string text = "name: wf\n" + execution +
                           "jobs:\n"
                           "  - {name: 'a_{i}', command: x, parameters: {i: '1:" +
                           std::to_string(sweep) +
                           "'}}\n"
                           "  - {name: b, command: x" +
                           own + "}\n";
  const Loaded loaded = load(text, "wf.yaml", no_other_file, {}, mode);
  EXPECT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  const auto mode_of = [&](std::size_t entry) {
    return Recipe::decode(loaded.expansion->entries.at(entry).recipe)->render(0).stdio.mode;
  };
  return {loaded.workflow->execution.stdio.mode, mode_of(0), mode_of(1)};
}

constexpr Modes all(StdioMode mode) {
  return {mode, mode, mode};
}

TEST(OutputMode, a_workflow_of_more_than_a_thousand_jobs_is_packed) {
  EXPECT_EQ(modes_of(999, ""), all(StdioMode::separate));
  EXPECT_EQ(modes_of(1000, ""), all(StdioMode::packed));
}

TEST(OutputMode, what_the_file_says_stays) {
  EXPECT_EQ(modes_of(1000, "execution_config: {stdio: {mode: separate}}\n"),
            all(StdioMode::separate));
  EXPECT_EQ(modes_of(9, "execution_config: {stdio: {mode: packed}}\n"), all(StdioMode::packed));
  EXPECT_EQ(modes_of(1000, "", ", stdio: {mode: separate}"),
            (Modes{StdioMode::packed, StdioMode::packed, StdioMode::separate}));
}

TEST(OutputMode, to_delete_on_success_is_no_mode) {
  EXPECT_EQ(modes_of(1000, "execution_config: {stdio: {delete_on_success: true}}\n"),
            all(StdioMode::packed));
  EXPECT_EQ(modes_of(1000, "", ", stdio: {delete_on_success: true}"), all(StdioMode::packed));
}

TEST(OutputMode, whoever_knows_the_mode_of_a_store_says_it_in_place_of_the_number) {
  EXPECT_EQ(modes_of(1000, "", "", StdioMode::separate), all(StdioMode::separate));
  EXPECT_EQ(modes_of(1000, "execution_config: {stdio: {mode: none}}\n", "", StdioMode::separate),
            all(StdioMode::none));
}

}  // namespace
}  // namespace torc::spec
