#include "lib/spec/text/placeholder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace torc::spec {
namespace {

std::string found(std::string_view text) {
  std::string out;
  for (const Placeholder& p : placeholders(text)) {
    out += std::string(text.substr(p.begin, p.end - p.begin)) + " ";
  }
  return out;
}

TEST(Placeholder, a_name_in_braces_is_one) {
  EXPECT_EQ(found("work_{i}_{j}.txt"), "{i} {j} ");
  EXPECT_EQ(found("{i}{i}"), "{i} {i} ");
}

TEST(Placeholder, a_format_stands_behind_a_colon) {
  const auto all = placeholders("{i:03d}");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "i");
  EXPECT_EQ(all[0].format, "03d");
  EXPECT_EQ(found("{lr:.4f} {lr:e} {s:>8} {n:x}"), "{lr:.4f} {lr:e} {s:>8} {n:x} ");
}

TEST(Placeholder, what_belongs_to_the_shell_is_none) {
  EXPECT_EQ(found("echo ${HOME} ${i}"), "");
  EXPECT_EQ(found("awk '{print $1}'"), "");
  EXPECT_EQ(found("find . -exec rm {} +"), "");
  EXPECT_EQ(found("touch {a,b} {1..9}"), "");
  EXPECT_EQ(found("{{ name }} {{name}}"), "");
  EXPECT_EQ(found("f() { i; }"), "");
}

TEST(Placeholder, json_around_a_placeholder_is_text) {
  EXPECT_EQ(found(R"({"a": {i}, "b": {c: 1}})"), "{i} ");
}

TEST(Placeholder, a_file_name_may_hold_one) {
  EXPECT_EQ(found("${files.input.part_{i}}"), "{i} ");
}

TEST(Placeholder, an_open_brace_at_the_end_is_text) {
  EXPECT_EQ(found("{"), "");
  EXPECT_EQ(found("{i"), "");
  EXPECT_EQ(found("{i:"), "");
  EXPECT_EQ(found("{i:}"), "");
}

RC_GTEST_PROP(Placeholder, every_one_found_is_in_order_and_within_the_text, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("{{{}}}$:i_0.d ")));
  std::size_t last = 0;
  for (const Placeholder& p : placeholders(text)) {
    RC_ASSERT(p.begin >= last);
    RC_ASSERT(p.end <= text.size());
    RC_ASSERT(text[p.begin] == '{' && text[p.end - 1] == '}');
    RC_ASSERT(is_identifier(p.name));
    last = p.end;
  }
}

}  // namespace
}  // namespace torc::spec
