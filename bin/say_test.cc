#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bin/app.h"
#include "lib/base/text/quote.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

std::string said(std::string_view text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  say(file.get(), "<{}>\n", text);
  std::rewind(file.get());
  std::string out(4096, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file.get()));
  return out;
}

TEST(Say, keeps_lines_and_tabs_and_takes_the_power_of_all_other_controls) {
  EXPECT_EQ(said("a\tb\nc"), "<a\tb\nc>\n");
  EXPECT_EQ(said("a\x1b]0;title\x07 b\r"), "<a\\x1b]0;title\\x07 b\\r>\n");
  EXPECT_EQ(said("\xc2\x9b 日本 \x9b"), "<\\xc2\\x9b 日本 \\x9b>\n");
}

TEST(Say, json_stays_the_same_json) {
  const nlohmann::ordered_json json = {{"name", "a\x7f b\xc2\x9b c\x1b über"}};
  for (const std::string& text : {report::json_text(json), report::json_line(json)}) {
    EXPECT_EQ(terminal_text(text), text);
    EXPECT_EQ(nlohmann::ordered_json::parse(text), json);
  }
}

}  // namespace
}  // namespace torc::cli
