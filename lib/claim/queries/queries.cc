#include "lib/claim/queries/queries.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/codec.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

std::uint64_t used_of(const Reader& reader, std::uint32_t limit) {
  const auto value = reader.get(slots_key(limit));
  return value ? decode_total(*value) : 0;
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
  TORC_TRY(scan_behind(reader, [&](const Behind& job) {
    ++out.behind;
    out.outdated += job.is_outdated ? 1U : 0U;
  }));
  TORC_TRY(state.sound());
  return out;
}

Result<void> scan_behind(const Reader& reader, const std::function<void(const Behind&)>& visit) {
  State state(reader);
  reader.scan_prefix(Key(Table::behind), [&](const store::Entry& e) {
    const auto id = id_in(Table::behind, e.key);
    if (!id || e.value.size() != 1) state.damaged(e.key);
    if (id && e.value.size() == 1 && !is_removed(reader, JobId{*id}))
      visit({JobId{*id}, e.value.front() != 0});
    return state.sound().ok();
  });
  return state.sound();
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
  const auto decode = [](const store::Entry& e) { return named_in(e.key); };
  each_readable(state, Key(Table::name, hash), decode, [&](std::uint64_t id) {
    ids.push_back(JobId{id});
    return true;
  });
  TORC_TRY(state.sound());
  return ids;
}

Result<void> scan_classes(const Reader& reader, const std::function<bool(const JobClass&)>& visit) {
  State state(reader);
  std::uint32_t next = 0;
  const auto decode = [&](const store::Entry& e) {
    const bool follows = e.key == std::string_view(Key(Table::job_class).be32(next++));
    return follows ? decode_class(e.value) : std::nullopt;
  };
  each_readable(state, Key(Table::job_class), decode, visit);
  return state.sound();
}

Result<void> scan_ready_classes(
    const Reader& reader,
    const std::function<bool(const JobClass&, const ReadyRange& head)>& visit) {
  State state(reader);
  each_ready_head(state, [&](const ReadyRange& range) {
    const JobClass job_class = state.job_class(range.job_class);
    return state.sound() && visit(job_class, range);
  });
  return state.sound();
}

Result<std::uint64_t> count_ready(const Reader& reader, std::uint32_t job_class) {
  State state(reader);
  std::uint64_t jobs = 0;
  const auto decode = [](const store::Entry& e) { return decode_ready(e.key, e.value); };
  each_readable(state, Key(Table::ready).be32(job_class), decode, [&](const ReadyRange& range) {
    jobs += range.count;
    return true;
  });
  TORC_TRY(state.sound());
  return jobs;
}

void each_ready_head(State& state, const std::function<bool(const ReadyRange&)>& visit) {
  Key from(Table::ready);
  while (const auto entry = state.reader().seek(from)) {
    if (!is_in(Table::ready, entry->key)) return;
    const auto range = decode_ready(entry->key, entry->value);
    if (!range) return state.damaged(entry->key);
    if (!visit(*range) || range->job_class == UINT32_MAX) return;
    from = Key(Table::ready).be32(range->job_class + 1);
  }
}

std::optional<Expense> read_expense(const Reader& reader) {
  const auto value = reader.get(Key(Table::expense));
  return value ? decode_expense(*value) : std::nullopt;
}

Result<std::uint64_t> count_jobs(const Reader& reader) {
  State state(reader);
  const Tally tally = state.tally();
  TORC_TRY(state.sound());
  return tally.jobs();
}

DependencySet read_dependencies(const Reader& reader, JobId id) {
  State state(reader);
  DependencySet set;
  const Span* span = state.span_of(raw(id));
  if (span == nullptr || span->barrier == 0) return set;
  auto barrier = state.barrier(span->barrier);
  if (!barrier) return set;
  set.upstream = std::move(barrier->upstream);
  set.conditional = std::move(barrier->conditional);
  set.cancels = barrier->cancels;
  return set;
}

std::optional<Rank> read_rank(const Reader& reader, JobId id) {
  return State(reader).rank_of(raw(id));
}

std::optional<LimitState> read_limit(const Reader& reader, std::uint32_t limit) {
  const auto value = reader.get(Key(Table::limit).be32(limit));
  const auto known = value ? decode_limit(*value) : std::nullopt;
  if (!known) return std::nullopt;
  return LimitState{*known, used_of(reader, limit), limit};
}

Result<void> scan_limits(const Reader& reader,
                         const std::function<bool(const LimitState&)>& visit) {
  State state(reader);
  std::uint32_t next = 1;
  const auto decode = [&](const store::Entry& e) {
    const bool follows = e.key == std::string_view(Key(Table::limit).be32(next));
    return follows ? decode_limit(e.value) : std::nullopt;
  };
  each_readable(state, Key(Table::limit), decode, [&](const Limit& limit) {
    const std::uint32_t number = next++;
    return visit({limit, used_of(reader, number), number});
  });
  return state.sound();
}

bool is_removed(const Reader& reader, JobId id) {
  return reader.get(Key(Table::removed, raw(id))).has_value();
}

std::optional<Job> kept_failure(const Reader& reader, JobId id) {
  const auto now = read_job(reader, id);
  if (!now || is_withdrawn(*now)) return {};  // what is kept is its spawner
  const auto kept = reader.get(Key(Table::removed, raw(id)));
  auto job = kept && !kept->empty() ? decode_job(*kept) : std::nullopt;
  if (!job || !has(job->state, trait::kTroubled)) return {};
  return job;
}

Result<std::vector<JobRange>> removed_jobs(const Reader& reader, std::span<const JobRange> jobs) {
  State state(reader);
  std::vector<JobRange> found;
  for (const JobRange& range : jobs) {
    const std::uint64_t end = raw(range.first) + range.count;
    reader.scan(Key(Table::removed, raw(range.first)), [&](const store::Entry& e) {
      if (!is_in(Table::removed, e.key)) return false;
      const auto id = id_in(Table::removed, e.key);
      if (!id) state.damaged(e.key);
      if (!id || *id >= end) return false;
      if (!found.empty() && raw(found.back().first) + found.back().count == *id)
        ++found.back().count;
      else
        found.push_back({JobId{*id}, 1});
      return true;
    });
  }
  TORC_TRY(state.sound());
  return found;
}

Result<void> leave_out_removed(const Reader& reader, WorkflowState& workflow) {
  const JobRange all{JobId{1}, workflow.jobs};
  TORC_ASSIGN(const auto removed, removed_jobs(reader, std::span(&all, 1)));
  State state(reader);
  const auto less = [](std::uint64_t& from) { from -= std::min<std::uint64_t>(from, 1); };
  for (const JobRange& range : removed) {
    for (std::uint64_t i = 0; i < range.count; ++i) {
      const auto job = state.job(raw(range.first) + i);
      if (!job) break;
      less(workflow.jobs);
      less(workflow.counts[static_cast<std::size_t>(job->state)]);
      if (is_removed(*job) || is_unmet(*job)) less(workflow.unmet);
    }
  }
  return state.sound();
}

Result<std::vector<Action>> read_actions(const Reader& reader) {
  std::vector<Action> all;
  State state(reader);
  const std::uint64_t count = read_action_tally(reader).actions;
  for (std::uint32_t n = 1; n <= count; ++n) {
    const auto value = reader.get(action_key(n));
    auto one = value ? decode_action(*value) : std::nullopt;
    if (!one) state.damaged(action_key(n));
    TORC_TRY(state.sound());
    all.push_back(*std::move(one));
  }
  return all;
}

ActionTally read_action_tally(const Reader& reader) {
  const auto value = reader.get(Key(Table::action));
  return value ? decode_action_tally(*value).value_or(ActionTally{}) : ActionTally{};
}

Result<void> scan_runs(const Reader& reader, std::uint32_t number,
                       const std::function<bool(WorkerEpoch, const ActionRun&)>& visit) {
  State state(reader);
  reader.scan_prefix(Key(Table::action_run).be32(number), [&](const store::Entry& e) {
    const auto name = run_in(e.key);
    const auto run = decode_run(e.value);
    if (!name || !run) state.damaged(e.key);
    return name && run && visit(name->worker, *run);
  });
  return state.sound();
}

bool is_due(WallTime not_before, std::chrono::seconds delay, WallTime now) {
  return now >= not_before || not_before - now > 2 * delay;
}

std::optional<std::uint64_t> listed_id(State& state, const std::optional<store::Entry>& entry) {
  if (!entry || !is_in(Table::delayed, entry->key)) return std::nullopt;
  const auto id = delayed_in(entry->key);
  if (!id) state.damaged(entry->key);
  return id;
}

std::optional<std::chrono::microseconds> next_due(State& state, WallTime now) {
  const auto id = listed_id(state, state.reader().seek(Key(Table::delayed)));
  if (!id) return std::nullopt;
  const auto job = state.open_record(*id);
  if (!job) return std::nullopt;
  return std::max<std::chrono::microseconds>(job->not_before - now, std::chrono::microseconds(0));
}

}  // namespace torc::claim
