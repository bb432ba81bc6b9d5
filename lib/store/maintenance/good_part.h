// The good part of a damaged journal: the newest snapshot that is whole and the commits that follow
// it without a gap, or more of the same history from a copy. It is put together in a workbench on
// this node, and changes nothing in the store before write().
//
// It owns that state, and what it found to be damaged on the way. After an Error it is of no use.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/format/journal.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/maintenance/repair_files.h"
#include "lib/store/maintenance/repair_inventory.h"
#include "lib/store/maintenance/workbench.h"

namespace torc::store {

class GoodPart {
 public:
  // `files` outlives this.
  GoodPart(RepairFiles& files, Workbench bench) : files_(files), bench_(std::move(bench)) {}

  // As far as the files lead, but not beyond commit `highest`. `known`: to be told where a worker
  // has seen more. Error corrupt: no beginning is left.
  Result<void> put_together(const Inventory& inventory, std::uint64_t highest,
                            const KnownCommit& known);
  // What a copy holds instead, which goes further in the same history.
  Result<void> replace(const Txn& copy, const Head& head);

  // No file of the history is there, whatever segments and copies have.
  void note_no_files();

  [[nodiscard]] const Head& head() const { return head_; }
  // How far the files alone lead, and the chain hash there.
  [[nodiscard]] std::uint64_t files_good() const { return files_good_; }
  [[nodiscard]] const Hash128& files_chain() const { return files_chain_; }
  [[nodiscard]] const std::vector<Damage>& damages() const { return damages_; }
  // A commit file of the good part that is of no use itself.
  [[nodiscard]] bool is_damaged(std::uint64_t number) const { return damaged_.contains(number); }

  Result<Txn> begin() { return Txn::begin(bench_.environment(), Access::read); }
  Result<void> view(const std::function<Result<void>(const Reader&)>& body);
  // As a snapshot after which the history goes on with number `next`.
  Result<void> write(Entropy& entropy, std::uint64_t next);

 private:
  Result<void> begin_at_snapshot(const Inventory& inventory);
  Result<bool> load(const SnapshotName& name);
  Result<void> follow(const Inventory& inventory, std::uint64_t highest, const KnownCommit& known);
  void note_end(std::uint64_t next, const Result<RepairFiles::Found>& file,
                const std::string& beyond);
  void note_missing(const std::vector<std::uint64_t>& numbers);
  Result<void> check_others(const Inventory& inventory);
  void note(const Path& file, const Error& error) { damages_.push_back({file, error.what}); }
  [[nodiscard]] Error failure(int rc) const;

  RepairFiles& files_;
  Workbench bench_;
  Head head_;  // of the good part, in the workbench
  std::uint64_t files_good_ = 0;
  Hash128 files_chain_{};
  std::vector<Damage> damages_;
  std::set<std::uint64_t> damaged_;
};

}  // namespace torc::store
