#include "lib/store/format/snapshot_making.h"

#include "lib/store/lmdb/lmdb_transaction.h"

namespace torc::store {

SnapshotMaking::SnapshotMaking(std::shared_ptr<Environment> environment, Disk& disk,
                               const Path& store, const StoreId& id, PublishMethod method,
                               Durable durable, std::uint64_t seed)
    : environment_(std::move(environment)),
      entropy_(seed),
      journal_(disk, store, id, Publisher(disk, entropy_, method, durable)),
      thread_([this] {
        result_ = make();
        done_ = true;
      }) {}

SnapshotMaking::~SnapshotMaking() {
  canceled_ = true;
  thread_.join();
}

// The transaction is begun and ended on the thread that uses it, and ended before the disk's work.
Result<Head> SnapshotMaking::make() {
  const auto pack = [&]() -> Result<PackedSnapshot> {
    TORC_ASSIGN(const Txn txn, Txn::begin(environment_, Access::read));
    Head head;
    if (const int rc = read_head(txn, head); rc != 0)
      return lmdb_error(rc, "cannot read the head in " + txn.directory().string());
    return pack_snapshot(journal_.id(), txn, head, &canceled_);
  };
  TORC_ASSIGN(const PackedSnapshot packed, pack());
  TORC_TRY(publish_snapshot(journal_, packed));
  return packed.head;
}

}  // namespace torc::store
