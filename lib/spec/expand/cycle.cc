#include "lib/spec/expand/cycle.h"

#include <algorithm>
#include <map>
#include <utility>

namespace torc::spec {
namespace {

using Cycle = std::vector<std::uint64_t>;

// For each job the number of its set + 1; 0: it waits for nobody.
std::vector<std::uint32_t> sets_of_jobs(std::uint64_t jobs,
                                        const std::vector<DependencySet>& sets) {
  std::vector<std::uint32_t> set_of(jobs + 2, 0);
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const Range& r : sets[s].members) {
      for (std::uint64_t j = r.first; j < r.end(); ++j)
        set_of[j] = static_cast<std::uint32_t>(s + 1);
    }
  }
  return set_of;
}

// Jobs from 1, some of which are passed over: a union-find over neighbours.
class Skipping {
 public:
  explicit Skipping(std::uint64_t jobs) : next_(jobs + 2) {
    for (std::uint64_t j = 0; j < next_.size(); ++j) next_[j] = static_cast<std::uint32_t>(j);
  }
  void skip(std::uint64_t job) { next_[job] = static_cast<std::uint32_t>(job + 1); }
  // The lowest job >= j that is not skipped.
  std::uint64_t from(std::uint64_t j) {
    std::uint64_t end = j;
    while (next_[end] != end) end = next_[end];
    while (next_[j] != end && j != end) {
      const std::uint64_t after = next_[j];
      next_[j] = static_cast<std::uint32_t>(end);
      j = after;
    }
    return end;
  }
  [[nodiscard]] bool is_end(std::uint64_t job) const { return job + 1 >= next_.size(); }

 private:
  std::vector<std::uint32_t> next_;
};

Cycle from_its_lowest(Cycle cycle) {
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

// Depth-first search over jobs, with the path cut into groups of jobs that wait for each other: a
// way back to a job on the path joins all above it (Gabow 2000, without the ways to jobs that were
// left: these could only join groups that have cycles of their own).
class Search {
 public:
  Search(std::uint64_t jobs, const std::vector<DependencySet>& sets)
      : sets_(sets), set_of_(sets_of_jobs(jobs, sets)), unvisited_(jobs) {}

  std::vector<Cycle> run() {
    for (std::uint64_t root = unvisited_.from(1); !unvisited_.is_end(root);
         root = unvisited_.from(root)) {
      enter(root);
      while (!path_.empty()) {
        const std::uint64_t below = next_upstream(path_.back());
        if (below == 0)
          leave();
        else
          enter(below);
      }
    }
    std::ranges::sort(cycles_);
    return std::move(cycles_);
  }

 private:
  struct Frame {
    std::uint32_t job = 0;
    std::uint32_t range = 0;   // of the job's upstream: all before it are visited
    bool looked_back = false;  // whether it names a job on the path
  };
  struct Group {
    std::size_t depth = 0;  // of its first job on the path
    Cycle cycle;            // empty: none yet
  };

  void enter(std::uint64_t job) {
    unvisited_.skip(job);
    open_.emplace(job, path_.size());
    groups_.push_back({path_.size(), {}});
    path_.push_back({static_cast<std::uint32_t>(job), 0, false});
  }

  void leave() {
    open_.erase(path_.back().job);
    path_.pop_back();
    if (groups_.back().depth < path_.size()) return;
    if (!groups_.back().cycle.empty())
      cycles_.push_back(from_its_lowest(std::move(groups_.back().cycle)));
    groups_.pop_back();
  }

  std::uint64_t next_upstream(Frame& frame) {
    const std::uint32_t set = set_of_[frame.job];
    if (set == 0) return 0;
    const std::vector<Range>& upstream = sets_[set - 1].upstream;
    for (; frame.range < upstream.size(); ++frame.range, frame.looked_back = false) {
      const Range& range = upstream[frame.range];
      if (!std::exchange(frame.looked_back, true)) {
        const auto back = open_.lower_bound(range.first);
        if (back != open_.end() && back->first < range.end()) join(back->second);
      }
      const std::uint64_t j = unvisited_.from(range.first);
      if (j < range.end()) return j;
    }
    return 0;
  }

  // The last job on the path waits for the one at `depth`.
  void join(std::size_t depth) {
    Cycle first;
    while (groups_.back().depth > depth) {
      if (!groups_.back().cycle.empty()) first = std::move(groups_.back().cycle);
      groups_.pop_back();
    }
    Group& group = groups_.back();
    if (group.cycle.empty()) group.cycle = std::move(first);
    if (!group.cycle.empty()) return;
    for (std::size_t d = depth; d < path_.size(); ++d) group.cycle.push_back(path_[d].job);
  }

  const std::vector<DependencySet>& sets_;
  std::vector<std::uint32_t> set_of_;
  Skipping unvisited_;
  std::map<std::uint64_t, std::size_t> open_;  // jobs on the path, with their depth
  std::vector<Frame> path_;
  std::vector<Group> groups_;  // of the path, from its beginning
  std::vector<Cycle> cycles_;
};

// Everything waits for lower numbers only: most workflows are written in the order of their stages.
bool is_in_order(const std::vector<DependencySet>& sets) {
  return std::ranges::all_of(sets, [](const DependencySet& set) {
    return set.upstream.back().end() <= set.members.front().first;
  });
}

}  // namespace

std::vector<std::vector<std::uint64_t>> find_cycles(std::uint64_t jobs,
                                                    const std::vector<DependencySet>& sets) {
  if (is_in_order(sets)) return {};
  return Search(jobs, sets).run();
}

}  // namespace torc::spec
