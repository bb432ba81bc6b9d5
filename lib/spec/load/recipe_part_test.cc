// Recipes of some of the jobs of an entry.
#include <gtest/gtest.h>

#include <string>

#include "lib/spec/load/load.h"
#include "lib/spec/sweep/recipe.h"

namespace torc::spec {
namespace {

std::string sweep_recipe() {
  const ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  const Loaded loaded = load(R"(name: wf
files: [{name: 'f_{i}', path: 'f_{i}', parameters: {i: '1:10'}}]
jobs:
  - {name: 'j_{i}', command: 'run {i}', env: {I: '{i}'}, input_files: ['f_{i}'], parameters: {i: '1:10'}}
)",
                             "wf.yaml", none);
  EXPECT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  return loaded.expansion ? loaded.expansion->entries.front().recipe : "";
}

TEST(RecipePart, makes_the_jobs_of_the_whole_from_its_first_on) {
  const std::string whole = sweep_recipe();
  const auto bytes = part_of_recipe(whole, 3, 4);
  ASSERT_TRUE(bytes.ok());
  const auto part = Recipe::decode(*bytes);
  ASSERT_TRUE(part.ok()) << part.error().text();
  const auto all = Recipe::decode(whole);
  EXPECT_EQ(part->count(), 4U);
  for (std::uint64_t k = 0; k < 4; ++k) {
    const RenderedJob here = part->render(k);
    const RenderedJob there = all->render(k + 3);
    EXPECT_EQ(here.name, there.name);
    EXPECT_EQ(here.command, there.command);
    EXPECT_EQ(here.env, there.env);
    EXPECT_EQ(here.input_files, there.input_files);
    EXPECT_EQ(part->find(here.name), k);
  }
  EXPECT_EQ(part->find("j_3"), std::nullopt) << "it is of another part";
  EXPECT_EQ(part->find("j_8"), std::nullopt);
  std::vector<Range> open;
  part->find_open("j_{i}", open);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].count, 4U);
}

TEST(RecipePart, of_a_part_is_one_of_the_whole) {
  const std::string whole = sweep_recipe();
  const auto part = part_of_recipe(*part_of_recipe(whole, 3, 4), 1, 2);
  EXPECT_EQ(*part, *part_of_recipe(whole, 4, 2));
  EXPECT_EQ(*part_of_recipe(whole, 0, 10), whole);
  const auto told = part_in(*part);
  ASSERT_TRUE(told.ok());
  EXPECT_FALSE(told->is_whole);
  EXPECT_EQ(part->substr(0, told->whole), whole);
  EXPECT_EQ(told->from, 4U);
  EXPECT_EQ(told->end(), 6U);
  EXPECT_TRUE(part_in(whole)->is_whole);
}

TEST(RecipePart, has_other_names_where_it_is_renamed) {
  const std::string whole = sweep_recipe();
  const auto part = Recipe::decode(*renamed_recipe(*part_of_recipe(whole, 3, 4), "#17"));
  ASSERT_TRUE(part.ok()) << part.error().text();
  EXPECT_EQ(part->count(), 4U);
  EXPECT_EQ(part->name(0), "j_4#17");
  EXPECT_EQ(part->entry_name(), "j_{i}#17");
  EXPECT_EQ(part->find("j_7#17"), 3U);
  RenderedJob there = Recipe::decode(whole)->render(4);
  const RenderedJob here = part->render(1);
  EXPECT_EQ(here.command, there.command);
  EXPECT_EQ(here.input_files, there.input_files);
  EXPECT_FALSE(renamed_recipe("?", "#1").ok());
}

TEST(RecipePart, of_jobs_that_it_is_not_for_is_none) {
  const std::string whole = sweep_recipe();
  EXPECT_FALSE(part_of_recipe(whole, 0, 0).ok());
  EXPECT_FALSE(part_of_recipe(whole, 8, 3).ok());
  EXPECT_FALSE(part_of_recipe(whole, UINT64_MAX, 2).ok());
  EXPECT_FALSE(part_of_recipe(*part_of_recipe(whole, 3, 4), 2, 3).ok());
  EXPECT_FALSE(part_of_recipe("?", 0, 1).ok());
}

// A store may hold anything.
TEST(RecipePart, that_was_forged_is_refused) {
  const std::string whole = sweep_recipe();
  const auto forged = [&](std::string text) {
    return Recipe::decode(whole + '\x7f' + static_cast<char>(text.size()) + text).ok();
  };
  EXPECT_TRUE(forged({3, 4}));
  EXPECT_FALSE(forged({0, 0}));
  EXPECT_FALSE(forged({0, 10})) << "the whole is no part";
  EXPECT_FALSE(forged({9, 2}));
  EXPECT_FALSE(forged({3, 4, 0}));
  EXPECT_FALSE(forged({3}));
}

}  // namespace
}  // namespace torc::spec
