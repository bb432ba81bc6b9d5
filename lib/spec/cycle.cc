#include "lib/spec/cycle.h"

#include <algorithm>

namespace torc::spec {
namespace {

// Depth-first search over jobs. A job is finished once and then skipped by all ranges in almost
// constant time (`next_`: a union-find over finished neighbours).
class Search {
 public:
  Search(std::uint64_t jobs, const std::vector<DependencySet>& sets)
      : sets_(sets), set_of_(jobs + 2, 0), next_(jobs + 2), open_(jobs + 2, false) {
    for (std::uint64_t j = 0; j < next_.size(); ++j) next_[j] = static_cast<std::uint32_t>(j);
    for (std::size_t s = 0; s < sets.size(); ++s) {
      for (const Range& r : sets[s].members) {
        for (std::uint64_t j = r.first; j < r.end(); ++j) {
          set_of_[j] = static_cast<std::uint32_t>(s + 1);
        }
      }
    }
  }

  std::vector<std::uint64_t> run() {
    for (std::uint64_t root = unfinished(1); root + 1 < next_.size(); root = unfinished(root)) {
      enter(root);
      while (!path_.empty()) {
        const std::uint64_t below = first_unfinished_upstream(path_.back());
        if (below == 0) {
          leave();
        } else if (open_[below]) {
          return cycle_from(below);
        } else {
          enter(below);
        }
      }
    }
    return {};
  }

 private:
  struct Frame {
    std::uint32_t job = 0;
    std::uint32_t range = 0;  // of the job's upstream: all before it are finished
  };

  void enter(std::uint64_t job) {
    open_[job] = true;
    path_.push_back({static_cast<std::uint32_t>(job), 0});
  }

  void leave() {
    const std::uint32_t job = path_.back().job;
    open_[job] = false;
    next_[job] = job + 1;
    path_.pop_back();
  }

  // The lowest job >= j that is not finished.
  std::uint64_t unfinished(std::uint64_t j) {
    std::uint64_t end = j;
    while (next_[end] != end) end = next_[end];
    while (next_[j] != end && j != end) {
      const std::uint64_t after = next_[j];
      next_[j] = static_cast<std::uint32_t>(end);
      j = after;
    }
    return end;
  }

  std::uint64_t first_unfinished_upstream(Frame& frame) {
    const std::uint32_t set = set_of_[frame.job];
    if (set == 0) return 0;
    const std::vector<Range>& upstream = sets_[set - 1].upstream;
    for (; frame.range < upstream.size(); ++frame.range) {
      const std::uint64_t j = unfinished(upstream[frame.range].first);
      if (j < upstream[frame.range].end()) return j;
    }
    return 0;
  }

  std::vector<std::uint64_t> cycle_from(std::uint64_t job) const {
    std::vector<std::uint64_t> cycle;
    auto it =
        std::find_if(path_.begin(), path_.end(), [&](const Frame& f) { return f.job == job; });
    for (; it != path_.end(); ++it) cycle.push_back(it->job);
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    return cycle;
  }

  const std::vector<DependencySet>& sets_;
  std::vector<std::uint32_t> set_of_;  // index of the set + 1
  std::vector<std::uint32_t> next_;
  std::vector<bool> open_;  // on the path
  std::vector<Frame> path_;
};

// Everything waits for lower numbers only: most workflows are written in the order of their stages.
bool is_in_order(const std::vector<DependencySet>& sets) {
  return std::all_of(sets.begin(), sets.end(), [](const DependencySet& set) {
    return set.upstream.back().end() <= set.members.front().first;
  });
}

}  // namespace

std::vector<std::uint64_t> find_cycle(std::uint64_t jobs, const std::vector<DependencySet>& sets) {
  if (is_in_order(sets)) return {};
  return Search(jobs, sets).run();
}

}  // namespace torc::spec
