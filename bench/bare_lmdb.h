// LMDB as it is, without torc: what the lmdb engine is compared with. One environment in a
// directory of its own, opened with the flags of the engine (MDB_NOTLS, every commit synced).
#pragma once

#include <lmdb.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"

namespace torc::bench {

using Records = std::vector<std::pair<std::string, std::string>>;

class BareLmdb {
 public:
  static Result<std::unique_ptr<BareLmdb>> open(const Path& directory);  // makes it
  ~BareLmdb();
  BareLmdb(const BareLmdb&) = delete;
  BareLmdb& operator=(const BareLmdb&) = delete;

  // One synced transaction.
  Result<void> commit(const Records& records);

 private:
  BareLmdb() = default;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};

}  // namespace torc::bench
