#include "lib/base/text/table.h"

#include <gtest/gtest.h>

namespace torc {
namespace {

TEST(Table, lines_up_columns_by_characters_not_bytes) {
  Table table({{"name"}, {"n", Align::right}, {"why"}});
  table.add({"größe", "7", "x"});
  table.add({"a", "1,000", "a long reason"});
  EXPECT_EQ(table.text(),
            "name       n  why\n"
            "größe      7  x\n"
            "a      1,000  a long reason\n");
}

TEST(Table, the_last_column_leaves_no_trailing_blanks) {
  Table table({{"a"}, {"b"}});
  table.add({"1", "2"});
  EXPECT_EQ(table.text(), "a  b\n1  2\n");
}

}  // namespace
}  // namespace torc
