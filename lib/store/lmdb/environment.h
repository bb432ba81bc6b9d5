// LMDB, opened once per process and directory. LMDB forbids opening an environment twice in one
// process (closing one would drop the file locks of the other), so those that are open are found
// again by device and inode.
#pragma once

#include <lmdb.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/open_lock.h"

namespace torc::store {

inline constexpr std::chrono::nanoseconds kOpenPatience = std::chrono::seconds(10);

// Turns LMDB's return code into an Error; `what` names the operation and the file.
[[nodiscard]] Error lmdb_error(int rc, const std::string& what);

// For a signal handler, which can look at no more: what was opened last. Never freed.
struct LastOpened {
  char directory[4096] = {};  // empty: nothing
  bool is_copy = false;       // a node's copy of a store, which can be made anew
};
[[nodiscard]] const LastOpened& last_opened();

// Whether LMDB, which follows links and writes into what it finds, may open data.mdb and lock.mdb
// of `directory`: regular files with one name, of this user, the directory's owner, root, or the
// group that shares the directory; or not there. Error permission. What somebody who may write in
// `directory` does right after it, it cannot see (SECURITY.md).
Result<void> check_environment_files(const Path& directory);

class Environment {
 public:
  using FileKey = std::pair<std::uint64_t, std::uint64_t>;  // device and inode of a directory

  // Durable::no: MDB_NOSYNC. `directory` exists. Waits at most `patience` for others that are just
  // opening it, see OpenLock. Kind busy: they took longer.
  static Result<std::shared_ptr<Environment>> open(
      const Path& directory, Durable durable, std::chrono::nanoseconds patience = kOpenPatience);
  // By whoever has the OpenLock of `directory`.
  static Result<std::shared_ptr<Environment>> open_alone(
      const OpenLock& alone, const Path& directory, Durable durable,
      std::chrono::nanoseconds patience = kOpenPatience);
  // Whether this process has it open.
  static bool is_open_here(const Path& directory);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Makes room in a full map: from what readers that were killed had kept, else by doubling the
  // map. Waits until no transaction of this process is open.
  Result<void> grow();
  // A reader that was killed keeps all pages that were freed since its snapshot, and the file grows
  // with every commit, until somebody looks whether it is still there. This looks, at most once a
  // second: whoever writes for long calls it between commits. A reader that lives is never touched,
  // not even a stopped one.
  void forget_dead_readers(BootTime now);
  // Whether its file was deleted; what is written then is lost with this process.
  [[nodiscard]] bool deleted() const;
  // Whether a transaction was refused because LMDB's lock table is that of another data file than
  // this process has open: the file was replaced under whoever has the old one. Nothing was read or
  // written by it. To be closed and opened again.
  [[nodiscard]] bool foreign() const { return foreign_; }
  [[nodiscard]] const Path& directory() const { return directory_; }
  [[nodiscard]] MDB_dbi dbi() const { return dbi_; }

 private:
  friend class Txn;
  Environment() = default;
  Result<void> start(Durable durable);
  Result<void> start_with_map(std::size_t size, Durable durable, int& rc);
  static Result<std::shared_ptr<Environment>> find(const FileKey& key,
                                                   std::unique_lock<std::mutex>& guard);
  static Result<std::shared_ptr<Environment>> try_open(const Path& directory, const FileKey& key,
                                                       Durable durable, bool& again);
  [[nodiscard]] Error foreign_table() const;

  Path directory_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  std::atomic<bool> foreign_ = false;
  std::atomic<std::int64_t> readers_checked_ = 0;  // boot time, ns
  std::shared_mutex resizing_;                     // shared: a transaction is open
};

enum class Access : std::uint8_t { read, write };

// One LMDB transaction; aborted unless committed.
class Txn {
 public:
  static Result<Txn> begin(std::shared_ptr<Environment> environment, Access access);
  Txn(Txn&& other) noexcept;
  Txn& operator=(Txn&&) = delete;
  ~Txn();

  Result<void> commit();
  void abort();

  [[nodiscard]] MDB_txn* raw() const { return txn_; }
  [[nodiscard]] MDB_dbi dbi() const { return environment_->dbi(); }
  [[nodiscard]] const Path& directory() const { return environment_->directory(); }
  // Who has read a long value: its pages go out of the process's memory, and come back when it is
  // read again. What a write transaction shows is not in the file yet, and stays.
  void have_read(std::string_view value) const;

 private:
  Txn(std::shared_ptr<Environment> environment, Access access)
      : environment_(std::move(environment)), access_(access) {}
  void release();

  std::shared_ptr<Environment> environment_;
  Access access_;
  std::shared_lock<std::shared_mutex> open_;
  MDB_txn* txn_ = nullptr;
};

}  // namespace torc::store
