// What commands make of a store whose records make no sense (lib/claim/audit/forged_test.cc has
// more).
#include <gtest/gtest.h>

#include "bin/commands/selection.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/report/failure_diagnosis.h"
#include "lib/spec/load/load.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

claim::Plan plan_of_sweep() {
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  spec::Loaded read = spec::load(
      "name: wf\njobs:\n  - {name: 's_{i}', command: 'true', parameters: {i: [3, 5, 8]}}\n",
      "wf.yaml", none);
  EXPECT_TRUE(read.expansion);
  workflow::LoadedSpec loaded;
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  return workflow::make_plan(loaded, {"/"});
}

class ForgedStore : public ::testing::Test {
 protected:
  // All of the store but the recipe says that the sweep of three is one of `jobs`.
  void pretend(std::uint64_t jobs) {
    claim::Template t = *claim::read_template(wf.tx, JobId{1});
    claim::Span span = *claim::decode_span(claim::Key(claim::Table::span, 1),
                                           *wf.tx.get(claim::Key(claim::Table::span, 1)));
    t.count = span.count = jobs;
    wf.tx.put(claim::Key(claim::Table::job_template, 1), encode(t));
    wf.tx.put(claim::Key(claim::Table::span, 1), encode(span));
    claim::Tally tally;
    tally.counts[static_cast<std::size_t>(claim::JobState::ready)] = jobs;
    wf.tx.put(claim::Key(claim::Table::tally), encode(tally));
  }
  ErrorKind refusal(const Selection& selection) const {
    const auto jobs = select_jobs(wf.tx, selection);
    EXPECT_FALSE(jobs.ok());
    return jobs ? ErrorKind::io : jobs.error().kind;
  }

  claim::TestWorkflow wf{plan_of_sweep()};
};

TEST_F(ForgedStore, all_jobs_are_not_those_of_a_sweep_without_an_end_in_sight) {
  Selection all;
  all.all = true;
  EXPECT_TRUE(select_jobs(wf.tx, all).ok());
  pretend(std::uint64_t{1} << 62);
  EXPECT_EQ(refusal(all), ErrorKind::corrupt);
  Selection blocked;
  blocked.states = {claim::JobState::blocked};
  EXPECT_EQ(refusal(blocked), ErrorKind::corrupt);
}

TEST_F(ForgedStore, a_recipe_is_not_asked_for_names_beyond_its_own) {
  Selection named;
  named.regex = "s_8";
  EXPECT_TRUE(select_jobs(wf.tx, named).ok());
  workflow::RecipeBook sound;
  EXPECT_EQ(workflow::job_name(sound, wf.tx, JobId{3}), "s_8");
  pretend(1000);
  EXPECT_EQ(refusal(named), ErrorKind::corrupt);
  workflow::RecipeBook book;
  EXPECT_EQ(workflow::job_name(book, wf.tx, JobId{999}), "?");
}

TEST_F(ForgedStore, a_name_is_not_looked_for_in_a_list_that_cannot_be_read) {
  wf.tx.put(claim::Key(claim::Table::sweep, UINT64_MAX), {});
  workflow::RecipeBook book;
  const auto found = workflow::find_job(book, wf.tx, "nobody");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::corrupt);
}

TEST_F(ForgedStore, a_job_that_failed_is_not_passed_over_where_its_recipe_cannot_be_read) {
  claim::Job failed;
  failed.state = claim::JobState::failed;
  failed.attempt = 1;
  wf.tx.put(claim::Key(claim::Table::job, 2), encode(failed));
  wf.tx.put(claim::Key(claim::Table::set_aside, 2), {});
  ASSERT_EQ(report::troubled_jobs(wf.tx, "/store")->size(), 1U);
  claim::Template t = *claim::read_template(wf.tx, JobId{1});
  t.recipe = "rubbish";
  wf.tx.put(claim::Key(claim::Table::job_template, 1), encode(t));
  ++wf.tx.number;
  const auto found = report::troubled_jobs(wf.tx, "/store");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::corrupt);
  EXPECT_NE(found.error().what.find("#2"), std::string::npos) << found.error().what;
}

}  // namespace
}  // namespace torc::cli
