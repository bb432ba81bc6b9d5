// A whole state in one file.
//
//   magic "torcSNP1" | store id 16 | sequence be64 | chain hash 16 | journal bytes be64 | CRC-32C
//   be32 of all before | zstd frame of all entries (key and value as texts of the base codec, in
//   key order, the head left out) | entries be64 | hash 16 of the uncompressed entries | magic
//   "torcEND1"
//
// Memory: to write it, the compressed file and a buffer; to read it, the longest value and a
// buffer.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "lib/store/format/journal.h"
#include "lib/store/lmdb/lmdb_transaction.h"

namespace torc::store {

// The bytes of a snapshot.
struct PackedSnapshot {
  Head head;
  std::string bytes;
};
// The state of `txn` (a read transaction: writers go on meanwhile). `canceled` (may be null):
// looked at while it works; once true, the answer is an Error (busy).
Result<PackedSnapshot> pack_snapshot(const StoreId& id, const Txn& txn, const Head& head,
                                     const std::atomic<bool>* canceled);

// ok: it is there now, whoever made it.
Result<void> publish_snapshot(Journal& journal, const PackedSnapshot& packed);
// Both.
Result<void> write_snapshot(Journal& journal, const Txn& txn, const Head& head);

// Visits all entries and checks everything; `head` is what the file says of its place in history.
// Entries may have been visited when it fails: the caller discards them then. `visit` returns false
// to stop with its own error.
Result<Head> read_snapshot(Journal& journal, const SnapshotName& name,
                           const std::function<bool(const Entry&)>& visit);

}  // namespace torc::store
