// For the tests of a worker that is part of a gang: what the store says of it, and what it says.
#pragma once

#include <signal.h>

#include "lib/worker/machine/step_fixture.h"

namespace torc::worker {

class GangStep : public StepTest {
 protected:
  using Stage = claim::GangStage;
  using What = claim::GangWord::What;
  static constexpr claim::ClaimToken kToken{JobId{1}, 1, 10};

  // As the store has it now.
  claim::GangPart part_;
  std::uint64_t commit_ = 10;

  void form(std::uint32_t nodes, std::uint32_t rank) {
    part_ = {};
    part_.gang.token = kToken;
    part_.rank = rank;
    for (std::uint32_t n = 0; n < nodes; ++n) {
      claim::GangMember member;
      member.worker = claim::WorkerEpoch{n == rank ? 7 : 100 + n};
      member.node = "n" + std::to_string(n);
      member.confirmed = n == 0;
      part_.gang.members.push_back(std::move(member));
    }
  }
  [[nodiscard]] static ClaimedJob gang_job() {
    ClaimedJob made = job(1);
    made.grant.token = kToken;
    made.grant.gang = true;
    made.need.cpus = 1;
    made.need.nodes = 2;
    return made;
  }
  [[nodiscard]] static ClaimedJob job_on_each_node() {
    ClaimedJob made = gang_job();
    made.on_each_node = true;
    made.port = 4711;
    return made;
  }

  // What it asked is answered. `job`: that it is granted, or would run as a member.
  void answer(std::optional<claim::GangPart> part, std::optional<ClaimedJob> job = {}) {
    ASSERT_TRUE(state_.talk.busy) << "it asked nothing";
    event::Answered e;
    e.wrote = true;
    e.newest = ++commit_;
    e.answer.workflow.counts[static_cast<std::size_t>(claim::JobState::running)] = 1;
    e.answer.live_workers = 2;
    if (job && part && part->rank == 0) {
      e.jobs.push_back(*std::move(job));
    } else if (job) {
      e.gang_job = std::move(job);
    }
    e.answer.gang = std::move(part);
    feed(std::move(e));
    turn();
  }
  // It asks, and what it asked is answered.
  void be_told(std::optional<claim::GangPart> part, std::optional<ClaimedJob> job = {}) {
    for (int i = 0; i < 3 && !state_.talk.busy; ++i) {
      pass(std::chrono::seconds(40));
      turn();
    }
    answer(std::move(part), std::move(job));
  }
  // It is looked up without a question.
  void see(Stage stage) {
    part_.gang.stage = stage;
    event::GangSeen seen;
    seen.commit = ++commit_;
    seen.part = part_;
    feed(std::move(seen));
    turn();
  }
  // What was said is heard, and the gang is as `part_` has it.
  void hear() {
    if (state_.talk.busy) answer(part_);
  }
  // A worker of two CPUs that is part of a gang of so many nodes.
  void be_in_gang(std::uint32_t nodes, std::uint32_t rank, ClaimedJob job) {
    be_born(2);
    form(nodes, rank);
    be_told(part_, std::move(job));
  }

  [[nodiscard]] std::vector<claim::GangWord> words() const {
    std::vector<claim::GangWord> all;
    for (const Command& order : done_) {
      if (const auto* submit = std::get_if<command::Submit>(&order))
        all.insert(all.end(), submit->exchange.gang.begin(), submit->exchange.gang.end());
      if (const auto* last = std::get_if<command::Goodbye>(&order))
        all.insert(all.end(), last->words.gang.begin(), last->words.gang.end());
    }
    return all;
  }
  [[nodiscard]] std::size_t said(What what) const {
    const auto all = words();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const auto& word) { return word.what == what; }));
  }
  [[nodiscard]] const claim::Exchange& last_exchange() const {
    static const claim::Exchange none;
    for (auto order = done_.rbegin(); order != done_.rend(); ++order) {
      if (const auto* submit = std::get_if<command::Submit>(&*order)) return submit->exchange;
    }
    return none;
  }
  template <class C>
  [[nodiscard]] const C* last() const {
    for (auto order = done_.rbegin(); order != done_.rend(); ++order) {
      if (const auto* found = std::get_if<C>(&*order)) return found;
    }
    return nullptr;
  }
  // Its command here.
  void end_command(int code, claim::Trouble output_says = claim::Trouble::unknown) {
    ASSERT_TRUE(state_.gang && state_.gang->run);
    event::Ended ended;
    ended.run = *state_.gang->run;
    ended.how.exit_code = code;
    ended.how.started_at = ended.how.ended_at = wall_;
    ended.said = output_says;
    feed(std::move(ended));
    turn();
  }
};

// For those of how its part ends.
class GangEnd : public GangStep {
 protected:
  void head_runs(std::uint32_t nodes, ClaimedJob job) {
    be_in_gang(nodes, 0, std::move(job));
    hear();
    for (auto& member : part_.gang.members) member.confirmed = true;
    see(Stage::complete);
    ASSERT_EQ(count<command::StartJob>(), 1U);
    part_.gang.stage = Stage::running;
    hear();
  }
  void member_runs(ClaimedJob job) {
    be_in_gang(2, 1, std::move(job));
    part_.gang.members[1].confirmed = true;
    hear();
    see(Stage::running);
    hear();
  }
  void member_ends(std::uint32_t rank, int code) {
    claim::Outcome outcome;
    outcome.cause = claim::EndCause::exited;
    outcome.exit_code = code;
    outcome.ended_at = wall_;
    part_.gang.members[rank].end = outcome;
    see(Stage::running);
  }
  [[nodiscard]] std::vector<claim::Finished> finishes() const {
    std::vector<claim::Finished> all;
    for (const Command& order : done_) {
      if (const auto* submit = std::get_if<command::Submit>(&order))
        all.insert(all.end(), submit->exchange.finishes.begin(), submit->exchange.finishes.end());
    }
    return all;
  }
  // Those but the head say that they live, up to this rank, and the store tells the head.
  void live(std::size_t last) {
    hear();
    part_.gang.members[0].lives = true;
    for (std::size_t rank = 1; rank <= last; ++rank) part_.gang.members[rank].lives = true;
    see(Stage::running);
    turn();
  }
  void all_live() { live(part_.gang.members.size() - 1); }
  // The command here ends because it was told to.
  void end_stopped() {
    ASSERT_TRUE(state_.gang && state_.gang->run);
    event::Ended ended;
    ended.run = *state_.gang->run;
    ended.how.how = exec::Ending::stopped;
    ended.how.signal = SIGTERM;
    ended.how.started_at = ended.how.ended_at = wall_;
    feed(std::move(ended));
    turn();
  }
};

}  // namespace torc::worker
