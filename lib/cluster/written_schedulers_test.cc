#include "lib/cluster/written_schedulers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace torc::cluster {
namespace {

WrittenScheduler standard() {
  WrittenScheduler one;
  one.scheduler.name = "standard";
  one.scheduler.account = "lab";
  one.scheduler.nodes = 2;
  one.scheduler.walltime = "04:00:00";
  one.at_once = 4;
  return one;
}

// As standard() is written.
std::string list_text() {
  return "slurm_schedulers:\n  - name: \"standard\"\n    account: \"lab\"\n    nodes: 2\n"
         "    walltime: \"04:00:00\"\n    allocate: {max: 4, min_utilization: 0.5}\n";
}

std::string written(const std::string& text, const std::vector<WrittenBinding>& bindings = {},
                    const std::string& file = "wf.yaml") {
  const auto edits = edits_for(text, file, {standard()}, bindings);
  return edits.ok() ? with_edits(text, *edits) : "error: " + edits.error().text();
}

TEST(WrittenSchedulers, stand_before_jobs_and_the_comment_upon_it_and_all_else_stays) {
  EXPECT_EQ(written("# mine\nname:   wf   # odd\n\n# the jobs\njobs:\n  - {name: a, command: x}\n"),
            "# mine\nname:   wf   # odd\n\n" + list_text() +
                "\n# the jobs\njobs:\n  - {name: a, command: x}\n");
  EXPECT_EQ(written("# mine\njobs: [{name: a, command: x}]\nname: wf"),
            "# mine\n" + list_text() + "\njobs: [{name: a, command: x}]\nname: wf");
}

TEST(WrittenSchedulers, end_their_lines_as_the_file_does) {
  const std::string text =
      written("name: wf\r\njobs:\r\n  - name: a\r\n    command: x\r\n", {{0, "s"}});
  EXPECT_NE(text.find("    nodes: 2\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("- name: a\r\n    scheduler: \"s\"\r\n    command"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("\r\r"), std::string::npos) << text;
}

TEST(WrittenSchedulers, take_the_place_of_those_that_are_there) {
  EXPECT_EQ(written("name: wf\nslurm_schedulers:\n  # old\n  - name: o\n    account: p\n\n"
                    "# the jobs\njobs: [{name: a, command: x}]\n"),
            "name: wf\n" + list_text() + "\n# the jobs\njobs: [{name: a, command: x}]\n");
  EXPECT_EQ(written("jobs: [{name: a, command: x}]\nslurm_schedulers: [{name: o, account: p}]"),
            "jobs: [{name: a, command: x}]\n" + list_text());
}

TEST(WrittenSchedulers, are_called_as_the_file_calls_them) {
  const std::string text =
      written("schedulers: [{name: o, account: p}]\njobs: [{name: a, command: x}]\n");
  EXPECT_EQ(text, list_text().substr(6) + "jobs: [{name: a, command: x}]\n");
}

TEST(WrittenSchedulers, that_are_there_already_change_nothing) {
  const std::string text = written("name: wf\njobs:\n  - {name: a, command: x}\n", {{0, "s"}});
  const auto again = edits_for(text, "wf.yaml", {standard()}, {{0, "s"}});
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->empty());
}

TEST(WrittenSchedulers, are_bound_to_in_each_manner_of_writing_a_job) {
  const std::vector<WrittenBinding> all{{0, "s"}, {1, "s"}, {2, "s"}, {3, "s"}, {4, "s"}};
  const std::string text = written(R"(jobs:
  - name: a  # first
    # what it does
    command: x
  - {name: b, command: x}
  - command: |
      one
      two
    name: c
  -   name: d
      command: y
  - name: e
    scheduler: old  # of before
    command: z
)",
                                   all);
  EXPECT_EQ(text, list_text() + R"(
jobs:
  - name: a  # first
    scheduler: "s"
    # what it does
    command: x
  - {name: b, scheduler: "s", command: x}
  - scheduler: "s"
    command: |
      one
      two
    name: c
  -   name: d
      scheduler: "s"
      command: y
  - name: e
    scheduler: "s"  # of before
    command: z
)");
}

TEST(WrittenSchedulers, are_refused_where_the_text_cannot_be_edited_in_lines) {
  const auto refused = [](const std::string& text, const std::string& file = "wf.yaml",
                          const std::vector<WrittenBinding>& bindings = {}) {
    const std::string done = written(text, bindings, file);
    return done.starts_with("error: ") ? done : "";
  };
  EXPECT_NE(refused("{}", "wf.json5").find("JSON5: only YAML"), std::string::npos);
  EXPECT_NE(refused("", "wf.kdl").find("KDL: only YAML"), std::string::npos);
  EXPECT_NE(refused(R"({"name": "wf", "jobs": []})").find("lines of their own"), std::string::npos);
  EXPECT_NE(refused("{\n  \"name\": \"wf\",\n  \"jobs\": []\n}\n").find("lines of their own"),
            std::string::npos);
  const std::string aliased = "x: 1\njobs:\n  - &one\n    name: a\n    command: x\n  - *one\n";
  EXPECT_NE(refused(aliased, "wf.yaml", {{1, "s"}}).find("an alias"), std::string::npos);
}

TEST(WrittenSchedulers, write_nothing_that_would_change_what_else_is_said) {
  // The line that seems to be a comment is a part of the text.
  const std::string text = "jobs:\n  - name: \"a\n      # b\"\n    command: x\n";
  const auto edits = edits_for(text, "wf.yaml", {standard()}, {{0, "s"}});
  if (edits.ok())
    EXPECT_NE(with_edits(text, *edits).find("name: \"a\n      # b\""), std::string::npos);
  else
    EXPECT_NE(edits.error().what.find("something else than before"), std::string::npos);
  // What an anchor names is said twice.
  const std::string shared = "jobs:\n  - &one\n    name: a\n    command: x\n  - *one\n";
  const auto both = edits_for(shared, "wf.yaml", {standard()}, {{0, "s"}});
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.error().what.find("something else than before"), std::string::npos);
}

TEST(WrittenSchedulers, are_shown_as_the_lines_that_change) {
  const std::string text = "name: wf\njobs:\n  - {name: a, command: x}\n";
  const auto edits = edits_for(text, "wf.yaml", {standard()}, {{0, "s"}});
  ASSERT_TRUE(edits.ok());
  const std::string shown = show_edits(text, *edits);
  EXPECT_TRUE(shown.starts_with("    2 + slurm_schedulers:\n    2 +   - name: \"standard\"\n"))
      << shown;
  EXPECT_NE(shown.find("    3 -   - {name: a, command: x}\n"
                       "    3 +   - {name: a, scheduler: \"s\", command: x}\n"),
            std::string::npos)
      << shown;
}

}  // namespace
}  // namespace torc::cluster
