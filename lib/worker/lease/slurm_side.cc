#include "lib/worker/lease/slurm_side.h"

#include <algorithm>

#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/asking.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

// A shift that changes nothing.
constexpr WallTime kSameEnd = 1s;

std::optional<claim::Gone> fact_of(slurm::AllocationState state) {
  switch (state) {
    case slurm::AllocationState::ended:
      return claim::Gone::ended;
    case slurm::AllocationState::cut_off:
      return claim::Gone::cut_off;
    case slurm::AllocationState::given_up:
      return claim::Gone::given_up;
    case slurm::AllocationState::active:
    case slurm::AllocationState::unknown:
      break;
  }
  return std::nullopt;
}

bool has_an_allocation(const claim::WorkerInfo& info) {
  return !info.allocation.empty() && !info.cluster.empty();
}

}  // namespace

SlurmSide::SlurmSide(store::World world, store::Store& store, claim::WorkerEpoch self,
                     claim::WorkerInfo info, std::unique_ptr<SlurmInquiry> inquiry,
                     const SlurmTerms& terms)
    : world_(std::move(world)),
      store_(store),
      self_(self),
      info_(std::move(info)),
      inquiry_(std::move(inquiry)),
      margins_(terms.margins),
      end_was_asked_(terms.end_was_asked) {
  if (!has_an_allocation(info_)) return;
  const BootTime now = world_.clock.boot_now();
  info_.end_is_told ? wish_.told(now, roll()) : wish_.unknown(now, roll());
}

double SlurmSide::roll() {
  return static_cast<double>(world_.entropy.next() >> 11) * 0x1p-53;
}

void SlurmSide::saw(claim::Inquiry inquiry, BootTime now) {
  turn_.saw(inquiry.asked, now);
  const bool first = !known_;
  const bool asked = first || known_->asked != inquiry.asked;
  const bool answered = first || known_->answered != inquiry.answered;
  known_ = std::move(inquiry);
  if (!has_an_allocation(info_)) return;
  // What was said before this worker came, it has asked for itself.
  const auto run =
      answered && !(first && end_was_asked_) ? claim::end_of(*known_, info_) : std::nullopt;
  if (run) {
    wish_.told(now, roll());
    follow_end(*run);
  } else if (asked && !first) {
    wish_.asked(now, roll());
  }
}

// Where Slurm tells no end, what was assumed stands.
void SlurmSide::follow_end(const claim::RunEnd& run) {
  if (run.end.count() == 0) return;
  const WallTime usable = *usable_until(run.end, margins_);
  const WallTime by = usable > info_.ends_at ? usable - info_.ends_at : info_.ends_at - usable;
  const bool moves = by >= kSameEnd;
  if (!moves && info_.end_is_told && info_.allocation_start.count() != 0) return;
  bool noted = false;
  const auto done = store_.commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(noted, claim::move_end(tx, self_, usable, run.start));
    return {};
  });
  if (done) {
    info_.ends_at = usable;
    info_.end_is_told = true;
    if (info_.allocation_start.count() == 0) info_.allocation_start = run.start;
  }
  if (moves) moved_end_ = usable;
}

std::optional<claim::Gone> SlurmSide::word_of(claim::WorkerEpoch worker) const {
  if (!known_) return std::nullopt;
  const auto found = known_->gone.find(worker);
  return found == known_->gone.end() ? std::nullopt : std::optional(found->second);
}

bool SlurmSide::may_know(const claim::Worker& worker) const {
  const claim::WorkerInfo& info = worker.info;
  const bool of_this_slurm = info_.cluster.empty() || info.cluster == info_.cluster;
  return has_an_allocation(info) && of_this_slurm && info.allocation_start.count() != 0 &&
         !word_of(worker.epoch);
}

void SlurmSide::ask(bool has_suspects, BootTime now) {
  if (!known_ || !(has_suspects || wish_.is_due(now))) return;
  if (!turn_.may_ask(now) || !inquiry_->possible()) return;
  bool mine = false;
  std::map<claim::WorkerEpoch, Seat> seats;
  const auto noted = store_.commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    seats.clear();
    mine = claim::begin_inquiry(tx, known_->asked);
    if (!mine) return {};
    // What cannot be read is not asked about.
    (void)claim::scan_workers(tx, true, [&](const claim::Worker& worker) {
      const claim::WorkerInfo& info = worker.info;
      if (has_an_allocation(info) && (info_.cluster.empty() || info.cluster == info_.cluster))
        seats.emplace(worker.epoch,
                      Seat{{info.cluster, info.allocation, info.allocation_start}, info.node});
      return true;
    });
    return {};
  });
  if (!noted || !mine) return;
  ++known_->asked;
  turn_.saw(known_->asked, now);
  wish_.asked(now, roll());
  if (seats.empty()) return;
  asked_about_ = std::move(seats);
  asked_as_ = known_->asked;
  std::vector<slurm::Allocation> allocations;
  for (const auto& [worker, seat] : asked_about_) allocations.push_back(seat.first);
  inquiry_->ask(std::move(allocations));
}

void SlurmSide::answered() {
  const SlurmInquiry::Answer answer = inquiry_->take();
  std::map<claim::WorkerEpoch, claim::Gone> gone;
  std::vector<claim::RunEnd> ends;
  bool told = false;
  for (const auto& [worker, seat] : asked_about_) {
    const auto found = answer.find(seat.first);
    if (found == answer.end() || found->second.state == slurm::AllocationState::unknown) continue;
    told = true;
    const slurm::AllocationNow& now = found->second;
    if (const auto fact = fact_of(slurm::state_on(now, seat.second))) gone.emplace(worker, *fact);
    if (now.state != slurm::AllocationState::active) continue;
    claim::RunEnd run{seat.first.cluster, seat.first.id, now.start, now.end.value_or(WallTime{})};
    if (std::find(ends.begin(), ends.end(), run) == ends.end()) ends.push_back(std::move(run));
  }
  // Nothing is concluded from an answer that says nothing of anybody.
  if (!told) return;
  claim::Inquiry after;
  const auto noted = store_.commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    TORC_TRY(claim::note_answer(tx, asked_as_, gone, ends));
    after = claim::read_inquiry(tx);
    return {};
  });
  if (noted) saw(std::move(after), world_.clock.boot_now());
}

void SlurmSide::stood_still(BootTime now) {
  if (has_an_allocation(info_)) wish_.at_once(now);
}

}  // namespace torc::worker
