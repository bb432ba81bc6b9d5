#include "lib/store/replica/node_replica.h"

#include <cerrno>
#include <utility>

namespace torc::store {
namespace {

constexpr int kVanished = 4;
// A copy that somebody is opening for so long is left to him.
constexpr std::chrono::nanoseconds kForgetPatience = std::chrono::seconds(1);

}  // namespace

Path NodeReplica::directory() const {
  return replica_.environment ? replica_.environment->directory() : Path();
}

Result<void> NodeReplica::attach(const std::string& place) {
  if (replica_.environment) return {};
  Error last{ErrorKind::io, "no directory for the node's copy of the store was given",
             "set TMPDIR"};
  int vanished = 0;
  while (root_ < world_.replica_roots.size()) {
    Result<Replica> opened =
        open_replica(world_, world_.replica_roots[root_], id_, place, generation_, patience_);
    if (opened.ok()) {
      replica_ = std::move(*opened);
      if (watch_) watch_->add(directory() / "data.mdb");
      return {};
    }
    last = std::move(opened).error();
    // Whoever left a finished workflow takes the copy along (forget()), also while it is being
    // opened here: then it is made again.
    if (last.os_errno == ENOENT && ++vanished < kVanished) continue;
    // Damaged, of another build, or somebody is stuck in it: others may be using it, so it stays
    // and a new one is begun.
    const bool spoiled = last.kind == ErrorKind::corrupt || last.kind == ErrorKind::busy ||
                         last.os_errno == MDB_VERSION_MISMATCH;
    if (spoiled && generation_ + 1 < kGenerations) {
      ++generation_;
    } else {
      ++root_;
    }
  }
  root_ = 0;
  last.what = "no place for this node's copy of the store: " + last.what;
  if (last.remedy.empty()) last.remedy = "set TMPDIR to a directory on a local disk";
  return last;
}

void NodeReplica::leave(Why why) {
  detach();
  if (why == Why::broken && root_ + 1 < world_.replica_roots.size()) {
    ++root_;
  } else {
    if (why == Why::broken) root_ = 0;
    generation_ = (generation_ + 1) % kGenerations;
  }
}

void NodeReplica::detach() {
  replica_ = {};
  broken_ = false;
  full_ = false;
  validated_ = false;
}

void NodeReplica::start_over() {
  detach();
  root_ = 0;
  generation_ = 0;
}

void NodeReplica::forget() {
  const Path copy = directory();
  watch_.reset();
  replica_ = {};
  validated_ = false;
  (void)remove_replica(world_.entropy, copy, kForgetPatience);
}

Result<Txn> NodeReplica::begin(Access access) {
  Result<Txn> txn = Txn::begin(replica_.environment, access);
  if (!txn.ok()) broken_ = true;
  return txn;
}

Result<Txn> NodeReplica::begin(Access access, Head& head) {
  Result<Txn> txn = begin(access);
  if (!txn.ok()) return txn;
  if (const int rc = store::read_head(*txn, head); rc != 0)
    return failure(rc, "cannot read the head");
  return txn;
}

Result<Head> NodeReplica::read_head() {
  Head head;
  TORC_TRY(begin(Access::read, head));
  return head;
}

Error NodeReplica::failure(int rc, const char* what) {
  if (rc == MDB_MAP_FULL) {
    full_ = true;
  } else {
    broken_ = true;
  }
  return lmdb_error(rc, std::string(what) + " in " + directory().string());
}

void NodeReplica::grow() {
  full_ = false;
  if (!replica_.environment->grow().ok()) broken_ = true;
}

int NodeReplica::changes_fd() const {
  if (!watch_ && replica_.environment)
    watch_ = std::make_unique<FileWatch>(directory() / "data.mdb");
  return watch_ ? watch_->fd() : -1;
}

void NodeReplica::clear_changes() {
  if (watch_) watch_->clear();
}

}  // namespace torc::store
