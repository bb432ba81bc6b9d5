#include "lib/spec/expand/cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace torc::spec {
namespace {

constexpr std::size_t kMaxCycleShown = 100;

// Those of jobs above `before`, which become 1 and so on: what was there before waits for none of
// them.
std::vector<DependencySet> without_earlier(const std::vector<DependencySet>& sets,
                                           std::uint64_t before) {
  std::vector<DependencySet> all;
  for (const DependencySet& set : sets) {
    DependencySet& kept = all.emplace_back();
    for (const Range& r : set.members) kept.members.push_back({r.first - before, r.count});
    for (const Range& r : set.upstream) {
      if (r.end() <= before + 1) continue;
      const std::uint64_t first = std::max(r.first, before + 1);
      kept.upstream.push_back({first - before, r.end() - first});
    }
    if (kept.upstream.empty()) all.pop_back();
  }
  return all;
}

void report_cycle(const Workflow& workflow, const Families& jobs,
                  const std::vector<std::uint64_t>& cycle, std::size_t like_it, Report& report) {
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::size_t left = cycle.size() - i;
    if (cycle.size() > kMaxCycleShown && i == kMaxCycleShown / 2) {
      const std::size_t skipped = left - kMaxCycleShown / 2;
      text += fmt::format("({} more) -> ", skipped);
      i += skipped;
    }
    text += jobs.name(cycle[i]) + " -> ";
  }
  text += jobs.name(cycle.front());
  if (like_it > 0) text += fmt::format(" (and {} more like it)", like_it);
  const JobEntry& entry = workflow.jobs[jobs.family_of(cycle.front())];
  report.error(entry.place_of("depends_on"), "jobs wait for each other in a circle: " + text,
               "remove one of these dependencies ('->' is 'waits for'; files count too)");
}

}  // namespace

void report_cycles(const Workflow& workflow, const Families& jobs, const Expansion& expansion,
                   Report& report) {
  const std::uint64_t before = jobs.total() - jobs.members();
  std::vector<std::vector<std::uint64_t>> cycles;
  if (before > 0) {
    cycles = find_cycles(jobs.members(), without_earlier(all_dependencies(expansion), before));
    for (auto& cycle : cycles) {
      for (std::uint64_t& job : cycle) job += before;
    }
  } else if (expansion.conditional.empty()) {
    cycles = find_cycles(jobs.total(), expansion.dependencies);
  } else {
    cycles = find_cycles(jobs.total(), all_dependencies(expansion));
  }
  std::map<std::vector<std::size_t>, std::pair<std::size_t, std::size_t>> alike;  // first, how many
  for (std::size_t c = 0; c < cycles.size(); ++c) {
    std::vector<std::size_t> entries;
    for (const std::uint64_t job : cycles[c]) entries.push_back(jobs.family_of(job));
    ++alike.try_emplace(std::move(entries), c, 0).first->second.second;
  }
  for (const auto& [entries, found] : alike)
    report_cycle(workflow, jobs, cycles[found.first], found.second - 1, report);
}

}  // namespace torc::spec
