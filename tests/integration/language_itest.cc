// What the workflow file says of a job is what its command finds: what it needs, what it waits for,
// and the shell that it is for.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class WorkflowFile : public testing::Test {
 protected:
  void run(const std::string& text) {
    here.write("wf.yaml", text);
    const Ended ended = here.run({"run", "wf.yaml", "--num-cpus", "4", "--memory", "8g"});
    ASSERT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(here.run({"verify"}).exit_code, 0);
  }
  [[nodiscard]] std::string log(const std::string& job) const {
    return here.run({"logs", job}).out;
  }

  const Workplace here;
};

TEST_F(WorkflowFile, says_in_a_job_what_it_needs) {
  run(std::string(R"(name: wf
resource_requirements: [{name: small, cpus: 2, memory: 1g, runtime: 1h}]
jobs:
  - {name: own, command: echo $TORC_NUM_CPUS $TORC_MEMORY_BYTES, cpus: 3, memory: 200m}
  - name: both
    command: |
      echo $TORC_NUM_CPUS $TORC_MEMORY_BYTES
      echo '{"jobs": [{"name": "spawned", "command": "echo $TORC_NUM_CPUS $TORC_MEMORY_BYTES",
                       "resource_requirements": "small", "num_cpus": 4}]}' > more.json
      )") +
      TORC_PROGRAM + R"( spawn more.json
    resource_requirements: small
    memory: 300m
    runtime: 2m
)");
  EXPECT_EQ(log("own"), "3 209715200\n");
  EXPECT_TRUE(log("both").starts_with("2 314572800\n")) << log("both");
  EXPECT_EQ(log("spawned"), "4 1073741824\n");
  const json both = here.json({"job", "both"});
  EXPECT_EQ(both["cpus"], 2);
  EXPECT_EQ(both["runtime_seconds"], 120);
}

TEST_F(WorkflowFile, names_the_shell_and_the_datasets_of_a_job) {
  run(R"(name: wf
datasets: [{name: parts, path: parts/}]
failure_handlers:
  - name: again
    rules: [{exit_codes: [7], recovery_script: "#!/bin/bash\n[[ $TORC_RETURN_CODE == 7 ]] && x=(a b) && touch ${#x[@]}"}]
jobs:
  - {name: sum, command: cat parts/*, input_datasets: parts}
  - name: "part_{i}"
    command: |
      #!/bin/bash
      values=(zero one two)
      mkdir -p parts; echo ${values[{i}]} > parts/{i}
    output_datasets: parts
    parameters: {i: "0:2"}
  - {name: mended, command: test -e 2 || exit 7, failure_handler: again}
)");
  EXPECT_EQ(log("sum"), "zero\none\ntwo\n");
}

}  // namespace
}  // namespace torc::itest
