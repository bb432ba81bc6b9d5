#include "lib/report/worker_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/amounts.h"
#include "lib/base/labels.h"
#include "lib/base/text/quote.h"
#include "lib/claim/rules/offer.h"

namespace torc::report {
namespace {

constexpr std::size_t kMostKinds = 10;
constexpr std::size_t kMostOfAKind = 8;

// Those of an allocation are told by its number.
bool is_told_group(const claim::WorkerInfo& info) {
  return !info.group.empty() && info.allocation.empty();
}

std::string say_one(const claim::Worker& w) {
  const std::string& node = w.info.node_name;
  const bool is_told = is_told_group(w.info) && !node.empty() && node != w.info.host;
  return fmt::format("{}{}", claim::raw(w.epoch),
                     is_told ? fmt::format(" ({})", printable(node)) : std::string());
}

}  // namespace

std::string say_kind(const claim::WorkerInfo& info) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (is_told_group(info)) add("group " + printable(info.group));
  if (!info.labels.empty())
    add(say_labels(info.labels) + (info.also_unlabelled ? ", and jobs without one" : ""));
  if (!info.scheduler.empty()) add("scheduler " + printable(info.scheduler));
  if (!info.more.named.empty()) add(show(info.more.named));
  return text;
}

std::string say_kinds(const std::vector<const claim::Worker*>& workers) {
  std::vector<std::pair<std::string, std::vector<const claim::Worker*>>> kinds;
  for (const claim::Worker* w : workers) {
    std::string kind = say_kind(w->info);
    if (kind.empty()) continue;
    const auto same = std::ranges::find(kinds, kind, [](const auto& k) { return k.first; });
    if (same == kinds.end()) {
      kinds.emplace_back(std::move(kind), std::vector<const claim::Worker*>{w});
    } else {
      same->second.push_back(w);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < kinds.size() && i < kMostKinds; ++i) {
    const auto& [kind, of_it] = kinds[i];
    std::string who;
    for (std::size_t n = 0; n < of_it.size() && n < kMostOfAKind; ++n)
      who += (n == 0 ? "" : ", ") + say_one(*of_it[n]);
    if (of_it.size() > kMostOfAKind)
      who += fmt::format(" and {} more", of_it.size() - kMostOfAKind);
    text += fmt::format("{} {}: {}\n", of_it.size() == 1 ? "worker" : "workers", who, kind);
  }
  if (kinds.size() > kMostKinds)
    text += fmt::format("… and {} more kinds (--json shows all)\n", kinds.size() - kMostKinds);
  return text;
}

}  // namespace torc::report
