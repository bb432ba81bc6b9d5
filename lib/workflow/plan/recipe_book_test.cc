#include <gtest/gtest.h>

#include <string>

#include "lib/claim/queries/queries.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/spec/load/load.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

claim::Plan plan_of_sweep(const std::string& command) {
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  spec::Loaded read = spec::load(
      "name: wf\njobs: [{name: 'a_{i}', command: '" + command + "', parameters: {i: '1:2'}}]\n",
      "wf.yaml", none);
  LoadedSpec loaded;
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  return make_plan(loaded, {"/here"});
}

class RecipeBookTest : public ::testing::Test {
 protected:
  // As a new version of the file does it, in the commit of `store.tx`.
  void change_to(const std::string& command) {
    claim::Template t = *claim::read_template(store.tx, JobId{1});
    t.recipe = plan_of_sweep(command).templates.front().recipe;
    store.tx.put(claim::Key(claim::Table::job_template, 1), claim::encode(t));
    store.tx.put(claim::Key(claim::Table::edition), claim::Value().varint(store.tx.sequence()));
  }
  std::string command(const claim::Reader& reader) {
    const auto page = book.find(reader, JobId{1});
    return page ? page->recipe.render(0).command : "?";
  }
  // The state as views see it.
  std::string command_in_view() {
    return command(store::EntriesReader(store.tx.entries, store.tx.number));
  }

  RecipeBook book;
  claim::TestWorkflow store{plan_of_sweep("old")};
};

TEST_F(RecipeBookTest, goes_by_the_edition) {
  EXPECT_EQ(command_in_view(), "old");
  ++store.tx.number;
  change_to("new");
  EXPECT_EQ(command_in_view(), "new");
}

// A worker's exchange is refused; somebody else's file becomes the commit that it would have been.
TEST_F(RecipeBookTest, does_not_believe_a_transaction_that_came_to_nothing) {
  ++store.tx.number;
  EXPECT_EQ(command(store.tx), "old");
  change_to("new");
  EXPECT_EQ(command_in_view(), "new");
}

TEST_F(RecipeBookTest, nor_one_that_had_changed_recipes_itself) {
  const auto before = store.tx.entries;
  ++store.tx.number;
  change_to("given up");
  EXPECT_EQ(command(store.tx), "given up");
  store.tx.entries = before;
  change_to("new");
  EXPECT_EQ(command_in_view(), "new");
}

}  // namespace
}  // namespace torc::workflow
