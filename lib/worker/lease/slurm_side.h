// What a worker knows of Slurm while it lives: which others Slurm has no longer, and when its own
// allocation ends. One worker asks for all of the workflow (lib/claim/rules/inquiry.h), and the
// store tells the others what it heard. Used in the thread that owns the store.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/end_margins.h"
#include "lib/claim/rules/inquiry.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/slurm/query.h"
#include "lib/store/engine/store.h"
#include "lib/worker/lease/allocation_inquiry.h"
#include "lib/worker/lease/slurm_terms.h"

namespace torc::worker {

class SlurmSide {
 public:
  SlurmSide(store::World world, store::Store& store, claim::WorkerEpoch self,
            claim::WorkerInfo info, std::unique_ptr<SlurmInquiry> inquiry, const SlurmTerms& terms);

  // As the record said it in the newest state, which was read at `now`.
  void saw(claim::Inquiry inquiry, BootTime now);
  // What Slurm said of another one; nullopt: nothing that ends it.
  [[nodiscard]] std::optional<claim::Gone> word_of(claim::WorkerEpoch worker) const;
  // Whether Slurm could say more of it than it has.
  [[nodiscard]] bool may_know(const claim::Worker& worker) const;
  // Asks if something is to be asked and it is this worker's turn. A question that cannot be noted
  // now comes again.
  void ask(bool has_suspects, BootTime now);
  // When ask() may be worth another call; for who has suspects.
  [[nodiscard]] BootTime next_turn() const { return turn_.next(); }

  // Readable when Slurm has answered; then answered() tells the others.
  [[nodiscard]] int fd() const { return inquiry_->fd(); }
  void answered();

  // This process stood still for a while: the end of its allocation may have moved.
  void stood_still(BootTime now);
  // By when its jobs must have ended, once, when that is another moment now.
  [[nodiscard]] std::optional<WallTime> take_moved_end() {
    return std::exchange(moved_end_, std::nullopt);
  }

 private:
  using Seat = std::pair<slurm::Allocation, std::string>;  // a worker's allocation and node
  double roll();
  void follow_end(const claim::RunEnd& run);

  store::World world_;
  store::Store& store_;
  claim::WorkerEpoch self_;
  claim::WorkerInfo info_;
  std::unique_ptr<SlurmInquiry> inquiry_;
  EndMargins margins_;
  bool end_was_asked_;
  std::optional<claim::Inquiry> known_;
  std::uint64_t asked_before_ = 0;  // before this worker's first look
  claim::AskTurn turn_;
  claim::EndWish wish_;
  std::map<claim::WorkerEpoch, Seat> asked_about_;
  std::uint64_t asked_as_ = 0;  // the number of that question
  std::optional<WallTime> moved_end_;
};

}  // namespace torc::worker
