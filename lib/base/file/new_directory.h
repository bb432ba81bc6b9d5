// A directory that a command fills with new files, where the user has named it.
//
// Others may write in the directory above it, or own it, and put another one or a link in its place
// at any moment. So it is opened once, and what is written lies in that very directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/file/descriptor.h"
#include "lib/base/path.h"
#include "lib/base/result.h"

namespace torc {

class NewDirectory {
 public:
  // Makes it, with all above it; links on the way to it, and at its end, are the user's own word.
  // Error invalid: it has things in it, which nothing shall be mistaken for or written over.
  static Result<NewDirectory> make(Path path);

  // A new file to be written, with one name of its own and in place of what has it. `name` is one
  // of this directory: without '/', and neither . nor ..
  [[nodiscard]] Result<Descriptor> create(const std::string& name) const;
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  NewDirectory(Path path, Descriptor directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  Path path_;  // as it is told
  Descriptor directory_;
};

// All of it, at a place in the file.
[[nodiscard]] Result<void> write_at(const Descriptor& file, std::string_view bytes,
                                    std::uint64_t at, const Path& shown);

}  // namespace torc
