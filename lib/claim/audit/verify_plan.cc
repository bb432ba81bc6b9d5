#include "lib/claim/audit/verify_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "lib/claim/rules/learned_time.h"
#include "lib/claim/tables/corruption.h"

namespace torc::claim {
namespace {

constexpr Condition kAllConditions[] = {Condition::afterok, Condition::afternotok,
                                        Condition::afterany, Condition::after};

std::vector<JobRange> ranges_of(const Barrier& barrier, Condition condition) {
  if (condition == Condition::afterok) return barrier.upstream;
  std::vector<JobRange> ranges;
  for (const Dependency& d : barrier.conditional) {
    if (d.condition == condition) ranges.push_back(d.jobs);
  }
  return ranges;
}

class PlanAudit {
 public:
  explicit PlanAudit(const Reader& reader) : reader_(reader) {}

  Result<PlanTables> run() {
    TORC_TRY(read_spans());
    TORC_TRY(read_templates());
    TORC_TRY(read_barriers());
    TORC_TRY(check_upstream());
    TORC_TRY(check_learned_times());
    if (reader_.get(Key(Table::limit).be32(1))) tables_.rules |= rule::kLimits;
    if (reader_.get(Key(Table::expense))) tables_.rules |= rule::kBudget;
    if (reader_.get(Key(Table::action))) tables_.rules |= rule::kActions;
    TORC_TRY(check_classes());
    return std::move(tables_);
  }

 private:
  // Who looks for one goes on as long as the numbers follow each other.
  Result<void> check_classes() {
    std::uint32_t next = 0;
    return each(reader_, Table::job_class, [&](const store::Entry& e) -> Result<void> {
      if (e.key != std::string_view(Key(Table::job_class).be32(next)))
        return wrong(fmt::format("resource class {} is missing, and there are later ones", next));
      ++next;
      const auto job_class = decode_class(e.value);
      if (job_class && job_class->need.nodes > 1) tables_.rules |= rule::kGangs;
      return {};
    });
  }

  // What was measured cannot be measured again; it is of templates that are to learn from it.
  Result<void> check_learned_times() {
    std::map<std::uint64_t, std::uint32_t> learn;  // how many alternatives at most
    TORC_TRY(each(reader_, Table::job_class, [&](const store::Entry& e) -> Result<void> {
      const auto job_class = decode_class(e.value);
      if (!job_class) return unreadable(e.key);
      if (job_class->learns_from == 0) return {};
      tables_.rules |= rule::kLearns;
      if (!reader_.get(Key(Table::job_template, job_class->learns_from)))
        return wrong("a class learns from a template that is none");
      std::uint32_t& alternatives = learn[job_class->learns_from];
      alternatives = std::max(alternatives, job_class->alternatives());
      return {};
    }));
    return each(reader_, Table::learned_time, [&](const store::Entry& e) -> Result<void> {
      const auto of = learned_in(e.key);
      if (!of || !LearnedTime::decode(e.value)) return unreadable(e.key);
      const auto known = learn.find(of->first);
      if (known == learn.end() || of->alternative >= known->second)
        return wrong(fmt::format("times of the template at job {} count for no class", of->first));
      return {};
    });
  }

  Result<void> read_spans() {
    std::uint64_t next = 1;
    TORC_TRY(each(reader_, Table::span, [&](const store::Entry& e) -> Result<void> {
      const auto span = decode_span(e.key, e.value);
      if (!span) return unreadable(e.key);
      if (span->first != next || span->count == 0) {
        return wrong(fmt::format("a span begins at job {} where {} follows", span->first, next));
      }
      tables_.spans.push_back(*span);
      next = span->end();
      if (span->barrier != 0) members_[span->barrier] += span->count;
      return {};
    }));
    tables_.jobs = next - 1;
    return {};
  }

  Result<void> read_templates() {
    std::uint64_t next = 1;
    std::uint64_t sweeps = 0;
    std::uint64_t names = 0;
    TORC_TRY(each(reader_, Table::job_template, [&](const store::Entry& e) -> Result<void> {
      const auto t = decode_template(e.key, e.value);
      if (!t) return unreadable(e.key);
      if (raw(t->first) != next || t->count == 0 || t->count > tables_.jobs - next + 1) {
        return wrong(
            fmt::format("a template begins at job {} where {} follows", raw(t->first), next));
      }
      const auto job_class = reader_.get(Key(Table::job_class).be32(t->job_class));
      if (!job_class || !decode_class(*job_class)) {
        return wrong(fmt::format("job {} has no readable resource class", next));
      }
      if (t->handler != 0 && !reader_.get(Key(Table::handler, t->handler))) {
        return wrong(fmt::format("job {} has no failure handler, and names one", next));
      }
      for (std::uint64_t at = next; at < next + t->count; at = tables_.span_of(at).end()) {
        const Span& span = tables_.span_of(at);
        if (span.job_class != t->job_class || span.priority != t->priority) {
          return wrong(fmt::format("job {} has another class or priority than its template", at));
        }
      }
      next += t->count;
      return index_of(*t, sweeps, names);
    }));
    if (next != tables_.jobs + 1) return wrong(fmt::format("job {} has no template", next));
    return check_index_sizes(sweeps, names);
  }

  Result<void> index_of(const Template& t, std::uint64_t& sweeps, std::uint64_t& names) const {
    const std::uint64_t first = raw(t.first);
    if (t.count > 1) {
      ++sweeps;
      if (!reader_.get(Key(Table::sweep, first))) {
        return wrong(fmt::format("the sweep at job {} is not in the list of sweeps", first));
      }
    } else if (t.name_hash != 0) {
      ++names;
      if (!reader_.get(Key(Table::name, t.name_hash).be64(first))) {
        return wrong(fmt::format("job {} is not found by its name", first));
      }
    }
    return {};
  }

  Result<void> check_index_sizes(std::uint64_t sweeps, std::uint64_t names) const {
    if (count_entries(reader_, Table::sweep) != sweeps)
      return wrong("the list of sweeps names one that is none");
    if (count_entries(reader_, Table::name) != names)
      return wrong("the index of names names a job that is none");
    return {};
  }

  Result<void> read_barriers() {
    const auto look = [&](std::uint64_t id, Barrier& barrier) -> Result<void> {
      if (sum_of_conditions(barrier) != barrier.total || barrier.total == 0) {
        return wrong(fmt::format("barrier {} waits for jobs that do not exist", id));
      }
      TORC_TRY(check_members(id, barrier));
      if (barrier.cancels || !barrier.conditional.empty()) tables_.rules |= rule::kEnds;
      for (const Dependency& d : barrier.conditional) {
        if (d.condition == Condition::after) tables_.rules |= rule::kStarts;
      }
      tables_.barriers.emplace(id, std::move(barrier));
      return {};
    };
    TORC_TRY(each_record(reader_, Table::barrier, decode_barrier, look));
    for (const auto& [id, members] : members_) {
      if (!tables_.barriers.contains(id)) return wrong(fmt::format("barrier {} has no record", id));
    }
    return {};
  }

  // The jobs in ranges that are sorted, disjoint and of existing jobs; else nothing.
  [[nodiscard]] std::optional<std::uint64_t> sum_of(const std::vector<JobRange>& ranges) const {
    std::uint64_t sum = 0;
    std::uint64_t end = 1;
    for (const JobRange& r : ranges) {
      const std::uint64_t first = raw(r.first);
      if (first < end || r.count == 0 || first > tables_.jobs ||
          r.count > tables_.jobs - first + 1) {
        return std::nullopt;
      }
      end = first + r.count;
      sum += r.count;
    }
    return sum;
  }

  // Jobs upstream, one for each of its conditions; nothing when their ranges make no sense.
  [[nodiscard]] std::optional<std::uint64_t> sum_of_conditions(const Barrier& barrier) const {
    std::uint64_t sum = 0;
    for (const Condition c : kAllConditions) {
      const auto part = sum_of(ranges_of(barrier, c));
      if (!part) return std::nullopt;
      sum += *part;
    }
    return sum;
  }

  Result<void> check_members(std::uint64_t id, const Barrier& barrier) {
    const auto known = members_.find(id);
    if (barrier.action != 0) {
      const bool there = reader_.get(action_key(barrier.action)).has_value();
      if (there && barrier.members.empty() && known == members_.end()) return {};
      return wrong(fmt::format("barrier {} sets off an action that is none", id));
    }
    if (known == members_.end() || sum_of(barrier.members) != known->second) {
      return wrong(fmt::format("barrier {} does not list the jobs that it holds back", id));
    }
    for (const JobRange& r : barrier.members) {
      const std::uint64_t end = raw(r.first) + r.count;
      for (std::uint64_t at = raw(r.first); at < end; at = tables_.span_of(at).end()) {
        if (tables_.span_of(at).barrier != id) {
          return wrong(fmt::format("job {} does not know that barrier {} holds it back", at, id));
        }
      }
    }
    return {};
  }

  // Each run lists barriers that wait for all of it; together the runs list every upstream job
  // once.
  Result<void> check_upstream() {
    std::uint64_t end = 1;
    TORC_TRY(each(reader_, Table::upstream, [&](const store::Entry& e) -> Result<void> {
      const auto run = decode_upstream(e.key, e.value);
      if (!run) return unreadable(e.key);
      if (run->first < end || run->count == 0 || run->waiters.empty()) {
        return wrong(fmt::format("the upstream run at job {} overlaps or is empty", run->first));
      }
      end = run->first + run->count;
      for (const Waiter& w : run->waiters) {
        const auto it = tables_.barriers.find(w.barrier);
        if (it == tables_.barriers.end() || !waits_for_run(it->second, w, *run)) {
          return wrong(fmt::format("barrier {} does not wait for job {}", w.barrier, run->first));
        }
        listed_[w.barrier] += run->count;
      }
      return {};
    }));
    for (const auto& [id, barrier] : tables_.barriers) {
      if (listed_[id] != barrier.total) {
        return wrong(fmt::format("some job that barrier {} waits for would not open it", id));
      }
    }
    return {};
  }

  // Adjacent ranges of a barrier may make one run.
  static bool waits_for_run(const Barrier& barrier, const Waiter& waiter, const UpstreamRun& run) {
    if (waiter.cancels != (barrier.cancels && waiter.condition == Condition::afterok)) return false;
    std::vector<JobRange> others;
    if (waiter.condition != Condition::afterok) others = ranges_of(barrier, waiter.condition);
    const auto& ranges = waiter.condition == Condition::afterok ? barrier.upstream : others;
    auto it = std::upper_bound(ranges.begin(), ranges.end(), run.first,
                               [](std::uint64_t v, const JobRange& r) { return v < raw(r.first); });
    if (it == ranges.begin()) return false;
    std::uint64_t at = run.first;
    for (--it; it != ranges.end() && raw(it->first) <= at; ++it) {
      at = std::max(at, raw(it->first) + it->count);
      if (at >= run.first + run.count) return true;
    }
    return false;
  }

  const Reader& reader_;
  PlanTables tables_;
  std::map<std::uint64_t, std::uint64_t> members_;  // of each barrier, by the spans
  std::map<std::uint64_t, std::uint64_t> listed_;   // upstream of each barrier, by the runs
};

}  // namespace

const Span& PlanTables::span_of(std::uint64_t id) const {
  const auto after = std::upper_bound(spans.begin(), spans.end(), id,
                                      [](std::uint64_t v, const Span& s) { return v < s.first; });
  return *std::prev(after);
}

Result<PlanTables> audit_plan(const Reader& reader) {
  return PlanAudit(reader).run();
}

}  // namespace torc::claim
