// A small file that processes of one node map to speak with each other.
//
// Whoever may write to such a file may make it shorter, and then the next touch of what is gone is
// SIGBUS. In a mapping of this kind that touch finds a page of zeros instead, which nobody else
// sees, and the mapping is lost from then on: what was read may be zeros and what was written has
// gone. Who uses it looks at lost() after each operation, before it believes what it read, and
// opens the file anew.
//
// SIGBUS for anything else (LMDB's files, which cannot be mended in the middle of LMDB) stays what
// it was.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>

#include "lib/base/result.h"

namespace torc {

class SharedMapping {
 public:
  // All such mappings of a process that are minded; what is mapped beyond is mapped all the same.
  static constexpr std::size_t kMost = 64;

  // `shown` is for the error. The file may be closed afterwards.
  static Result<SharedMapping> map(int fd, std::size_t bytes, const std::filesystem::path& shown);
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&&) = delete;
  ~SharedMapping();

  [[nodiscard]] void* at() const { return at_; }
  [[nodiscard]] bool lost() const;
  // Its memory stays, for what outlives this and still points there.
  void leave_mapped();

 private:
  SharedMapping(void* at, std::size_t bytes);

  void* at_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t slot_ = kMost;  // in the table; kMost: not minded
};

// Once in a process, before the first mapping is used: catches SIGBUS. After other handlers of it
// were set, which get what is not in such a mapping.
void mind_shared_mappings();

}  // namespace torc
