// One worker of the simulation, alone on its node: what worker::Session does around the policy,
// with jobs that only take time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "bench/sim_world.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/pace.h"
#include "lib/claim/rules/request.h"
#include "lib/worker/lease/lease_keeper.h"

namespace torc::bench {

class SimNode final {
 public:
  SimNode(Simulator& simulator, std::uint32_t number);

  void handle(const Event& event);
  // Adds what runs until now to the busy time; for the end.
  void account();
  [[nodiscard]] double busy() const { return busy_; }        // seconds of slots, measured
  [[nodiscard]] double present() const { return present_; }  // seconds registered, measured
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  struct Slot {
    claim::ClaimToken token;
    SimTime started{};
    std::uint64_t run = 0;  // tells the end of this run from that of one that was killed
    bool taken = false;
  };
  enum class Life : std::uint8_t { entering, registering, working, left };

  void enter();
  void register_now();
  void start_jobs();
  void job_ended(std::uint64_t slot, std::uint64_t run);
  void send_if_due();
  void list(std::uint64_t attempt);
  void publish(std::uint64_t attempt);
  void answer(std::uint64_t attempt);
  void tick();
  void check_fence();
  void lose_lease(bool by_itself);
  void leave();
  Result<void> body(store::Transaction& tx);
  claim::Offer offer() const;
  void schedule_turn();
  void schedule_fence();
  void become(Life life);

  [[nodiscard]] bool has_reports() const { return !starts_.empty() || !finishes_.empty(); }
  [[nodiscard]] bool wants_jobs() const;
  [[nodiscard]] bool runs_alone() const { return alone_ && boot() < alone_->until; }
  [[nodiscard]] bool queue_stands() const;
  [[nodiscard]] std::uint64_t slots() const;
  [[nodiscard]] std::chrono::nanoseconds window() const;
  [[nodiscard]] double job_seconds();
  [[nodiscard]] BootTime boot() const { return clock_.boot_now(); }

  Simulator& simulator_;
  std::uint32_t number_;
  SimClock clock_;
  BeatDisk disk_;
  NodeStore store_;
  store::World world_;
  claim::WorkerInfo info_;
  claim::Entrance entrance_;
  claim::Pace pace_{claim::Sharing::shared};
  std::unique_ptr<worker::LeaseKeeper> keeper_;
  claim::WorkerEpoch self_{};
  Life life_ = Life::entering;
  bool in_tick_ = false;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t runs_ = 0;
  // The suspect that was started last, and until when nothing is started beside it.
  struct Probation {
    claim::ClaimToken token;
    BootTime until{};
  };
  std::optional<Probation> alone_;
  std::deque<claim::ClaimToken> queue_;
  std::vector<claim::ClaimToken> offered_;
  std::vector<claim::Started> starts_;
  std::vector<claim::Finished> finishes_;

  // The exchange under way.
  std::uint64_t attempt_ = 0;  // counts them; 0 none
  bool busy_sending_ = false;
  claim::Exchange exchange_;
  claim::Answer answer_;
  claim::Crowd crowd_;  // when it registered
  std::optional<Error> outcome_;
  bool wrote_ = false;
  std::uint64_t based_on_ = 0;
  std::uint64_t newest_ = 0;
  SimTime sent_at_{};
  BootTime begun_{};
  BootTime last_commit_{};

  BootTime last_sent_{};
  bool nothing_claimable_ = false;
  BootTime next_poll_{};
  SimTime turn_at_ = SimTime::max();
  double busy_ = 0;
  double present_ = 0;
  SimTime present_since_{};
  std::optional<Error> error_;
};

}  // namespace torc::bench
