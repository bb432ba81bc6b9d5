#include "bin/commands/look/unserved.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "lib/base/labels.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/report/job_view.h"
#include "lib/report/situation_text.h"

namespace torc::cli {
namespace {

// What all workers lack for it; where they lack different things, all of these.
std::uint8_t lacks_of(const claim::JobClass& c, const std::vector<AtWork>& workers) {
  std::uint8_t all = UINT8_MAX;
  std::uint8_t any = 0;
  for (const AtWork& worker : workers) {
    const std::uint8_t one = claim::mismatches_of(c, worker.offer);
    all &= one;
    any |= one;
  }
  return all != 0 ? all : any;
}

}  // namespace

std::vector<AtWork> workers_at_work(const report::Situation& situation, WallTime now) {
  std::vector<AtWork> workers;
  for (const report::WorkerNow& w : situation.workers) {
    if (w.is_at_work()) workers.push_back({&w.worker.info, claim::whole_offer(w.worker.info, now)});
  }
  return workers;
}

bool is_served(const claim::JobClass& c, const std::vector<AtWork>& workers) {
  const auto fits = [&](const AtWork& w) { return claim::could_fit(c, w.offer); };
  if (std::ranges::any_of(workers, fits)) return true;
  if (c.need.nodes <= 1) return false;
  std::map<std::string_view, std::set<std::string>> nodes;  // by group
  for (const AtWork& w : workers) {
    if (w.info->group.empty() || !claim::could_be_part(c, w.offer)) continue;
    std::set<std::string>& of_group = nodes[w.info->group];
    of_group.insert(claim::name_of_node(*w.info));
    if (of_group.size() >= c.need.nodes) return true;
  }
  return false;
}

std::string show_need(const claim::JobClass& c) {
  std::string text = show(c.need);
  for (const claim::Alternative& one : c.others) text += ", or " + show(one.need);
  if (!c.scheduler.empty()) text += fmt::format(", scheduler '{}'", printable(c.scheduler));
  if (!c.labels.empty()) text += ", " + say_labels(c.labels);
  return text;
}

std::string show_lacks(const Unserved& unserved) {
  const std::uint8_t lacks = unserved.lacks;
  const claim::JobClass& c = unserved.job_class;
  namespace mismatch = claim::mismatch;
  std::string text;
  const auto add = [&](std::uint8_t what, std::string_view words) {
    if ((lacks & what) != 0) text += fmt::format("{} {}", text.empty() ? "" : ",", words);
  };
  add(mismatch::kScheduler, "that scheduler");
  add(mismatch::kLabel, c.labels.empty()                          ? "no label, or --also-unlabelled"
                        : c.labels.find(',') == std::string::npos ? "that label"
                                                                  : "those labels");
  add(mismatch::kNodes, "as many nodes");
  for (const ResourceKind& kind : kResourceKinds) {
    if (!kind.shared) continue;
    add(mismatch::of(kind), kind.measure == Measure::count ? fmt::format("as many {}", kind.many)
                                                           : fmt::format("as much {}", kind.word));
  }
  for (const Amount& a : c.need.named)
    add(mismatch::kNamed, fmt::format("as {} {}", is_gpu(a.name) ? "many" : "much", a.name));
  add(mismatch::kTime, "as much time left");
  return "a worker with" + text;
}

Result<void> find_unserved(const claim::Reader& reader, WallTime now,
                           const report::Situation& situation, std::size_t most,
                           workflow::RecipeBook& book, std::vector<Unserved>& found) {
  const std::vector<AtWork> workers = workers_at_work(situation, now);
  if (workers.empty()) return {};
  Result<void> counted;
  TORC_TRY(claim::scan_ready_classes(reader, [&](const claim::JobClass& ready, const auto& head) {
    const claim::JobClass c = claim::as_learned(reader, ready);
    if (!is_served(c, workers)) {
      const auto jobs = claim::count_ready(reader, head.job_class);
      if (!jobs) counted = jobs.error();
      if (!jobs) return false;
      found.push_back({workflow::job_name(book, reader, JobId{head.first}), *jobs, c,
                       lacks_of(c, workers), !report::waiting(situation, c.scheduler).empty()});
    }
    return found.size() < most;
  }));
  return counted;
}

}  // namespace torc::cli
