// What claims take from the queues of many classes, where the heads of these are kept in order.
#include "lib/claim/scheduling/ready_heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/override.h"

namespace torc::claim {
namespace {

// Job i + 1 is of class i, which needs i + 1 MiB.
Plan plan_of_classes(std::size_t classes) {
  Plan plan = plan_of({});
  plan.classes.clear();
  for (std::size_t i = 0; i < classes; ++i) {
    plan.classes.emplace_back().need.memory = mebibytes(i + 1);
    Template& t = plan.templates.emplace_back();
    t.first = JobId{i + 1};
    t.job_class = static_cast<std::uint32_t>(i);
    t.recipe = "recipe";
  }
  return plan;
}

bool is_ordered(const Reader& reader) {
  return State(reader).tally().ordered;
}

std::size_t listed(const store::MemoryState& tx) {
  std::size_t n = 0;
  tx.scan_prefix(Key(Table::order), [&](const store::Entry&) { return ++n > 0; });
  return n;
}

// Counts what is read of classes and queues.
class CountingReads final : public Transaction {
 public:
  explicit CountingReads(Transaction& of) : of_(of) {}
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const override {
    return count(key), of_.get(key);
  }
  [[nodiscard]] std::optional<store::Entry> seek(std::string_view from) const override {
    return count(from), of_.seek(from);
  }
  [[nodiscard]] std::optional<store::Entry> seek_before(std::string_view before) const override {
    return of_.seek_before(before);
  }
  void scan(std::string_view from,
            const std::function<bool(const store::Entry&)>& visit) const override {
    of_.scan(from, visit);
  }
  [[nodiscard]] std::uint64_t sequence() const override { return of_.sequence(); }
  void put(std::string_view key, std::string_view value) override { of_.put(key, value); }
  void erase(std::string_view key) override { of_.erase(key); }

  mutable int reads = 0;

 private:
  void count(std::string_view key) const {
    if (is_in(Table::job_class, key) || is_in(Table::ready, key)) ++reads;
  }
  Transaction& of_;
};

TEST(ReadyHeads, of_few_classes_no_order_is_kept) {
  const TestWorkflow wf{plan_of_classes(16)};
  EXPECT_FALSE(is_ordered(wf.tx));
  EXPECT_EQ(listed(wf.tx), 0U);
}

TEST(ReadyHeads, a_claim_reads_no_more_classes_than_it_takes_from) {
  Plan plan = plan_of_classes(2000);
  TestWorkflow wf{plan};
  ASSERT_TRUE(is_ordered(wf.tx));
  const WorkerEpoch w = wf.join();
  CountingReads tx(wf.tx);
  ++wf.tx.number;
  Exchange request;
  request.worker = w;
  request.offer = TestWorkflow::offer(3);
  const auto answer = exchange(tx, request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(ids(answer->grants), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_LT(tx.reads, 20);
}

TEST(ReadyHeads, many_classes_are_taken_in_the_order_of_few) {
  for (const SortMethod sort :
       {SortMethod::none, SortMethod::gpus_runtime_memory, SortMethod::gpus_memory_runtime}) {
    Plan plan = plan_of_classes(40);
    plan.sort = sort;
    for (std::size_t i = 0; i < 40; ++i) {
      plan.templates[i].priority = static_cast<std::int32_t>(i * 7 % 3) - 1;
      plan.classes[i].need.runtime = std::chrono::seconds(i * 11 % 5);
    }
    TestWorkflow many{plan};
    plan.few_classes = 1000;
    TestWorkflow few{plan};
    ASSERT_TRUE(is_ordered(many.tx));
    ASSERT_FALSE(is_ordered(few.tx));
    const WorkerEpoch of_many = many.join();
    const WorkerEpoch of_few = few.join();
    for (std::uint64_t taken = 0; taken < 40; taken += 8)
      EXPECT_EQ(ids(many.claim(of_many, 8)), ids(few.claim(of_few, 8)));
    EXPECT_EQ(listed(many.tx), 0U);
  }
}

// Heads are read some at a time; what follows in a queue may belong behind those not yet read.
TEST(ReadyHeads, what_follows_in_a_queue_goes_behind_the_heads_of_others_that_come_first) {
  Plan plan = plan_of_classes(20);
  Template& second = plan.templates.emplace_back(plan.templates.front());
  second.first = JobId{21};
  TestWorkflow wf{plan};
  ASSERT_TRUE(is_ordered(wf.tx));
  EXPECT_EQ(ids(wf.claim(wf.join(), 6)), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(ReadyHeads, what_does_not_fit_is_passed_over_however_much_of_it_there_is) {
  TestWorkflow wf{plan_of_classes(1000)};
  Offer offer = TestWorkflow::offer(1);
  // Jobs 1 to 500 are taken, the next do not fit.
  const WorkerEpoch w = wf.join(1024);
  EXPECT_EQ(wf.claim(w, 500).size(), 500U);
  offer.memory = offer.total_memory = mebibytes(400);
  EXPECT_TRUE(wf.claim(w, offer).empty());
  offer.memory = offer.total_memory = mebibytes(501);
  EXPECT_EQ(ids(wf.claim(w, offer)), (std::vector<std::uint64_t>{501}));
}

TEST(ReadyHeads, the_second_pass_for_prefetch_begins_at_the_front) {
  TestWorkflow wf{plan_of_classes(40)};
  Offer offer = TestWorkflow::offer(1);
  // Of the first ones none fits beside what runs; the worker could run them when it is empty.
  offer.total_memory = mebibytes(100);
  offer.total_cpus = 8;
  offer.memory = mebibytes(0);
  offer.prefetch = 3;
  EXPECT_EQ(ids(wf.claim(wf.join(), offer)), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(ReadyHeads, the_order_follows_what_is_given_back_set_and_opened) {
  Plan plan = plan_of_classes(20);
  plan.dependencies.push_back({{range(1, 1)}, {range(20, 1)}});
  TestWorkflow wf{plan};
  EXPECT_EQ(listed(wf.tx), 19U);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 2);
  EXPECT_EQ(listed(wf.tx), 17U);
  EXPECT_TRUE(wf.finish(w, grants[0].token).ok());
  EXPECT_EQ(listed(wf.tx), 18U) << "job 20 is ready";
  Exchange back;
  back.worker = w;
  back.returns = {grants[1].token};
  EXPECT_TRUE(wf.say(back).ok());
  EXPECT_EQ(listed(wf.tx), 19U);
  ++wf.tx.number;
  Setting setting;
  setting.priority = 5;
  const JobRange tenth = range(10, 1);
  ASSERT_TRUE(set_jobs(wf.tx, {&tenth, 1}, setting).ok());
  wf.check();
  EXPECT_EQ(ids(wf.claim(w, 3)), (std::vector<std::uint64_t>{10, 2, 3}));
}

TEST(ReadyHeads, an_addition_that_makes_many_classes_of_few_begins_to_keep_the_order) {
  TestWorkflow wf{plan_of_classes(10)};
  Plan more = plan_of_classes(20);
  for (std::size_t i = 0; i < 20; ++i) more.templates[i].first = JobId{11 + i};
  ++wf.tx.number;
  ASSERT_TRUE(add_jobs(wf.tx, more, {}).ok());
  wf.check();
  EXPECT_TRUE(is_ordered(wf.tx));
  EXPECT_EQ(listed(wf.tx), 20U);
}

TEST(ReadyHeads, no_order_is_kept_of_what_is_learned) {
  Plan plan = plan_of_classes(20);
  plan.sort = SortMethod::gpus_runtime_memory;
  TestWorkflow wf{plan};
  ASSERT_TRUE(is_ordered(wf.tx));
  Plan more = plan_of_classes(1);
  more.classes[0].learns_from = 21;
  more.templates[0].first = JobId{21};
  ++wf.tx.number;
  ASSERT_TRUE(add_jobs(wf.tx, more, {}).ok());
  EXPECT_FALSE(is_ordered(wf.tx));
  EXPECT_EQ(listed(wf.tx), 0U);
  EXPECT_EQ(ids(wf.claim(wf.join(), 1)), (std::vector<std::uint64_t>{20}));
}

// A class whose head is not listed waits for ever: no claim looks for it.
TEST(ReadyHeads, an_order_that_lost_any_part_of_it_is_found_by_the_audit) {
  TestWorkflow wf{plan_of_classes(20)};
  (void)wf.claim(wf.join(), 1);
  std::vector<std::pair<std::string, std::string>> all;
  wf.tx.scan_prefix(Key(Table::order), [&](const store::Entry& e) {
    all.emplace_back(e.key, e.value);
    return true;
  });
  ASSERT_EQ(all.size(), 19U);
  for (const auto& [key, value] : all) {
    wf.tx.erase(key);
    EXPECT_FALSE(verify_state(wf.tx).ok());
    wf.tx.put(key, value);
  }
  for (const auto& [key, value] : all) wf.tx.erase(key);
  EXPECT_FALSE(verify_state(wf.tx).ok());
}

TEST(ReadyHeads, an_order_that_is_not_that_of_the_queues_is_refused) {
  TestWorkflow wf{plan_of_classes(20)};
  const WorkerEpoch w = wf.join();
  const QueueHead forged{{0, 9, 0, 3, 1}, {}, 1};
  wf.tx.put(order_key(forged, false), order_value(forged));
  Exchange request;
  request.worker = w;
  request.offer = TestWorkflow::offer(1);
  ++wf.tx.number;
  const auto answer = exchange(wf.tx, request);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::corrupt);
  EXPECT_FALSE(verify_state(wf.tx).ok());
}

}  // namespace
}  // namespace torc::claim
