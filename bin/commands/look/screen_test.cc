#include "bin/commands/look/screen.h"

#include <gtest/gtest.h>

namespace torc::cli {
namespace {

TEST(Screen, is_cleared_once_and_then_line_by_line) {
  EXPECT_EQ(redrawn("a\nb\n", {24, 80}, true), "\x1b[2J\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
  EXPECT_EQ(redrawn("a\n\nb\n", {24, 80}, false), "\x1b[Ha\x1b[K\n\x1b[K\nb\x1b[K\n\x1b[J");
}

TEST(Screen, what_does_not_fit_is_left_out_and_counted) {
  const std::string out = redrawn("1\n2\n3\n4\n5\n", {4, 80}, false);
  EXPECT_EQ(out, "\x1b[H1\x1b[K\n2\x1b[K\n… and 3 more lines: torc status shows all\x1b[K\n\x1b[J");
  EXPECT_NE(redrawn("1\n2\n3\n4\n5\n", {}, false).find("5\x1b[K"), std::string::npos);
}

TEST(Screen, a_line_that_wraps_has_several_rows) {
  EXPECT_NE(redrawn("äääää\nb\nc\n", {4, 3}, false).find("and 2 more"), std::string::npos);
  EXPECT_EQ(redrawn("äää\nb\n", {4, 3}, false).find("more"), std::string::npos);
}

}  // namespace
}  // namespace torc::cli
