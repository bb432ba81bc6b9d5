#include "lib/spec/text/command_line.h"

#include <gtest/gtest.h>

#include <utility>

namespace torc::spec {
namespace {

TEST(CommandLine, separators_are_found_outside_of_quotes_and_redirections) {
  for (const auto& [line, found] :
       {std::pair("a && b", "&&"), std::pair("a || b", "||"), std::pair("a | b", "|"),
        std::pair("a\nb", "\n"), std::pair("a 'x' ; b", ";"), std::pair("a & b", "&")})
    EXPECT_EQ(command_separator(line), found) << line;
  for (const char* line : {"a", "a;\n", "a 2>&1", "a &> f", "a \"b; c\"", "a \\; b", "a $(b; c)",
                           "find . -exec rm {} \\;", "a # b; c"})
    EXPECT_EQ(command_separator(line), "") << line;
}

}  // namespace
}  // namespace torc::spec
