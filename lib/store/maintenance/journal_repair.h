// How repair.h does it for engine `journal`: what the files lead to (good_part.h), what the node's
// copies have beyond it (node_copies.h), and then the good part becomes the store, and the rest is
// moved aside (quarantine.h). This one knows the order, and what may be concluded when the store
// changes meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/maintenance/good_part.h"
#include "lib/store/maintenance/node_copies.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/maintenance/repair_files.h"
#include "lib/store/maintenance/repair_inventory.h"
#include "lib/store/maintenance/workbench.h"

namespace torc::store {

class JournalRepair final : public Repair {
 public:
  JournalRepair(const World& world, Path directory, const Meta& meta, Place place, Workbench bench)
      : world_(world),
        files_(world_, std::move(directory), meta, std::move(place)),
        good_(files_, std::move(bench)),
        copies_(world_, files_, good_) {}
  JournalRepair(const JournalRepair&) = delete;  // its parts know each other
  JournalRepair& operator=(const JournalRepair&) = delete;

  // Looks, once.
  Result<void> run();
  // Commits were made or collected since: what was missing may just have been collected.
  Result<bool> outdated();
  [[nodiscard]] bool needed() const override { return cuts() || !copies_.others().empty(); }
  [[nodiscard]] std::uint64_t last_good() const override { return good_.head().sequence; }
  [[nodiscard]] std::uint64_t continues_at() const override;
  [[nodiscard]] const Path& from_copy() const override { return copies_.taken(); }
  [[nodiscard]] const std::vector<LostCommit>& lost() const override { return lost_; }
  [[nodiscard]] bool lost_without_trace() const override { return lost_without_trace_; }
  [[nodiscard]] const std::vector<Damage>& damages() const override { return good_.damages(); }
  [[nodiscard]] const std::vector<Path>& other_copies() const override { return copies_.others(); }
  Result<std::string> writes_of(const LostCommit& commit) override;
  Result<void> view(const std::function<Result<void>(const Reader&)>& body) override {
    return good_.view(body);
  }
  Result<Path> carry_out(const std::string& name) override;

 private:
  // The history does not go on where it ends, but behind what was lost.
  [[nodiscard]] bool cuts() const {
    return !good_.damages().empty() || !copies_.taken().empty() || cut_off_ > 0;
  }
  Result<void> list_lost();
  Result<void> check_workers();
  [[nodiscard]] Error no_beginning() const;

  World world_;
  RepairFiles files_;
  GoodPart good_;
  NodeCopies copies_;
  Inventory inventory_;
  std::uint64_t highest_ = 0;  // of the files, and of what workers have seen
  std::vector<LostCommit> lost_;
  bool lost_without_trace_ = false;
  std::uint64_t cut_off_ = 0;  // how many of them are files of the store
};

}  // namespace torc::store
