#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

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

// The last entry of a table.
std::optional<store::Entry> last_of(const Reader& reader, Table table) {
  const char after_all = static_cast<char>(static_cast<char>(table) + 1);
  auto entry = reader.seek_before({&after_all, 1});
  if (entry && !is_in(table, entry->key)) entry.reset();
  return entry;
}

// How many jobs there are. That the counters, the spans and the templates agree in it costs two
// looks, and leaves nothing that a walk over all jobs could be made endless with. A third one: no
// record stands before that of the first job, where a walk that begins there would not see it.
std::uint64_t extent(State& state) {
  const std::uint64_t jobs = state.tally().jobs();
  const auto check = [&](Table table, std::string_view what, const auto& end_of) {
    const auto entry = last_of(state.reader(), table);
    std::optional<std::uint64_t> end = 1;
    if (entry) end = end_of(*entry);
    if (!end) {
      state.damaged(entry->key);
    } else if (*end != jobs + 1) {
      state.contradicts(
          fmt::format("the {} end at job {} where {} are counted", what, *end - 1, jobs));
    }
  };
  check(Table::span, "spans", [](const store::Entry& e) {
    const auto s = decode_span(e.key, e.value);
    return s ? std::optional(s->end()) : std::nullopt;
  });
  check(Table::job_template, "templates", [](const store::Entry& e) {
    const auto t = decode_template(e.key, e.value);
    return t ? std::optional(raw(t->first) + t->count) : std::nullopt;
  });
  const auto first = state.reader().seek(Key(Table::job));
  if (first && first->key < std::string_view(Key(Table::job, 1)) && is_in(Table::job, first->key))
    state.damaged(first->key);
  return jobs;
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
  state.reader().scan_prefix(Key(Table::ready), [&](const store::Entry& e) {
    const auto r = decode_ready(e.key, e.value);
    if (!r) {
      state.damaged(e.key);
      return false;
    }
    ranges.push_back({JobId{r->first}, r->count});
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
  state.reader().scan_prefix(Key(Table::lease), [&](const store::Entry& e) {
    const auto lease = id_in(Table::lease, e.key) ? decode_lease(e.value) : std::nullopt;
    if (!lease) {
      state.damaged(e.key);
      return false;
    }
    // A lease of few bytes can name a million jobs: many of them must not be gathered for nothing.
    if (lease->held.size() > most - ids.size()) {
      state.contradicts(fmt::format("workers hold more jobs than the {} that are counted", most));
      return false;
    }
    ids.insert(ids.end(), lease->held.begin(), lease->held.end());
    return true;
  });
  return ids;
}

// The jobs in the keys of a table.
std::vector<std::uint64_t> listed_in(State& state, Table table,
                                     std::optional<std::uint64_t> (*id_of)(std::string_view)) {
  std::vector<std::uint64_t> ids;
  state.reader().scan_prefix(Key(table), [&](const store::Entry& e) {
    const auto id = id_of(e.key);
    if (!id) {
      state.damaged(e.key);
      return false;
    }
    ids.push_back(*id);
    return true;
  });
  return ids;
}

std::vector<std::uint64_t> set_aside(State& state) {
  return listed_in(state, Table::set_aside,
                   [](std::string_view key) { return id_in(Table::set_aside, key); });
}

std::vector<std::uint64_t> delayed(State& state) {
  return listed_in(state, Table::delayed, delayed_in);
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
  switch (wanted) {
    case JobState::blocked:
      return scan_blocked(state, visit);
    case JobState::ready:
      return scan_ready(state, visit);
    case JobState::claimed:
    case JobState::running:
      return visit_listed(state, held_by_anyone(state), wanted, visit);
    case JobState::failed:
    case JobState::canceled:
    case JobState::terminated:
    case JobState::held:
    case JobState::pending_failed:
      return visit_listed(state, set_aside(state), wanted, visit);
    case JobState::delayed:
      return visit_listed(state, delayed(state), wanted, visit);
    case JobState::completed:
      return scan_completed(state, visit);
  }
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
  out.jobs = extent(state);
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

Result<void> scan_sweeps(const Reader& reader, const std::function<bool(const Template&)>& visit) {
  State state(reader);
  std::string from(1, static_cast<char>(Table::sweep));
  while (const auto entry = reader.seek(from)) {
    if (!is_in(Table::sweep, entry->key)) break;
    const auto id = id_in(Table::sweep, entry->key);
    const auto sweep = id ? read_template(reader, JobId{*id}) : std::nullopt;
    if (!sweep) {
      state.damaged(entry->key);
      break;
    }
    from.assign(entry->key).push_back('\0');
    if (!visit(*sweep)) break;
  }
  return state.sound();
}

Result<void> scan_templates(const Reader& reader,
                            const std::function<bool(const Template&)>& visit) {
  State state(reader);
  (void)extent(state);
  TORC_TRY(state.sound());
  std::uint64_t next = 1;
  reader.scan_prefix(Key(Table::job_template), [&](const store::Entry& e) {
    const auto t = decode_template(e.key, e.value);
    if (!t) {
      state.damaged(e.key);
    } else if (raw(t->first) != next) {
      state.contradicts(
          fmt::format("a template begins at job {} where {} follows", raw(t->first), next));
    }
    if (!state.sound()) return false;
    next += t->count;
    return visit(*t);
  });
  return state.sound();
}

Result<std::vector<JobId>> find_by_name_hash(const Reader& reader, std::uint64_t hash) {
  State state(reader);
  std::vector<JobId> ids;
  reader.scan_prefix(Key(Table::name, hash), [&](const store::Entry& e) {
    const auto id = named_in(e.key);
    if (!id) state.damaged(e.key);
    if (id) ids.push_back(JobId{*id});
    return id.has_value();
  });
  TORC_TRY(state.sound());
  return ids;
}

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

Result<void> scan_classes(const Reader& reader, const std::function<bool(const JobClass&)>& visit) {
  State state(reader);
  std::uint32_t next = 0;
  reader.scan_prefix(Key(Table::job_class), [&](const store::Entry& e) {
    const bool follows = e.key == std::string_view(Key(Table::job_class).be32(next++));
    const auto c = follows ? decode_class(e.value) : std::nullopt;
    if (!c) state.damaged(e.key);
    return c && visit(*c);
  });
  return state.sound();
}

Result<void> scan_ready_classes(const Reader& reader,
                                const std::function<bool(const JobClass&, JobId head)>& visit) {
  State state(reader);
  Key from(Table::ready);
  while (const auto entry = reader.seek(from)) {
    if (!is_in(Table::ready, entry->key)) break;
    const auto range = decode_ready(entry->key, entry->value);
    if (!range) {
      state.damaged(entry->key);
      break;
    }
    const JobClass job_class = state.job_class(range->job_class);
    if (!state.sound() || !visit(job_class, JobId{range->first})) break;
    if (range->job_class == std::numeric_limits<std::uint32_t>::max()) break;
    from = Key(Table::ready).be32(range->job_class + 1);
  }
  return state.sound();
}

std::optional<Expense> read_expense(const Reader& reader) {
  const auto value = reader.get(Key(Table::expense));
  return value ? decode_expense(*value) : std::nullopt;
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
