// Typed reading of the tables. A job without a record of its own waits; so does one whose record
// says `ready`. A job that waits is ready, or blocked while its span's barrier is closed. A value
// that does not decode reads as absent and is remembered, and so is a contradiction: sound() then
// says which, and nothing decided on this state may count.
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// The last entry of a table; nullopt: it is empty.
[[nodiscard]] std::optional<store::Entry> last_of(const Reader& reader, Table table);

class State {
 public:
  // `reader` outlives this. The spans are cached: they never change once written.
  explicit State(const Reader& reader) : reader_(reader) {}

  [[nodiscard]] const Reader& reader() const { return reader_; }

  [[nodiscard]] std::optional<Job> record(std::uint64_t id);  // of its own
  // The same of a job that is known not to be blocked: one look less.
  [[nodiscard]] std::optional<Job> open_record(std::uint64_t id);
  [[nodiscard]] std::optional<Job> job(std::uint64_t id);  // nullopt: no such job
  [[nodiscard]] const Span* span_of(std::uint64_t id);     // valid until the next call
  // Where it waits: its own class and priority, or those of its span. nullopt: no such job.
  [[nodiscard]] std::optional<Rank> rank_of(std::uint64_t id);
  [[nodiscard]] bool is_open(std::uint64_t barrier);
  [[nodiscard]] Countdown countdown(std::uint64_t barrier);
  // What a job that waits is; of a blocked one the barrier may have become impossible, which
  // Ledger::change looks at.
  [[nodiscard]] JobState waiting_state(std::uint64_t id);
  // Sequence number of the commit that opened it; 0: it is closed, or there is none.
  [[nodiscard]] std::uint64_t opened_at(std::uint64_t barrier);
  [[nodiscard]] std::optional<Barrier> barrier(std::uint64_t id);
  // The run of jobs with `id` in it that barriers wait for; nullopt: none waits for it.
  [[nodiscard]] std::optional<UpstreamRun> upstream_run(std::uint64_t id);
  [[nodiscard]] Tally tally();
  [[nodiscard]] std::optional<Lease> lease(WorkerEpoch epoch);
  [[nodiscard]] std::optional<Worker> worker(WorkerEpoch epoch);
  [[nodiscard]] JobClass job_class(std::uint32_t number);
  // The first id >= `id` that has a record of its own; nullopt: none.
  [[nodiscard]] std::optional<std::uint64_t> next_record(std::uint64_t id);
  // The id in the key that a look into `table` found; nullopt: it found the end of the table. A key
  // of the table that is not its byte and one id is damage, and not the end.
  [[nodiscard]] std::optional<std::uint64_t> id_of(Table table,
                                                   const std::optional<store::Entry>& found);

  void damaged(std::string_view key);
  void note(const Error& of_a_scan);
  // Records that can be read do not agree. `what`: one sentence without a full stop.
  void contradicts(std::string what);
  [[nodiscard]] Result<void> sound() const;

 private:
  template <class T>
  std::optional<T> sound_or_damaged(std::string_view key, std::optional<T> value) {
    if (!value) damaged(key);
    return value;
  }

  // What `decode` makes of the value of `key`; nullopt: there is none, or it is damaged.
  template <class Decode>
  auto read(std::string_view key, const Decode& decode) {
    const auto value = reader_.get(key);
    return value ? sound_or_damaged(key, decode(*value)) : decltype(decode(*value))();
  }

  const Reader& reader_;
  std::optional<Span> span_;
  std::string damage_;  // the first that was found
};

// Visits what `decode` makes of the entries below `prefix` until `visit` says false. What it makes
// nothing of is damage, and the end.
template <class Decode, class Visit>
void each_readable(State& state, std::string_view prefix, const Decode& decode,
                   const Visit& visit) {
  state.reader().scan_prefix(prefix, [&](const store::Entry& e) {
    const auto found = decode(e);
    if (!found) state.damaged(e.key);
    return found && visit(*found);
  });
}

// How many jobs there are. That the counters, the spans and the templates agree in it costs two
// looks, and leaves nothing that a walk over all jobs could be made endless with. A third one: no
// record stands before that of the first job, where a walk that begins there would not see it.
[[nodiscard]] std::uint64_t extent(State& state);

}  // namespace torc::claim
