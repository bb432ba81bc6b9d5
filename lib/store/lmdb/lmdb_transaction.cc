#include "lib/store/lmdb/lmdb_transaction.h"

#include <algorithm>

namespace torc::store {
namespace {

// LMDB takes its input through non-const pointers and does not write there.
MDB_val value_of(std::string_view v) {
  return {v.size(), const_cast<char*>(v.data())};
}
std::string_view text_of(const MDB_val& v) {
  return {static_cast<const char*>(v.mv_data), v.mv_size};
}

// LMDB's code. `value` is valid until the transaction ends or writes.
int get_entry(const Txn& txn, std::string_view key, std::string_view& value) {
  MDB_val k = value_of(key);
  MDB_val v{};
  const int rc = mdb_get(txn.raw(), txn.dbi(), &k, &v);
  if (rc == 0) value = text_of(v);
  return rc;
}

std::string tail_key(std::uint64_t sequence) {
  return Encoder().raw(kTailPrefix).u8(static_cast<std::uint8_t>(sequence % kTailSize)).bytes();
}

}  // namespace

std::string ring_key(std::uint64_t sequence) {
  const std::uint64_t slot = sequence % kRingSize;
  return Encoder()
      .raw(kRingPrefix)
      .u8(static_cast<std::uint8_t>(slot >> 8))
      .u8(static_cast<std::uint8_t>(slot))
      .bytes();
}

std::string ring_value(std::uint64_t sequence, const CommitId& id) {
  return Encoder().be64(sequence).raw(as_text(id)).bytes();
}

LmdbTransaction::~LmdbTransaction() {
  for (MDB_cursor* cursor : {cursor_, put_cursor_, erase_cursor_}) {
    if (cursor != nullptr) mdb_cursor_close(cursor);
  }
}

Result<void> LmdbTransaction::health() const {
  if (bad_key_) {
    return Error{
        ErrorKind::invalid, "a transaction used a key that is empty, too long or reserved", {}};
  }
  if (too_large_ != 0) {
    return Error{ErrorKind::invalid,
                 "a record of " + std::to_string(too_large_) + " bytes is too large; " +
                     std::to_string(kMostValue) + " is the most",
                 "say it in several smaller ones; of a workflow: with shorter texts, or fewer "
                 "values in one entry"};
  }
  if (rc_ != 0) return lmdb_error(rc_, "cannot use " + (txn_.directory() / "data.mdb").string());
  return {};
}

bool LmdbTransaction::usable(std::string_view key) const {
  if (rc_ != 0 || bad_key_ || too_large_ != 0) return false;
  if (key.empty() || key.size() > kMaxKeySize || key.front() == '\0') bad_key_ = true;
  return !bad_key_;
}

void LmdbTransaction::spoil(int rc) const {
  if (rc_ == 0) rc_ = rc;
}

MDB_cursor* LmdbTransaction::opened(MDB_cursor*& cursor) const {
  if (rc_ != 0) return nullptr;
  if (cursor == nullptr) {
    if (const int rc = mdb_cursor_open(txn_.raw(), txn_.dbi(), &cursor); rc != 0) {
      spoil(rc);
      cursor = nullptr;
    }
  }
  return cursor;
}

std::optional<std::string_view> LmdbTransaction::get(std::string_view key) const {
  if (!usable(key)) return std::nullopt;
  std::string_view value;
  const int rc = get_entry(txn_, key, value);
  if (rc == 0) return value;
  if (rc != MDB_NOTFOUND) spoil(rc);
  return std::nullopt;
}

std::optional<Entry> LmdbTransaction::seek(std::string_view from) const {
  MDB_cursor* at = opened(cursor_);
  if (at == nullptr) return std::nullopt;
  MDB_val k = value_of(std::max(from, kFirstUserKey));
  MDB_val v{};
  const int rc = mdb_cursor_get(at, &k, &v, MDB_SET_RANGE);
  if (rc == 0) return Entry{text_of(k), text_of(v)};
  if (rc != MDB_NOTFOUND) spoil(rc);
  return std::nullopt;
}

std::optional<Entry> LmdbTransaction::seek_before(std::string_view before) const {
  MDB_cursor* at = opened(cursor_);
  if (at == nullptr || before <= kFirstUserKey) return std::nullopt;
  MDB_val k = value_of(before);
  MDB_val v{};
  int rc = mdb_cursor_get(at, &k, &v, MDB_SET_RANGE);
  if (rc == 0) {
    rc = mdb_cursor_get(at, &k, &v, MDB_PREV);
  } else if (rc == MDB_NOTFOUND) {
    rc = mdb_cursor_get(at, &k, &v, MDB_LAST);
  }
  if (rc == 0) {
    if (text_of(k) < kFirstUserKey) return std::nullopt;
    return Entry{text_of(k), text_of(v)};
  }
  if (rc != MDB_NOTFOUND) spoil(rc);
  return std::nullopt;
}

void LmdbTransaction::scan(std::string_view from,
                           const std::function<bool(const Entry&)>& visit) const {
  // A cursor of its own: `visit` may seek in the same transaction.
  if (rc_ != 0) return;
  MDB_cursor* at = nullptr;
  int rc = mdb_cursor_open(txn_.raw(), txn_.dbi(), &at);
  if (rc != 0) return spoil(rc);
  MDB_val k = value_of(std::max(from, kFirstUserKey));
  MDB_val v{};
  rc = mdb_cursor_get(at, &k, &v, MDB_SET_RANGE);
  while (rc == 0 && visit({text_of(k), text_of(v)})) {
    txn_.have_read(text_of(v));
    rc = mdb_cursor_get(at, &k, &v, MDB_NEXT);
  }
  mdb_cursor_close(at);
  if (rc != 0 && rc != MDB_NOTFOUND) spoil(rc);
}

void LmdbTransaction::put(std::string_view key, std::string_view value) {
  if (!usable(key)) return;
  if (value.size() > kMostValue) {
    too_large_ = value.size();
    return;
  }
  copy_.assign(key).append(value);
  key = std::string_view(copy_).substr(0, key.size());
  value = std::string_view(copy_).substr(key.size());
  MDB_cursor* at = opened(put_cursor_);
  if (at == nullptr) return;
  MDB_val k = value_of(key);
  MDB_val v = value_of(value);
  if (const int rc = mdb_cursor_put(at, &k, &v, 0); rc != 0) return spoil(rc);
  wrote_ = true;
  if (capture_ != nullptr) capture_->put(key, value);
}

void LmdbTransaction::erase(std::string_view key) {
  if (!usable(key)) return;
  copy_.assign(key);
  key = copy_;
  MDB_cursor* at = opened(erase_cursor_);
  if (at == nullptr) return;
  MDB_val k = value_of(key);
  const int found = mdb_cursor_get(at, &k, nullptr, MDB_SET);
  if (found == MDB_NOTFOUND) return;
  if (found != 0) return spoil(found);
  if (const int rc = mdb_cursor_del(at, 0); rc != 0) return spoil(rc);
  wrote_ = true;
  if (capture_ != nullptr) capture_->erase(key);
}

std::optional<Head> decode_head(std::string_view value) {
  Head head;
  Decoder in(value);
  head.sequence = in.be64();
  (void)from_text(in.raw(16), head.chain);
  head.bytes = in.be64();
  head.author = in.be64();
  if (!in.is_whole()) return std::nullopt;
  return head;
}

int read_head(const Txn& txn, Head& head) {
  std::string_view value;
  const int rc = get_entry(txn, kHeadKey, value);
  head = {};
  if (rc == MDB_NOTFOUND) return 0;
  if (rc != 0) return rc;
  const auto known = decode_head(value);
  if (!known) return MDB_INVALID;
  head = *known;
  return 0;
}

int write_head(Txn& txn, const Head& head) {
  Encoder value;
  value.be64(head.sequence).raw(as_text(head.chain)).be64(head.bytes).be64(head.author);
  return put_entry(txn, kHeadKey, value.bytes());
}

int write_ring(Txn& txn, std::uint64_t sequence, const CommitId& id) {
  return put_entry(txn, ring_key(sequence), ring_value(sequence, id));
}

int read_ring(const Txn& txn, std::uint64_t sequence, RingEntry& entry) {
  std::string_view value;
  const int rc = get_entry(txn, ring_key(sequence), value);
  entry = {};
  if (rc == MDB_NOTFOUND) return 0;
  if (rc != 0) return rc;
  Decoder in(value);
  entry.sequence = in.be64();
  (void)from_text(in.raw(16), entry.id);
  return in.is_whole() ? 0 : MDB_INVALID;
}

int write_tail(Txn& txn, std::uint64_t sequence, std::string_view file) {
  const std::string key = tail_key(sequence);
  if (file.empty() || file.size() > kMostOfTail) return erase_entry(txn, key);
  MDB_val k = value_of(key);
  MDB_val v{8 + file.size(), nullptr};
  const int rc = mdb_put(txn.raw(), txn.dbi(), &k, &v, MDB_RESERVE);
  if (rc != 0) return rc;
  auto* to = static_cast<char*>(v.mv_data);
  const std::string number = Encoder().be64(sequence).bytes();
  std::copy(file.begin(), file.end(), std::copy(number.begin(), number.end(), to));
  return 0;
}

std::optional<std::string_view> read_tail(const Txn& txn, std::uint64_t sequence) {
  std::string_view value;
  if (get_entry(txn, tail_key(sequence), value) != 0) return std::nullopt;
  Decoder in(value);
  if (in.be64() != sequence || !in.ok()) return std::nullopt;
  return in.rest();
}

int put_entry(Txn& txn, std::string_view key, std::string_view value) {
  MDB_val k = value_of(key);
  MDB_val v = value_of(value);
  return mdb_put(txn.raw(), txn.dbi(), &k, &v, 0);
}

int erase_entry(Txn& txn, std::string_view key) {
  MDB_val k = value_of(key);
  const int rc = mdb_del(txn.raw(), txn.dbi(), &k, nullptr);
  return rc == MDB_NOTFOUND ? 0 : rc;
}

int clear_state(Txn& txn) {
  return mdb_drop(txn.raw(), txn.dbi(), 0);
}

std::uint64_t state_size(const Txn& txn) {
  MDB_stat stat{};
  if (mdb_stat(txn.raw(), txn.dbi(), &stat) != 0) return 0;
  return (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
}

int scan_state(const Txn& txn, const std::function<bool(const Entry&)>& visit) {
  MDB_cursor* at = nullptr;
  int rc = mdb_cursor_open(txn.raw(), txn.dbi(), &at);
  if (rc != 0) return rc;
  MDB_val k{};
  MDB_val v{};
  for (rc = mdb_cursor_get(at, &k, &v, MDB_FIRST); rc == 0;
       rc = mdb_cursor_get(at, &k, &v, MDB_NEXT)) {
    const bool local = text_of(k) == kHeadKey || text_of(k).starts_with(kTailPrefix);
    if (!local && !visit({text_of(k), text_of(v)})) break;
    txn.have_read(text_of(v));
  }
  mdb_cursor_close(at);
  return rc == MDB_NOTFOUND ? 0 : rc;
}

}  // namespace torc::store
