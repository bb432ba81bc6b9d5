// How repair.h does it for engine `journal`. Three steps, a file each: what the files lead to
// (repair.cc), what the node's copies have beyond it (repair_copies.cc), and carrying it out
// (repair_carry_out.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/engine/engines.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/journal/journal.h"
#include "lib/store/journal/replica.h"
#include "lib/store/journal/segment.h"
#include "lib/store/journal/snapshot.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/maintenance/repair_inventory.h"
#include "lib/store/maintenance/workbench.h"

namespace torc::store {

// What reading says of the bytes, not of the way to them: everything else is the caller's error.
inline bool is_damage(const Error& error) {
  return error.kind == ErrorKind::corrupt || error.kind == ErrorKind::not_found;
}

class JournalRepair final : public Repair {
 public:
  JournalRepair(const World& world, Path directory, const Meta& meta, Place place, Workbench bench)
      : world_(world),
        directory_(std::move(directory)),
        state_(meta.identity.state_directory(directory_)),
        place_(std::move(place)),
        journal_(world.disk, directory_, meta.identity.id,
                 Publisher(world.disk, world.entropy, meta.publish, Durable::yes)),
        bench_(std::move(bench)) {}

  Result<void> run();
  // Commits were made or collected since: what was missing may just have been collected.
  Result<bool> outdated() {
    TORC_ASSIGN(const Inventory now, inventory());
    return !(now == inventory_);
  }
  [[nodiscard]] bool needed() const override { return cuts() || !others_.empty(); }
  [[nodiscard]] std::uint64_t last_good() const override { return head_.sequence; }
  [[nodiscard]] std::uint64_t continues_at() const override {
    // A number in a directory of its own, beyond anything a process that still goes on with the old
    // history can ask for.
    return first_of_directory(highest_) + 2 * kPerDirectory;
  }
  [[nodiscard]] const Path& from_copy() const override { return from_copy_; }
  [[nodiscard]] const std::vector<LostCommit>& lost() const override { return lost_; }
  [[nodiscard]] const std::vector<Damage>& damages() const override { return damages_; }
  [[nodiscard]] const std::vector<Path>& other_copies() const override { return others_; }
  Result<std::string> writes_of(const LostCommit& commit) override;
  Result<void> view(const std::function<Result<void>(const Reader&)>& body) override;
  Result<Path> carry_out(const std::string& name) override;

 private:
  Result<void> begin_at_snapshot();
  Result<bool> load(const SnapshotName& name);
  Result<void> follow();
  void note_end(std::uint64_t next, const Result<CommitFile>& file);
  [[nodiscard]] std::string seen_by_worker() const {
    return "worker " + std::to_string(known_.epoch) + " has seen commit " +
           std::to_string(known_.sequence);
  }
  // The history does not go on where it ends, but behind what was lost.
  [[nodiscard]] bool cuts() const {
    return !damages_.empty() || !from_copy_.empty() || cut_off_ > 0;
  }
  Result<Inventory> inventory() { return take_inventory(journal_, place_.facts.learning); }
  Result<CommitFile> read(std::uint64_t number);
  Result<CommitFile> read(std::uint64_t number, SegmentReader& segment_reader);
  Result<void> look_into_copies();
  enum class Kinship : std::uint8_t { same_history, other_history, unknown };
  Result<Kinship> kinship_of(const Txn& copy, std::uint64_t number);
  Result<Kinship> kinship_by_files(const Txn& copy, const Head& head);
  Result<void> look_into(const Path& path, const std::shared_ptr<Environment>& copy);
  Result<void> take_from(const Txn& from, const Head& head);
  Result<void> note_other(const Path& path, const Txn& copy, const Head& head);
  Result<void> set_aside(const Path& copy, const Path& quarantine);
  Result<void> check_older_snapshots();
  Result<void> list_lost();
  void note(const Path& file, const Error& error) { damages_.push_back({file, error.what}); }
  Result<void> tell_unclear() const;
  Result<void> check_copies() const;
  Result<void> check_workers();
  Result<KnownCommit> known();
  Result<void> write_good_part();
  Result<void> move_aside(const Path& quarantine);
  Result<void> move_segments(const Path& quarantine);
  Result<void> move(const Path& file, const Path& quarantine);

  World world_;
  Path directory_;
  Path state_;
  Place place_;
  Journal journal_;
  Workbench bench_;
  Inventory inventory_;
  Head head_;                     // of the good part, in the workbench
  std::uint64_t files_good_ = 0;  // how far the files alone lead
  Hash128 files_chain_{};         // there
  std::uint64_t highest_ = 0;
  KnownCommit known_;  // that a worker of any node has seen
  Path from_copy_;
  std::vector<LostCommit> lost_;
  std::uint64_t cut_off_ = 0;  // how many of them are files of the store
  std::vector<Path> others_;   // copies that went another way
  std::map<Path, std::vector<std::pair<std::uint64_t, std::string>>> tails_;  // their lost commits
  // Copies of which it could not be learned what they hold, with the number of their newest commit
  // (nullopt: not even that) and why.
  struct Unclear {
    Path copy;
    std::optional<std::uint64_t> newest;
    std::string why;
  };
  std::vector<Unclear> unclear_;
  std::vector<Damage> damages_;
  std::set<std::uint64_t> damaged_;  // commit files of the good part that are of no use themselves
};

}  // namespace torc::store
