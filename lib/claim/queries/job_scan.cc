#include "lib/claim/queries/job_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lib/claim/rules/condition.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

using Visit = std::function<bool(JobId, const Job&)>;

// Copies records before their visitors run, so that these may read too.
constexpr std::size_t kChunk = 256;
using Records = std::vector<std::pair<std::uint64_t, Job>>;

// The next records of jobs with ids in [from, end); none after one that cannot be read.
Records records_from(State& state, std::uint64_t from, std::uint64_t end) {
  Records out;
  state.reader().scan(Key(Table::job, from), [&](const store::Entry& e) {
    if (!is_in(Table::job, e.key)) return false;
    const auto id = id_in(Table::job, e.key);
    if (id && *id >= end) return false;
    const auto job = id ? decode_job(e.value) : std::nullopt;
    if (!job) {
      state.damaged(e.key);
      return false;
    }
    out.emplace_back(*id, *job);
    return out.size() < kChunk;
  });
  return out;
}

// Visits the jobs of [first, end): records where there are, else `unrecorded`. Those that wait are
// in its state.
bool visit_range(State& state, std::uint64_t first, std::uint64_t end, const Job& unrecorded,
                 const Visit& visit) {
  std::uint64_t at = first;
  while (at < end) {
    Records records = records_from(state, at, end);
    for (auto& [id, job] : records) {
      for (; at < id; ++at) {
        if (!visit(JobId{at}, unrecorded)) return false;
      }
      if (job.state == JobState::ready) job.state = unrecorded.state;
      if (!visit(JobId{id}, job)) return false;
      at = id + 1;
    }
    if (!state.sound()) return false;
    if (records.size() == kChunk) continue;
    for (; at < end; ++at) {
      if (!visit(JobId{at}, unrecorded)) return false;
    }
  }
  return true;
}

// The spans follow one another without gaps, and what they name is there: else the walk ends here.
class SpanCheck {
 public:
  explicit SpanCheck(State& state) : state_(state), jobs_(extent(state)) {}

  [[nodiscard]] bool passes(const Span& span) {
    if (span.first != next_ || span.end() - 1 > jobs_) {
      state_.contradicts(fmt::format("a span has the jobs {} to {} where {} follows, of {}",
                                     span.first, span.end() - 1, next_, jobs_));
      return false;
    }
    next_ = span.end();
    if (classes_.insert(span.job_class).second) (void)state_.job_class(span.job_class);
    const Key barrier(Table::barrier, span.barrier);
    if (span.barrier != 0 && !state_.reader().get(barrier)) state_.damaged(barrier);
    return state_.sound().ok();
  }
  [[nodiscard]] std::uint64_t jobs() const { return jobs_; }

 private:
  State& state_;
  std::uint64_t jobs_;
  std::uint64_t next_ = 1;
  std::set<std::uint32_t> classes_;
};

void scan_spans(State& state, const std::function<bool(const Span&)>& visit) {
  SpanCheck check(state);
  if (!state.sound()) return;
  std::string from(1, static_cast<char>(Table::span));
  while (const auto entry = state.reader().seek(from)) {
    if (!is_in(Table::span, entry->key)) break;
    const auto span = decode_span(entry->key, entry->value);
    if (!span) return state.damaged(entry->key);
    from.assign(entry->key).push_back('\0');  // nor is a key passed over that is one byte longer
    if (!check.passes(*span) || !visit(*span)) return;
  }
  if (const auto beyond = state.next_record(check.jobs() + 1))
    state.contradicts(fmt::format("job {} has a record, of {} jobs", *beyond, check.jobs()));
}

void scan_all(State& state, const Visit& visit) {
  scan_spans(state, [&](const Span& span) {
    Job unrecorded;
    unrecorded.state = state.is_open(span.barrier) ? JobState::ready : JobState::blocked;
    return visit_range(state, span.first, span.end(), unrecorded, visit);
  });
}

void scan_blocked(State& state, const Visit& visit) {
  scan_spans(state, [&](const Span& span) {
    if (state.is_open(span.barrier)) return true;
    return visit_range(state, span.first, span.end(), Job{}, [&](JobId id, const Job& job) {
      return job.state != JobState::blocked || visit(id, job);
    });
  });
}

// The queues hold each ready job once, and nothing else.
std::vector<JobRange> ready_ranges(State& state) {
  std::vector<JobRange> ranges;
  const auto decode = [](const store::Entry& e) { return decode_ready(e.key, e.value); };
  each_readable(state, Key(Table::ready), decode, [&](const ReadyRange& r) {
    ranges.push_back({JobId{r.first}, r.count});
    return true;
  });
  std::sort(ranges.begin(), ranges.end(),
            [](const JobRange& a, const JobRange& b) { return a.first < b.first; });
  const std::uint64_t jobs = extent(state);
  std::uint64_t end = 1;
  std::uint64_t ready = 0;
  for (const JobRange& r : ranges) {
    const std::uint64_t first = raw(r.first);
    if (first < end || first + r.count - 1 > jobs) {
      state.contradicts(
          fmt::format("a ready queue has the jobs {} to {}, which are there twice "
                      "or none of the {}",
                      first, first + r.count - 1, jobs));
      return {};
    }
    end = first + r.count;
    ready += r.count;
  }
  const std::uint64_t counted = state.tally().of(JobState::ready);
  if (ready != counted)
    state.contradicts(
        fmt::format("{} jobs are in the ready queues where {} are counted", ready, counted));
  return ranges;
}

void scan_ready(State& state, const Visit& visit) {
  const std::vector<JobRange> ranges = ready_ranges(state);
  if (!state.sound()) return;
  Job unrecorded;
  unrecorded.state = JobState::ready;
  for (const JobRange& r : ranges) {
    if (!visit_range(state, raw(r.first), raw(r.first) + r.count, unrecorded, visit)) return;
  }
}

void visit_listed(State& state, std::vector<std::uint64_t> ids, JobState wanted,
                  const Visit& visit) {
  const std::uint64_t jobs = extent(state);
  std::sort(ids.begin(), ids.end());
  for (std::uint64_t id : ids) {
    const auto job = id <= jobs ? state.record(id) : std::nullopt;
    if (!job) state.damaged(Key(Table::job, id));
    if (!state.sound() || (job->state == wanted && !visit(JobId{id}, *job))) return;
  }
}

std::vector<std::uint64_t> held_by_anyone(State& state) {
  const Tally tally = state.tally();
  const std::uint64_t most = tally.of(JobState::claimed) + tally.of(JobState::running);
  std::vector<std::uint64_t> ids;
  const auto decode = [](const store::Entry& e) {
    return id_in(Table::lease, e.key) ? decode_lease(e.value) : std::nullopt;
  };
  each_readable(state, Key(Table::lease), decode, [&](const Lease& lease) {
    // A lease of few bytes can name a million jobs: many of them must not be gathered for nothing.
    if (lease.held.size() > most - ids.size()) {
      state.contradicts(fmt::format("workers hold more jobs than the {} that are counted", most));
      return false;
    }
    ids.insert(ids.end(), lease.held.begin(), lease.held.end());
    return true;
  });
  return ids;
}

// The jobs in the keys of a table.
std::vector<std::uint64_t> listed_in(State& state, Table table,
                                     std::optional<std::uint64_t> (*id_of)(std::string_view)) {
  std::vector<std::uint64_t> ids;
  const auto decode = [&](const store::Entry& e) { return id_of(e.key); };
  each_readable(state, Key(table), decode, [&](std::uint64_t id) {
    ids.push_back(id);
    return true;
  });
  return ids;
}

std::optional<std::uint64_t> set_aside_in(std::string_view key) {
  return id_in(Table::set_aside, key);
}

void scan_completed(State& state, const Visit& visit) {
  const std::uint64_t jobs = extent(state);
  std::uint64_t from = 0;
  for (Records records; !(records = records_from(state, from, UINT64_MAX)).empty();) {
    for (const auto& [id, job] : records) {
      if (id == 0 || id > jobs)
        return state.contradicts(fmt::format("job {} has a record, of {} jobs", id, jobs));
      if (job.state == JobState::completed && !visit(JobId{id}, job)) return;
    }
    from = records.back().first + 1;
  }
}

void scan_state(State& state, JobState wanted, const Visit& visit) {
  switch (row_of(wanted).listing) {
    case Listing::barriers:
      return scan_blocked(state, visit);
    case Listing::ready_queues:
      return scan_ready(state, visit);
    case Listing::leases:
      return visit_listed(state, held_by_anyone(state), wanted, visit);
    case Listing::set_aside:
      return visit_listed(state, listed_in(state, Table::set_aside, set_aside_in), wanted, visit);
    case Listing::delayed:
      return visit_listed(state, listed_in(state, Table::delayed, delayed_in), wanted, visit);
    case Listing::records:
      return scan_completed(state, visit);
  }
}

}  // namespace

Result<void> scan_jobs(const Reader& reader, std::optional<JobState> state,
                       const std::function<bool(JobId, const Job&)>& visit) {
  State view(reader);
  if (state) {
    scan_state(view, *state, visit);
  } else {
    scan_all(view, visit);
  }
  return view.sound();
}

Result<void> scan_jobs_of(const Reader& reader, const std::vector<JobRange>& jobs,
                          const std::function<bool(JobId, const Job&)>& visit) {
  State state(reader);
  for (const JobRange& range : jobs) {
    const std::uint64_t end = raw(range.first) + range.count;
    for (std::uint64_t at = raw(range.first); at < end && state.sound();) {
      const Span* span = state.span_of(at);
      if (span == nullptr) {
        state.damaged(Key(Table::span, at));
        break;
      }
      const std::uint64_t next = std::min(end, span->end());
      Job unrecorded;
      unrecorded.state = state.is_open(span->barrier) ? JobState::ready : JobState::blocked;
      if (!visit_range(state, at, next, unrecorded, visit)) return state.sound();
      at = next;
    }
  }
  return state.sound();
}

std::vector<JobId> waits_for(const Reader& reader, JobId id, std::size_t limit) {
  State state(reader);
  std::vector<JobId> out;
  const Span* span = state.span_of(raw(id));
  if (span == nullptr || limit == 0 || state.is_open(span->barrier)) return out;
  const auto barrier = state.barrier(span->barrier);
  if (!barrier) return out;
  const auto look = [&](const JobRange& r, Condition condition) {
    std::size_t found = 0;  // at most `limit` of each range
    visit_range(state, raw(r.first), raw(r.first) + r.count, Job{}, [&](JobId up, const Job& job) {
      if (judge(signal_of(job), condition, false) == Edge::met) return true;
      out.push_back(up);
      return ++found < limit;
    });
    return out.size() < limit;
  };
  for (const JobRange& r : barrier->upstream) {
    if (!look(r, Condition::afterok)) break;
  }
  for (const Dependency& d : barrier->conditional) (void)look(d.jobs, d.condition);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  out.resize(std::min(out.size(), limit));
  return out;
}

}  // namespace torc::claim
