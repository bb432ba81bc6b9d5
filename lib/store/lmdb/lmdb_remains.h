// What is left of a state of a damaged data file of LMDB.
//
// Entries of the state itself, for certain as far as a file without checksums can be certain:
// - those on pages that are reached from its root by whole branches, and
// - where a branch is damaged, those on all other whole leaves that the state uses. Every page of a
//   file is either used by the state's entries, or in its list of free pages, or part of that list:
//   so a page that is not free is part of the state, whoever leads to it. Without a whole list that
//   nobody knows, and it is not assumed.
// A page is whole that says of itself that it is the page that it is, with all entries within its
// bounds and side by side as LMDB keeps them, its keys in order, and all of them where the branches
// above it say that they belong. Of a page that is not, nothing is used.
//
// Older entries: on whole leaves that no longer belong to the state, or of which nobody can say
// whether they do. They are what some transaction before wrote, which may have been changed or
// erased since. Only those are told whose keys are where something is missing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/store/lmdb/lmdb_file.h"

namespace torc::store {

// Keys from `from` on and before `to`; `to` empty: all that follow.
struct KeyRange {
  std::string from;
  std::string to;
  [[nodiscard]] bool contains(std::string_view key) const {
    return key >= from && (to.empty() || key < to);
  }
};

struct OlderEntry {
  std::string key;
  std::string value;
};

using LmdbEntries = std::map<std::string, std::string, std::less<>>;

struct LmdbRemains {
  LmdbEntries entries;
  std::uint64_t expected = 0;  // entries that the state had, by its head
  // Where entries may be missing: ascending, disjoint. Empty when none is.
  std::vector<KeyRange> lost;
  std::uint64_t lost_pages = 0;   // that the state used and that are not whole
  bool knows_used_pages = false;  // else there may be more of those
  std::vector<OlderEntry> older;  // a key may be there with several values
  bool older_cut = false;         // there were more

  [[nodiscard]] bool complete() const { return lost.empty() && entries.size() == expected; }
};

// `head` is one of `file`. Errors: the file cannot be read.
Result<LmdbRemains> remains_of(const LmdbFile& file, const LmdbHead& head);

}  // namespace torc::store
