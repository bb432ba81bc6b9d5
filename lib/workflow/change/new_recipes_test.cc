// A new version of a workflow file against a store: which jobs are the same, which are new, and
// what is refused.
#include <gtest/gtest.h>

#include <utility>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/live.h"
#include "lib/spec/load/load.h"
#include "lib/workflow/change/stale.h"

namespace torc::workflow {
namespace {

using claim::JobState;

LoadedSpec load(const std::string& jobs) {
  const std::string text = "name: wf\njobs:\n" + jobs;
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  spec::Loaded read = spec::load(text, "wf.yaml", none);
  EXPECT_TRUE(read.expansion) << spec::to_text(read.diagnostics) << text;
  LoadedSpec loaded;
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  return loaded;
}

struct World {
  explicit World(const std::string& jobs) : wf(make_plan(load(jobs), {"/"})) {}

  Result<NewRecipes> compare(const std::string& jobs) const {
    const LoadedSpec loaded = load(jobs);
    return compare_with_store(wf.tx, make_plan(loaded, {"/"}), user_data_of(*loaded.expansion));
  }
  std::string refusal(const std::string& jobs) const {
    const auto found = compare(jobs);
    return found ? "" : found.error().text();
  }
  // As the command does it.
  std::uint64_t apply(const std::string& jobs) {
    const auto found = compare(jobs);
    EXPECT_TRUE(found.ok()) << found.error().text();
    if (!found) return 0;
    ++wf.tx.number;
    for (const NewRecipes::Entry& e : found->changed)
      EXPECT_TRUE(claim::replace_recipe(wf.tx, e.first, e.recipe).ok());
    std::uint64_t added = 0;
    if (!found->added.templates.empty()) {
      const auto range = claim::add_jobs(wf.tx, found->added, {});
      EXPECT_TRUE(range.ok()) << range.error().text();
      added = range ? range->count : 0;
    }
    wf.check();
    return added;
  }
  std::string name(std::uint64_t id) const {
    RecipeBook book;
    return job_name(book, wf.tx, JobId{id});
  }
  std::vector<JobId> waits_for(std::uint64_t id) const {
    return claim::waits_for(wf.tx, JobId{id}, 10);
  }

  claim::TestWorkflow wf;
};

constexpr const char* kSweep = "  - {name: 's_{i}', command: 'true', parameters: {i: '1:3'}}\n";
constexpr const char* kA = "  - {name: a, command: 'true'}\n";
constexpr const char* kB = "  - {name: b, command: 'true', depends_on: [a]}\n";
const std::string kAll = std::string(kSweep) + kA + kB;

TEST(NewRecipes, the_same_file_changes_nothing) {
  World w(kAll);
  const auto found = w.compare(kAll);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_TRUE(found->changed.empty());
  EXPECT_TRUE(found->added.templates.empty());
}

TEST(NewRecipes, entries_are_found_by_name_wherever_they_stand) {
  World w(kAll);
  const auto found =
      w.compare(std::string(kA) + "  - {name: b, command: 'new', depends_on: [a]}\n" + kSweep);
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_EQ(found->changed.size(), 1U);
  EXPECT_EQ(raw(found->changed[0].first), 5U);
  EXPECT_TRUE(found->added.templates.empty());
}

TEST(NewRecipes, new_jobs_wait_for_those_that_are_there_and_for_each_other) {
  World w(kAll);
  EXPECT_EQ(w.apply(std::string("  - {name: x, command: 'true', depends_on: [b, 's_2']}\n") + kA +
                    "  - {name: y, command: 'true', depends: {afterany: x}}\n" + kSweep + kB),
            2U);
  EXPECT_EQ(w.name(6), "x");
  EXPECT_EQ(w.name(7), "y");
  EXPECT_EQ(w.waits_for(6), (std::vector<JobId>{JobId{2}, JobId{5}}));
  EXPECT_EQ(w.waits_for(7), std::vector<JobId>{JobId{6}});
  EXPECT_EQ(w.waits_for(5), std::vector<JobId>{JobId{4}});
}

TEST(NewRecipes, once_taken_over_a_file_is_the_same_and_may_grow_again) {
  World w(kAll);
  const std::string x = "  - {name: x, command: 'true', depends_on: [b]}\n";
  const std::string y = "  - {name: 'y_{i}', command: 'true', parameters: {i: '1:2'}}\n";
  EXPECT_EQ(w.apply(x + kAll), 1U);
  EXPECT_EQ(w.apply(x + kAll), 0U);
  EXPECT_EQ(w.apply(kAll + x + y), 2U);
  EXPECT_EQ(w.apply(kAll), 0U) << "what was added need not be in the file";
}

TEST(NewRecipes, what_is_there_is_not_made_to_wait_for_others) {
  World w(kAll);
  const std::string before = std::string(kSweep) + kA;
  for (const char* b : {"  - {name: b, command: 'true'}\n",
                        "  - {name: b, command: 'true', depends_on: [a, 's_1']}\n",
                        "  - {name: b, command: 'true', depends: {afterany: a}}\n",
                        "  - {name: b, command: 'true', depends_on: [a, n]}\n"
                        "  - {name: n, command: 'true'}\n"}) {
    EXPECT_NE(w.refusal(before + b).find("'b' waits for other jobs"), std::string::npos)
        << w.refusal(before + b);
  }
  EXPECT_NE(w.refusal(std::string(kSweep) + "  - {name: a, command: x, depends_on: ['s_1']}\n" + kB)
                .find("'a' waits for other jobs"),
            std::string::npos);
}

TEST(NewRecipes, an_entry_keeps_its_jobs) {
  World w(kAll);
  const std::string rest = std::string(kA) + kB;
  EXPECT_NE(w.refusal("  - {name: 's_{i}', command: 'true', parameters: {i: '1:4'}}\n" + rest)
                .find("has 4 job(s) in the new workflow file, and 3"),
            std::string::npos);
  EXPECT_NE(w.refusal("  - {name: 's_{i}', command: 'true', parameters: {i: [1, 3, 2]}}\n" + rest)
                .find("the job 's_2' is called 's_3'"),
            std::string::npos);
  EXPECT_NE(w.refusal("  - {name: 's_{i}', command: 'true', parameters: {i: '2:4'}}\n" + rest)
                .find("is not in the new workflow file"),
            std::string::npos);
}

TEST(NewRecipes, a_job_that_is_not_over_may_not_be_left_out_and_each_one_is_named) {
  World w(kAll);
  const std::string rest = std::string(kA) + kB;
  const std::string refused = w.refusal(rest);
  for (const char* name : {"'s_1'", "'s_2'", "'s_3'"}) {
    EXPECT_NE(refused.find(std::string("the job ") + name + " (ready) is not in the new"),
              std::string::npos)
        << refused;
  }
  EXPECT_EQ(refused.find("torc cancel"), refused.rfind("torc cancel")) << "one remedy for all";
  const claim::JobRange sweep = claim::range(1, 3);
  ASSERT_TRUE(claim::cancel_jobs(w.wf.tx, {&sweep, 1}, claim::kNoon).ok());
  EXPECT_EQ(w.refusal(rest), "");
}

TEST(NewRecipes, jobs_that_completed_or_failed_may_be_left_out_and_are_counted) {
  World w(kAll);
  const claim::WorkerEpoch worker = w.wf.join();
  const auto grants = w.wf.claim(worker, 2);
  ASSERT_EQ(claim::ids(grants), (std::vector<std::uint64_t>{1, 2}));
  ASSERT_TRUE(w.wf.finish(worker, grants[0].token).ok());
  ASSERT_TRUE(w.wf.finish(worker, grants[1].token, JobState::failed).ok());
  const claim::JobRange third = claim::range(3, 1);
  ASSERT_TRUE(claim::cancel_jobs(w.wf.tx, {&third, 1}, claim::kNoon).ok());
  const auto found = w.compare(std::string(kA) + kB);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->left_out, 3U);
  EXPECT_EQ(found->left_out_names, (std::vector<std::string>{"s_1", "s_2", "s_3"}));
}

TEST(NewRecipes, everything_that_is_wrong_is_told_at_once) {
  World w(kAll);
  const std::string refused = w.refusal(
      "  - {name: 's_{i}', command: 'true', parameters: {i: '1:4'}}\n"
      "  - {name: b, command: 'true'}\n");
  EXPECT_NE(refused.find("for 2 reasons"), std::string::npos) << refused;
  EXPECT_NE(refused.find("has 4 job(s)"), std::string::npos) << refused;
  EXPECT_NE(refused.find("the job 'a' (ready) is not in"), std::string::npos) << refused;
}

}  // namespace
}  // namespace torc::workflow
