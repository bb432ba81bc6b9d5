// Whatever a newer version of a workflow file says otherwise is found, and told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/override.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/spec/load/load.h"
#include "lib/workflow/change/difference.h"
#include "lib/workflow/plan/plan_actions.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

constexpr std::string_view kFile = R"(name: wf
env: {A: one}
max_failures: 3
failure_handlers: [{name: mend, rules: [{exit_codes: [3], recovery_script: ./mend.sh}]}]
resource_requirements: [{name: small, num_cpus: 2, memory: 1g}]
jobs:
  - {name: a, command: echo a, env: {B: two}, failure_handler: mend, resource_requirements: small}
  - {name: 's_{i}', command: 'echo {i}', parameters: {i: '1:3'}, max_parallel: 2}
  - {name: b, command: echo b, invocation_script: nice, depends_on: [a]}
actions:
  - {trigger_type: on_workflow_complete, action_type: run_commands, commands: [echo done]}
  - {trigger_type: on_jobs_complete, action_type: run_commands, jobs: [a], commands: [echo then]}
)";

std::string with(std::string_view from, std::string_view to) {
  std::string text(kFile);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

LoadedSpec load_file(std::string_view text) {
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  spec::Loaded read = spec::load(std::string(text), "wf.yaml", none);
  EXPECT_TRUE(read.expansion) << spec::to_text(read.diagnostics) << text;
  LoadedSpec loaded;
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  return loaded;
}

claim::Plan plan(std::string_view text) {
  return make_plan(load_file(text), {"/here"});
}

// "ENTRY (JOBS): WHAT; ...", or "refused: WHY". Empty: nothing differs.
std::string told(const claim::Reader& store, std::string_view file) {
  const auto found = difference(store, plan(file), user_data_of(*load_file(file).expansion));
  if (!found) {
    const std::string text = found.error().text();
    const std::size_t why = text.find(": ");
    return "refused" + text.substr(why, text.find('\n') - why);
  }
  std::string text;
  for (const Edit& e : found->edits)
    text += fmt::format("{}{} ({}): {}", text.empty() ? "" : "; ", e.entry, e.jobs, e.what);
  return text;
}

TEST(Edits, there_are_none_where_the_store_is_of_the_file) {
  const claim::TestWorkflow store(plan(kFile));
  EXPECT_EQ(told(store.tx, kFile), "");
  EXPECT_EQ(told(store.tx, with("name: wf", "# only a remark\nname: wf")), "");
}

TEST(Edits, tell_whatever_a_file_says_otherwise) {
  struct Case {
    std::string_view from, to, told;
  };
  constexpr Case kCases[] = {
      {"echo a", "echo evil", "a (1): the command changed: 'echo a' was 'echo evil'"},
      {"echo {i}", "test {i} = 2 || echo {i}",
       "s_{i} (3): the command changed: 'echo 1' was 'test 1 = 2 || echo 1'"},
      {"nice", "./evil", "b (1): the command changed: 'nice echo b' was './evil echo b'"},
      {"{B: two}", "{B: x}", "a (1): its environment changed"},
      {"{B: two}", "{LD_PRELOAD: x, B: two}", "a (1): its environment changed"},
      {"{B: two}", "{}", "a (1): its environment changed"},
      {"{A: one}", "{PATH: .}", "env (0): the environment of all jobs changed"},
      {"./mend.sh", "./evil.sh", "a (1): failure handler"},
      {"exit_codes: [3]", "exit_codes: [4]", "a (1): failure handler"},
      {", failure_handler: mend", "", "a (1): failure handler"},
      {"num_cpus: 2", "num_cpus: 3", "a (1): num_cpus"},
      {"memory: 1g", "memory: 2g", "a (1): memory"},
      {"max_parallel: 2", "max_parallel: 3", "s_{i} (3): limits"},
      {"echo a,", "echo a, priority: 4,", "a (1): priority"},
      {"echo a,", "echo a, crash_limit: 4,", "a (1): crash_limit"},
      {"echo a,", "echo a, checkpoint_exit_code: 4,", "a (1): checkpoint_exit_code"},
      {"echo a,", "echo a, stdio: {mode: none},", "a (1): stdio"},
      {"'1:3'", "'1:4'", "s_{i} (1): "},
      {"depends_on: [a]", "depends_on: [s_1]", "b (1): it waits for other jobs"},
      {", depends_on: [a]", "", "b (1): it waits for other jobs"},
      {", depends_on: [a]", ", depends_on: [a], cancel_on_blocking_job_failure: true",
       "b (1): cancel_on_blocking_job_failure"},
      {"jobs: [a]", "jobs: [s_1]", "refused: action 2 waits for other jobs in the store"},
      {"echo done", "echo evil",
       "action 1 (0): on_workflow_complete: it runs 'echo done' and ran 'echo evil'"},
      {"on_workflow_complete", "on_workflow_start",
       "refused: the action that runs 'echo done' has another trigger in the store"},
      {"max_failures: 3", "max_failures: 4", "max_failures (0): 3 was 4"},
      {"max_failures: 3", "max_failures: 3\nexecution_config: {oom_exit_code: 9}",
       "execution_config (0): settings of all jobs, or the name of the workflow"},
      {"max_failures: 3", "max_failures: 3\nbudget: {core_hours: 9}", "budget (0): is another one"},
      {"max_failures: 3", "max_failures: 3\nlearn_runtimes: true",
       "execution_config (0): settings of all jobs, or the name of the workflow"},
      {"max_failures: 3", "max_failures: 3\non_failure: recover",
       "a (1): failure handler; s_{i} (3): failure handler; b (1): failure handler; "
       "execution_config (0): settings of all jobs, or the name of the workflow"},
  };
  for (const Case& c : kCases) {
    const claim::TestWorkflow store(plan(with(c.from, c.to)));
    EXPECT_EQ(told(store.tx, kFile), c.told) << c.to;
  }
}

TEST(Edits, what_user_data_begin_as_is_compared_and_their_values_are_not) {
  const std::string file = std::string(kFile) + "user_data:\n  - {name: lr, data: 1}\n";
  const auto with_lr = [&](const std::string& lr) {
    return std::string(kFile) + "user_data:\n  - " + lr + "\n";
  };
  claim::TestWorkflow store(plan(file));
  EXPECT_EQ(told(store.tx, file), "user data lr (0): is new");
  ASSERT_TRUE(claim::write_user_data(store.tx, user_data_of(*load_file(file).expansion)).ok());
  EXPECT_EQ(told(store.tx, file), "");
  ASSERT_TRUE(claim::set_user_datum(store.tx, "lr", "7", {}, claim::Create::no).ok());
  EXPECT_EQ(told(store.tx, file), "");
  EXPECT_EQ(told(store.tx, with_lr("{name: lr, data: 2}")),
            "user data lr (0): has another initial value");
  EXPECT_EQ(told(store.tx, with_lr("{name: lr, data: 1, is_ephemeral: true}")),
            "user data lr (0): has another is_ephemeral");
}

TEST(Edits, an_action_that_no_counter_knows_of_is_seen) {
  claim::TestWorkflow store(plan(kFile));
  const claim::Action evil{claim::Trigger::workflow_start, false, encode_commands({"echo evil"})};
  store.tx.put(claim::action_key(7), encode(evil));
  EXPECT_EQ(told(store.tx, kFile), "refused: the store has 3 actions, and the file 2");
}

TEST(Edits, what_happened_to_jobs_is_no_difference) {
  claim::TestWorkflow store(plan(kFile));
  const claim::WorkerEpoch worker = store.join();
  const auto grants = store.claim(worker, 4);
  ASSERT_FALSE(grants.empty());
  ASSERT_TRUE(store.finish(worker, grants[0].token).ok());
  EXPECT_EQ(told(store.tx, kFile), "") << "it ran in part";
  const claim::JobRange all = claim::range(1, 5);
  claim::Setting more;
  more.needs["memory"] = mebibytes(4096).value;
  more.priority = 7;
  ASSERT_TRUE(claim::set_jobs(store.tx, {&all, 1}, more).ok());
  EXPECT_EQ(told(store.tx, kFile), "") << "its jobs were given more memory";
  const claim::JobRange first = claim::range(1, 1);
  ASSERT_TRUE(claim::reset_jobs(store.tx, {&first, 1}, claim::Force::yes, claim::kNoon).ok());
  EXPECT_EQ(told(store.tx, kFile), "") << "it was reset";
}

class CountingReader final : public store::Reader {
 public:
  explicit CountingReader(const store::Reader& real) : real_(real) {}
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const override {
    ++reads;
    return real_.get(key);
  }
  [[nodiscard]] std::optional<store::Entry> seek(std::string_view from) const override {
    ++reads;
    return real_.seek(from);
  }
  [[nodiscard]] std::optional<store::Entry> seek_before(std::string_view before) const override {
    ++reads;
    return real_.seek_before(before);
  }
  void scan(std::string_view from,
            const std::function<bool(const store::Entry&)>& visit) const override {
    real_.scan(from, [&](const store::Entry& e) {
      ++reads;
      return visit(e);
    });
  }
  [[nodiscard]] std::uint64_t sequence() const override { return real_.sequence(); }

  mutable std::uint64_t reads = 0;

 private:
  const store::Reader& real_;
};

TEST(Edits, a_million_jobs_cost_what_three_do) {
  const auto reads = [](const std::string& file) {
    store::MemoryState state;
    EXPECT_TRUE(claim::write_plan(state, plan(file)).ok());
    const CountingReader reader(state);
    EXPECT_EQ(told(reader, file), "");
    return reader.reads;
  };
  EXPECT_EQ(reads(with("'1:3'", "'1:1000000'")), reads(std::string(kFile)));
}

}  // namespace
}  // namespace torc::workflow
