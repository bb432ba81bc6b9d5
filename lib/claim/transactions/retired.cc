#include "lib/claim/transactions/retired.h"

#include <algorithm>
#include <utility>

#include "lib/base/codec.h"
#include "lib/base/hash.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reshape_parts.h"

namespace torc::claim {
namespace {

void add_joined(Encoder& out, std::vector<JobRange> ranges) {
  std::ranges::sort(ranges, {}, &JobRange::first);
  std::uint64_t end = 0;  // of what was begun
  for (const JobRange& r : ranges) {
    if (raw(r.first) != end) out.varint(end).varint(raw(r.first));
    end = raw(r.first) + r.count;
  }
  out.varint(end);
}

// Of the jobs that it waits for and on what conditions, however they are written. 0: for nothing.
std::uint64_t upstream_hash(State& state, std::uint64_t id) {
  const Span* span = state.span_of(id);
  if (span == nullptr || span->barrier == 0) return 0;
  const auto barrier = state.barrier(span->barrier);
  if (!barrier) return 0;
  Encoder out;
  out.u8(barrier->cancels ? 1 : 0);
  add_joined(out, barrier->upstream);
  for (const Condition c : {Condition::afternotok, Condition::afterany, Condition::after}) {
    std::vector<JobRange> jobs;
    for (const Dependency& d : barrier->conditional) {
      if (d.condition == c) jobs.push_back(d.jobs);
    }
    add_joined(out, std::move(jobs));
  }
  return fnv1a(out.bytes());
}

Key key_of(std::uint64_t id) {
  return {Table::retired, id};
}

}  // namespace

bool is_built_on_the_same(State& state, std::uint64_t id, std::uint64_t claim) {
  const Span* span = state.span_of(id);
  if (span == nullptr) return false;
  if (span->barrier == 0) return true;
  const std::uint64_t number = span->barrier;
  if (!state.is_open(number)) return false;
  const auto barrier = state.barrier(number);
  if (!barrier) return false;
  const auto is_older = [&](const JobRange& range) {
    const std::uint64_t end = raw(range.first) + range.count;
    for (auto at = state.next_record(raw(range.first)); at && *at < end;
         at = state.next_record(*at + 1)) {
      const auto job = state.open_record(*at);
      if (!job || job->claim >= claim) return false;
    }
    return true;
  };
  return std::ranges::all_of(barrier->upstream, is_older) &&
         std::ranges::all_of(barrier->conditional,
                             [&](const Dependency& d) { return is_older(d.jobs); });
}

Result<void> RetiredResults::note(const std::vector<JobRange>& jobs) {
  if (!definition_of_) return {};
  State state(tx_);
  for (const JobRange& range : jobs) {
    const std::uint64_t end = raw(range.first) + range.count;
    for (auto at = state.next_record(raw(range.first)); at && *at < end;
         at = state.next_record(*at + 1)) {
      const auto job = state.open_record(*at);
      if (!job || job->state != JobState::completed) continue;
      const std::uint64_t definition = definition_of_(JobId{*at});
      if (definition != 0) noted_.push_back({*at, {*job, definition, upstream_hash(state, *at)}});
    }
  }
  return state.sound();
}

Result<void> RetiredResults::keep() {
  State state(tx_);
  for (const auto& [id, retired] : noted_) {
    const auto job = state.job(id);
    if (!job || job->state == JobState::completed) continue;
    tx_.put(key_of(id), encode(retired));
  }
  noted_.clear();
  return state.sound();
}

std::optional<Retired> RetiredResults::restorable(State& state, std::uint64_t id) const {
  const auto value = tx_.get(key_of(id));
  if (!value) return {};
  const auto retired = decode_retired(*value);
  if (!retired) {
    state.damaged(key_of(id));
    return {};
  }
  const auto job = state.job(id);
  if (!job || job->state != JobState::ready || job->revoked != Revoked::no) return {};
  if (job->attempt != retired->job.attempt || job->claim != retired->job.claim) return {};
  if (definition_of_(JobId{id}) != retired->definition) return {};
  if (upstream_hash(state, id) != retired->upstream) return {};
  if (!is_built_on_the_same(state, id, job->claim)) return {};
  return retired;
}

Result<void> RetiredResults::return_spawned(const std::vector<JobRange>& spawners, WallTime now) {
  if (spawners.empty()) return {};
  Ledger ledger(tx_, now);
  State& state = ledger.state();
  std::vector<JobRange> spawned;
  tx_.scan(Key(Table::addition, 1), [&](const store::Entry& e) {
    if (!is_in(Table::addition, e.key)) return false;
    const auto origin = decode_origin(e.key, e.value);
    if (!origin) state.damaged(e.key);
    if (origin && has_job(spawners, raw(origin->parent))) spawned.push_back(origin->jobs);
    return origin.has_value();
  });
  each_job(state, spawned, [&](std::uint64_t id, const Job& job) {
    if (!is_withdrawn(job)) return;
    const auto value = tx_.get(removed_key(JobId{id}));
    const auto was = value ? decode_job(*value) : std::nullopt;
    const auto spawner = state.job(raw(job.outcome.because));
    // Others are of an earlier attempt, and the one that counts again did not spawn them.
    if (!was || !spawner || was->claim != spawner->claim) return;
    tx_.erase(removed_key(JobId{id}));
    ledger.change(id, job, retry(job));
  });
  return ledger.close();
}

// Those that wait for others come after them, each in a round of its own.
Result<std::uint64_t> RetiredResults::take_back(const std::vector<JobRange>& jobs, WallTime now) {
  std::uint64_t taken = 0;
  if (!definition_of_ || jobs.empty()) return taken;
  std::vector<std::uint64_t> left;
  for (const JobRange& range : jobs) {
    for (std::uint64_t id = raw(range.first); id < raw(range.first) + range.count; ++id) {
      if (tx_.get(key_of(id))) left.push_back(id);
    }
  }
  // Where more wait for each other the rest runs again, so that this transaction has an end.
  constexpr int kMostRounds = 256;
  int rounds = 0;
  for (std::size_t before = left.size() + 1;
       left.size() < before && !left.empty() && rounds < kMostRounds; ++rounds) {
    before = left.size();
    std::vector<JobRange> restored;
    Ledger ledger(tx_, now);
    std::erase_if(left, [&](std::uint64_t id) {
      const auto retired = restorable(ledger.state(), id);
      if (!retired) return false;
      const auto job = ledger.state().job(id);
      if (!job) return false;
      ledger.change(id, *job, retired->job);
      tx_.erase(key_of(id));
      add_to(restored, id);
      ++taken;
      return true;
    });
    TORC_TRY(ledger.close());
    TORC_TRY(return_spawned(restored, now));
  }
  return taken;
}

}  // namespace torc::claim
