// What happens to a store between the look at it and the change of it.
#include "lib/workflow/change/apply.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/spec/load/load.h"
#include "lib/store/disk/disk.h"
#include "lib/store/testing/test_world.h"
#include "lib/workflow/change/removal.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::workflow {
namespace {

using claim::JobState;

LoadedSpec loaded_of(const std::string& text) {
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  spec::Loaded read = spec::load(text, "wf.yaml", none);
  EXPECT_TRUE(read.expansion) << spec::to_text(read.diagnostics);
  LoadedSpec loaded;
  loaded.file = "wf.yaml";
  loaded.text = text;
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  return loaded;
}

class ApplyMeanwhile : public ::testing::TestWithParam<store::Engine> {
 protected:
  ApplyMeanwhile() {
    context.directory = scratch.path();
    auto made = make_store(context, loaded_of("name: wf\njobs:\n  - {name: a, command: old}\n"),
                           scratch.path() / "wf.torc", GetParam(), Existing::refuse, {});
    EXPECT_TRUE(made.ok()) << made.error().text();
    store = std::move(made->store);
    enter();
  }

  void commit(const store::Store::Body& body) {
    const auto done = commit_or_try(*store, false, body);
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
  claim::Answer say(claim::Exchange request) {
    request.worker = worker;
    request.now = claim::kNoon;
    claim::Answer answer;
    commit([&](store::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(answer, claim::exchange(tx, request));
      return {};
    });
    return answer;
  }
  claim::ClaimToken claim_it() {
    claim::Exchange request;
    request.offer = claim::TestWorkflow::offer(1);
    const claim::Answer answer = say(request);
    EXPECT_EQ(answer.grants.size(), 1U);
    return answer.grants.empty() ? claim::ClaimToken{} : answer.grants.front().token;
  }
  void complete(const claim::ClaimToken& token) {
    claim::Exchange request;
    claim::Finished f;
    f.token = token;
    f.state = JobState::completed;
    f.outcome.cause = claim::EndCause::exited;
    request.finishes.push_back(f);
    (void)say(request);
  }
  void enter() {
    commit([&](store::Transaction& tx) -> Result<void> {
      claim::WorkerInfo info;
      info.host = "n1";
      info.cpus = 4;
      info.registered_at = claim::kNoon;
      TORC_ASSIGN(worker, claim::register_worker(tx, info));
      return {};
    });
  }
  // `meanwhile` is done when the difference has been found, and before it is made so, once.
  Result<Applied> apply_with(const std::function<void()>& meanwhile, ApplyTerms terms = {},
                             const std::string& head = "", const std::string& more = "") {
    bool is_first = true;
    return apply(context, *store,
                 loaded_of("name: wf\n" + head + "jobs:\n  - {name: a, command: new}\n" + more),
                 terms, [&](const store::Store::Body& body) -> Result<void> {
                   if (std::exchange(is_first, false)) meanwhile();
                   const auto done = commit_or_try(*store, false, body);
                   if (!done) return done.error();
                   return {};
                 });
  }
  JobState state() {
    JobState now{};
    EXPECT_TRUE(store
                    ->view(store::Freshness::latest,
                           [&](const claim::Reader& reader) -> Result<void> {
                             const auto job = claim::read_job(reader, JobId{1});
                             now = job ? job->state : JobState::failed;
                             return {};
                           })
                    .ok());
    return now;
  }

  store::testing::ScratchDirectory scratch;
  SystemClock clock;
  store::PosixDisk disk;
  SeededEntropy entropy{1};
  store::World world{disk, clock, entropy, "n1", "boot", "ns", ::geteuid(), {scratch.path()}};
  Context context{clock, world, world,
                  [](std::string_view) { return std::optional<std::string>(); }};
  std::unique_ptr<store::Store> store;
  claim::WorkerEpoch worker{};
};

TEST_P(ApplyMeanwhile, what_ended_by_the_old_command_since_it_was_looked_at_runs_again) {
  const claim::ClaimToken token = claim_it();
  const auto applied = apply_with([&] { complete(token); });
  ASSERT_TRUE(applied.ok()) << applied.error().text();
  EXPECT_EQ(applied->done.again.total(), 1U);
  EXPECT_EQ(state(), JobState::ready);
}

// When it was looked at nobody had it, so nothing was to be stale.
TEST_P(ApplyMeanwhile, what_began_and_ended_by_the_old_command_since_runs_again) {
  const auto applied = apply_with([&] { complete(claim_it()); });
  ASSERT_TRUE(applied.ok()) << applied.error().text();
  EXPECT_EQ(applied->done.again.total(), 1U);
  EXPECT_EQ(state(), JobState::ready);
}

TEST_P(ApplyMeanwhile, what_was_accepted_and_ended_since_stays) {
  const claim::ClaimToken token = claim_it();
  ApplyTerms terms;
  terms.spares_all = true;
  const auto applied = apply_with([&] { complete(token); }, terms);
  ASSERT_TRUE(applied.ok()) << applied.error().text();
  EXPECT_EQ(state(), JobState::completed);
}

TEST_P(ApplyMeanwhile, what_began_since_goes_on_and_is_told) {
  claim::ClaimToken token;
  const auto applied = apply_with([&] { token = claim_it(); });
  ASSERT_TRUE(applied.ok()) << applied.error().text();
  EXPECT_EQ(applied->running, 1U);
  complete(token);
  const auto again = apply_with([] {});
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->done.again.total(), 1U);
  EXPECT_EQ(state(), JobState::ready);
}

// A worker that came since it was looked for would run all its jobs with what was said before.
TEST_P(ApplyMeanwhile, an_environment_is_not_changed_under_a_worker_that_has_come) {
  commit([&](store::Transaction& tx) { return claim::release_worker(tx, worker, claim::kNoon); });
  const std::string env = "env: {X: \"2\"}\n";
  const auto refused = apply_with([&] { enter(); }, {}, env);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy) << refused.error().text();
  commit([&](store::Transaction& tx) { return claim::release_worker(tx, worker, claim::kNoon); });
  const auto applied = apply_with([] {}, {}, env);
  EXPECT_TRUE(applied.ok()) << applied.error().text();
}

// A new job would wait for ever for one that was there when it was looked for.
TEST_P(ApplyMeanwhile, a_job_that_was_removed_since_comes_back_for_what_waits_for_it) {
  const auto applied = apply_with(
      [&] {
        commit([](store::Transaction& tx) -> Result<void> {
          const std::vector<claim::JobRange> a = {{JobId{1}, 1}};
          TORC_TRY(take_out(tx, a, Dependents::refuse, {}));
          return {};
        });
        EXPECT_EQ(state(), JobState::canceled);
      },
      {}, "", "  - {name: b, command: b, depends_on: [a]}\n");
  ASSERT_TRUE(applied.ok()) << applied.error().text();
  EXPECT_EQ(applied->done.added.count, 1U);
  EXPECT_EQ(state(), JobState::ready);
}

TEST_P(ApplyMeanwhile, a_job_that_came_back_since_is_removed) {
  const auto applied = apply_with([] {}, {}, "", "  - {name: b, command: b}\n");
  ASSERT_TRUE(applied.ok());
  const std::vector<claim::JobRange> b = {{JobId{2}, 1}};
  commit([&](store::Transaction& tx) -> Result<void> {
    TORC_TRY(take_out(tx, b, Dependents::refuse, {}));
    return {};
  });
  const auto again = apply_with(
      [&] {
        commit([&](store::Transaction& tx) -> Result<void> {
          TORC_TRY(put_back(tx, b, {}));
          return {};
        });
      },
      {}, "max_failures: 7\n");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(store
                  ->view(store::Freshness::latest,
                         [&](const claim::Reader& reader) -> Result<void> {
                           EXPECT_TRUE(claim::is_removed(reader, JobId{2}));
                           return {};
                         })
                  .ok());
}

TEST_P(ApplyMeanwhile, a_scheduler_that_was_told_off_since_asks_for_nothing) {
  const auto head = [](const std::string& walltime) {
    return "slurm_schedulers: [{name: s, nodes: 1, walltime: \"" + walltime +
           "\", allocate: {max: 2}}]\n";
  };
  ASSERT_TRUE(apply_with([] {}, {}, head("00:10:00")).ok());
  const auto applied =
      apply_with([&] { commit([](store::Transaction& tx) { return claim::tell_off(tx, 1); }); }, {},
                 head("00:20:00"));
  ASSERT_TRUE(applied.ok()) << applied.error().text();
  EXPECT_TRUE(store
                  ->view(store::Freshness::latest,
                         [&](const claim::Reader& reader) -> Result<void> {
                           TORC_ASSIGN(const auto all, claim::read_schedulers(reader));
                           EXPECT_EQ(all.front().walltime, std::chrono::minutes(20));
                           EXPECT_FALSE(all.front().is_managed);
                           return {};
                         })
                  .ok());
}

// What is to be done by the same change is, or nothing is.
TEST_P(ApplyMeanwhile, what_follows_in_the_same_change_may_refuse_all_of_it) {
  ApplyTerms terms;
  terms.then = [](store::Transaction&) -> Result<void> {
    return Error{ErrorKind::invalid, "no", ""};
  };
  EXPECT_FALSE(apply_with([] {}, terms).ok());
  const auto applied = apply_with([] {});
  ASSERT_TRUE(applied.ok()) << applied.error().text();
  EXPECT_FALSE(applied->nothing()) << "it had not been done";
}

INSTANTIATE_TEST_SUITE_P(Engines, ApplyMeanwhile,
                         ::testing::Values(store::Engine::journal, store::Engine::lmdb));

}  // namespace
}  // namespace torc::workflow
