#include "lib/spec/load/outline.h"

#include <algorithm>
#include <utility>

#include "lib/spec/sweep/recipe.h"

namespace torc::spec {
namespace {

// Members of one set, and which.
struct Members {
  Range range;
  std::size_t set;
};

std::vector<Members> members_of(const std::vector<DependencySet>& sets) {
  std::vector<Members> all;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const Range& range : sets[s].members) all.push_back({range, s});
  }
  std::ranges::sort(all, {}, [](const Members& m) { return m.range.first; });
  return all;
}

// What the members of a set wait for, all taken together.
struct Wait {
  std::uint32_t stage = 0;
  std::chrono::seconds start{0};
  std::uint64_t last = 0;        // the job that ends last of those they wait for,
  std::uint32_t last_stage = 0;  // of several the one in the last stage
  bool known = false;
  bool begun = false;
};

class Outliner {
 public:
  explicit Outliner(const Expansion& expansion)
      : expansion_(expansion), sets_(all_dependencies(expansion)), waits_(sets_.size()) {
    cut();
  }

  Outline run() {
    for (std::size_t s = 0; s < sets_.size(); ++s) settle(s);
    for (std::size_t i = 0; i < outline_.segments.size(); ++i) {
      Segment& segment = outline_.segments[i];
      if (const std::size_t set = set_of_[i]; set != kNone) {
        segment.stage = waits_[set].stage;
        segment.start = waits_[set].start;
      }
      outline_.stages = std::max(outline_.stages, segment.stage + 1);
    }
    find_critical();
    return std::move(outline_);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // One set whose upstream is looked through, from where it was left.
  struct Frame {
    std::size_t set = 0;
    std::size_t range = 0;
    std::size_t segment = kNone;
  };

  void cut() {
    const std::vector<Members> members = members_of(sets_);
    auto next = members.begin();
    for (std::size_t e = 0; e < expansion_.entries.size(); ++e) {
      const ExpandedEntry& entry = expansion_.entries[e];
      const std::uint64_t end = entry.first + entry.count;
      for (std::uint64_t at = entry.first; at < end;) {
        while (next != members.end() && next->range.end() <= at) ++next;
        const bool inside = next != members.end() && next->range.first <= at;
        std::uint64_t until = end;
        if (inside)
          until = std::min(end, next->range.end());
        else if (next != members.end())
          until = std::min(end, next->range.first);
        outline_.segments.push_back({at, until - at, e, 0, {}});
        set_of_.push_back(inside ? next->set : kNone);
        at = until;
      }
    }
  }

  [[nodiscard]] std::chrono::seconds end_of(std::size_t segment) const {
    const std::size_t set = set_of_[segment];
    return (set == kNone ? std::chrono::seconds{0} : waits_[set].start) +
           expected_time(expansion_.entries[outline_.segments[segment].entry].resources);
  }

  // Works out a set after those that it waits for; a stack of its own, since chains may be long.
  void settle(std::size_t first) {
    if (waits_[first].known) return;
    std::vector<Frame> stack{{first, 0, kNone}};
    waits_[first].begun = true;
    while (!stack.empty()) {
      const std::size_t before = look_on(stack.back());
      if (before == kNone) {
        waits_[stack.back().set].known = true;
        stack.pop_back();
      } else {
        waits_[before].begun = true;
        stack.push_back({before, 0, kNone});
      }
    }
  }

  // The set that must be known first; kNone: the frame is through.
  std::size_t look_on(Frame& frame) {
    const std::vector<Range>& upstream = sets_[frame.set].upstream;
    Wait& wait = waits_[frame.set];
    for (; frame.range < upstream.size(); ++frame.range, frame.segment = kNone) {
      const Range& range = upstream[frame.range];
      if (frame.segment == kNone) frame.segment = segment_of(outline_.segments, range.first);
      for (; frame.segment < outline_.segments.size(); ++frame.segment) {
        const Segment& segment = outline_.segments[frame.segment];
        if (segment.first >= range.end()) break;
        const std::size_t set = set_of_[frame.segment];
        // One that was begun waits for this one: a file has no such, a damaged store may.
        if (set != kNone && !waits_[set].known && !waits_[set].begun) return set;
        const std::uint32_t stage = set == kNone ? 0 : waits_[set].stage;
        wait.stage = std::max(wait.stage, stage + 1);
        const auto end = end_of(frame.segment);
        if (wait.last == 0 || std::pair(end, stage) > std::pair(wait.start, wait.last_stage)) {
          wait.start = end;
          wait.last_stage = stage;
          wait.last = std::max(segment.first, range.first);
        }
      }
    }
    return kNone;
  }

  void find_critical() {
    const auto rank = [&](std::size_t i) {
      return std::pair(end_of(i), outline_.segments[i].stage);
    };
    std::size_t last = kNone;
    for (std::size_t i = 0; i < outline_.segments.size(); ++i) {
      if (last == kNone || rank(i) > rank(last)) last = i;
    }
    if (last == kNone) return;
    outline_.length = end_of(last);
    if (outline_.length.count() == 0) return;
    std::uint64_t job = outline_.segments[last].first;
    // No chain is longer, unless jobs wait for each other.
    while (job != 0 && outline_.critical.size() < outline_.segments.size()) {
      outline_.critical.push_back(job);
      const std::size_t set = set_of_[segment_of(outline_.segments, job)];
      job = set == kNone ? 0 : waits_[set].last;
    }
    std::reverse(outline_.critical.begin(), outline_.critical.end());
  }

  const Expansion& expansion_;
  std::vector<DependencySet> sets_;
  std::vector<Wait> waits_;
  std::vector<std::size_t> set_of_;  // by segment
  Outline outline_;
};

}  // namespace

Outline outline(const Expansion& expansion) {
  return Outliner(expansion).run();
}

std::size_t segment_of(const std::vector<Segment>& segments, std::uint64_t job) {
  const auto above = std::ranges::upper_bound(segments, job, {}, &Segment::first);
  return static_cast<std::size_t>(above - segments.begin()) - 1;
}

const ExpandedEntry& entry_of(const Expansion& expansion, std::uint64_t job) {
  const auto above = std::ranges::upper_bound(expansion.entries, job, {}, &ExpandedEntry::first);
  return *std::prev(above);
}

std::string name_of(const Expansion& expansion, std::uint64_t job) {
  const ExpandedEntry& entry = entry_of(expansion, job);
  const auto recipe = Recipe::decode(entry.recipe);
  return recipe.ok() ? recipe->name(job - entry.first) : "?";
}

}  // namespace torc::spec
