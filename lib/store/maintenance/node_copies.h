// What the copies of a journal store that this user's processes have on this node say of its lost
// commits: one that goes further in the same history gives the good part, one of another history
// has commits that were lost and whose numbers were used again.
//
// It owns what it has learnt of them, and of lost commits the newest files. The copies stay as they
// are until set_aside().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/good_part.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/maintenance/repair_files.h"
#include "lib/store/maintenance/repair_inventory.h"
#include "lib/store/replica/replica.h"

namespace torc::store {

class NodeCopies {
 public:
  // All outlive this.
  NodeCopies(const World& world, RepairFiles& files, GoodPart& good)
      : world_(world), files_(files), good_(good) {}

  // Precondition: the good part is put together, from `inventory`. It is replaced by a copy that
  // has more of it. Error: of the first copy that could be opened and then not be read.
  Result<void> look_into_all(const Inventory& inventory);

  // The one from which the good part comes; empty: from the files.
  [[nodiscard]] const Path& taken() const { return taken_; }
  // Of another history, and what was lost of that.
  [[nodiscard]] const std::vector<Path>& others() const { return others_; }
  [[nodiscard]] const std::vector<LostCommit>& lost() const { return lost_; }
  // The highest number of all of these; 0: there is none.
  [[nodiscard]] std::uint64_t highest() const { return highest_; }
  // Whether `commit` is one of lost() that this has as it was; and its writes.
  [[nodiscard]] bool has(const LostCommit& commit) const { return tails_.contains(commit.file); }
  Result<std::string> writes_of(const LostCommit& commit) const;

  // Error busy: one may have more than the good part and could not be looked at, so nothing may be
  // cut off.
  [[nodiscard]] Result<void> check() const;
  // Nothing seems to be lost. Tells the user of copies that nobody could look into; Error busy: one
  // is known to have more.
  [[nodiscard]] Result<void> tell_unclear() const;

  // Keeps what it has of lost commits in `quarantine`, and then it goes: the node begins anew with
  // the store's history.
  Result<void> set_aside(const Path& copy, const Path& quarantine);

 private:
  enum class Kinship : std::uint8_t { same_history, other_history, unknown };
  // Copies of which it could not be learned what they hold, with the number of their newest commit
  // (nullopt: not even that) and why.
  struct Unclear {
    Path copy;
    std::optional<std::uint64_t> newest;
    std::string why;
  };

  Result<void> look_into(const Inventory& inventory, const Path& path,
                         const std::shared_ptr<Environment>& copy);
  Result<Kinship> kinship_of(const Txn& copy, std::uint64_t number);
  Result<Kinship> kinship_by_files(const Inventory& inventory, const Txn& copy, const Head& head);
  Result<void> note_other(const Path& path, const Txn& copy, const Head& head);

  const World& world_;
  RepairFiles& files_;
  GoodPart& good_;
  Path taken_;
  std::uint64_t highest_ = 0;
  std::vector<Path> others_;
  std::vector<LostCommit> lost_;
  std::map<Path, std::vector<std::pair<std::uint64_t, std::string>>> tails_;  // their lost commits
  std::vector<Unclear> unclear_;
};

}  // namespace torc::store
