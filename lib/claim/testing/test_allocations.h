// For the tests of allocations: a workflow with schedulers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/queries/allocations.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/allocations.h"

namespace torc::claim {

inline Scheduler managed(std::string name, std::uint32_t nodes = 1) {
  Scheduler s;
  s.name = std::move(name);
  s.job_name = "wf-" + s.name;
  s.nodes = nodes;
  s.walltime = std::chrono::hours(4);
  s.node.cpus = 4;
  s.node.memory = mebibytes(1 << 20);
  s.is_managed = true;
  return s;
}

class WithAllocations : public ::testing::Test {
 protected:
  void make(Plan plan) {
    if (plan.schedulers.empty()) plan.schedulers = {managed("one"), managed("two", 2)};
    wf = std::make_unique<TestWorkflow>(plan);
  }
  // What `act` does is a commit, after which the store is sound.
  template <class Act>
  auto commit(const Act& act) {
    ++wf->tx.number;
    auto before = wf->tx.entries;
    auto result = act(wf->tx);
    if (!result.ok()) wf->tx.entries = std::move(before);
    wf->check();
    return result;
  }
  std::vector<std::uint32_t> want_some(std::uint32_t count, std::uint32_t scheduler = 1,
                                       AskedBy by = AskedBy::demand) {
    return *commit([&](auto& tx) {
      return want(tx, {scheduler, count, by, "me", "why", 0}, kNoon);
    });
  }
  std::optional<Allocation> begin(std::uint32_t number, WallTime now = kNoon) {
    return *commit([&](auto& tx) { return begin_submission(tx, number, {"me"}, now); });
  }
  std::string end(std::uint32_t number, std::uint32_t attempt, const AttemptEnd& end) {
    return *commit([&](auto& tx) { return end_submission(tx, number, attempt, end, kNoon); });
  }
  void submit(std::uint32_t number, const std::string& id) {
    const auto begun = begin(number);
    ASSERT_TRUE(begun.has_value());
    EXPECT_EQ(end(number, begun->tries, accepted(id)), "");
  }
  static AttemptEnd accepted(const std::string& id) {
    return {.what = Attempted::accepted, .cluster = "c", .id = id};
  }
  Admission bind(std::uint32_t number, std::uint32_t attempt, const std::string& id) {
    return *commit([&](auto& tx) {
      return bind_allocation(tx, {{number, attempt}, "c", id, kNoon, 4}, kNoon);
    });
  }
  std::vector<std::string> need(const Demand& demand, const std::string& cluster = {}) {
    return *commit([&](auto& tx) { return note_demand(tx, demand, "me", kNoon, cluster); });
  }

  AllocationBook book() const { return *read_allocation_book(wf->tx); }
  Allocation allocation(std::uint32_t number) const { return read_allocations(wf->tx)->at(number); }
  Scheduler scheduler(std::uint32_t number) const {
    return read_schedulers(wf->tx)->at(number - 1);
  }

  std::unique_ptr<TestWorkflow> wf;
};

}  // namespace torc::claim
