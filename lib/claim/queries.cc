#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/base/codec.h"
#include "lib/claim/claimer.h"
#include "lib/claim/condition.h"
#include "lib/claim/firing.h"
#include "lib/claim/state.h"
#include "lib/claim/tables.h"
#include "lib/claim/transition.h"

namespace torc::claim {
namespace {

using Visit = std::function<bool(JobId, const Job&)>;

// Copies records before their visitors run, so that these may read too.
constexpr std::size_t kChunk = 256;
using Records = std::vector<std::pair<std::uint64_t, Job>>;

// The next records of jobs with ids in [from, end).
Records records_from(const Reader& reader, std::uint64_t from, std::uint64_t end) {
  Records out;
  reader.scan(Key(Table::job, from), [&](const store::Entry& e) {
    const auto id = id_in(Table::job, e.key);
    if (!id || *id >= end) return false;
    if (const auto job = decode_job(e.value)) out.emplace_back(*id, *job);
    return out.size() < kChunk;
  });
  return out;
}

// Visits the jobs of [first, end): records where there are, else `unrecorded`. Those that wait are
// in its state.
bool visit_range(const Reader& reader, std::uint64_t first, std::uint64_t end,
                 const Job& unrecorded, const Visit& visit) {
  std::uint64_t at = first;
  while (at < end) {
    Records records = records_from(reader, at, end);
    for (auto& [id, job] : records) {
      for (; at < id; ++at) {
        if (!visit(JobId{at}, unrecorded)) return false;
      }
      if (job.state == JobState::ready) job.state = unrecorded.state;
      if (!visit(JobId{id}, job)) return false;
      at = id + 1;
    }
    if (records.size() == kChunk) continue;
    for (; at < end; ++at) {
      if (!visit(JobId{at}, unrecorded)) return false;
    }
  }
  return true;
}

void scan_spans(const Reader& reader, const std::function<bool(const Span&)>& visit) {
  Key from(Table::span);
  while (const auto entry = reader.seek(from)) {
    if (!is_in(Table::span, entry->key)) return;
    const auto span = decode_span(entry->key, entry->value);
    if (!span || !visit(*span)) return;
    from = Key(Table::span, span->first + 1);
  }
}

void scan_all(const Reader& reader, const Visit& visit) {
  State state(reader);
  scan_spans(reader, [&](const Span& span) {
    Job unrecorded;
    unrecorded.state = state.is_open(span.barrier) ? JobState::ready : JobState::blocked;
    return visit_range(reader, span.first, span.end(), unrecorded, visit);
  });
}

void scan_blocked(const Reader& reader, const Visit& visit) {
  State state(reader);
  scan_spans(reader, [&](const Span& span) {
    if (state.is_open(span.barrier)) return true;
    return visit_range(reader, span.first, span.end(), Job{}, [&](JobId id, const Job& job) {
      return job.state != JobState::blocked || visit(id, job);
    });
  });
}

void scan_ready(const Reader& reader, const Visit& visit) {
  std::vector<JobRange> ranges;
  reader.scan_prefix(Key(Table::ready), [&](const store::Entry& e) {
    if (const auto r = decode_ready(e.key, e.value)) ranges.push_back({JobId{r->first}, r->count});
    return true;
  });
  std::sort(ranges.begin(), ranges.end(),
            [](const JobRange& a, const JobRange& b) { return a.first < b.first; });
  Job unrecorded;
  unrecorded.state = JobState::ready;
  for (const JobRange& r : ranges) {
    if (!visit_range(reader, raw(r.first), raw(r.first) + r.count, unrecorded, visit)) return;
  }
}

void visit_listed(const Reader& reader, std::vector<std::uint64_t> ids, JobState state,
                  const Visit& visit) {
  std::sort(ids.begin(), ids.end());
  State view(reader);
  for (std::uint64_t id : ids) {
    const auto job = view.record(id);
    if (job && job->state == state && !visit(JobId{id}, *job)) return;
  }
}

std::vector<std::uint64_t> held_by_anyone(const Reader& reader) {
  std::vector<std::uint64_t> ids;
  reader.scan_prefix(Key(Table::lease), [&](const store::Entry& e) {
    if (const auto lease = decode_lease(e.value)) {
      ids.insert(ids.end(), lease->held.begin(), lease->held.end());
    }
    return true;
  });
  return ids;
}

std::vector<std::uint64_t> set_aside(const Reader& reader) {
  std::vector<std::uint64_t> ids;
  reader.scan_prefix(Key(Table::set_aside), [&](const store::Entry& e) {
    if (const auto id = id_in(Table::set_aside, e.key)) ids.push_back(*id);
    return true;
  });
  return ids;
}

std::vector<std::uint64_t> delayed(const Reader& reader) {
  std::vector<std::uint64_t> ids;
  reader.scan_prefix(Key(Table::delayed), [&](const store::Entry& e) {
    if (const auto id = delayed_in(e.key)) ids.push_back(*id);
    return true;
  });
  return ids;
}

}  // namespace

Result<WorkflowState> read_workflow(const Reader& reader) {
  const auto value = reader.get(Key(Table::workflow));
  if (!value) {
    return Error{ErrorKind::not_found, "the store holds no workflow", "make one with `torc init`"};
  }
  const auto record = decode_workflow(*value);
  State state(reader);
  if (!record) state.damaged(Key(Table::workflow));
  WorkflowState out;
  if (record) {
    out.name = record->name;
    out.max_failures = record->max_failures;
  }
  if (const auto settings = reader.get(Key(Table::settings))) out.settings = *settings;
  const Tally tally = state.tally();
  out.counts = tally.counts;
  out.unmet = tally.unmet;
  out.ending = tally.ending;
  for (std::uint64_t n : out.counts) out.jobs += n;
  if ((tally.rules & rule::kActions) != 0) {
    const auto actions = reader.get(Key(Table::action));
    const auto known = actions ? decode_action_tally(*actions) : std::nullopt;
    if (!known) state.damaged(Key(Table::action));
    out.actions = known.value_or(ActionTally{});
  }
  TORC_TRY(state.sound());
  return out;
}

std::optional<Job> read_job(const Reader& reader, JobId id) {
  return State(reader).job(raw(id));
}

std::optional<Template> read_template(const Reader& reader, JobId id) {
  if (raw(id) == 0 || raw(id) == UINT64_MAX) return std::nullopt;
  const auto entry = reader.seek_before(Key(Table::job_template, raw(id) + 1));
  if (!entry) return std::nullopt;
  auto found = decode_template(entry->key, entry->value);
  if (!found || raw(id) - raw(found->first) >= found->count) return std::nullopt;
  return found;
}

JobClass read_class(const Reader& reader, std::uint32_t job_class) {
  return State(reader).job_class(job_class);
}

bool is_held_by(const Reader& reader, const ClaimToken& token) {
  const auto job = read_job(reader, token.job);
  return job && token.claim != 0 && is_live(job->state) && token_of(token.job, *job) == token;
}

std::uint64_t read_edition(const Reader& reader) {
  const auto value = reader.get(Key(Table::edition));
  return value ? Decoder(*value).varint() : 0;
}

Result<void> replace_recipe(Transaction& tx, JobId first, std::string_view recipe) {
  std::optional<Template> t = read_template(tx, first);
  if (!t || t->first != first) {
    return Error{ErrorKind::invalid, fmt::format("no entry begins at job {}", raw(first)), ""};
  }
  t->recipe = recipe;
  tx.put(Key(Table::job_template, raw(first)), encode(*t));
  tx.put(Key(Table::edition), Value().varint(tx.sequence()));
  return {};
}

void scan_sweeps(const Reader& reader, const std::function<bool(const Template&)>& visit) {
  Key from(Table::sweep);
  while (const auto entry = reader.seek(from)) {
    const auto id = id_in(Table::sweep, entry->key);
    if (!id) return;
    const auto sweep = read_template(reader, JobId{*id});
    if (sweep && !visit(*sweep)) return;
    from = Key(Table::sweep, *id + 1);
  }
}

void scan_templates(const Reader& reader, const std::function<bool(const Template&)>& visit) {
  reader.scan_prefix(Key(Table::job_template), [&](const store::Entry& e) {
    const auto t = decode_template(e.key, e.value);
    return t && visit(*t);
  });
}

std::vector<JobId> find_by_name_hash(const Reader& reader, std::uint64_t hash) {
  std::vector<JobId> ids;
  reader.scan_prefix(Key(Table::name, hash), [&](const store::Entry& e) {
    std::uint64_t id = 0;
    for (char c : e.key.substr(9)) id = (id << 8) | static_cast<std::uint8_t>(c);
    ids.push_back(JobId{id});
    return true;
  });
  return ids;
}

void scan_jobs(const Reader& reader, std::optional<JobState> state,
               const std::function<bool(JobId, const Job&)>& visit) {
  if (!state) return scan_all(reader, visit);
  switch (*state) {
    case JobState::blocked:
      return scan_blocked(reader, visit);
    case JobState::ready:
      return scan_ready(reader, visit);
    case JobState::claimed:
    case JobState::running:
      return visit_listed(reader, held_by_anyone(reader), *state, visit);
    case JobState::failed:
    case JobState::canceled:
    case JobState::terminated:
    case JobState::held:
    case JobState::pending_failed:
      return visit_listed(reader, set_aside(reader), *state, visit);
    case JobState::delayed:
      return visit_listed(reader, delayed(reader), *state, visit);
    case JobState::completed:
      break;
  }
  std::uint64_t from = 0;
  for (Records records; !(records = records_from(reader, from, UINT64_MAX)).empty();) {
    for (const auto& [id, job] : records) {
      if (job.state == JobState::completed && !visit(JobId{id}, job)) return;
    }
    from = records.back().first + 1;
  }
}

void scan_classes(const Reader& reader, const std::function<bool(const JobClass&)>& visit) {
  reader.scan_prefix(Key(Table::job_class), [&](const store::Entry& e) {
    const auto c = decode_class(e.value);
    return c && visit(*c);
  });
}

void scan_ready_classes(const Reader& reader,
                        const std::function<bool(const JobClass&, JobId head)>& visit) {
  Key from(Table::ready);
  while (const auto entry = reader.seek(from)) {
    const auto range = decode_ready(entry->key, entry->value);
    if (!range || !visit(read_class(reader, range->job_class), JobId{range->first})) return;
    if (range->job_class == std::numeric_limits<std::uint32_t>::max()) return;
    from = Key(Table::ready).be32(range->job_class + 1);
  }
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
    visit_range(reader, raw(r.first), raw(r.first) + r.count, Job{}, [&](JobId up, const Job& job) {
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
