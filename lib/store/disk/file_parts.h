// A file that is never changed once it has its name, read one part after the other: of a large one
// there is never more than a part. Met by ESTALE it opens the file again from its path and goes on;
// whoever reads it has a hash that tells if it was another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/store/disk/disk.h"

namespace torc::store {

class FileParts {
 public:
  static constexpr std::size_t kPart = std::size_t{1} << 20;

  // Of more than `most` bytes nothing is read, Error corrupt.
  FileParts(Disk& disk, const Path& file, std::uint64_t most)
      : disk_(disk), file_(file), most_(most) {}

  // All parts but the last are kPart long. Empty: that was all.
  Result<std::string> next();

 private:
  Result<std::string> read();

  Disk& disk_;
  Path file_;
  std::uint64_t most_;
  std::optional<OpenFile> open_;
  std::uint64_t at_ = 0;
  bool ended_ = false;
};

}  // namespace torc::store
