// `torc logs --diagnose`: why jobs failed, by what torc saw and by what their output says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class Diagnose : public testing::TestWithParam<const char*> {
 protected:
  void run(const std::string& jobs) const {
    here_.write("wf.yaml", fmt::format("name: wf\nexecution_config:\n  stdio: {{mode: {}}}\n{}",
                                       GetParam(), jobs));
    EXPECT_EQ(here_.run({"run", "wf.yaml"}).exit_code, 1);
  }
  // The diagnoses of each job that was looked at.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> by_job(
      const std::vector<std::string>& names = {}) const {
    std::vector<std::string> words{"logs", "wf.torc"};
    words.insert(words.end(), names.begin(), names.end());
    words.emplace_back("--diagnose");
    std::map<std::string, std::vector<std::string>> found;
    const json all = here_.json(words);
    for (const json& job : all["diagnosed"]) {
      auto& causes = found[job["job"]];
      for (const json& f : job["signs"]) causes.push_back(f["diagnosis"]);
    }
    return found;
  }

  Workplace here_;
};

using Found = std::map<std::string, std::vector<std::string>>;

TEST_P(Diagnose, tells_causes_from_either_stream_and_from_how_jobs_ended) {
  run(R"(jobs:
  - {name: good, command: "echo No space left on device"}
  - {name: full, command: "echo 'cp: No space left on device' >&2; exit 1"}
  - {name: python, command: "printf 'Traceback (most recent call last):\nModuleNotFoundError: No module named x\n'; exit 1"}
  - {name: crash, command: "kill -SEGV $$"}
  - {name: missing, command: /no/such/program}
  - {name: late, command: sleep 100, resource_requirements: short}
  - {name: dark, command: exit 7}
resource_requirements:
  - {name: short, runtime: 1s}
)");
  const Found found = by_job();
  EXPECT_EQ(found, (Found{{"full", {"disk_full"}},
                          {"python", {"python_module"}},
                          {"crash", {"segmentation_fault"}},
                          {"missing", {"command_missing"}},
                          {"late", {"time_limit"}},
                          {"dark", {}}}));
  const Ended text = here_.run({"logs", "--diagnose"});
  EXPECT_EQ(text.exit_code, 0) << text;
  EXPECT_TRUE(text.says("no space left: 1 job: full")) << text;
  EXPECT_TRUE(text.says(GetParam() == std::string("combined")
                            ? "full, stdout: cp: No space left on device"
                            : "full, stderr: cp: No space left on device"))
      << text;
  EXPECT_TRUE(text.says("time limit: 1 job: late\n  torc saw it of each")) << text;
  EXPECT_TRUE(text.says("not known: 1 job: dark")) << text;
  EXPECT_FALSE(text.says("good")) << text;
}

TEST_P(Diagnose, looks_at_the_jobs_that_are_named_and_at_their_newest_attempts) {
  run(R"(failure_handlers:
  - {name: again, rules: [{match_all_exit_codes: true, max_retries: 1}]}
jobs:
  - name: a
    failure_handler: again
    command: "test $TORC_ATTEMPT_ID = 1 && echo Stale file handle || echo Disk quota exceeded; exit 1"
  - {name: b, command: "echo Input/output error; exit 1"}
  - {name: c, command: "true"}
)");
  EXPECT_EQ(by_job({"a"}), (Found{{"a", {"quota"}}}));
  EXPECT_EQ(by_job({"a", "b", "c"}), (Found{{"a", {"quota"}}, {"b", {"io_error"}}, {"c", {}}}));
  const Ended nobody = here_.run({"logs", "wf.torc", "nobody", "--diagnose"});
  EXPECT_EQ(nobody.exit_code, 2) << nobody;
}

TEST_P(Diagnose, reads_only_both_ends_of_long_output_and_says_so) {
  // Larger than what is read, with something to find at its begin, in its middle and at its end.
  run(R"(jobs:
  - name: long
    command: >-
      echo Stale file handle; head -c 6000000 /dev/zero | tr '\0' 'x'; echo; echo Disk quota exceeded;
      head -c 6000000 /dev/zero | tr '\0' 'x'; echo; echo Input/output error; exit 1
)");
  EXPECT_EQ(by_job(), (Found{{"long", {"stale_file", "io_error"}}}));
  EXPECT_TRUE(here_.run({"logs", "--diagnose"}).says("only the first and last 4 MiB"));
}

TEST_P(Diagnose, reads_the_end_of_a_line_that_is_longer_than_what_is_read) {
  run(R"(jobs:
  - name: line
    command: "head -c 9000000 /dev/zero | tr '\\0' '='; echo ' No space left on device'; exit 1"
)");
  EXPECT_EQ(by_job(), (Found{{"line", {"disk_full"}}}));
}

TEST_P(Diagnose, says_that_nothing_failed) {
  here_.write("wf.yaml", "name: wf\njobs: [{name: a, command: 'true'}]\n");
  EXPECT_EQ(here_.run({"run", "wf.yaml"}).exit_code, 0);
  const Ended none = here_.run({"logs", "--diagnose"});
  EXPECT_EQ(none.exit_code, 0) << none;
  EXPECT_TRUE(none.says("no job has failed")) << none;
}

INSTANTIATE_TEST_SUITE_P(Modes, Diagnose, testing::Values("separate", "packed", "combined"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace torc::itest
