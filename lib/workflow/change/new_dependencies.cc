#include "lib/workflow/change/new_dependencies.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::workflow {

std::vector<JobNumberMap::Piece> JobNumberMap::pieces(const claim::JobRange& here) const {
  std::vector<Piece> found;
  std::uint64_t at = raw(here.first);
  const std::uint64_t end = at + here.count;
  auto entry = std::ranges::upper_bound(entries_, at, {}, &Entry::here);
  if (entry != entries_.begin()) --entry;
  for (; entry != entries_.end() && at < end; ++entry) {
    const std::uint64_t to = std::min(end, entry->here + entry->count);
    if (to <= at) continue;
    found.push_back({{JobId{entry->there + (at - entry->here)}, to - at}, entry->is_new});
    at = to;
  }
  return found;
}

std::vector<claim::JobRange> JobNumberMap::numbers_of(
    const std::vector<claim::JobRange>& here) const {
  std::vector<claim::JobRange> there;
  for (const claim::JobRange& range : here) {
    for (const Piece& piece : pieces(range)) there.push_back(piece.jobs);
  }
  return joined(std::move(there));
}

JobId JobNumberMap::number_of(JobId here) const {
  if (raw(here) == 0) return here;
  const auto found = pieces({here, 1});
  return found.empty() ? JobId{} : found.front().jobs.first;
}

std::vector<claim::JobRange> joined(std::vector<claim::JobRange> ranges) {
  std::ranges::sort(ranges, {}, &claim::JobRange::first);
  std::vector<claim::JobRange> out;
  for (const claim::JobRange& r : ranges) {
    if (!out.empty() && raw(out.back().first) + out.back().count == raw(r.first)) {
      out.back().count += r.count;
    } else {
      out.push_back(r);
    }
  }
  return out;
}

namespace {

using claim::Condition;
using claim::JobRange;

// What a set of jobs waits for, in a form in which equal ones are the same.
struct Upstream {
  std::map<Condition, std::vector<std::pair<std::uint64_t, std::uint64_t>>> by_condition;
  bool cancels = false;
  auto operator<=>(const Upstream&) const = default;
};

Upstream upstream_of(const std::vector<JobRange>& completed,
                     const std::vector<claim::Dependency>& conditional, bool cancels) {
  std::map<Condition, std::vector<JobRange>> ranges;
  if (!completed.empty()) ranges[Condition::afterok] = completed;
  for (const claim::Dependency& d : conditional) ranges[d.condition].push_back(d.jobs);
  Upstream upstream;
  for (auto& [condition, jobs] : ranges) {
    for (const JobRange& r : joined(std::move(jobs)))
      upstream.by_condition[condition].emplace_back(raw(r.first), r.count);
  }
  upstream.cancels = cancels;
  return upstream;
}

claim::DependencySet by_numbers_of_store(const claim::DependencySet& set,
                                         const JobNumberMap& numbers) {
  claim::DependencySet there;
  there.upstream = numbers.numbers_of(set.upstream);
  for (const claim::Dependency& d : set.conditional) {
    for (const JobRange& r : numbers.numbers_of({d.jobs}))
      there.conditional.push_back({r, d.condition});
  }
  there.cancels = set.cancels;
  return there;
}

struct Members {
  JobRange jobs;  // by the numbers of the store
  const Upstream* upstream = nullptr;
};

class DependencyComparison {
 public:
  DependencyComparison(const claim::Reader& reader, const claim::Plan& plan,
                       const JobNumberMap& numbers)
      : numbers_(numbers), state_(reader) {
    for (const claim::DependencySet& set : plan.dependencies) {
      const claim::DependencySet there = by_numbers_of_store(set, numbers);
      const Upstream& upstream =
          sets_.emplace_back(upstream_of(there.upstream, there.conditional, there.cancels));
      if (upstream.by_condition.empty()) continue;
      for (const JobRange& members : set.members) {
        for (const JobNumberMap::Piece& piece : numbers.pieces(members)) {
          if (!piece.is_new) members_.push_back({piece.jobs, &upstream});
        }
      }
    }
    std::ranges::sort(members_, {}, [](const Members& m) { return m.jobs.first; });
  }

  Result<DifferingDependencies> run() {
    for (const JobNumberMap::Entry& entry : numbers_.entries()) {
      if (!entry.is_new) compare(entry.there, entry.there + entry.count);
    }
    TORC_TRY(state_.sound());
    return DifferingDependencies{joined(std::move(differing_)), joined(std::move(only_cancels_))};
  }

 private:
  // Cut where either side changes.
  void compare(std::uint64_t at, std::uint64_t end) {
    while (at < end) {
      const claim::Span* span = state_.span_of(at);
      if (span == nullptr) return state_.damaged(claim::Key(claim::Table::span, at));
      std::uint64_t to = std::min(end, span->first + span->count);
      const std::uint64_t barrier = span->barrier;
      const Upstream* now = upstream_at(at, to);
      const Upstream& before = upstream_of_barrier(barrier);
      if (now == nullptr ? barrier != 0 : before != *now)
        differing_.push_back({JobId{at}, to - at});
      if (now != nullptr && before != *now && before.by_condition == now->by_condition)
        only_cancels_.push_back({JobId{at}, to - at});
      at = to;
    }
  }

  // Of job `id`; `to` becomes where that ends.
  const Upstream* upstream_at(std::uint64_t id, std::uint64_t& to) const {
    auto next = std::ranges::upper_bound(members_, id, {},
                                         [](const Members& m) { return raw(m.jobs.first); });
    if (next != members_.end()) to = std::min(to, raw(next->jobs.first));
    if (next == members_.begin()) return nullptr;
    --next;
    const std::uint64_t over = raw(next->jobs.first) + next->jobs.count;
    if (id >= over) return nullptr;
    to = std::min(to, over);
    return next->upstream;
  }

  const Upstream& upstream_of_barrier(std::uint64_t id) {
    const auto [at, fresh] = barriers_.try_emplace(id);
    if (!fresh || id == 0) return at->second;
    if (const auto barrier = state_.barrier(id))
      at->second = upstream_of(barrier->upstream, barrier->conditional, barrier->cancels);
    return at->second;
  }

  const JobNumberMap& numbers_;
  claim::State state_;
  std::deque<Upstream> sets_;
  std::vector<Members> members_;
  std::map<std::uint64_t, Upstream> barriers_;
  std::vector<JobRange> differing_;
  std::vector<JobRange> only_cancels_;
};

// By the number of the action. A forged store may have several for one.
using Triggers = std::multimap<std::uint32_t, Upstream>;

Result<Triggers> triggers_there(const claim::Reader& reader) {
  Triggers triggers;
  bool sound = true;
  reader.scan_prefix(claim::Key(claim::Table::barrier), [&](const store::Entry& e) {
    const auto barrier = claim::decode_barrier(e.value);
    sound = barrier.has_value();
    if (sound && barrier->action != 0) {
      triggers.emplace(barrier->action,
                       upstream_of(barrier->upstream, barrier->conditional, barrier->cancels));
    }
    return sound;
  });
  if (sound) return triggers;
  return Error{ErrorKind::corrupt, "what an action waits for cannot be read",
               "run `torc verify` on the store"};
}

// Those of `jobs` that are in `some`, which are sorted and disjoint.
void add_common(const JobRange& jobs, const std::vector<JobRange>& some,
                std::vector<JobRange>& to) {
  const std::uint64_t end = raw(jobs.first) + jobs.count;
  auto at = std::ranges::upper_bound(some, jobs.first, {}, &JobRange::first);
  if (at != some.begin()) --at;
  for (; at != some.end() && raw(at->first) < end; ++at) {
    const std::uint64_t first = std::max(raw(jobs.first), raw(at->first));
    const std::uint64_t last = std::min(end, raw(at->first) + at->count);
    if (first < last) to.push_back({JobId{first}, last - first});
  }
}

}  // namespace

Result<DifferingDependencies> differing_dependencies(const claim::Reader& reader,
                                                     const claim::Plan& plan,
                                                     const JobNumberMap& numbers) {
  return DependencyComparison(reader, plan, numbers).run();
}

Result<std::optional<std::uint32_t>> differing_action(const claim::Reader& reader,
                                                      const claim::Plan& plan,
                                                      const JobNumberMap& numbers) {
  Triggers here;
  for (const claim::DependencySet& set : plan.dependencies) {
    if (set.action == 0) continue;
    const claim::DependencySet by = by_numbers_of_store(set, numbers);
    here.emplace(set.action, upstream_of(by.upstream, by.conditional, by.cancels));
  }
  TORC_ASSIGN(const Triggers there, triggers_there(reader));
  const auto [a, b] = std::mismatch(here.begin(), here.end(), there.begin(), there.end());
  if (a == here.end() && b == there.end()) return std::optional<std::uint32_t>{};
  if (a == here.end()) return std::optional(b->first);
  if (b == there.end()) return std::optional(a->first);
  return std::optional(std::min(a->first, b->first));
}

std::vector<claim::DependencySet> dependencies_of(const claim::Plan& plan,
                                                  const JobNumberMap& numbers,
                                                  const std::vector<JobRange>& rewired) {
  std::vector<claim::DependencySet> sets;
  for (const claim::DependencySet& set : plan.dependencies) {
    if (set.action != 0) continue;
    std::vector<JobRange> members;
    for (const JobRange& range : set.members) {
      for (const JobNumberMap::Piece& piece : numbers.pieces(range)) {
        if (piece.is_new) {
          members.push_back(piece.jobs);
        } else {
          add_common(piece.jobs, rewired, members);
        }
      }
    }
    if (members.empty()) continue;
    claim::DependencySet& there = sets.emplace_back(by_numbers_of_store(set, numbers));
    there.members = joined(std::move(members));
  }
  return sets;
}

}  // namespace torc::workflow
