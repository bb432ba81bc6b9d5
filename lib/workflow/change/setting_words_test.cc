#include "lib/workflow/change/setting_words.h"

#include <gtest/gtest.h>

#include <utility>

#include "lib/claim/testing/test_workflow.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using Words = std::vector<std::string>;

std::string error_of(const Words& words) {
  const auto parsed = parse_setting(words);
  return parsed ? "" : parsed.error().text();
}

TEST(SettingWords, names_and_settings_may_stand_in_any_order) {
  const auto parsed = parse_setting({"a", "priority=-5", "b", "memory=8g", "cpus=2", "gpus=0"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->names, (Words{"a", "b"}));
  EXPECT_EQ(parsed->setting.priority, -5);
  EXPECT_EQ(parsed->setting.needs.at("memory"), mebibytes(8192).value);
  EXPECT_EQ(parsed->setting.needs.at("cpus"), 2U);
  EXPECT_EQ(parsed->setting.needs.at("gpus"), 0U);
  const auto part = parse_setting({"gpus=0.5"});
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->setting.named, (Amounts{{"gpus", 500}}));
  EXPECT_TRUE(part->setting.needs.empty());
  EXPECT_FALSE(parse_setting({"gpus=1.5"}).ok());
  EXPECT_EQ(parsed->setting.labels, std::nullopt);
  EXPECT_EQ(parsed->shown, "priority=-5 memory=8g cpus=2 gpus=0");
}

TEST(SettingWords, what_has_a_name_is_set_behind_its_kind) {
  const auto parsed = parse_setting(
      {"resources.Licence=0.5", "a", "resources.fpga=2", "resources.port=none", "locality=strict"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->setting.named, (Amounts{{"fpga", 2000}, {"licence", 500}, {"port", 0}}));
  EXPECT_EQ(parsed->setting.needs.at("locality"), static_cast<std::uint64_t>(Locality::strict));
  EXPECT_EQ(parsed->names, Words{"a"});
  EXPECT_TRUE(parse_setting({"resources.gpus/a100=2"}).ok());
}

TEST(SettingWords, what_has_a_name_is_set_to_what_there_can_be_of_it) {
  EXPECT_NE(error_of({"a", "resources.=1"}).find("names no resource"), std::string::npos);
  EXPECT_NE(error_of({"a", "resources.cpus=1"}).find("a key of its own"), std::string::npos);
  EXPECT_NE(error_of({"a", "resources.gpus=1"}).find("a key of its own"), std::string::npos);
  EXPECT_NE(error_of({"a", "resources=1"}).find("resources.NAME"), std::string::npos);
  for (const char* text : {"resources.fpga=0", "resources.fpga=some", "resources.gpus/a100=1.5",
                           "locality=near", "locality="})
    EXPECT_NE(error_of({"a", text}).find("cannot be"), std::string::npos) << text;
  EXPECT_NE(error_of({"resources.x=1", "resources.x=2"}).find("set twice"), std::string::npos);
  EXPECT_NE(error_of({"gpus=1", "resources.gpus/a100=2"}).find("set one"), std::string::npos);
}

TEST(SettingWords, a_runtime_is_written_in_any_usual_form_or_taken_away) {
  for (const char* text : {"runtime=90m", "runtime=PT1H30M", "runtime=1:30:00"}) {
    const auto parsed = parse_setting({text});
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->setting.needs.at("runtime"), 90U * 60) << text;
  }
  EXPECT_EQ(parse_setting({"runtime=none"})->setting.needs.at("runtime"), 0U);
}

TEST(SettingWords, a_label_may_be_taken_away) {
  EXPECT_EQ(parse_setting({"label="})->setting.labels, "");
  EXPECT_EQ(parse_setting({"label=gpu=2"})->setting.labels, "gpu=2");
}

TEST(SettingWords, a_slip_is_told_with_what_was_probably_meant) {
  EXPECT_NE(error_of({"a", "prioritie=3"}).find("did you mean 'priority'?"), std::string::npos);
  EXPECT_NE(error_of({"a", "memroy=3g"}).find("did you mean 'memory'?"), std::string::npos);
}

TEST(SettingWords, what_cannot_be_set_is_not_taken_for_the_name_of_a_job) {
  EXPECT_NE(error_of({"a", "scheduler=x"}).find("'scheduler' cannot be set"), std::string::npos);
  EXPECT_NE(error_of({"a", "priority=1", "scheduler=x"}).find("'scheduler' cannot be set"),
            std::string::npos);
}

TEST(SettingWords, jobs_may_have_names_with_an_equals_sign) {
  const auto parsed = parse_setting({"train_lr=0.1", "priority=1"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->names, Words{"train_lr=0.1"});
}

TEST(SettingWords, values_that_a_key_does_not_take_are_refused_with_those_that_it_takes) {
  for (const char* text : {"priority=high", "priority=99999999999", "cpus=0", "gpus=-1",
                           "memory=much", "memory=0", "runtime=0s", "runtime=soon", "label=a\nb"}) {
    EXPECT_NE(error_of({"a", text}).find("cannot be"), std::string::npos) << text;
  }
  EXPECT_EQ(error_of({"a", "cpus=0"}), "cpus cannot be '0'\n  1 to 65536");
  EXPECT_EQ(
      error_of({"a", "memory=8"}),
      "memory cannot be '8': '8' without a unit is 8 bytes\n  write 8m or 8g, or 8b where bytes "
      "are meant");
  EXPECT_EQ(
      error_of({"a", "runtime=30"}),
      "runtime cannot be '30': '30' is a duration without a unit\n  write it like PT30M, P1DT12H, "
      "30m, 1h30m, 1:30:00 or 2-12:00:00; runtime=none removes it");
  EXPECT_NE(error_of({"a", "min_time=30:00"}).find("may be minutes or hours"), std::string::npos);
  EXPECT_NE(error_of({"cpus=1", "cpus=2"}).find("set twice"), std::string::npos);
  EXPECT_NE(error_of({"a"}).find("there is nothing to set"), std::string::npos);
  EXPECT_NE(error_of({"a", "wrong_key=1"}).find("'wrong_key' cannot be set"), std::string::npos);
}

TEST(SettingWords, a_part_of_a_gpu_is_for_jobs_that_are_no_steps_of_slurm) {
  for (const auto& [mode, taken] :
       {std::pair(spec::ExecutionMode::slurm, false), std::pair(spec::ExecutionMode::direct, true),
        std::pair(spec::ExecutionMode::automatic, true)}) {
    WorkflowSettings settings;
    settings.directory.path = "/";
    settings.run.execution.mode = mode;
    claim::Plan plan = claim::plan_of({{1, 0}});
    plan.settings = encode(settings);
    const claim::TestWorkflow wf(plan);
    for (const char* word : {"gpus=2", "gpus=all", "gpus=0", "cpus=1"})
      EXPECT_TRUE(check_mode(wf.tx, parse_setting({word})->setting).ok()) << word;
    const auto part = check_mode(wf.tx, parse_setting({"gpus=0.5"})->setting);
    EXPECT_EQ(part.ok(), taken);
    EXPECT_TRUE(taken || part.error().kind == ErrorKind::invalid);
  }
}

}  // namespace
}  // namespace torc::workflow
