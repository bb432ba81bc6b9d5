#include "lib/spec/language/language.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace torc::spec {
namespace {

TEST(Language, no_place_has_a_key_twice) {
  std::set<std::pair<Where, std::string_view>> seen;
  for (const Key& key : language()) {
    EXPECT_TRUE(seen.emplace(key.where, key.name).second) << key.name;
  }
}

TEST(Language, another_spelling_names_a_key_of_the_same_place) {
  for (const Key& key : language()) {
    if (key.same_as.empty()) continue;
    const Key* meant = find_key(key.where, key.same_as);
    ASSERT_NE(meant, nullptr) << key.name;
    EXPECT_EQ(meant->type, key.type);
  }
}

TEST(Language, maps_say_of_what_kind_they_are_and_choices_what_they_allow) {
  for (const Key& key : language()) {
    const bool holds_maps =
        key.type == Type::map || key.type == Type::maps || key.type == Type::named_maps;
    EXPECT_EQ(holds_maps, key.child != Where::none) << key.name;
    const bool chooses = key.type == Type::choice || key.type == Type::selection;
    EXPECT_EQ(chooses, !key.choices.empty()) << key.name;
    EXPECT_LE(key.min, key.max) << key.name;
  }
}

TEST(Language, every_planned_choice_is_a_choice) {
  for (const Key& key : language()) {
    const auto choices = words_of(key.choices);
    for (const std::string& planned : words_of(key.planned)) {
      EXPECT_NE(std::find(choices.begin(), choices.end(), planned), choices.end()) << planned;
    }
  }
}

TEST(Language, only_supported_keys_are_required_of_supported_places) {
  EXPECT_TRUE(find_key(Where::job, "command")->required);
  for (const Key& key : language()) {
    if (key.where == Where::workflow || key.where == Where::job) {
      EXPECT_TRUE(!key.required || key.support == Support::yes) << key.name;
    }
  }
}

TEST(Language, a_key_that_is_accepted_without_effect_says_why) {
  for (const Key& key : language()) {
    if (key.support != Support::ignored) continue;
    EXPECT_FALSE(key.about.empty()) << key.name;
  }
}

}  // namespace
}  // namespace torc::spec
