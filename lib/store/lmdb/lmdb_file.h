// LMDB's data file, read without LMDB. LMDB trusts what it finds in it: a number of a page, a size
// or an offset that is wrong ends the process by SIGSEGV, SIGBUS, SIGFPE or an assertion, and an
// address in its head is where it maps the file to. This reads the file by pread(2) and believes
// nothing. Format: struct MDB_meta, MDB_page and MDB_node of LMDB 0.9 (mdb.c, data version 1), for
// 64-bit numbers and little endian, as the file is not portable either.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/file/descriptor.h"
#include "lib/base/result.h"
#include "lib/store/disk/disk.h"

namespace torc::store {

struct LmdbTree {
  std::uint16_t flags = 0;
  std::uint16_t depth = 0;  // levels of pages; 0: no page
  std::uint64_t entries = 0;
  std::uint64_t root = 0;  // page
};

// One of the two heads of a file: that with the larger transaction is the newest state.
struct LmdbHead {
  std::uint32_t page_size = 0;  // bytes
  LmdbTree free;                // of pages that nothing uses any more
  LmdbTree main;
  std::uint64_t last_page = 0;
  std::uint64_t transaction = 0;
};

class LmdbFile {
 public:
  // `one`: of a file with one good head that one is both the newest and the older; whether it was
  // the newest nobody knows.
  enum class Heads : std::uint8_t { both, one };

  // Error not_found: there is none; corrupt: LMDB could not begin to read it, or with `one`, nobody
  // could.
  static Result<LmdbFile> open(const Path& directory, Heads needed = Heads::both);

  [[nodiscard]] const Path& path() const { return file_; }
  [[nodiscard]] const LmdbHead& newest() const;
  [[nodiscard]] const LmdbHead& older() const;
  // That the file has and a state may use, the last one perhaps in part.
  [[nodiscard]] std::uint64_t pages() const;
  // Whether pages may lie beyond the end of the file. Those that are used never do; unused ones
  // may.
  [[nodiscard]] bool is_short() const;

  // Walks all pages of a state. Error corrupt: the first that is wrong, and how.
  Result<void> check(const LmdbHead& head) const;
  // By page: those that are free in a state, and those of the list of them. All others of the file
  // hold entries of the state. Error corrupt: the list is damaged.
  Result<std::vector<bool>> unused_pages(const LmdbHead& head) const;
  // The first `bytes` of what begins at a page. Error corrupt: the file ends before.
  Result<std::string> read(std::uint64_t page, std::size_t bytes) const;

  // Whether another transaction was committed since it was opened: then pages of the state that was
  // looked at may have been used again, and what was wrong with them means nothing.
  Result<bool> has_moved_on() const;

 private:
  friend class LmdbWalk;
  LmdbFile(Descriptor fd, Path file, Heads needed)
      : fd_(std::move(fd)), file_(std::move(file)), needed_(needed) {}
  Result<std::array<LmdbHead, 2>> read_heads() const;
  Result<std::optional<LmdbHead>> read_one_head() const;
  [[nodiscard]] Error damaged(const std::string& what) const;

  Descriptor fd_;
  Path file_;
  Heads needed_;
  std::uint64_t size_ = 0;  // bytes
  std::array<LmdbHead, 2> heads_;
};

// Whether LMDB may open the data file of `directory`: cheap, for every opening. No file is one that
// LMDB makes. A file that is shorter than its head says is walked as a whole.
Result<void> check_lmdb_head(const Path& directory);

}  // namespace torc::store
