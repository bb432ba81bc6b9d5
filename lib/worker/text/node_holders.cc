#include "lib/worker/text/node_holders.h"

#include <fmt/format.h>

#include <algorithm>

namespace torc::worker {
namespace {

constexpr std::size_t kShown = 3;

bool is_of(const exec::NodeEntry& e, std::uint64_t pid) {
  return static_cast<std::uint64_t>(e.member.watchdog.pid) == pid;
}

}  // namespace

bool waits_for_node(const std::vector<exec::NodeEntry>& workers, std::uint64_t pid) {
  return std::any_of(workers.begin(), workers.end(), [&](const exec::NodeEntry& e) {
    return is_of(e, pid) && e.holding.waiting_since != BootTime{} && e.holding.cpu_count() == 0;
  });
}

std::string show_holders(const workflow::Context& context,
                         const std::vector<exec::NodeEntry>& workers, std::uint64_t pid) {
  std::vector<const exec::NodeEntry*> others;
  for (const exec::NodeEntry& e : workers) {
    if (!is_of(e, pid) && e.holding.cpu_count() > 0 && !e.member.overcommits) others.push_back(&e);
  }
  std::stable_sort(others.begin(), others.end(), [](const auto* a, const auto* b) {
    return a->holding.cpu_count() > b->holding.cpu_count();
  });
  std::string text;
  for (std::size_t i = 0; i < others.size() && i < kShown; ++i) {
    const std::uint32_t n = others[i]->holding.cpu_count();
    text += fmt::format(
        "{}worker {} of {} ({} CPU{})", i == 0 ? "" : ", ", others[i]->member.watchdog.pid,
        workflow::shown_path(context, others[i]->member.store), n, n == 1 ? "" : "s");
  }
  return others.size() > kShown ? fmt::format("{} and {} more", text, others.size() - kShown)
                                : text;
}

}  // namespace torc::worker
