#include "lib/store/maintenance/adopt.h"

#include <lmdb.h>

#include <memory>
#include <utility>

#include "lib/base/pages.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/open_lock.h"
#include "lib/store/engine/engines.h"
#include "lib/store/engine/memory_state.h"
#include "lib/store/lmdb/lmdb_file.h"
#include "lib/store/lmdb/lmdb_transaction.h"

namespace torc::store {
namespace {

constexpr std::size_t kLeastMap = 1U << 20U;

// The data file as it is, read without LMDB's lock file: that may be in use on another machine.
// Nobody of this one has it open.
class Untouched {
 public:
  static Result<Untouched> open(const Path& directory) {
    TORC_TRY(check_environment_files(directory));
    TORC_TRY(check_lmdb_head(directory));
    MDB_env* env = nullptr;
    int rc = mdb_env_create(&env);
    Untouched out(env);
    // As in compact.cc; when the file has grown since, begin of a transaction tells.
    if (rc == 0) rc = mdb_env_set_mapsize(env, kLeastMap);
    if (rc == 0) rc = mdb_env_open(env, directory.c_str(), MDB_RDONLY | MDB_NOLOCK, 0666);
    if (rc != 0) return lmdb_error(rc, "cannot read " + (directory / "data.mdb").string());
    return out;
  }
  [[nodiscard]] std::size_t last_transaction() const {
    MDB_envinfo info{};
    return mdb_env_info(env_.get(), &info) == 0 ? info.me_last_txnid : 0;
  }
  Result<void> read(const Path& directory, MemoryState& state) const {
    MDB_txn* txn = nullptr;
    int rc = mdb_txn_begin(env_.get(), nullptr, MDB_RDONLY, &txn);
    if (rc == 0) {
      rc = scan(txn, state);
      mdb_txn_abort(txn);
    }
    if (rc != 0) return lmdb_error(rc, "cannot read " + (directory / "data.mdb").string());
    return {};
  }

 private:
  explicit Untouched(MDB_env* env) : env_(env, mdb_env_close) {}
  static int scan(MDB_txn* txn, MemoryState& state) {
    MDB_dbi dbi = 0;
    MDB_cursor* cursor = nullptr;
    int rc = mdb_dbi_open(txn, nullptr, 0, &dbi);
    if (rc == 0) rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc != 0) return rc;
    const auto text = [](const MDB_val& v) {
      return std::string_view(static_cast<const char*>(v.mv_data), v.mv_size);
    };
    MDB_val key{};
    MDB_val value{};
    for (rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); rc == 0;
         rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
      if (text(key) >= kFirstUserKey) state.put(text(key), text(value));
      give_back_pages(text(value));
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
  }
  std::unique_ptr<MDB_env, void (*)(MDB_env*)> env_;
};

// All of it under both locks.
Result<void> ask(const Path& directory,
                 const std::function<Result<void>(const Reader&)>& nobody_works) {
  std::size_t before = 0;
  MemoryState state;
  {
    TORC_ASSIGN(const Untouched data, Untouched::open(directory));
    before = data.last_transaction();
    TORC_TRY(data.read(directory, state));
  }
  TORC_TRY(nobody_works(state));
  TORC_ASSIGN(const Untouched data, Untouched::open(directory));
  if (data.last_transaction() == before) return {};
  return Error{ErrorKind::busy, "somebody committed to " + directory.string() + " meanwhile",
               "another machine works on it: end its workers there"};
}

}  // namespace

Result<Adoption> adopt(const World& world, const Path& directory,
                       const std::function<Result<void>(const Reader&)>& nobody_works,
                       std::chrono::nanoseconds patience) {
  TORC_ASSIGN(Meta meta, look_at_meta(world, directory));
  if (meta.identity.engine == Engine::journal) return Adoption::of_all;
  if (judge_home(meta.made(), meta.now(world)) == Home::here) return Adoption::not_needed;
  // LMDB would make an empty one.
  if (const auto there = world.disk.status(directory / "data.mdb"); !there.ok())
    return there.error();
  TORC_ASSIGN(const OpenLock closed, OpenLock::take(directory, "adopting it", patience));
  if (Environment::is_open_here(directory)) {
    return Error{ErrorKind::busy, directory.string() + " is open in this process",
                 "close it first"};
  }
  TORC_ASSIGN(const ExclusiveEnvironment alone, ExclusiveEnvironment::take(directory));
  TORC_TRY(ask(directory, nobody_works));
  // Somebody may have done so while we waited for the lock.
  TORC_ASSIGN(meta, look_at_meta(world, directory));
  if (meta.is_copy()) meta = with_own_instance(std::move(meta));
  meta.identity.machine = world.machine;
  meta.identity.host = world.host;
  meta.inode = meta.place.inode;
  meta.born = meta.place.born;
  TORC_TRY(replace_meta(world, directory, meta));
  return Adoption::adopted;
}

}  // namespace torc::store
