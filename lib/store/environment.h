// LMDB, opened once per process and directory. LMDB forbids opening an environment twice in one
// process (closing one would drop the file locks of the other), so those that are open are found
// again by device and inode.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <shared_mutex>

#include "lib/base/result.h"
#include "lib/store/disk.h"

namespace torc::store {

// Turns LMDB's return code into an Error; `what` names the operation and the file.
[[nodiscard]] Error lmdb_error(int rc, const std::string& what);

class Environment {
 public:
  // Durable::no: MDB_NOSYNC. `directory` exists.
  static Result<std::shared_ptr<Environment>> open(const Path& directory, Durable durable);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Doubles the map. Waits until no transaction of this process is open.
  Result<void> grow();
  // Whether its file was deleted; what is written then is lost with this process.
  [[nodiscard]] bool deleted() const;
  [[nodiscard]] const Path& directory() const { return directory_; }
  [[nodiscard]] MDB_dbi dbi() const { return dbi_; }

 private:
  friend class Txn;
  Environment() = default;
  Result<void> start(Durable durable);
  Result<void> start_with_map(std::size_t size, Durable durable, int& rc);

  Path directory_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  std::shared_mutex resizing_;  // shared: a transaction is open
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

 private:
  explicit Txn(std::shared_ptr<Environment> environment) : environment_(std::move(environment)) {}
  void release();

  std::shared_ptr<Environment> environment_;
  std::shared_lock<std::shared_mutex> open_;
  MDB_txn* txn_ = nullptr;
};

}  // namespace torc::store
