#include "lib/claim/transactions/undo.h"

#include <algorithm>
#include <functional>
#include <map>
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
  std::uint64_t text_after = 0;
  std::string tally_before;  // both empty: no count changed
  std::string tally_after;
  bool is_of_recipes = false;    // what workers remember of them counts no more
  std::vector<Written> written;  // by key
};

// The keys are sorted: each is told by what it does not share with the one before.
std::string encode(const Record& record) {
  Encoder out;
  out.text(record.file).text(record.text_before).be64(record.text_after);
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
  record.text_after = in.be64();
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
  record.text_after = asked.text_after;
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

// Whether the job lost an end by it, or got one back. The keys come in the order of the jobs.
void note_end(const Reader& reader, const Written& w, std::uint64_t id, KeptChange& change) {
  const auto value = reader.get(w.key);
  const Job before = w.before ? decode_job(*w.before).value_or(Job{}) : Job{};
  const Job after = value ? decode_job(*value).value_or(Job{}) : Job{};
  const auto has_run = [](const Job& job) {
    return is_over(job.state) && job.state != JobState::canceled;
  };
  if (is_over(before.state) && !is_over(after.state)) {
    add_to(change.lost, id);
  } else if (!has_run(before) && has_run(after) && !is_live(before.state)) {
    add_to(change.regained, id);
  }
}

// The jobs whose records, terms or templates it wrote, those that it took out or brought back, and
// those that are new.
void count_jobs(const Reader& reader, const Record& record, KeptChange& change) {
  std::vector<JobRange> jobs;
  for (const Written& w : record.written) {
    if (const auto id = id_in(Table::job, w.key)) note_end(reader, w, *id, change);
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
  for (auto* ranges : {&change.ranges, &change.lost, &change.regained}) {
    if (ranges->size() > KeptChange::kMostRanges) ranges->resize(KeptChange::kMostRanges);
  }
}

// `change`: the newest.
void forget_old(Transaction& tx, const KeptChange& change) {
  if (change.number > KeptChange::kMost) {
    tx.erase(change_key(change.number - KeptChange::kMost));
    tx.erase(before_change_key(change.number - KeptChange::kMost));
  }
  std::uint64_t all = change.bytes;
  std::uint64_t commands = 1;
  KeptChange last = change;
  for (std::uint64_t number = change.number - 1; number > 0; --number) {
    auto read = read_change(tx, number);
    if (!read || !*read) return;
    KeptChange& old = **read;
    all += old.bytes;
    commands += old.is_of_the_same_command(last) ? 0U : 1U;
    last = old;
    if (old.bytes == 0) continue;
    if (commands <= kMostUndoable && all <= NotedTransaction::kMostBytes) continue;
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

// Marks of values that are to be put back first, by key.
using PutBack = std::map<std::string, std::uint64_t>;

// What is another one than the change left it; nullopt: nothing is. 0: it is of no single job.
std::optional<JobId> first_that_went_on(const Reader& tx, const Record& record,
                                        const PutBack& put_back) {
  std::optional<JobId> first;
  for (const Written& w : record.written) {
    const auto newer = put_back.find(w.key);
    if ((newer == put_back.end() ? mark_of(tx.get(w.key)) : newer->second) == w.after) continue;
    if (const auto job = id_in(Table::job, w.key)) return JobId{*job};
    first = JobId{};
  }
  return first;
}

// The jobs that a key is about which says how jobs run, or when.
std::optional<JobRange> jobs_told_of(const Reader& reader, const Written& w) {
  const auto value = reader.get(w.key);
  if (!value) return {};
  if (is_in(Table::job_template, w.key)) {
    const auto t = decode_template(w.key, *value);
    if (t && are_jobs(raw(t->first), t->count)) return JobRange{t->first, t->count};
  } else if (is_in(Table::span, w.key)) {
    const auto span = decode_span(w.key, *value);
    if (span && are_jobs(span->first, span->count))
      return JobRange{JobId{span->first}, span->count};
  }
  return {};
}

// The first of the jobs that was granted after that commit.
std::optional<JobId> granted_since(State& state, const JobRange& jobs, std::uint64_t commit) {
  const std::uint64_t end = raw(jobs.first) + jobs.count;
  for (auto at = state.next_record(raw(jobs.first)); at && *at < end;
       at = state.next_record(*at + 1)) {
    const auto job = state.open_record(*at);
    if (job && job->claim > commit) return JobId{*at};
  }
  return {};
}

bool was_run_since(const Reader& reader, const Written& action, std::uint64_t commit) {
  if (!is_in(Table::action, action.key) || action.key.size() == 1) return false;
  std::string runs(action.key);
  runs.front() = static_cast<char>(Table::action_run);
  bool found = false;
  reader.scan_prefix(runs, [&](const store::Entry& e) {
    const auto run = decode_run(e.value);
    found = run && run->claim > commit;
    return !found;
  });
  return found;
}

// What has come of what was written, beyond the keys; nullopt: nothing. 0: it is of no single job.
std::optional<JobId> first_that_went_by_it(const Reader& reader, const Record& record,
                                           std::uint64_t commit) {
  State state(reader);
  bool is_of_all = false;
  for (const Written& w : record.written) {
    if (const auto id = id_in(Table::job, w.key)) {
      const auto job = state.open_record(*id);
      if (job && job->revoked != Revoked::no) return JobId{*id};  // its worker ends it
    }
    if (was_run_since(reader, w, commit)) return JobId{};
    for (const Table table : {Table::user_data, Table::settings, Table::expense})
      is_of_all = is_of_all || is_in(table, w.key);
    const auto jobs = jobs_told_of(reader, w);
    if (!jobs) continue;
    if (const auto job = granted_since(state, *jobs, commit)) return job;
  }
  return is_of_all ? granted_since(state, {JobId{1}, kMaxJobs}, commit) : std::nullopt;
}

// Workers read them when they register, and go by them until they leave.
bool is_read_by_workers(const Record& record) {
  return std::ranges::any_of(record.written, [](const Written& w) {
    return is_in(Table::settings, w.key) || is_in(Table::action, w.key);
  });
}

// The key behind, of tables whose numbers follow each other: one that is missing below others would
// end them. Empty: it is in none of them.
std::string next_in_row(std::string key) {
  const bool is_in_row =
      is_in(Table::job_class, key) || is_in(Table::handler, key) || is_in(Table::limit, key);
  if (!is_in_row) return {};
  for (auto byte = key.rbegin(); byte + 1 != key.rend(); ++byte) {
    *byte = static_cast<char>(static_cast<unsigned char>(*byte) + 1U);
    if (*byte != 0) break;
  }
  return key;
}

// What it brought, and others have counted on from since; nobody minds one that no job has.
bool stays(const Written& w, const std::function<bool(const std::string& key)>& is_there) {
  if (w.before) return false;
  const std::string next = next_in_row(w.key);
  return !next.empty() && is_there(next);
}

// A change, and whether the keys that it wrote let it be taken back.
struct Looked {
  Undone undone;
  std::optional<KeptChange> change;
  std::optional<Record> record;
};

Result<Looked> look_at(const Reader& reader, std::uint64_t number, const PutBack& put_back = {}) {
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
  if (is_read_by_workers(*looked.record) && State(reader).tally().live_workers > 0) {
    looked.undone.answer = Undone::Answer::followed;
    return looked;
  }
  auto job = first_that_went_on(reader, *looked.record, put_back);
  if (!job) job = first_that_went_by_it(reader, *looked.record, looked.change->sequence);
  if (job) {
    looked.undone.answer = Undone::Answer::gone_on;
    looked.undone.job = *job;
  }
  return looked;
}

}  // namespace

std::uint64_t mark_of_text(std::string_view text) {
  return mark_of(text);
}

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
  forget_old(tx, change);
  tx.put(change_key(change.number), encode(change));
  if (!bytes.empty()) tx.put(before_change_key(change.number), bytes);
}

Result<Undone> UndoTrial::next(std::uint64_t number) {
  TORC_ASSIGN(const Looked looked, look_at(reader_, number, put_back_));
  if (looked.undone.answer == Undone::Answer::done) {
    const auto is_there = [&](const std::string& key) {
      const auto known = put_back_.find(key);
      return known == put_back_.end() ? reader_.get(key).has_value() : known->second != 0;
    };
    // The last first: what stays keeps what is before it in a row.
    const auto& written = looked.record->written;
    for (auto w = written.rbegin(); w != written.rend(); ++w) {
      if (!stays(*w, is_there)) put_back_[w->key] = mark_of(w->before);
    }
  }
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
  const auto is_there = [&](const std::string& next) { return tx.get(next).has_value(); };
  for (auto w = record->written.rbegin(); w != record->written.rend(); ++w) {
    if (stays(*w, is_there)) continue;
    if (w->before) {
      tx.put(w->key, *w->before);
    } else {
      tx.erase(w->key);
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
  undone.text_after = record->text_after;
  return undone;
}

}  // namespace torc::claim
