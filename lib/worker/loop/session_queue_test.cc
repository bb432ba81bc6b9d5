// What a worker does with jobs that it holds and cannot start, and with jobs that others give back.
#include <sys/epoll.h>
#include <sys/wait.h>

#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/worker/loop/session_fixture.h"
#include "lib/workflow/change/addition.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::JobState;

constexpr const char* kOneJob = "jobs: [{name: a, command: x}]\n";

class QueueSession : public SessionTest {
 protected:
  // The only job, claimed by a worker that does nothing with it.
  claim::Exchange claimed_by_another() {
    claim::Exchange exchange;
    exchange.offer.emplace();
    exchange.offer->cpus = exchange.offer->total_cpus = 1;
    exchange.offer->memory = exchange.offer->total_memory = mebibytes(1024);
    exchange.offer->max_jobs = 1;
    claim::Exchange back;
    const auto done = open()->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(exchange.worker, claim::register_worker(tx, {}));
      TORC_ASSIGN(const claim::Answer answer, claim::exchange(tx, exchange));
      back.worker = exchange.worker;
      back.returns = {answer.grants.at(0).token};
      return {};
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
    return back;
  }
};

TEST_F(QueueSession, jobs_queued_behind_a_long_one_go_back_after_two_seconds) {
  make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:11\"}}]\n");
  constexpr int kShort = 8;
  std::optional<BootTime> stuck, returned;
  std::uint64_t held = 0;
  host_.outcome = [] { return std::nullopt; };
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    if (host_.started > kShort && !returned) {
      if (!stuck) stuck = clock_.boot_now();
      // The clock goes on, the job does not end.
      if (clock_.boot_now() - *stuck < 1min) return false;
    }
    clock_.sleep_for(2ms);
    host_.end(host_.running_now.front(), ScriptedHost::ended_by_itself(0));
    return true;
  };
  events_.progress = [&](const claim::WorkflowState& w) {
    if (!stuck || returned) return;
    held = std::max(held, w.of(JobState::claimed));
    if (w.of(JobState::claimed) == 0 && w.of(JobState::ready) > 0) returned = clock_.boot_now();
  };
  EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  ASSERT_TRUE(returned) << "what it held stayed with it";
  EXPECT_GT(held, 0U) << "there was something to give back";
  EXPECT_GE(*returned - *stuck, 1900ms) << "a queue that stands for a moment is not given up";
  EXPECT_LT(*returned - *stuck, 3s);
}

// A wide job is prefetched, a long one keeps the CPU that it lacks; small ones are to use the
// other.
TEST_F(QueueSession, what_does_not_fit_keeps_no_slot_from_what_does_and_goes_back) {
  constexpr int kSmall = 200;
  setup_.machine.cpus = 2;
  make(
      "resource_requirements: [{name: two, num_cpus: 2}]\n"
      "jobs:\n"
      "  - {name: \"quick{i}\", command: quick, priority: 9, parameters: {i: \"1:60\"}}\n"
      "  - {name: long, command: long, priority: 8}\n"
      "  - {name: wide, command: wide, priority: 5, resource_requirements: two}\n"
      "  - {name: \"small{i}\", command: small, parameters: {i: \"1:200\"}}\n");
  const auto line_of = [&](exec::RunId id) {
    return host_.commands.at(static_cast<std::size_t>(id) - 1).line;
  };
  const auto running = [&](const std::string& line) {
    return std::find_if(host_.running_now.begin(), host_.running_now.end(),
                        [&](exec::RunId id) { return line_of(id) == line; });
  };
  const auto none = [&] { return host_.running_now.end(); };
  int small = 0;
  std::chrono::nanoseconds idle{};
  bool wide_was_held = false;
  bool wide_went_back = false;
  host_.outcome = [&]() -> std::optional<exec::Ended> {
    if (host_.commands.back().line == "quick") {
      clock_.sleep_for(1ms);
      return ScriptedHost::ended_by_itself(0);
    }
    return std::nullopt;
  };
  host_.meanwhile = [&](BootTime deadline) {
    const auto state = job(62).state;
    wide_was_held = wide_was_held || state == JobState::claimed;
    // Near the end, when jobs are scarce, what is spare goes back anyway.
    wide_went_back =
        wide_went_back || (small < kSmall / 2 && wide_was_held && state == JobState::ready);
    if (const auto it = running("small"); it != none()) {
      ++small;
      clock_.sleep_for(500ms);
      host_.end(*it, ScriptedHost::ended_by_itself(0));
      return true;
    }
    if (const auto it = running("wide"); it != none()) {
      host_.end(*it, ScriptedHost::ended_by_itself(0));
      return true;
    }
    if (running("long") == none()) return false;
    if (small < kSmall && idle < 1min) {
      idle += deadline - clock_.boot_now();
      return false;
    }
    host_.end(*running("long"), ScriptedHost::ended_by_itself(0));
    return true;
  };
  EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  EXPECT_EQ(small, kSmall);
  EXPECT_LT(idle, 1s) << "a slot stood empty beside jobs for it";
  EXPECT_TRUE(wide_was_held);
  EXPECT_TRUE(wide_went_back) << "it kept from others what it could not run";
}

TEST_F(QueueSession, an_idle_worker_hears_at_once_what_another_process_of_its_node_commits) {
  make(kOneJob);
  const claim::Exchange back = claimed_by_another();
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    char word = 0;
    if (read(go[0], &word, 1) != 1) _exit(1);
    const auto done = open()->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_TRY(claim::exchange(tx, back));
      return {};
    });
    _exit(done.ok() ? 0 : 2);
  }
  std::optional<BootTime> told, started;
  expects_news = [&] { return told && !started; };
  host_.outcome = [&] {
    started = clock_.boot_now();
    return std::optional(ScriptedHost::ended_by_itself(0));
  };
  host_.meanwhile = [&](BootTime) {
    if (told || seen_.empty()) return false;
    clock_.sleep_for(20ms);
    int status = 0;
    EXPECT_EQ(write(go[1], "x", 1), 1);
    EXPECT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    told = clock_.boot_now();
    return true;
  };
  EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  close(go[0]);
  close(go[1]);
  ASSERT_TRUE(started && told);
  EXPECT_LT(*started - *told, 100ms) << "it did not wait for its next poll";
}

// Both in one turn of its loop: an answer that found nothing, and the news of a commit after it.
TEST_F(QueueSession, a_change_that_comes_with_an_empty_answer_is_not_forgotten) {
  make(kOneJob);
  const claim::Exchange back = claimed_by_another();
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    char word = 0;
    if (read(go[0], &word, 1) != 1) _exit(1);
    const auto done = open()->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_TRY(claim::exchange(tx, back));
      return {};
    });
    _exit(done.ok() ? 0 : 2);
  }
  int readable = 0;
  std::optional<BootTime> told;
  host_.readable = [&](int fd) {
    if (readable++ != 0) return;
    // Each write to the committer's descriptor is an event: the first is that of the answer.
    const int events = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{EPOLLIN | EPOLLET, {}};
    EXPECT_EQ(epoll_ctl(events, EPOLL_CTL_ADD, fd, &event), 0);
    EXPECT_EQ(epoll_wait(events, &event, 1, 60'000), 1);
    EXPECT_EQ(write(go[1], "x", 1), 1);
    int status = 0;
    EXPECT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(epoll_wait(events, &event, 1, 60'000), 1) << "it has not heard of the commit";
    close(events);
    told = clock_.boot_now();
  };
  BootTime started{};
  host_.outcome = [&] {
    started = clock_.boot_now();
    return std::optional(ScriptedHost::ended_by_itself(0));
  };
  EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  close(go[0]);
  close(go[1]);
  ASSERT_TRUE(told);
  EXPECT_LT(started - *told, 100ms) << "it did not wait for its next poll";
}

TEST_F(QueueSession, a_worker_that_waits_for_new_jobs_runs_what_is_added_and_leaves_in_the_end) {
  make(std::string("compute_node_wait_for_new_jobs_seconds: 600\n") + kOneJob);
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    char word = 0;
    if (read(go[0], &word, 1) != 1) _exit(1);
    const auto admit = [](const claim::Reader&,
                          workflow::AdditionText&) -> Result<workflow::AdditionTerms> {
      return workflow::AdditionTerms{};
    };
    const auto store = open();
    const auto added =
        workflow::add_to(context_, *store, {"more", "jobs: [{name: b, command: y}]", directory_},
                         admit, [&](const store::Store::Body& body) -> Result<void> {
                           TORC_TRY(workflow::commit_or_try(*store, false, body));
                           return {};
                         });
    _exit(added.ok() && added->jobs == 1 ? 0 : 2);
  }
  std::optional<BootTime> told;
  BootTime started{};
  expects_news = [&] { return told && host_.started == 1; };
  host_.outcome = [&] {
    started = clock_.boot_now();
    return std::optional(ScriptedHost::ended_by_itself(0));
  };
  host_.meanwhile = [&](BootTime) {
    if (told || seen_.empty() || !seen_.back().finished()) return false;
    clock_.sleep_for(400s);
    int status = 0;
    EXPECT_EQ(write(go[1], "x", 1), 1);
    EXPECT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    told = clock_.boot_now();
    return true;
  };
  EXPECT_EQ(run().end, WorkerEnd::workflow_finished);
  close(go[0]);
  close(go[1]);
  EXPECT_EQ(host_.started, 2);
  EXPECT_GE(clock_.boot_now() - started, 600s) << "it waits anew";
  EXPECT_LT(clock_.boot_now() - started, 650s);
}

}  // namespace
}  // namespace torc::worker
