#include "lib/report/why_gang.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/gangs.h"
#include "lib/report/start_by_hand.h"

namespace torc::report {
namespace {

constexpr std::size_t kShownGroups = 3;

std::string when(const claim::Reservation& r) {
  return r.until ? fmt::format("the last of them is expected to be free at {}", show_time(*r.until))
                 : "nobody knows when the last of them is free, since what runs there declares no "
                   "runtime";
}

std::string say(const claim::GroupNodes& g, JobId id) {
  std::string text =
      fmt::format("Group '{}' has {} that could run it, {} of them free now", printable(g.group),
                  g.fitting == 1 ? "1 node" : fmt::format("{} nodes", g.fitting), g.free);
  if (!g.keeps) return text + ".";
  if (g.keeps->job == id)
    return text + fmt::format(", and keeps nodes for it: {}.", when(*g.keeps));
  return text + fmt::format(", and keeps {} nodes for job {} first: {}.", g.keeps->nodes,
                            raw(g.keeps->job), when(*g.keeps));
}

}  // namespace

std::optional<GangReason> why_gang_waits(const claim::Reader& reader,
                                         const claim::JobClass& job_class, JobId id, WallTime now,
                                         const std::string& store) {
  auto groups = claim::groups_for(reader, job_class, now);
  if (!groups.ok()) return std::nullopt;
  const std::uint32_t needs = job_class.need.nodes;
  const std::string what = fmt::format("It needs {} whole nodes of one group of workers", needs);
  if (groups->empty()) {
    return GangReason{{"nodes", what + ", and no worker belongs to a group.",
                       fmt::format("{}, or submit an allocation of {} nodes",
                                   say(hand_starts(store, {job_class})), needs)},
                      false};
  }
  std::stable_sort(groups->begin(), groups->end(), [](const auto& a, const auto& b) {
    return std::pair(a.fitting, a.free) > std::pair(b.fitting, b.free);
  });
  const claim::GroupNodes& largest = groups->front();
  if (largest.fitting < needs) {
    std::string text = fmt::format(
        "{}, and no group has as many that could run it: the largest, '{}', has {} of "
        "its {}.",
        what, printable(largest.group), largest.fitting, largest.nodes);
    if (largest.group.starts_with(claim::kAllocationGroup)) {
      return GangReason{{"nodes",
                         std::move(text) + " An allocation gets no nodes in place of those that it "
                                           "lost: its workers leave when nothing else is to do.",
                         fmt::format("submit an allocation of {} nodes", needs)},
                        false};
    }
    return GangReason{
        {"nodes",
         std::move(text) + " Its workers wait ten minutes for others that join it, or as long as "
                           "--idle-timeout says.",
         fmt::format(
             "torc worker {} --group {}{} (on {} more), or submit an allocation of {} nodes", store,
             shell_word(largest.group), worker_flags(job_class),
             needs - largest.fitting == 1 ? "one node"
                                          : fmt::format("{} nodes", needs - largest.fitting),
             needs)},
        false};
  }
  std::string text = what + " at the same time.";
  for (std::size_t i = 0; i < groups->size() && i < kShownGroups; ++i) {
    if ((*groups)[i].fitting >= needs) text += ' ' + say((*groups)[i], id);
  }
  return GangReason{{"gang", std::move(text),
                     "nothing needs to be done; a higher priority lets it go before others"},
                    true};
}

std::optional<Reason> why_kept_from(const claim::Reader& reader, const claim::JobClass& job_class,
                                    const std::vector<claim::Worker>& idle,
                                    const std::string& store, const std::string& job) {
  std::optional<claim::Reservation> kept;
  for (const claim::Worker& w : idle) {
    kept = claim::reservation_on(reader, w.epoch);
    if (!kept) return std::nullopt;
  }
  if (!kept) return std::nullopt;
  const auto runtime = job_class.need.runtime;
  return Reason{
      "reserved",
      fmt::format("The {} that {} for job {}, which needs "
                  "{} of them at the same time: {}. Only what ends before that starts there, and "
                  "this job {}.",
                  plural(idle.size(), "worker"),
                  idle.size() == 1 ? "has nothing to do keeps its node"
                                   : "have nothing to do keep their nodes",
                  raw(kept->job), kept->nodes, when(*kept),
                  runtime.count() > 0 ? fmt::format("declares {}", show_duration(runtime))
                                      : "declares no runtime"),
      fmt::format("nothing needs to be done; torc set {} {} runtime=…, where it is shorter, or a "
                  "priority above that job's, lets it start sooner",
                  store, job)};
}

}  // namespace torc::report
