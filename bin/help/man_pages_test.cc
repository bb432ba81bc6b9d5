#include "bin/help/man_pages.h"

#include <gtest/gtest.h>

#include "bin/cli.h"

namespace torc::cli {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ManPages, text_is_no_request_no_escape_and_stays_what_it_is) {
  EXPECT_EQ(roff_text(".TH x"), "\\&.TH x");
  EXPECT_EQ(roff_text("a\n.so /etc/passwd\n'br"), "a\n\\&.so /etc/passwd\n\\&\\(aqbr");
  EXPECT_EQ(roff_text(R"(\fB\n)"), R"(\(rsfB\(rsn)");
  EXPECT_EQ(roff_text("--dry-run 'x' `y` ^z ~"),
            "\\-\\-dry\\-run \\(aqx\\(aq \\(gay\\(ga \\(haz \\(ti");
  EXPECT_EQ(roff_text("NAME… 🙂"), "NAME\\[u2026] \\[u1F642]");
  EXPECT_EQ(roff_text("\xff\xc3"), "??");
}

CommandHelp backup() {
  CommandHelp command{"backup", "Copy a store", {}};
  FlagHelp engine{{"-e", "--engine"}, true, {"auto", "lmdb"}, "of the copy"};
  engine.value = "ENGINE";
  engine.default_value = "auto";
  engine.excludes = {"--json"};
  command.flags.push_back(engine);
  FlagHelp destination{{"[STORE] DEST"}, true, {}, "DEST must not be there yet"};
  destination.required = true;
  command.arguments.push_back(destination);
  FlagHelp other{{"FILE"}, true, {}, "a file"};
  command.arguments.push_back(other);
  return command;
}

TEST(ManPages, a_page_tells_what_a_command_takes) {
  const std::string page = command_man_page(backup(), "1.2-3");
  EXPECT_TRUE(page.starts_with(".TH TORC\\-BACKUP 1 \"\" \"torc 1.2\\-3\" \"torc\"\n")) << page;
  EXPECT_TRUE(has(page, ".SH NAME\ntorc\\-backup \\- Copy a store\n")) << page;
  EXPECT_TRUE(has(
      page, ".B torc backup\n[\\fIOPTIONS\\fR]\n[\\fISTORE\\fR] \\fIDEST\\fR\n[\\fIFILE\\fR]\n"))
      << page;
  EXPECT_TRUE(
      has(page,
          ".TP\n\\fB\\-e\\fR, \\fB\\-\\-engine\\fR \\fIENGINE\\fR\nof the copy. One of auto, "
          "lmdb. Default: auto. Not with \\-\\-json.\n"))
      << page;
}

TEST(ManPages, what_help_says_below_is_put_into_its_sections) {
  CommandHelp command = backup();
  command.footer =
      "\nExamples:\n  torc backup '.x'\n\nIt copies.\nSlowly. Exit codes: 0 done;\n2 wrong flags.";
  const std::string page = command_man_page(command, "1");
  EXPECT_TRUE(has(page, ".SH EXAMPLES\n.PP\n.RS 4\n.nf\ntorc backup \\(aq.x\\(aq\n.fi\n.RE\n"))
      << page;
  EXPECT_TRUE(has(page, ".PP\nIt copies.\nSlowly. \n")) << page;
  EXPECT_TRUE(has(page, ".SH EXIT STATUS\n0 done;\n2 wrong flags.\n")) << page;
}

TEST(ManPages, each_command_of_the_program_has_one_with_an_end_of_each_choice_of_font) {
  const std::vector<HelpFile> files = help_files(describe_command_line(), "1");
  std::size_t pages = 0;
  for (const HelpFile& file : files) {
    if (file.path.extension() != ".1") continue;
    ++pages;
    std::size_t set = 0;
    for (std::size_t at = 0; (at = file.text.find("\\f", at)) != std::string::npos; at += 3)
      set = file.text[at + 2] == 'R' ? set - 1 : set + 1;
    EXPECT_EQ(set, 0U) << file.path;
    EXPECT_FALSE(has(file.text, "\n\n")) << file.path << ": an empty line";
    for (const char c : file.text)
      EXPECT_TRUE(c == '\n' || (c >= ' ' && c < '\x7f'))
          << file.path << ": byte " << static_cast<int>(c);
  }
  EXPECT_EQ(pages, 1 + describe_command_line().commands.size() + 10)
      << "and those of `logs export`, `slurm usage`, `slurm stats`, `slurm collect`, `cluster "
         "show`, `cluster match`, `allocations tick`, `allocations cancel`, `allocations "
         "stop` and `allocations readmit`";
}

}  // namespace
}  // namespace torc::cli
