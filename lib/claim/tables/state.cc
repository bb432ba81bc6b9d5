#include "lib/claim/tables/state.h"

#include <fmt/format.h>

#include <utility>

#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/queue_head.h"

namespace torc::claim {

std::optional<store::Entry> last_of(const Reader& reader, Table table) {
  const char after_all = static_cast<char>(static_cast<char>(table) + 1);
  auto entry = reader.seek_before({&after_all, 1});
  if (entry && !is_in(table, entry->key)) entry.reset();
  return entry;
}

std::optional<Job> State::record(std::uint64_t id) {
  auto job = open_record(id);
  if (job && job->state == JobState::ready) job->state = waiting_state(id);
  return job;
}

std::optional<Job> State::open_record(std::uint64_t id) {
  return read(Key(Table::job, id), decode_job);
}

std::optional<Job> State::job(std::uint64_t id) {
  if (auto own = record(id)) return own;
  const Span* span = span_of(id);
  if (span == nullptr) return std::nullopt;
  Job job;
  job.state = is_open(span->barrier) ? JobState::ready : JobState::blocked;
  return job;
}

const Span* State::span_of(std::uint64_t id) {
  if (span_ && span_->contains(id)) return &*span_;
  if (id == 0 || id == UINT64_MAX) return nullptr;
  const auto entry = reader_.seek_before(Key(Table::span, id + 1));
  if (!entry || !is_in(Table::span, entry->key)) return nullptr;
  span_ = sound_or_damaged(entry->key, decode_span(entry->key, entry->value));
  return span_ && span_->contains(id) ? &*span_ : nullptr;
}

std::optional<Rank> State::rank_of(std::uint64_t id) {
  const Key key(Table::own_rank, id);
  if (const auto value = reader_.get(key)) return sound_or_damaged(key, decode_rank(*value));
  const Span* span = span_of(id);
  if (span == nullptr) return std::nullopt;
  return Rank{span->job_class, span->priority};
}

bool State::is_open(std::uint64_t barrier) {
  if (barrier == 0) return true;
  // Absent: closed, and its record need not be looked at.
  const auto countdown = read(Key(Table::countdown, barrier), decode_countdown);
  return countdown && countdown->opened;
}

JobState State::waiting_state(std::uint64_t id) {
  const Span* span = span_of(id);
  if (span == nullptr) damaged(Key(Table::span, id));
  return span == nullptr || is_open(span->barrier) ? JobState::ready : JobState::blocked;
}

std::uint64_t State::opened_at(std::uint64_t barrier) {
  return barrier == 0 ? 0 : countdown(barrier).opened.value_or(0);
}

Countdown State::countdown(std::uint64_t barrier) {
  const Key key(Table::countdown, barrier);
  if (const auto value = reader_.get(key))
    return sound_or_damaged(key, decode_countdown(*value)).value_or(Countdown{});
  Countdown whole;
  if (const auto value = reader_.get(Key(Table::barrier, barrier))) {
    whole.left = decode_total(*value);
  } else {
    damaged(Key(Table::barrier, barrier));
  }
  return whole;
}

std::optional<Barrier> State::barrier(std::uint64_t id) {
  const Key key(Table::barrier, id);
  const auto value = reader_.get(key);
  return sound_or_damaged(key, value ? decode_barrier(*value) : std::nullopt);
}

std::optional<UpstreamRun> State::upstream_run(std::uint64_t id) {
  const auto e = reader_.seek_before(Key(Table::upstream, id + 1));
  if (!e || !is_in(Table::upstream, e->key)) return std::nullopt;
  auto run = sound_or_damaged(e->key, decode_upstream(e->key, e->value));
  return run && id - run->first < run->count ? run : std::nullopt;
}

Tally State::tally() {
  const Key key(Table::tally);
  const auto value = reader_.get(key);
  return sound_or_damaged(key, value ? decode_tally(*value) : std::nullopt).value_or(Tally{});
}

std::optional<Lease> State::lease(WorkerEpoch epoch) {
  return read(Key(Table::lease, raw(epoch)), decode_lease);
}

std::optional<Worker> State::worker(WorkerEpoch epoch) {
  auto worker = read(Key(Table::worker, raw(epoch)), decode_worker);
  if (worker) worker->epoch = epoch;
  return worker;
}

JobClass State::job_class(std::uint32_t number) {
  Key key(Table::job_class);
  key.be32(number);
  const auto value = reader_.get(key);
  return sound_or_damaged(key, value ? decode_class(*value) : std::nullopt).value_or(JobClass{});
}

std::optional<std::uint64_t> State::next_record(std::uint64_t id) {
  return id_of(Table::job, reader_.seek(Key(Table::job, id)));
}

std::optional<std::uint64_t> State::id_of(Table table, const std::optional<store::Entry>& found) {
  if (!found || !is_in(table, found->key)) return std::nullopt;
  return sound_or_damaged(found->key, id_in(table, found->key));
}

void State::damaged(std::string_view key) {
  if (damage_.empty()) damage_ = "the state of the jobs cannot be read at " + show_key(key);
}

void State::note(const Error& of_a_scan) {
  if (damage_.empty()) damage_ = of_a_scan.what;
}

void State::contradicts(std::string what) {
  if (damage_.empty()) damage_ = "the state of the jobs contradicts itself: " + std::move(what);
}

Result<void> State::sound() const {
  if (damage_.empty()) return {};
  return Error{ErrorKind::corrupt, damage_,
               "run `torc verify` on the store; a newer torc may have written it"};
}

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

SortMethod read_sort(State& state) {
  const Key key(Table::workflow);
  const auto value = state.reader().get(key);
  const auto record = value ? decode_workflow(*value) : std::nullopt;
  if (!record) state.damaged(key);
  return record ? record->sort : SortMethod::none;
}

}  // namespace torc::claim
