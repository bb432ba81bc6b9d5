// LMDB's data file: what the walker calls whole LMDB can read, entry by entry as the walker does,
// and write to; the tolerant walk ends, whatever there is. Pages are of 512 bytes at least, so that
// inputs are small (lmdb_pages.h).
#include <lmdb.h>

#include <map>
#include <memory>

#include "lib/store/lmdb/lmdb_file.h"
#include "lib/store/lmdb/lmdb_remains.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch_files.h"

namespace {

using torc::Path;
using namespace torc::store;
using Entries = std::map<std::string, std::string>;

struct CloseEnvironment {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};

std::string text(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}
MDB_val bytes_of(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

// With LMDB's own code, which believes what is there.
Entries read_by_lmdb(MDB_env* env) {
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  MDB_cursor* cursor = nullptr;
  TORC_MUST(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn) == 0);
  TORC_MUST(mdb_dbi_open(txn, nullptr, 0, &dbi) == 0 && mdb_cursor_open(txn, dbi, &cursor) == 0);
  Entries out;
  MDB_val key;
  MDB_val value;
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) out[text(key)] = text(value);
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  return out;
}

void write_by_lmdb(MDB_env* env, const Entries& entries) {
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  TORC_MUST(mdb_txn_begin(env, nullptr, 0, &txn) == 0);
  TORC_MUST(mdb_dbi_open(txn, nullptr, 0, &dbi) == 0);
  const std::string name = "new";
  const std::string bytes(1500, 'x');
  MDB_val key = bytes_of(name);
  MDB_val value = bytes_of(bytes);
  bool good = mdb_put(txn, dbi, &key, &value, 0) == 0;
  if (good && !entries.empty()) {
    MDB_val gone = bytes_of(entries.begin()->first);
    good = mdb_del(txn, dbi, &gone, nullptr) == 0;
  }
  if (good) {
    (void)mdb_txn_commit(txn);
  } else {
    mdb_txn_abort(txn);
  }
}

}  // namespace

TORC_FUZZ_TARGET(lmdb) {
  static const torc::fuzz::ScratchFiles scratch;
  const Path path = scratch.path() / "data.mdb";
  scratch.put(path, input);
  const auto file = LmdbFile::open(scratch.path());
  TORC_MUST(check_lmdb_head(scratch.path()).ok() || file.ok() ||
            file.error().kind != torc::ErrorKind::not_found);
  if (!file.ok()) return;
  for (const LmdbHead* head : {&file->newest(), &file->older()}) {
    const auto remains = remains_of(*file, *head);
    TORC_MUST(remains.ok());
    const Entries entries(remains->entries.begin(), remains->entries.end());
    std::uint64_t bytes = 0;
    for (const auto& [key, value] : entries) bytes += key.size() + value.size();
    // No page is used twice, and entries of one page lie side by side.
    TORC_MUST(bytes <= input.size());
    const auto whole = file->check(*head);
    if (!whole.ok()) {
      TORC_MUST(whole.error().kind == torc::ErrorKind::corrupt);
      continue;
    }
    TORC_MUST(remains->complete() && entries.size() == head->main.entries);
    if (head != &file->newest()) continue;
    MDB_env* made = nullptr;
    TORC_MUST(mdb_env_create(&made) == 0);
    const std::unique_ptr<MDB_env, CloseEnvironment> env(made);
    // More than any page number that the walker lets pass: LMDB believes those beyond the file.
    TORC_MUST(mdb_env_set_mapsize(made, std::size_t{64} << 30) == 0);
    TORC_MUST(mdb_env_open(made, scratch.path().c_str(), MDB_NOLOCK | MDB_NOSYNC, 0600) == 0);
    TORC_MUST(read_by_lmdb(made) == entries);
    write_by_lmdb(made, entries);
  }
}
