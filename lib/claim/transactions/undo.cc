#include "lib/claim/transactions/undo.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/codec.h"
#include "lib/base/hash.h"
#include "lib/claim/tables/change_record.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/reshape_parts.h"

namespace torc::claim {
namespace {

// Of a value that is there; another number than that of one that is not.
std::uint64_t mark_of(std::optional<std::string_view> value) {
  return value ? fnv1a(*value) | 1U : 0;
}

// One key that a change wrote.
struct Written {
  std::string key;
  std::optional<std::string> before;
  std::uint64_t after = 0;  // mark of the value
};

struct Record {
  std::string file;
  std::string text_before;
  std::string tally_before;  // both empty: no count changed
  std::string tally_after;
  bool is_of_recipes = false;    // what workers remember of them counts no more
  std::vector<Written> written;  // by key
};

// The keys are sorted: each is told by what it does not share with the one before.
std::string encode(const Record& record) {
  Encoder out;
  out.text(record.file).text(record.text_before);
  out.text(record.tally_before).text(record.tally_after).u8(record.is_of_recipes ? 1 : 0);
  std::string_view last;
  for (const Written& w : record.written) {
    const auto parts = std::ranges::mismatch(last, w.key);
    const auto shared = static_cast<std::size_t>(parts.in2 - w.key.begin());
    out.varint(shared).text(std::string_view(w.key).substr(shared));
    out.u8(w.before ? 1 : 0);
    if (w.before) out.text(*w.before);
    out.be64(w.after);
    last = w.key;
  }
  return std::move(out).bytes();
}

std::optional<Record> decode_record(std::string_view bytes) {
  Decoder in(bytes);
  Record record;
  record.file = in.text();
  record.text_before = in.text();
  record.tally_before = in.text();
  record.tally_after = in.text();
  record.is_of_recipes = in.u8() != 0;
  std::string last;
  while (in.ok() && !in.at_end()) {
    const std::uint64_t shared = in.varint();
    if (shared > last.size()) return {};
    Written w;
    w.key = last.substr(0, shared);
    w.key += in.text();
    if (in.u8() != 0) w.before = in.text();
    w.after = in.be64();
    // What the store itself keeps is none of a change, nor is what is kept of changes.
    if (w.key <= last || w.key.size() > store::kMaxKeySize || w.key < store::kFirstUserKey ||
        is_in(Table::change, w.key))
      return {};
    last = w.key;
    record.written.push_back(std::move(w));
  }
  if (!in.is_whole()) return {};
  return record;
}

Record record_of(const Transaction& tx, const NotedTransaction& noted, const AskedChange& asked) {
  Record record;
  record.file = asked.file;
  record.text_before = asked.text_before;
  std::vector<std::uint64_t> barriers;
  for (const auto& [key, before] : noted.before()) {
    const auto now = tx.get(key);
    if (now == before) continue;
    if (key == std::string_view(Key(Table::tally))) {
      record.tally_before = before.value_or("");
      record.tally_after = now.value_or("");
    } else if (key == std::string_view(Key(Table::edition))) {
      record.is_of_recipes = true;
    } else {
      record.written.push_back({key, before, mark_of(now)});
      if (const auto barrier = id_in(Table::barrier, key)) barriers.push_back(*barrier);
    }
  }
  // A barrier is worth what its countdown says of it, which jobs that end change alone.
  for (const std::uint64_t barrier : barriers) {
    const std::string countdown(std::string_view(Key(Table::countdown, barrier)));
    const auto noted_before = noted.before().find(countdown);
    const auto now = tx.get(countdown);
    if (noted_before != noted.before().end() && noted_before->second != now) continue;
    Written same{countdown, {}, mark_of(now)};
    if (now) same.before.emplace(*now);
    record.written.push_back(std::move(same));
  }
  std::ranges::sort(record.written, {}, &Written::key);
  return record;
}

// The jobs whose records, terms or templates it wrote, those that it took out or brought back, and
// those that are new.
void count_jobs(const Reader& reader, const Record& record, KeptChange& change) {
  std::vector<JobRange> jobs;
  for (const Written& w : record.written) {
    for (const Table table : {Table::job, Table::removed, Table::own_rank}) {
      if (const auto id = id_in(table, w.key)) jobs.push_back({JobId{*id}, 1});
    }
    if (!is_in(Table::job_template, w.key)) continue;
    const auto value = reader.get(w.key);
    const auto t = value ? decode_template(w.key, *value) : std::nullopt;
    if (t && are_jobs(raw(t->first), t->count)) jobs.push_back({t->first, t->count});
  }
  const auto before = decode_tally(record.tally_before);
  const auto after = decode_tally(record.tally_after);
  if (before && after && after->jobs() > before->jobs()) {
    jobs.push_back({JobId{before->jobs() + 1}, after->jobs() - before->jobs()});
  }
  change.ranges = joined_ranges(std::move(jobs));
  for (const JobRange& range : change.ranges) change.jobs += range.count;
  if (change.ranges.size() > KeptChange::kMostRanges) change.ranges.resize(KeptChange::kMostRanges);
}

// `bytes`: of the newest.
void forget_old(Transaction& tx, std::uint64_t newest, std::uint64_t bytes) {
  if (newest > KeptChange::kMost) tx.erase(change_key(newest - KeptChange::kMost));
  std::uint64_t all = bytes;
  for (std::uint64_t number = newest - 1; number > 0 && newest - number <= kMostUndoable;
       --number) {
    auto change = read_change(tx, number);
    if (!change || !*change) return;
    KeptChange& old = **change;
    all += old.bytes;
    if (old.bytes == 0) continue;
    if (newest - number < kMostUndoable && all <= NotedTransaction::kMostBytes) continue;
    old.bytes = 0;
    tx.put(change_key(number), encode(old));
    tx.erase(before_change_key(number));
  }
}

// What the counters are without what a change added to them; nullopt: they cannot be.
std::optional<Tally> without(Tally now, const Tally& before, const Tally& after) {
  if (now.rules != after.rules || now.ordered != after.ordered) return {};
  for (std::size_t s = 0; s < kJobStates; ++s) now.counts[s] += before.counts[s] - after.counts[s];
  now.unmet += before.unmet - after.unmet;
  now.ending += before.ending - after.ending;
  now.rules = before.rules;
  now.ordered = before.ordered;
  if (!now.is_possible()) return {};
  return now;
}

// Puts the counters back; false: they do not allow it.
bool put_back_tally(Transaction& tx, const Record& record) {
  if (record.tally_before.empty()) return true;
  const auto value = tx.get(Key(Table::tally));
  const auto now = value ? decode_tally(*value) : std::nullopt;
  const auto before = decode_tally(record.tally_before);
  const auto after = decode_tally(record.tally_after);
  const auto tally = now && before && after ? without(*now, *before, *after) : std::nullopt;
  if (tally) tx.put(Key(Table::tally), encode(*tally));
  return tally.has_value();
}

// What is another one than the change left it; nullopt: nothing is. 0: it is of no single job.
std::optional<JobId> first_that_went_on(const Reader& tx, const Record& record) {
  std::optional<JobId> first;
  for (const Written& w : record.written) {
    if (mark_of(tx.get(w.key)) == w.after) continue;
    if (const auto job = id_in(Table::job, w.key)) return JobId{*job};
    first = JobId{};
  }
  return first;
}

// A change, and whether the keys that it wrote let it be taken back.
struct Looked {
  Undone undone;
  std::optional<KeptChange> change;
  std::optional<Record> record;
};

Result<Looked> look_at(const Reader& reader, std::uint64_t number) {
  Looked looked;
  TORC_ASSIGN(looked.change, read_change(reader, number));
  if (looked.change && looked.change->undone_at != WallTime{}) {
    looked.undone.answer = Undone::Answer::before;
    return looked;
  }
  const Key key = before_change_key(number);
  const auto bytes = reader.get(key);
  if (!looked.change || !bytes) {
    looked.undone.answer = Undone::Answer::not_kept;
    return looked;
  }
  looked.record = decode_record(*bytes);
  if (!looked.record) return unreadable(key);
  if (const auto job = first_that_went_on(reader, *looked.record)) {
    looked.undone.answer = Undone::Answer::gone_on;
    looked.undone.job = *job;
  }
  return looked;
}

}  // namespace

void keep_change(Transaction& tx, const NotedTransaction& noted, const AskedChange& asked) {
  KeptChange change;
  change.number = newest_change(tx) + 1;
  change.sequence = tx.sequence();
  change.at = asked.now;
  change.asked_at = asked.asked_at;
  change.by = asked.by;
  change.words = asked.words;
  change.is_too_large = noted.is_too_large();
  std::string bytes;
  if (!change.is_too_large) {
    const Record record = record_of(tx, noted, asked);
    if (record.written.empty() && record.tally_before.empty()) return;
    count_jobs(tx, record, change);
    bytes = encode(record);
    if (bytes.size() > NotedTransaction::kMostBytes) bytes.clear();
    change.bytes = bytes.size();
  }
  forget_old(tx, change.number, change.bytes);
  tx.put(change_key(change.number), encode(change));
  if (!bytes.empty()) tx.put(before_change_key(change.number), bytes);
}

Result<Undone> can_undo_change(const Reader& reader, std::uint64_t number) {
  TORC_ASSIGN(const Looked looked, look_at(reader, number));
  return looked.undone;
}

Result<Undone> undo_change(Transaction& tx, std::uint64_t number, WallTime now,
                           const std::string& by) {
  TORC_ASSIGN(Looked looked, look_at(tx, number));
  Undone undone = std::move(looked.undone);
  if (undone.answer != Undone::Answer::done) return undone;
  auto& change = looked.change;
  auto& record = looked.record;
  const Key key = before_change_key(number);
  for (const Written& w : record->written) {
    if (w.before) {
      tx.put(w.key, *w.before);
    } else {
      tx.erase(w.key);
    }
  }
  if (!put_back_tally(tx, *record)) {
    undone.answer = Undone::Answer::gone_on;
    return undone;
  }
  if (record->is_of_recipes) tx.put(Key(Table::edition), Value().varint(tx.sequence()));
  change->undone_at = now;
  change->undone_by = by;
  change->bytes = 0;
  tx.put(change_key(number), encode(*change));
  tx.erase(key);
  undone.file = std::move(record->file);
  undone.text_before = std::move(record->text_before);
  return undone;
}

}  // namespace torc::claim
