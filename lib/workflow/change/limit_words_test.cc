#include "lib/workflow/change/limit_words.h"

#include <gtest/gtest.h>

namespace torc::workflow {
namespace {

TEST(LimitWords, the_last_equals_sign_parts_name_and_number) {
  const auto plain = parse_limit("licence_x=10");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->name, "licence_x");
  EXPECT_EQ(plain->most, 10U);
  const auto entry = parse_limit("a=b_{i}=0");
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->name, "a=b_{i}");
  EXPECT_EQ(entry->most, 0U);
}

TEST(LimitWords, what_is_no_number_or_has_no_name_is_refused_with_an_example) {
  EXPECT_NE(parse_limit("10").error().text().find("not NAME=NUMBER"), std::string::npos);
  EXPECT_NE(parse_limit("=10").error().text().find("not NAME=NUMBER"), std::string::npos);
  for (const char* wrong : {"x=", "x=-1", "x=1.5", "x=2147483648", "x=many"})
    EXPECT_NE(parse_limit(wrong).error().text().find("from 0 to 2147483647"), std::string::npos)
        << wrong;
}

}  // namespace
}  // namespace torc::workflow
