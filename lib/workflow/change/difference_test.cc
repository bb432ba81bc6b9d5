// A store that becomes what a newer version of its workflow file says.
#include "lib/workflow/change/difference.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/codec.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/spec/load/load.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using claim::JobState;
using claim::WorkerEpoch;

constexpr std::string_view kFirst = R"(name: wf
jobs:
  - {name: 'align_{i}', command: 'align {i}', parameters: {i: '1:3'}}
  - {name: merge, command: merge, depends_on_regexes: ['align_.*']}
  - {name: report, command: report, depends_on: [merge]}
)";

std::string edited(std::string_view from, std::string_view to, std::string_view of = kFirst) {
  std::string text(of);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

claim::Plan plan_in(std::string_view text, std::vector<claim::UserDatum>* user_data = nullptr) {
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  spec::Loaded read = spec::load(std::string(text), "wf.yaml", none);
  EXPECT_TRUE(read.expansion) << spec::to_text(read.diagnostics) << text;
  LoadedSpec loaded;
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  if (user_data != nullptr) *user_data = user_data_of(*loaded.expansion);
  return make_plan(loaded, {"/here"});
}

class ApplyTest : public ::testing::Test {
 protected:
  claim::Reshaped apply(std::string_view file) {
    std::vector<claim::UserDatum> data;
    const claim::Plan plan = plan_in(file, &data);
    auto found = difference(wf.tx, plan, data);
    EXPECT_TRUE(found.ok()) << found.error().text();
    if (!found) return {};
    edits = found->edits;
    ++wf.tx.number;
    claim::Origin origin;
    origin.at = claim::kNoon;
    origin.state = kOfFile;
    claim::Reshape reshape = found->reshape;
    reshape.definition_of = definitions_in(wf.tx, found->env);
    reshape.keeps_results = !found->has_other_environment;
    for (const JobId id : found->retired) reshape.taken_back.push_back({id, 1});
    auto done = claim::reshape(wf.tx, std::move(reshape), part_of_template, origin);
    const claim::WorkflowTerms terms{found->settings, {}, {}};
    EXPECT_TRUE(!found->settings || claim::replace_terms(wf.tx, terms).ok());
    EXPECT_TRUE(done.ok()) << done.error().text();
    wf.check();
    return done ? *done : claim::Reshaped{};
  }
  bool differs(std::string_view file) {
    std::vector<claim::UserDatum> data;
    const claim::Plan plan = plan_in(file, &data);
    const auto found = difference(wf.tx, plan, data);
    EXPECT_TRUE(found.ok());
    return !found->nothing();
  }
  // Runs all that is ready, until nothing is.
  void run_all() {
    for (;;) {
      const auto grants = wf.claim(worker, 9);
      if (grants.empty()) return;
      for (const claim::Grant& g : grants) EXPECT_TRUE(wf.finish(worker, g.token).ok());
    }
  }
  JobId id(std::string_view name) {
    RecipeBook book;
    const auto found = find_job(book, wf.tx, name);
    EXPECT_TRUE(found.ok() && *found) << name;
    return found.ok() && *found ? **found : JobId{};
  }
  claim::Job job(std::string_view name) { return wf.job(raw(id(name))); }
  JobState state(std::string_view name) { return job(name).state; }
  std::string command(std::string_view name) {
    RecipeBook book;
    const JobId at = id(name);
    const auto page = book.find(wf.tx, at);
    return page ? page->recipe.render(raw(at) - raw(page->job_template.first)).command : "?";
  }

  claim::TestWorkflow wf{plan_in(kFirst)};
  WorkerEpoch worker = wf.join();
  std::vector<Edit> edits;

  static constexpr auto R = JobState::ready;
  static constexpr auto B = JobState::blocked;
  static constexpr auto C = JobState::completed;
};

TEST_F(ApplyTest, the_same_file_changes_nothing) {
  EXPECT_FALSE(differs(kFirst));
  EXPECT_FALSE(differs(edited("name: wf", "# a remark\nname: wf")));
  run_all();
  EXPECT_FALSE(differs(kFirst));
}

// It had no more than these, and the place of the store has nothing to do with the file.
TEST_F(ApplyTest, the_settings_of_an_older_store_are_the_same_and_its_directory_stays) {
  const auto now = decode_workflow_settings(claim::read_workflow(wf.tx)->settings);
  ASSERT_TRUE(now.ok());
  const std::string older =
      Encoder().u8(2).text("/elsewhere").text(spec::encode(now->run)).u8(0).bytes();
  wf.tx.put(claim::Key(claim::Table::settings), older);
  EXPECT_FALSE(differs(kFirst));
}

TEST_F(ApplyTest, a_range_that_grows_is_added_and_what_waits_for_it_runs_again) {
  run_all();
  const auto done = apply(edited("1:3", "1:5"));
  EXPECT_EQ(done.added.count, 2U);
  EXPECT_EQ(state("align_1"), C);
  EXPECT_EQ(state("align_4"), R);
  EXPECT_EQ(state("merge"), B);
  EXPECT_EQ(state("report"), B);
  EXPECT_EQ(command("align_5"), "align 5");
  run_all();
  EXPECT_EQ(state("report"), C);
  EXPECT_EQ(job("align_1").attempt, 1U);
  EXPECT_EQ(job("merge").attempt, 2U);
  EXPECT_FALSE(differs(edited("1:3", "1:5")));
}

TEST_F(ApplyTest, a_range_that_grows_in_front_and_shrinks_keeps_what_it_has) {
  run_all();
  (void)apply(edited("1:3", "0:2"));
  EXPECT_EQ(state("align_0"), R);
  EXPECT_EQ(state("align_2"), C);
  EXPECT_EQ(command("align_0"), "align 0");
  EXPECT_EQ(command("align_2"), "align 2");
  EXPECT_EQ(state("align_3"), C) << "its result stays";
  EXPECT_TRUE(claim::is_removed(wf.tx, id("align_3")));
  run_all();
  EXPECT_EQ(state("merge"), C);
  EXPECT_FALSE(differs(edited("1:3", "0:2")));
  (void)apply(kFirst);
  EXPECT_FALSE(claim::is_removed(wf.tx, id("align_3")));
  EXPECT_EQ(state("align_3"), C);
  EXPECT_EQ(job("align_3").attempt, 1U);
  EXPECT_TRUE(claim::is_removed(wf.tx, id("align_0")));
  EXPECT_FALSE(differs(kFirst));
}

TEST_F(ApplyTest, what_has_not_run_and_is_removed_never_does) {
  (void)apply(edited("1:3", "1:2"));
  EXPECT_EQ(state("align_3"), JobState::canceled);
  EXPECT_EQ(job("align_3").outcome.cause, claim::EndCause::removed);
  run_all();
  EXPECT_EQ(state("report"), C);
  EXPECT_TRUE(claim::read_workflow(wf.tx)->all_completed()) << "the file has it no more";
  (void)apply(kFirst);
  EXPECT_EQ(state("align_3"), R);
  EXPECT_EQ(state("merge"), B);
}

TEST_F(ApplyTest, another_command_runs_again_with_what_follows) {
  run_all();
  (void)apply(edited("command: merge", "command: merge --all"));
  ASSERT_EQ(edits.size(), 1U);
  EXPECT_EQ(edits[0].kind, Edit::Kind::redefined);
  EXPECT_EQ(edits[0].entry, "merge");
  EXPECT_EQ(edits[0].over, 1U);
  EXPECT_EQ(state("align_1"), C);
  EXPECT_EQ(state("merge"), R);
  EXPECT_EQ(state("report"), B);
  EXPECT_EQ(command("merge"), "merge --all");
}

TEST_F(ApplyTest, a_stage_in_between_is_inserted_and_taken_out) {
  run_all();
  const std::string inserted = edited(
      "report, depends_on: [merge]}",
      "report, depends_on: [check]}\n  - {name: check, command: check, depends_on: [merge]}");
  (void)apply(inserted);
  EXPECT_EQ(state("merge"), C);
  EXPECT_EQ(state("check"), R);
  EXPECT_EQ(state("report"), B);
  run_all();
  EXPECT_EQ(job("report").attempt, 2U);
  (void)apply(kFirst);
  EXPECT_EQ(state("report"), R) << "it waits for others";
  EXPECT_EQ(state("check"), C);
  EXPECT_TRUE(claim::is_removed(wf.tx, id("check")));
}

TEST_F(ApplyTest, what_a_job_may_have_is_taken_over_and_runs_nothing_again) {
  const auto grants = wf.claim(worker, 1);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_TRUE(wf.finish(worker, grants[0].token).ok());
  (void)apply(edited("'align {i}',", "'align {i}', priority: 7, num_cpus: 2, memory: 2g,"));
  ASSERT_EQ(edits.size(), 1U);
  EXPECT_EQ(edits[0].kind, Edit::Kind::terms);
  EXPECT_EQ(state("align_1"), C);
  const auto next = wf.claim(worker, 9);
  ASSERT_EQ(next.size(), 2U);
  const auto t = claim::read_template(wf.tx, id("align_2"));
  EXPECT_EQ(t->priority, 7);
  EXPECT_EQ(claim::read_class(wf.tx, t->job_class).need.cpus, 2U);
}

TEST_F(ApplyTest, what_runs_goes_on_and_is_found_to_be_stale_when_it_has_ended) {
  const auto grants = wf.claim(worker, 9);
  ASSERT_EQ(grants.size(), 3U);
  wf.start(worker, grants[1].token);
  EXPECT_TRUE(wf.finish(worker, grants[0].token).ok());
  const std::string other = edited("'align {i}'", "'align -x {i}'");
  const auto done = apply(other);
  EXPECT_EQ(done.kept.size(), 1U);
  EXPECT_EQ(state("align_1"), R);
  EXPECT_EQ(command("align_1"), "align -x 1");
  EXPECT_EQ(command("align_2"), "align 2") << "by which it runs";
  EXPECT_TRUE(wf.finish(worker, grants[1].token).ok());
  EXPECT_TRUE(wf.finish(worker, grants[2].token).ok());
  EXPECT_EQ(state("align_2"), C);
  (void)apply(other);
  EXPECT_EQ(state("align_2"), R);
  EXPECT_EQ(command("align_2"), "align -x 2");
  EXPECT_FALSE(differs(other));
}

// Results of one environment are none of another.
TEST_F(ApplyTest, a_result_of_another_environment_is_not_taken_back) {
  run_all();
  const std::string env = "env: {X: '2'}\n";
  const std::string other = edited("'align {i}'", "'align -x {i}'");
  (void)apply(other);
  (void)apply(env + other);
  (void)apply(env + std::string(kFirst));
  EXPECT_EQ(state("align_1"), R) << "what it had made it had made without X";
  (void)apply(kFirst);
  EXPECT_EQ(state("align_1"), C) << "and that is what the file says again";
}

// The values of a list in another order are the same jobs.
TEST_F(ApplyTest, another_order_of_values_writes_nothing) {
  const std::string forth = edited("i: '1:3'", "i: [1, 2, 3]");
  const std::string back = edited("i: '1:3'", "i: [3, 2, 1]");
  std::vector<claim::UserDatum> data;
  const auto found = difference(wf.tx, plan_in(back, &data), data);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->nothing());
  EXPECT_FALSE(differs(forth));
}

TEST_F(ApplyTest, jobs_of_the_store_alone_are_none_of_the_files_business) {
  run_all();
  const claim::Plan more = plan_in("name: wf\njobs: [{name: extra, command: extra}]\n");
  claim::Plan addition = more;
  addition.templates[0].first = JobId{6};
  addition.definitions.clear();
  ++wf.tx.number;
  ASSERT_TRUE(claim::add_jobs(wf.tx, addition, {}).ok());
  EXPECT_FALSE(differs(kFirst));
  (void)apply(edited("1:3", "1:4"));
  EXPECT_EQ(state("extra"), R);
  run_all();
  EXPECT_EQ(state("report"), C);
}

// What a job of the file has spawned belongs to that; what a person added stands for itself, and so
// does what jobs of his have spawned.
TEST_F(ApplyTest, jobs_that_a_person_added_stand_alone) {
  run_all();
  std::uint64_t next = 6;
  const auto add = [&](const std::string& name, std::uint64_t parent) {
    claim::Plan addition =
        plan_in("name: wf\njobs: [{name: " + name + ", command: " + name + "}]\n");
    addition.templates[0].first = JobId{next++};
    addition.definitions.clear();
    claim::Origin origin;
    origin.parent = origin.root = JobId{parent};
    origin.depth = parent == 0 ? 0 : 1;
    ++wf.tx.number;
    ASSERT_TRUE(claim::add_jobs(wf.tx, addition, origin).ok());
  };
  const auto alone = [&] {
    std::vector<claim::UserDatum> data;
    const claim::Plan plan = plan_in(kFirst, &data);
    const auto found = difference(wf.tx, plan, data);
    EXPECT_TRUE(found.ok());
    return found.ok() && found->alone ? found->alone->first : std::string();
  };
  add("spawned", 1);
  EXPECT_EQ(alone(), "");
  add("extra", 0);
  EXPECT_EQ(alone(), "extra");
  run_all();
  EXPECT_EQ(alone(), "");
  add("of_extra", 7);
  EXPECT_EQ(alone(), "of_extra");
}

}  // namespace
}  // namespace torc::workflow
