// A store with a workflow, a batch system that the test answers for, and a clock that it moves, for
// the tests of passes over the ledger.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/allocate/pass.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/plan/make_store.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::allocate {

using namespace std::chrono_literals;

// It keeps a queue; what it says of it, and how it takes what is submitted, the test tells.
class FakeLauncher final : public launcher::Launcher {
 public:
  struct Job {
    std::string id;
    std::string intent;
    slurm::Stage stage = slurm::Stage::waits;
    std::string flags;
  };
  enum class Takes : std::uint8_t {
    at_once,
    unheard,  // takes it, and the answer is lost
    never,    // does not, and the answer is lost
    late,     // takes it when act_late() says so; the answer is lost
    refuses,
    refuses_here,
    later
  };
  enum class Lists : std::uint8_t {
    all,
    nothing,
    empty_but_whole,
    half,
    other_cluster,
    whole_other_cluster  // with nothing in it
  };

  explicit FakeLauncher(ManualClock& clock) : clock_(clock) {}

  launcher::SubmitAnswer submit(const launcher::Submission& submission) override {
    tried.push_back(clock_.wall_now());
    if (meanwhile_submitting) std::exchange(meanwhile_submitting, {})();
    Job job;
    job.intent = submission.intent;
    for (const auto& [name, value] : submission.environment) {
      if (name == "TORC_WORKER_FLAGS") job.flags = value;
    }
    launcher::SubmitAnswer answer;
    answer.words = {"as it says"};
    switch (takes) {
      case Takes::at_once:
        answer.what = launcher::Submitted::accepted;
        answer.cluster = "alpha";
        answer.id = take(job);
        break;
      case Takes::unheard:
        (void)take(job);
        clock_.advance(60s);
        break;
      case Takes::never:
        clock_.advance(60s);
        break;
      case Takes::late:
        late.push_back(job);
        clock_.advance(60s);
        break;
      case Takes::refuses:
      case Takes::refuses_here:
        answer.what = launcher::Submitted::refused;
        answer.not_from_here = takes == Takes::refuses_here;
        break;
      case Takes::later:
        answer.what = launcher::Submitted::later;
        break;
    }
    return answer;
  }

  launcher::Listing list(const launcher::Looking& looking) override {
    ++looks;
    clock_.advance(list_takes);
    if (meanwhile_listing) std::exchange(meanwhile_listing, {})();
    launcher::Listing listing;
    const bool is_other = lists == Lists::other_cluster || lists == Lists::whole_other_cluster;
    listing.cluster = is_other ? "beta" : "alpha";
    listing.accounting = has_accounting && looking.ended_too && lists == Lists::all;
    const bool is_empty = lists == Lists::empty_but_whole || lists == Lists::whole_other_cluster;
    listing.whole = lists == Lists::all || is_empty;
    if (!listing.whole) listing.failure = "it told nothing";
    if (lists == Lists::nothing || is_empty) return listing;
    for (const Job& job : queue) {
      const bool is_asked = contains(looking.intents, job.intent) || contains(looking.ids, job.id);
      if (!is_asked || (lists == Lists::half && listing.allocations.size() * 2 >= queue.size()))
        continue;
      launcher::Listed listed;
      listed.cluster = listing.cluster;
      listed.id = job.id;
      listed.intent = lists == Lists::other_cluster ? "" : job.intent;
      listed.stage = lists == Lists::other_cluster ? slurm::Stage::over : job.stage;
      listed.state = listed.stage == slurm::Stage::over ? "COMPLETED" : "PENDING";
      if (job.stage == slurm::Stage::runs) listed.state = "RUNNING";
      listing.allocations.push_back(listed);
    }
    return listing;
  }

  bool cancel(const std::vector<std::string>& ids) override {
    if (!cancels) return false;
    std::erase_if(queue, [&](const Job& job) { return contains(ids, job.id); });
    return true;
  }
  [[nodiscard]] std::string name() const override { return "fake"; }

  void act_late() {
    for (const Job& job : std::exchange(late, {})) (void)take(job);
  }

  Takes takes = Takes::at_once;
  Lists lists = Lists::all;
  bool has_accounting = false;
  bool cancels = true;
  std::chrono::seconds list_takes{0};
  // Once, before it takes or tells anything.
  std::function<void()> meanwhile_submitting;
  std::function<void()> meanwhile_listing;
  std::vector<Job> queue;
  std::vector<Job> late;
  std::vector<WallTime> tried;
  std::uint32_t looks = 0;

 private:
  static bool contains(const std::vector<std::string>& list, const std::string& one) {
    return std::ranges::find(list, one) != list.end();
  }
  std::string take(Job job) {
    job.id = std::to_string(++last_);
    queue.push_back(job);
    return queue.back().id;
  }
  ManualClock& clock_;
  int last_ = 100;
};

// Moves while somebody looks at it, once it is told to: whoever does stands still.
class StallingClock final : public Clock {
 public:
  explicit StallingClock(ManualClock& clock) : clock_(clock) {}
  [[nodiscard]] BootTime boot_now() const override { return clock_.boot_now(); }
  [[nodiscard]] WallTime wall_now() const override {
    clock_.advance(stall);
    return clock_.wall_now();
  }
  void sleep_for(std::chrono::nanoseconds duration) override { clock_.sleep_for(duration); }
  std::chrono::seconds stall{0};

 private:
  ManualClock& clock_;
};

// The store, in which something happens between two looks of who uses it.
class WatchedStore final : public store::Store {
 public:
  explicit WatchedStore(store::Store& store) : store_(store) {}
  // Once, after so many further views.
  std::function<void()> meanwhile;
  int views = 0;

  Result<store::Commit> commit(std::uint64_t author, const Body& body) override {
    return store_.commit(author, body);
  }
  Result<void> view(store::Freshness freshness,
                    const std::function<Result<void>(const store::Reader&)>& body) override {
    const auto seen = store_.view(freshness, body);
    if (meanwhile && --views == 0) std::exchange(meanwhile, {})();
    return seen;
  }
  Result<void> maintain() override { return store_.maintain(); }
  [[nodiscard]] int changes_fd() const override { return store_.changes_fd(); }
  void clear_changes() override { store_.clear_changes(); }
  [[nodiscard]] const store::Identity& identity() const override { return store_.identity(); }
  [[nodiscard]] const Path& directory() const override { return store_.directory(); }
  void forget_copy() override { store_.forget_copy(); }
  [[nodiscard]] const std::string& note() const override { return store_.note(); }

 private:
  store::Store& store_;
};

class PassTest : public testing::Test {
 protected:
  PassTest() {
    std::string name = (std::filesystem::temp_directory_path() / "torc-pass-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    context_.world.replica_roots = {directory_};
    context_.world2.replica_roots = {directory_};
    context_.directory = directory_;
    context_.program = "/opt/torc";
  }
  ~PassTest() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void make(const std::string& text) {
    std::ofstream(directory_ / "wf.yaml") << "name: wf\n" << text;
    auto loaded = workflow::load_spec(context_, "wf.yaml");
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    ASSERT_TRUE(loaded->expansion);
    auto made = workflow::make_store(context_, *loaded, directory_ / "wf.torc",
                                     store::Engine::journal, workflow::Existing::refuse);
    ASSERT_TRUE(made.ok()) << made.error().text();
    made->store.reset();
    auto opened = store::Store::open(context_.world, directory_ / "wf.torc", {});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    store_ = *std::move(opened);
  }
  // One job, for which one allocation is asked for.
  void make_one() {
    make(
        "resource_requirements: [{name: r, num_cpus: 1, memory: 1m, runtime: PT5M}]\n"
        "slurm_schedulers:\n"
        "  - {name: s, nodes: 1, walltime: \"00:10:00\", allocate: {max: 4}}\n"
        "jobs: [{name: a, command: x, resource_requirements: r}]\n");
  }
  PassReport pass(Turn turn = Turn::now, bool on_login_node = true) {
    const auto made = make_pass(context_, *store_, launcher_, {turn, on_login_node, "me@here"});
    EXPECT_TRUE(made.ok()) << made.error().text();
    return made.ok() ? *made : PassReport{};
  }
  // Why the queue said nothing.
  std::string look() {
    const auto asked = ask_queue(context_, *store_, launcher_);
    EXPECT_TRUE(asked.ok()) << asked.error().text();
    return asked.ok() ? *asked : "";
  }
  WallTime answered_at() {
    claim::AllocationBook book;
    EXPECT_TRUE(store_
                    ->view(store::Freshness::latest,
                           [&](const claim::Reader& reader) -> Result<void> {
                             TORC_ASSIGN(book, claim::read_allocation_book(reader));
                             return {};
                           })
                    .ok());
    return book.answered_at;
  }
  // As often as workers make them.
  void pass_for(std::chrono::seconds time) {
    for (auto left = time; left.count() > 0; left -= kPassInterval) {
      clock_.advance(kPassInterval);
      (void)pass(Turn::if_due);
    }
  }
  claim::Allocations ledger() {
    claim::Allocations all;
    EXPECT_TRUE(store_
                    ->view(store::Freshness::latest,
                           [&](const claim::Reader& reader) -> Result<void> {
                             TORC_ASSIGN(all, claim::read_allocations(reader));
                             return {};
                           })
                    .ok());
    return all;
  }
  claim::Allocation one() {
    const auto all = ledger();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? claim::Allocation{} : all.begin()->second;
  }
  claim::Scheduler scheduler(std::size_t number = 1) {
    std::vector<claim::Scheduler> all;
    EXPECT_TRUE(store_
                    ->view(store::Freshness::latest,
                           [&](const claim::Reader& reader) -> Result<void> {
                             TORC_ASSIGN(all, claim::read_schedulers(reader));
                             return {};
                           })
                    .ok());
    return all.at(number - 1);
  }
  template <class F>
  void commit(F&& body) {
    const auto done = store_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      const auto result = body(tx);
      return result.ok() ? Result<void>() : Result<void>(result.error());
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
  // What became of the worker of an allocation when it began.
  claim::Admission bind(const std::string& intent, const std::string& id) {
    auto admission = claim::Admission::surplus;
    const auto name = claim::read_intent_name(intent, mark_of(*store_));
    EXPECT_TRUE(name) << intent;
    if (!name) return admission;
    commit([&](claim::Transaction& tx) {
      auto bound =
          claim::bind_allocation(tx, {*name, "alpha", id, {}, no_resources()}, clock_.wall_now());
      if (bound.ok()) admission = *bound;
      return bound;
    });
    return admission;
  }

  Path directory_;
  ManualClock clock_;
  StallingClock stalling_{clock_};
  store::PosixDisk disk_;
  SeededEntropy entropy_{1};
  SeededEntropy entropy2_{2};
  std::map<std::string, std::string> environment_;
  workflow::Context context_{
      stalling_, store::World{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}},
      store::World{disk_, clock_, entropy2_, "n1", "boot", "ns", geteuid(), {}},
      [this](std::string_view name) -> std::optional<std::string> {
        const auto found = environment_.find(std::string(name));
        if (found == environment_.end()) return std::nullopt;
        return found->second;
      }};
  FakeLauncher launcher_{clock_};
  std::unique_ptr<store::Store> store_;
};

}  // namespace torc::allocate
