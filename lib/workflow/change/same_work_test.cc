// What a store would run against what the workflow file says that it was found by.
#include "lib/workflow/change/same_work.h"

#include <gtest/gtest.h>

#include <utility>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/override.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/spec/load/load.h"
#include "lib/workflow/plan/plan_actions.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using claim::JobState;

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

// Empty: the store would run what the file says.
std::string other(const claim::Reader& store, std::string_view file,
                  const Path& runs_in = "/here") {
  const auto found =
      other_work(store, plan(file), user_data_of(*load_file(file).expansion), runs_in);
  EXPECT_TRUE(found.ok()) << found.error().text();
  return found.ok() && *found ? **found : "";
}

// Further jobs, as `torc add` makes them.
void add(claim::TestWorkflow& store, const std::string& jobs) {
  const LoadedSpec loaded = load_file("name: wf\njobs:\n" + jobs);
  claim::Plan addition;
  add_expansion(addition, *loaded.workflow, *loaded.expansion);
  const auto before = claim::count_jobs(store.tx);
  ASSERT_TRUE(before.ok());
  for (claim::Template& t : addition.templates) t.first = JobId{raw(t.first) + *before};
  addition.definitions.clear();
  ++store.tx.number;
  ASSERT_TRUE(claim::add_jobs(store.tx, std::move(addition), {}).ok());
  store.check();
}

void forge_recipe(claim::TestWorkflow& store, std::uint64_t first, std::string_view other_file) {
  const claim::Plan other = plan(other_file);
  claim::Template t = *claim::read_template(store.tx, JobId{first});
  for (const claim::Template& o : other.templates) {
    if (o.first == t.first) t.recipe = o.recipe;
  }
  store.tx.put(claim::Key(claim::Table::job_template, first), encode(t));
}

TEST(SameWork, a_store_runs_what_its_file_says) {
  const claim::TestWorkflow store(plan(kFile));
  EXPECT_EQ(other(store.tx, kFile), "");
  EXPECT_EQ(other(store.tx, with("name: wf", "# only a remark\nname: wf")), "");
}

TEST(SameWork, whatever_a_record_says_otherwise_is_named) {
  struct Case {
    std::string_view from, to, fact;
  };
  constexpr Case kCases[] = {
      {"echo a", "echo evil", "job 'a' runs 'echo evil' in the store, and 'echo a' in the file"},
      {"echo {i}", "test {i} = 2 || echo {i}", "job 's_1' runs 'test 1 = 2 || echo 1' in the st"},
      {"nice", "./evil", "job 'b' runs './evil echo b' in the store, and 'nice echo b' in the fi"},
      {"{B: two}", "{B: x}", "environment: B is 'x' in the store, and 'two' in the file"},
      {"{B: two}", "{LD_PRELOAD: x, B: two}", "LD_PRELOAD is set in the store, and not in the fi"},
      {"{B: two}", "{}", "job 'a' has another environment: B is set in the file, and not in the s"},
      {"{A: one}", "{PATH: .}", "environment of all jobs is another one: PATH is set in the store"},
      {"./mend.sh", "./evil.sh", "script is './evil.sh' in the store, and './mend.sh' in the file"},
      {"exit_codes: [3]", "exit_codes: [4]", "job 'a' has another failure handler in the store"},
      {", failure_handler: mend", "", "job 'a' has another failure handler"},
      {"num_cpus: 2", "num_cpus: 3", "job 'a' has another num_cpus in the store"},
      {"memory: 1g", "memory: 2g", "job 'a' has another memory in the store"},
      {"max_parallel: 2", "max_parallel: 3", "job 's_1' has another limit"},
      {"echo a,", "echo a, priority: 4,", "job 'a' has another priority"},
      {"echo a,", "echo a, crash_limit: 4,", "job 'a' has another crash_limit"},
      {"echo a,", "echo a, checkpoint_exit_code: 4,", "job 'a' has another checkpoint_exit_code"},
      {"echo a,", "echo a, stdio: {mode: none},", "job 'a' keeps its output otherwise"},
      {"'1:3'", "'1:4'", "entry of job 's_1' has 4 job(s) in the store, and 3 in the file"},
      {"depends_on: [a]", "depends_on: [s_1]", "job 'b' waits for other jobs in the store"},
      {", depends_on: [a]", "", "job 'b' waits for other jobs in the store"},
      {"jobs: [a]", "jobs: [s_1]", "action 2 waits for other jobs in the store"},
      {"echo done", "echo evil",
       "(on_workflow_complete) runs 'echo evil' in the store, and 'echo d"},
      {"on_workflow_complete", "on_workflow_start", "runs 'echo done' has another trigger"},
      {"max_failures: 3", "max_failures: 4", "max_failures is another one in the store"},
      {"max_failures: 3", "max_failures: 3\nexecution_config: {oom_exit_code: 9}",
       "settings of al"},
      {"max_failures: 3", "max_failures: 3\nbudget: {core_hours: 9}", "budget is another one"},
      {"max_failures: 3", "max_failures: 3\nlearn_runtimes: true", "settings of al"},
      {"max_failures: 3", "max_failures: 3\non_failure: recover",
       "job 'a' is recovered at most 3 time(s) in the store, and 0 in the file (on_failure)"},
  };
  for (const Case& c : kCases) {
    const claim::TestWorkflow store(plan(with(c.from, c.to)));
    const std::string fact = other(store.tx, kFile);
    EXPECT_NE(fact.find(c.fact), std::string::npos) << c.to << ": " << fact;
  }
}

TEST(SameWork, a_job_that_is_started_otherwise_on_its_nodes_is_named) {
  constexpr std::string_view kOnTwo =
      "name: wf\nresource_requirements: [{name: wide, num_nodes: 2}]\n"
      "jobs: [{name: a, command: x, resource_requirements: wide}]\n";
  const claim::TestWorkflow store(plan(kOnTwo));
  std::string now(kOnTwo);
  now.replace(now.find("command: x"), 10, "command: x, launch: all");
  EXPECT_NE(other(store.tx, now).find("'a' is started otherwise on its nodes"), std::string::npos);
}

TEST(SameWork, jobs_run_here_unless_the_store_was_named) {
  const claim::TestWorkflow store(plan(kFile));
  EXPECT_EQ(other(store.tx, kFile, "/elsewhere"),
            "the jobs of the store run in /elsewhere, and not here");
  EXPECT_EQ(other(store.tx, kFile, ""), "");
}

TEST(SameWork, one_job_of_many_that_runs_something_else_is_found) {
  const std::string file = with("'1:3'", "'1:100000'");
  claim::TestWorkflow store(plan(file));
  const std::size_t at = file.find("echo {i}");
  forge_recipe(store, 2, std::string(file).replace(at, 8, "echo {i:05d}"));
  EXPECT_NE(other(store.tx, file).find("job 's_1' runs 'echo 00001' in the store"),
            std::string::npos);
  forge_recipe(store, 2, file);
  EXPECT_EQ(other(store.tx, file), "");
}

TEST(SameWork, a_job_of_the_store_alone_is_named_while_it_may_run) {
  claim::TestWorkflow store(plan(kFile));
  add(store, "  - {name: more, command: echo more}\n");
  EXPECT_EQ(other(store.tx, kFile), "job 'more' is not in the file; it runs 'echo more'");
  const claim::JobRange added = claim::range(6, 1);
  ASSERT_TRUE(claim::cancel_jobs(store.tx, {&added, 1}, claim::kNoon).ok());
  EXPECT_EQ(other(store.tx, kFile), "");
  ASSERT_TRUE(claim::retry_jobs(store.tx, {&added, 1}).ok());
  EXPECT_NE(other(store.tx, kFile), "");
}

TEST(SameWork, a_second_job_of_a_name_does_not_hide_behind_the_first) {
  claim::TestWorkflow store(plan(kFile));
  add(store, "  - {name: a, command: echo evil}\n");
  EXPECT_EQ(other(store.tx, kFile), "job 'a' is not in the file; it runs 'echo evil'");
}

TEST(SameWork, a_canceled_job_that_is_to_run_again_may_run) {
  claim::TestWorkflow store(plan(kFile));
  add(store, "  - {name: more, command: echo more}\n");
  claim::Job job = claim::untouched(JobState::canceled);
  job.revoked = claim::Revoked::ending_then_again;
  store.tx.put(claim::Key(claim::Table::job, 6), encode(job));
  EXPECT_EQ(other(store.tx, kFile), "job 'more' is not in the file; it runs 'echo more'");
}

// It runs as soon as what it waits for can be met again, and nobody has to say a word for that.
TEST(SameWork, a_job_that_was_passed_over_may_run) {
  for (const auto cause : {claim::EndCause::unmet, claim::EndCause::upstream_failed}) {
    claim::TestWorkflow store(plan(kFile));
    add(store, "  - {name: more, command: echo more}\n");
    claim::Job job = claim::untouched(JobState::canceled);
    job.outcome.cause = cause;
    job.outcome.because = JobId{1};
    store.tx.put(claim::Key(claim::Table::job, 6), encode(job));
    EXPECT_EQ(other(store.tx, kFile), "job 'more' is not in the file; it runs 'echo more'");
  }
}

TEST(SameWork, what_user_data_begin_as_is_compared_and_their_values_are_not) {
  const std::string file = std::string(kFile) + "user_data:\n  - {name: lr, data: 1}\n";
  const auto with_lr = [&](const std::string& lr) {
    return std::string(kFile) + "user_data:\n  - " + lr + "\n";
  };
  claim::TestWorkflow store(plan(file));
  EXPECT_EQ(other(store.tx, file), "the user data 'lr' of the file are not declared in the store");
  ASSERT_TRUE(claim::write_user_data(store.tx, user_data_of(*load_file(file).expansion)).ok());
  EXPECT_EQ(other(store.tx, file), "");
  ASSERT_TRUE(claim::set_user_datum(store.tx, "lr", "7", {}, claim::Create::no).ok());
  EXPECT_EQ(other(store.tx, file), "");
  EXPECT_EQ(other(store.tx, with_lr("{name: lr, data: 2}")),
            "the user data 'lr' begin as '1' in the store, and '2' in the file");
  EXPECT_EQ(other(store.tx, with_lr("{name: lr, data: 1, is_ephemeral: true}")),
            "the user data 'lr' are not ephemeral in the store");
}

TEST(SameWork, a_job_of_the_file_that_the_store_lacks_is_named) {
  const claim::TestWorkflow store(plan(kFile));
  EXPECT_EQ(other(store.tx, with("actions:", "  - {name: c, command: echo c}\nactions:")),
            "job 'c' of the file is not in the store");
}

// `torc reinit` adds new entries behind those that are there, wherever they stand in the file.
TEST(SameWork, entries_are_found_by_name_wherever_they_stand) {
  claim::TestWorkflow store(plan(kFile));
  add(store, "  - {name: first, command: echo first}\n");
  EXPECT_EQ(other(store.tx, with("jobs:\n", "jobs:\n  - {name: first, command: echo first}\n")),
            "");
  EXPECT_NE(other(store.tx, with("jobs:\n", "jobs:\n  - {name: first, command: echo 1}\n")), "");
}

TEST(SameWork, an_entry_that_was_found_by_name_covers_no_other) {
  claim::TestWorkflow store(plan(kFile));
  add(store, "  - {name: first, command: echo first}\n");
  add(store, "  - {name: first, command: echo evil}\n");
  EXPECT_EQ(other(store.tx, with("jobs:\n", "jobs:\n  - {name: first, command: echo first}\n")),
            "job 'first' is not in the file; it runs 'echo evil'");
}

TEST(SameWork, an_action_that_no_counter_knows_of_is_seen) {
  claim::TestWorkflow store(plan(kFile));
  const claim::Action evil{claim::Trigger::workflow_start, false, encode_commands({"echo evil"})};
  store.tx.put(claim::action_key(7), encode(evil));
  EXPECT_EQ(other(store.tx, kFile), "the store has 3 action(s), and the file 2");
}

TEST(SameWork, a_recipe_that_cannot_be_read_is_damage) {
  claim::TestWorkflow store(plan(kFile));
  claim::Template t = *claim::read_template(store.tx, JobId{1});
  t.recipe = "none";
  store.tx.put(claim::Key(claim::Table::job_template, 1), encode(t));
  const auto found = other_work(store.tx, plan(kFile), {}, "");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::corrupt);
}

TEST(SameWork, what_happened_to_jobs_is_no_difference) {
  claim::TestWorkflow store(plan(kFile));
  const claim::WorkerEpoch worker = store.join();
  const auto grants = store.claim(worker, 4);
  ASSERT_FALSE(grants.empty());
  ASSERT_TRUE(store.finish(worker, grants[0].token).ok());
  EXPECT_EQ(other(store.tx, kFile), "") << "it ran in part";
  const claim::JobRange all = claim::range(1, 5);
  claim::Setting more;
  more.needs["memory"] = mebibytes(4096).value;
  more.priority = 7;
  ASSERT_TRUE(claim::set_jobs(store.tx, {&all, 1}, more).ok());
  EXPECT_EQ(other(store.tx, kFile), "") << "its jobs were given more memory";
  const claim::JobRange first = claim::range(1, 1);
  ASSERT_TRUE(claim::reset_jobs(store.tx, {&first, 1}, claim::Force::yes, claim::kNoon).ok());
  EXPECT_EQ(other(store.tx, kFile), "") << "it was reset";
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

TEST(SameWork, a_million_jobs_cost_what_three_do) {
  const auto reads = [](const std::string& file) {
    store::MemoryState state;
    EXPECT_TRUE(claim::write_plan(state, plan(file)).ok());
    const CountingReader reader(state);
    EXPECT_EQ(other(reader, file), "");
    return reader.reads;
  };
  EXPECT_EQ(reads(with("'1:3'", "'1:1000000'")), reads(std::string(kFile)));
}

}  // namespace
}  // namespace torc::workflow
