// What a look at the workers of an allocation shows.
#include "lib/worker/lease/allocation_watch.h"

#include "lib/claim/tables/tables.h"
#include "lib/worker/lease/lease_keeper_fixture.h"

namespace torc::worker {
namespace {

class Watched : public LeaseKeeperTest {
 protected:
  static claim::WorkerInfo in(const std::string& allocation, std::uint64_t pid,
                              WallTime start = 100s, const std::string& cluster = "c") {
    claim::WorkerInfo info = on("n" + std::to_string(pid), pid, 1);
    info.allocation = allocation;
    info.cluster = cluster;
    info.allocation_start = start;
    info.cpus = 1;
    info.memory = mebibytes(1024);
    return info;
  }
  // Whether it was granted a job.
  bool take(claim::WorkerEpoch worker) {
    claim::Exchange ask;
    ask.worker = worker;
    ask.now = 200s;
    ask.offer.emplace();
    ask.offer->cpus = ask.offer->total_cpus = 1;
    ask.offer->memory = ask.offer->total_memory = mebibytes(1024);
    ask.offer->max_jobs = 1;
    const claim::Answer answer = say(ask);
    if (answer.grants.empty()) return false;
    granted_ = answer.grants.front().token;
    return true;
  }
  void give_back(claim::WorkerEpoch worker) {
    claim::Exchange words;
    words.worker = worker;
    words.now = 201s;
    words.returns.push_back(granted_);
    (void)say(words);
  }
  void ask_for_nothing(claim::WorkerEpoch worker) {
    claim::Exchange words;
    words.worker = worker;
    words.now = 202s;
    (void)say(words);
  }
  void leave(claim::WorkerEpoch worker) {
    const auto left = store_here_->commit(claim::raw(worker), [&](claim::Transaction& tx) {
      return claim::release_worker(tx, worker, 300s);
    });
    EXPECT_TRUE(left.ok());
  }
  Result<AllocationUse> look(AllocationWatch& watch) {
    AllocationUse use;
    TORC_TRY(store_here_->view(store::Freshness::latest,
                               [&](const claim::Reader& reader) -> Result<void> {
                                 TORC_ASSIGN(use, watch.look(reader));
                                 return {};
                               }));
    return use;
  }
  // "busy kept active", of these what is so.
  std::string seen(AllocationWatch& watch) {
    const auto use = look(watch);
    if (!use) return use.error().what;
    std::string text = use->is_busy ? "busy " : "";
    if (use->is_kept) text += "kept ";
    if (use->was_active) text += "active ";
    return text;
  }

 private:
  claim::Answer say(const claim::Exchange& words) {
    claim::Answer answer;
    const auto said =
        store_here_->commit(claim::raw(words.worker), [&](claim::Transaction& tx) -> Result<void> {
          TORC_ASSIGN(answer, claim::exchange(tx, words));
          return {};
        });
    EXPECT_TRUE(said.ok()) << said.error().text();
    return answer;
  }
  claim::ClaimToken granted_;
};

TEST_F(Watched, is_busy_as_long_as_one_of_its_workers_has_a_job) {
  const auto self = join(in("17", 1));
  const auto other = join(in("17", 2));
  AllocationWatch watch(self);
  EXPECT_EQ(seen(watch), "active ") << "the other one has come";
  EXPECT_EQ(seen(watch), "");
  ASSERT_TRUE(take(other));
  EXPECT_EQ(seen(watch), "busy active ");
  EXPECT_EQ(seen(watch), "busy ");
  give_back(other);
  EXPECT_EQ(seen(watch), "active ");
  EXPECT_EQ(seen(watch), "");
  ASSERT_TRUE(take(self));
  EXPECT_EQ(seen(watch), "busy ") << "itself";
}

TEST_F(Watched, a_job_that_came_and_went_is_not_missed) {
  const auto self = join(in("17", 1));
  const auto other = join(in("17", 2));
  AllocationWatch watch(self);
  (void)seen(watch);
  ASSERT_TRUE(take(other));
  give_back(other);
  EXPECT_EQ(seen(watch), "active ");
}

TEST_F(Watched, other_allocations_are_none_of_its_business) {
  const auto self = join(in("17", 1));
  AllocationWatch watch(self);
  (void)join(in("18", 2));
  (void)join(in("17", 3, 999s));  // a later run of it
  const auto busy = join(in("17", 4, 100s, "another cluster"));
  ASSERT_TRUE(take(busy));
  EXPECT_EQ(seen(watch), "");
}

TEST_F(Watched, who_comes_later_is_seen_and_who_leaves_counts_no_more) {
  const auto self = join(in("17", 1));
  AllocationWatch watch(self);
  EXPECT_EQ(seen(watch), "");
  const auto late = join(in("17", 2, WallTime{}));  // it does not know yet when that began
  EXPECT_EQ(seen(watch), "active ");
  ASSERT_TRUE(take(late));
  EXPECT_EQ(seen(watch), "busy active ");
  leave(late);
  EXPECT_EQ(seen(watch), "");
}

TEST_F(Watched, a_worker_whose_lease_others_end_has_its_job_until_then) {
  const auto self = join(in("17", 1));
  const auto silent = join(in("17", 2));
  ASSERT_TRUE(take(silent));
  AllocationWatch watch(self);
  (void)seen(watch);
  EXPECT_EQ(seen(watch), "busy ");
  const std::uint64_t renewals = read(silent).renewals;
  const auto ended = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const bool done,
                claim::expire_worker(tx, silent, renewals, 500s, 5, claim::EndCause::lease_lost,
                                     400s, claim::Charge::yes));
    EXPECT_TRUE(done);
    return {};
  });
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(seen(watch), "");
}

TEST_F(Watched, of_a_record_that_cannot_be_read_nothing_is_known) {
  const auto self = join(in("17", 1));
  const auto other = join(in("17", 2));
  AllocationWatch watch(self);
  (void)seen(watch);
  std::string whole;
  const claim::Key key(claim::Table::lease, claim::raw(other));
  const auto damage = [&](bool mend) {
    const auto done = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      if (whole.empty()) whole = std::string(tx.get(key).value_or(""));
      tx.put(key, mend ? whole : std::string("\xff\xff"));
      return {};
    });
    EXPECT_TRUE(done.ok());
  };
  damage(false);
  EXPECT_FALSE(look(watch).ok());
  AllocationWatch fresh(self);
  EXPECT_FALSE(look(fresh).ok()) << "nor at the first look";
  damage(true);
  EXPECT_EQ(seen(watch), "");
}

TEST_F(Watched, who_holds_something_elsewhere_lives_if_its_lease_or_its_heartbeats_move) {
  const auto self = join(in("17", 1));
  const auto other = join(in("18", 2));
  std::optional<std::uint64_t> beats = 5;
  const auto heartbeat = [&](const claim::Worker& worker) {
    EXPECT_EQ(worker.epoch, other);
    return beats;
  };
  AllocationWatch watch(self);
  EXPECT_FALSE(look(watch)->others_hold) << "it has nothing";
  ASSERT_TRUE(take(other));
  EXPECT_TRUE(look(watch)->others_hold);
  EXPECT_FALSE(watch.others_live(heartbeat)) << "it is seen for the first time";
  (void)look(watch);
  EXPECT_FALSE(watch.others_live(heartbeat));
  beats.reset();
  (void)look(watch);
  EXPECT_FALSE(watch.others_live(heartbeat)) << "what is not read is no sign";
  beats = 6;
  (void)look(watch);
  EXPECT_TRUE(watch.others_live(heartbeat));
  (void)look(watch);
  EXPECT_FALSE(watch.others_live(heartbeat));
  ask_for_nothing(other);
  (void)look(watch);
  EXPECT_TRUE(watch.others_live(heartbeat)) << "it has committed";
  give_back(other);
  EXPECT_FALSE(look(watch)->others_hold);
  EXPECT_FALSE(watch.others_live(heartbeat));
}

TEST_F(Watched, who_is_not_registered_any_more_learns_nothing) {
  const auto self = join(in("17", 1));
  leave(self);
  AllocationWatch watch(self);
  EXPECT_FALSE(look(watch).ok());
}

}  // namespace
}  // namespace torc::worker
