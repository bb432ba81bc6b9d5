#include "bench/bare_lmdb.h"

#include <system_error>
#include <utility>

namespace torc::bench {
namespace {

Result<void> check(int rc, const char* what) {
  if (rc == 0) return {};
  return Error{ErrorKind::io, std::string(what) + ": " + mdb_strerror(rc), {}, rc};
}

MDB_val value_of(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

}  // namespace

Result<std::unique_ptr<BareLmdb>> BareLmdb::open(const Path& directory) {
  std::error_code error;
  std::filesystem::create_directory(directory, error);
  if (error) return os_error(error.value(), "cannot make " + directory.string());
  std::unique_ptr<BareLmdb> out(new BareLmdb);
  TORC_TRY(check(mdb_env_create(&out->env_), "mdb_env_create"));
  TORC_TRY(check(mdb_env_set_mapsize(out->env_, std::size_t{1} << 30), "mdb_env_set_mapsize"));
  TORC_TRY(check(mdb_env_open(out->env_, directory.c_str(), MDB_NOTLS, 0666), "mdb_env_open"));
  MDB_txn* txn = nullptr;
  TORC_TRY(check(mdb_txn_begin(out->env_, nullptr, MDB_RDONLY, &txn), "mdb_txn_begin"));
  const int rc = mdb_dbi_open(txn, nullptr, 0, &out->dbi_);
  mdb_txn_abort(txn);
  TORC_TRY(check(rc, "mdb_dbi_open"));
  return out;
}

BareLmdb::~BareLmdb() {
  if (env_ != nullptr) mdb_env_close(env_);
}

Result<void> BareLmdb::commit(const Records& records) {
  MDB_txn* txn = nullptr;
  TORC_TRY(check(mdb_txn_begin(env_, nullptr, 0, &txn), "mdb_txn_begin"));
  for (const auto& [key, value] : records) {
    MDB_val k = value_of(key);
    MDB_val v = value_of(value);
    if (const int rc = mdb_put(txn, dbi_, &k, &v, 0); rc != 0) {
      mdb_txn_abort(txn);
      return check(rc, "mdb_put");
    }
  }
  return check(mdb_txn_commit(txn), "mdb_txn_commit");
}

}  // namespace torc::bench
