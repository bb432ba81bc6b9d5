// What a worker has of its node, and what it leaves to other workers there.
#include <fmt/format.h>

#include "lib/base/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/exec/node/node_ledger.h"
#include "lib/worker/misfit_text.h"
#include "lib/worker/node_holders.h"
#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

// Turns of workers that share a node are shorter.
constexpr std::chrono::nanoseconds kStarving = std::chrono::seconds(2);

}  // namespace

bool Session::share_gives(const PreparedJob& job) {
  if (setup_.max_parallel_jobs) return running_.size() < *setup_.max_parallel_jobs;
  return share_.fits(job.need) || share_.grow_for(job.need);
}

// After jobs have ended: others wait, who have less.
void Session::let_others() {
  if (phase_ != Phase::working || setup_.max_parallel_jobs || !share_.let_others()) return;
  // What was claimed ahead is not kept from workers that can run it.
  if (share_.cpus() == 0) return_queue();
}

// Nothing is kept that no job uses, but while the store is asked for jobs (a store that hangs must
// not keep the node from others), and CPUs as long as jobs for them are expected at once.
void Session::settle_share() {
  if (setup_.max_parallel_jobs) return;
  if (phase_ != Phase::working) share_.stop_waiting();
  if (committer_->busy() && in_flight_.offer && clock_.boot_now() < last_sent_ + kShareInFlight)
    return;
  const bool soon = (!queue_.empty() || (wants_jobs() && clock_.boot_now() >= not_before_)) &&
                    !committer_->busy();
  share_.give_back_free(soon && phase_ == Phase::working ? NodeShare::Cpus::keep
                                                         : NodeShare::Cpus::give);
  const int bell = share_.fd();
  if (bell == watched_share_) return;
  if (watched_share_ >= 0) host_.unwatch(watched_share_);
  watched_share_ = bell >= 0 && host_.watch(bell) ? bell : -1;
}

void Session::look_at_share() {
  if (share_.look()) {
    nothing_claimable_ = false;
    heard_bell_ = committer_->busy();
  }
  say_who_holds_the_node();
}

void Session::say_who_holds_the_node() {
  const BootTime since = share_.starved_since();
  if (share_.cpus() > 0) told_starved_ = false;
  if (since == BootTime{} || told_starved_ || clock_.boot_now() < since + kStarving) return;
  if (summary_.workflow.of(claim::JobState::ready) == 0) return;
  told_starved_ = true;
  const auto workers = exec::NodeLedger::look(setup_.node_place);
  const std::string holders =
      workers ? show_holders(context_, *workers, static_cast<std::uint64_t>(lease_.process().pid))
              : "";
  notice(fmt::format("waits until CPUs of this node are free{}; see: torc node",
                     holders.empty() ? "" : ": " + holders + " has them"));
}

std::vector<std::string> Session::misfits(const claim::Reader& reader) const {
  constexpr std::size_t kMost = 3;
  const claim::Offer whole = offer();
  workflow::RecipeBook book;
  std::vector<std::string> lines;
  // What cannot be read explains nothing; the next exchange says so.
  (void)claim::scan_ready_classes(reader, [&](const claim::JobClass& c, JobId head) {
    const std::string why = show_misfits(c, whole);
    if (!why.empty())
      lines.push_back(
          fmt::format("{}: {}", printable(workflow::job_name(book, reader, head)), why));
    return lines.size() < kMost;
  });
  return lines;
}

}  // namespace torc::worker
