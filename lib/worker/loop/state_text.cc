#include "lib/worker/loop/state_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/lease.h"
#include "lib/worker/jobs/load.h"
#include "lib/worker/text/mismatch_text.h"

namespace torc::worker {
namespace {

constexpr std::size_t kMostShown = 20;

std::string show_time(std::chrono::nanoseconds d) {
  return show_duration(
      std::chrono::duration_cast<WallTime>(std::max(d, std::chrono::nanoseconds(0))));
}

std::string show_gang(const OwnGang& own) {
  const claim::Gang& gang = own.gang();
  const auto confirmed =
      std::count_if(gang.members.begin(), gang.members.end(),
                    [](const claim::GangMember& member) { return member.confirmed; });
  std::string how = own.is_head() ? "runs it" : "holds its node";
  if (own.is_over()) {
    how = "ends what is left of it here";
  } else if (gang.stage == claim::GangStage::forming) {
    how = fmt::format("waits: {} of {} have confirmed", confirmed, gang.members.size());
  } else if (own.is_head() && own.showed_life) {
    const auto live = std::count_if(gang.members.begin(), gang.members.end(),
                                    [](const claim::GangMember& member) { return member.lives; });
    how = fmt::format("it has failed: {} of {} have shown life since", live, gang.members.size());
  }
  return fmt::format("rank {} of the {} nodes of job #{}, attempt {}: {}", own.part.rank,
                     gang.members.size(), raw(own.token().job), own.token().attempt, how);
}

}  // namespace

std::vector<std::string> show_state(const State& w, BootTime now, BootTime confirmed,
                                    const std::function<pid_t(Run)>& leader) {
  std::string phase;
  if (w.phase == Phase::stopping) {
    phase = ", ends its jobs";
  } else if (w.orders.stop_at) {
    phase =
        fmt::format(", claims no more, ends its jobs in {}", show_time(*w.orders.stop_at - now));
  } else if (w.phase == Phase::draining) {
    phase = ", claims no more";
  }
  std::vector<std::string> lines;
  lines.push_back(fmt::format("running {}, waiting here {}, done {}, failed {}{}", w.running.size(),
                              w.waiting(), w.summary.completed, w.summary.failed, phase));
  if (const BellHearing::Account& bells = w.talk.bells.account(); bells.heard > 0) {
    lines.push_back(fmt::format("heard {}: looked {} for them, and found jobs {}",
                                plural(bells.heard, "bell"), plural(bells.looks, "time"),
                                plural(bells.found, "time")));
  }
  const BootTime fenced =
      confirmed +
      claim::fencing_limit(std::chrono::duration_cast<std::chrono::seconds>(w.terms.lease_ttl));
  const auto& last = w.talk.last_written;
  lines.push_back(fmt::format(
      "worker {}: last commit {}; its lease, not renewed, stops its jobs in {}", w.summary.epoch,
      last ? show_time(now - *last) + " ago" : "not yet made", show_time(fenced - now)));
  if (w.gang) lines.push_back(show_gang(*w.gang));
  if (w.reserved) lines.push_back("its node is kept for a job of several nodes that waits");
  std::size_t shown = 0;
  for (const auto& [run, job] : w.running) {
    if (shown++ == kMostShown) {
      lines.push_back(fmt::format("  and {} more", w.running.size() - kMostShown));
      break;
    }
    lines.push_back(fmt::format("  '{}', attempt {}, for {}, process {}", job.job.load->job.name,
                                job.token().attempt, show_time(now - job.started), leader(run)));
  }
  return lines;
}

std::vector<std::string> explain_mismatches(const claim::Offer& whole,
                                            const claim::Reader& reader) {
  constexpr std::size_t kMost = 3;
  workflow::RecipeBook book;
  std::vector<std::string> lines;
  // What cannot be read explains nothing; the next exchange says so.
  (void)claim::scan_ready_classes(reader, [&](const claim::JobClass& c, const auto& head) {
    const std::string why = show_mismatches(c, whole);
    if (!why.empty())
      lines.push_back(fmt::format(
          "{}: {}", printable(workflow::job_name(book, reader, JobId{head.first})), why));
    return lines.size() < kMost;
  });
  return lines;
}

}  // namespace torc::worker
