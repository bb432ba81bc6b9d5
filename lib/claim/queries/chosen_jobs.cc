#include "lib/claim/queries/chosen_jobs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// Jobs, by the first of each run of them: the one behind its last. No two runs touch.
class Runs {
 public:
  // What of the range was not there, in parts, is added to `news`.
  void add(const JobRange& range, std::vector<JobRange>& news) {
    std::uint64_t begin = raw(range.first);
    std::uint64_t end = begin + range.count;
    if (begin == end) return;
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
    std::uint64_t unseen = begin;
    while (at != ends_.end() && at->first <= end) {
      if (at->first > unseen) news.push_back({JobId{unseen}, at->first - unseen});
      unseen = std::max(unseen, at->second);
      begin = std::min(begin, at->first);
      at = ends_.erase(at);
    }
    if (unseen < end) news.push_back({JobId{unseen}, end - unseen});
    ends_[begin] = std::max(unseen, end);
  }
  [[nodiscard]] std::vector<JobRange> ranges() const {
    std::vector<JobRange> all;
    all.reserve(ends_.size());
    for (const auto& [first, end] : ends_) all.push_back({JobId{first}, end - first});
    return all;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;
};

std::uint64_t overlap(const std::vector<JobRange>& ranges, std::uint64_t first, std::uint64_t end) {
  std::uint64_t jobs = 0;
  auto at = std::upper_bound(
      ranges.begin(), ranges.end(), first,
      [](std::uint64_t id, const JobRange& r) { return id < raw(r.first) + r.count; });
  for (; at != ranges.end() && raw(at->first) < end; ++at)
    jobs += std::min(end, raw(at->first) + at->count) - std::max(first, raw(at->first));
  return jobs;
}

}  // namespace

std::uint64_t jobs_in(const std::vector<JobRange>& ranges) {
  std::uint64_t jobs = 0;
  for (const JobRange& range : ranges) jobs += range.count;
  return jobs;
}

bool has_job(const std::vector<JobRange>& ranges, std::uint64_t id) {
  return overlap(ranges, id, id + 1) > 0;
}

bool has_one_of(const std::vector<JobRange>& ranges, JobRange of) {
  return overlap(ranges, raw(of.first), raw(of.first) + of.count) > 0;
}

std::vector<JobRange> without(const std::vector<JobRange>& ranges,
                              const std::vector<JobRange>& holes) {
  const auto end_of = [](const JobRange& r) { return raw(r.first) + r.count; };
  std::vector<JobRange> left;
  if (ranges.empty()) return left;
  auto hole = std::ranges::partition_point(
      holes, [&](const JobRange& h) { return end_of(h) <= raw(ranges.front().first); });
  for (const JobRange& r : ranges) {
    while (hole != holes.end() && end_of(*hole) <= raw(r.first)) ++hole;
    std::uint64_t at = raw(r.first);
    for (auto h = hole; h != holes.end() && raw(h->first) < end_of(r); ++h) {
      if (raw(h->first) > at) left.push_back({JobId{at}, raw(h->first) - at});
      at = std::max(at, end_of(*h));
    }
    if (at < end_of(r)) left.push_back({JobId{at}, end_of(r) - at});
  }
  return left;
}

Result<std::vector<JobRange>> with_upstreams(const Reader& reader,
                                             const std::vector<JobRange>& jobs) {
  State state(reader);
  Runs all;
  std::vector<JobRange> open;  // whose upstreams are still to be added
  for (const JobRange& range : jobs) all.add(range, open);
  std::set<std::uint64_t> barriers;
  while (!open.empty() && state.sound()) {
    const JobRange range = open.back();
    open.pop_back();
    for (std::uint64_t id = raw(range.first); id < raw(range.first) + range.count;) {
      const Span* span = state.span_of(id);
      if (span == nullptr) {
        state.damaged(Key(Table::span, id));
        break;
      }
      id = span->end();
      if (span->barrier == 0 || !barriers.insert(span->barrier).second) continue;
      const auto barrier = state.barrier(span->barrier);
      if (!barrier) {
        state.damaged(Key(Table::barrier, span->barrier));
        break;
      }
      for (const JobRange& up : barrier->upstream) all.add(up, open);
      for (const Dependency& up : barrier->conditional) all.add(up.jobs, open);
    }
  }
  TORC_TRY(state.sound());
  return all.ranges();
}

OpenJobs open_jobs(State& state, const std::vector<JobRange>& ranges) {
  OpenJobs open;
  const auto ready = [](const store::Entry& e) { return decode_ready(e.key, e.value); };
  each_readable(state, Key(Table::ready), ready, [&](const ReadyRange& range) {
    open.ready += overlap(ranges, range.first, range.end());
    return true;
  });
  const auto delayed = [](const store::Entry& e) { return delayed_in(e.key); };
  each_readable(state, Key(Table::delayed), delayed, [&](std::uint64_t id) {
    if (has_job(ranges, id)) ++open.delayed;
    return true;
  });
  const auto lease = [](const store::Entry& e) {
    return id_in(Table::lease, e.key) ? decode_lease(e.value) : std::nullopt;
  };
  // A lease may still name what its worker says only now to have ended. What it is to end, and what
  // then runs again, is at work as well.
  std::set<std::uint64_t> held;
  each_readable(state, Key(Table::lease), lease, [&](const Lease& of) {
    for (const auto* ids : {&of.held, &of.ending}) {
      for (const std::uint64_t id : *ids) {
        if (has_job(ranges, id)) held.insert(id);
      }
    }
    return true;
  });
  for (const std::uint64_t id : held) {
    const auto job = state.record(id);
    if (job && (is_live(job->state) || job->revoked == Revoked::ending_then_again)) ++open.at_work;
  }
  return open;
}

Result<Counts> count_jobs(const Reader& reader, const std::vector<JobRange>& ranges) {
  Counts counts{};
  TORC_TRY(scan_jobs_of(reader, ranges, [&](JobId, const Job& job) {
    ++counts[static_cast<std::size_t>(job.state)];
    return true;
  }));
  return counts;
}

}  // namespace torc::claim
