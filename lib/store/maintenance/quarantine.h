// Where a repair puts what does not belong to the good part: files of the store, under the names
// that they have in it. Nothing is deleted. After an Error some are there and the others where they
// were.
#pragma once

#include <cstdint>
#include <string>

#include "lib/store/maintenance/good_part.h"
#include "lib/store/maintenance/repair_files.h"

namespace torc::store {

class Quarantine {
 public:
  // Both outlive this. Makes nothing; `name` is that of a directory of its own.
  Quarantine(Disk& disk, RepairFiles& files, const std::string& name);

  [[nodiscard]] const Path& directory() const { return directory_; }
  // Error exists: somebody has it already.
  Result<void> make();
  // What is in the store up to number `covered` and no part of `good`.
  Result<void> take_all(const GoodPart& good, std::uint64_t covered);
  // What was moved is here for good, also after a power cut.
  Result<void> sync();

 private:
  Result<void> take(const Path& file);
  Result<void> take_segments(std::uint64_t files_good);

  Disk& disk_;
  RepairFiles& files_;
  Path directory_;
};

}  // namespace torc::store
