#include "lib/launcher/definition.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "lib/launcher/worker_script.h"

namespace torc::launcher {
namespace {

const std::string kGood = R"(launcher: mine
submit: {command: [sub, '{name}', '{script}'], accepted: '^(\d+)$'}
list:
  command: [list, '{user}']
  begins: '^JOBS\n'
  record: '(?m)^\d+ .*$'
  fields: {id: '^(\d+)', name: '^\d+ (\S+)', state: '(\S+)$'}
  stages: {waits: [q], runs: [r]}
cancel: {command: [del, '{ids}']}
script: {directive: '#M', id: MINE_ID}
)";

std::string mistakes_of(const std::string& text) {
  const spec::Source source(text, "mine.yaml");
  spec::Report report(source);
  const bool is_read = read_definition(source, report).has_value();
  std::string all = spec::to_text(std::move(report).sorted());
  EXPECT_EQ(is_read, all.empty()) << all;
  return all;
}

std::string with(const std::string& part, const std::string& instead) {
  std::string text = kGood;
  const auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), instead);
}

TEST(LauncherDefinition, those_that_are_part_of_the_program_have_no_mistakes) {
  EXPECT_EQ(built_in_launchers().size(), 5U);
  for (const auto name : built_in_launchers()) {
    const spec::Source source(built_in_definition(name), std::string(name));
    spec::Report report(source);
    const auto definition = read_definition(source, report);
    ASSERT_TRUE(definition.has_value()) << spec::to_text(std::move(report).sorted());
    EXPECT_EQ(definition->launcher, name) << "is called as its file is";
  }
  EXPECT_EQ(built_in_definition("nope"), "");
}

TEST(LauncherDefinition, a_mistake_is_told_with_its_place) {
  EXPECT_EQ(mistakes_of(kGood), "");
  struct {
    std::string text;
    const char* says;
  } const cases[] = {
      {with("launcher: mine", "launcher: mine\nqueue: x"),
       "mine.yaml:2:1: error: unknown key 'queue'"},
      {with("'{script}'", "'{path}'"), "{path} stands for nothing here"},
      {with("'{script}'", "'sub {script}'"), "{script} stands in a word that has something else"},
      {with("'{script}'", "'sub<{script}'"), "{script} stands in a word that has something else"},
      {with("'{script}'", "'{script};x'"), "{script} stands in a word that has something else"},
      {with("'{script}'", "'-f={script} {script}'"),
       "{script} stands in a word that has something else"},
      {with("'{ids}'", "all"), "the command has no word '{ids}'"},
      {with("[del, '{ids}']", "del"), "this is not a command"},
      {with("'^(\\d+)$'", "'^(\\d+$'"), "this is not a regular expression"},
      {with("'^(\\d+)$'", "'^\\d+$'"), "the expression has no group"},
      {with("  begins: '^JOBS\\n'\n", ""), "the launcher has no 'list: begins or ends'"},
      {with("id: '^(\\d+)', ", ""), "the launcher has no 'list: fields: id'"},
      {with(", state: '(\\S+)$'", ""), "the launcher has no 'list: fields: state'"},
      {with("  stages: {waits: [q], runs: [r]}\n", ""), "the launcher has no 'list: stages'"},
      {with("cancel: {command: [del, '{ids}']}\n", ""), "the launcher has no 'cancel: command'"},
      {with(", id: MINE_ID", ""), "the launcher has no 'script: id'"},
      {with("id: MINE_ID", "id: MINE_ID, cpus: '$N'"), "this is not the name of a variable"},
      {with("id: MINE_ID", "id: MINE_ID, walltime: '-t {hours}'"),
       "{hours} stands for nothing here"},
      {"[]", "this is not a map"},
      {"", "the launcher is empty"}};
  for (const auto& c : cases)
    EXPECT_NE(mistakes_of(c.text).find(c.says), std::string::npos) << c.says << "\nin:\n"
                                                                   << mistakes_of(c.text);
}

TEST(LauncherDefinition, a_worker_script_quotes_what_comes_from_people) {
  const spec::Source source(built_in_definition("gridengine"), "ge");
  spec::Report report(source);
  const auto definition = read_definition(source, report);
  ASSERT_TRUE(definition.has_value());
  WorkerScript script;
  script.store = "/data/it's here/wf.torc";
  script.torc = "/opt/torc";
  script.options = {"-pe smp 2"};
  script.scheduler = "a b";
  script.walltime = std::chrono::seconds(3600);
  const auto text = render_worker_script(*definition, script);
  ASSERT_TRUE(text.ok()) << text.error().text();
  for (const char* part :
       {"#!/bin/bash\n#$ -S /bin/bash\n", "\n#$ -pe smp 2\n", "\n#$ -l h_rt=3600\n",
        "export TORC_STORE='/data/it'\\''s here/wf.torc'\n", "torc_id=JOB_ID torc_cpus=NSLOTS\n",
        "'/opt/torc' worker '/data/it'\\''s here/wf.torc' --scheduler='a b' --time-limit=3600s "})
    EXPECT_NE(text->find(part), std::string::npos) << part << "\nin:\n" << *text;
  script.flags = {"--num-cpus", "1"};
  EXPECT_NE(render_worker_script(*definition, script)->find(" torc_cpus=''\n"), std::string::npos)
      << "it is told once";
  script.options = {"-l x\nrm -rf /"};
  EXPECT_FALSE(render_worker_script(*definition, script).ok());
  script.options = {};
  script.store = "wf.torc";
  EXPECT_FALSE(render_worker_script(*definition, script).ok());
}

}  // namespace
}  // namespace torc::launcher
