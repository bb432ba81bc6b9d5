// Finds and reads packed output, of workers of every node, while they write and after they died.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "lib/base/file/beneath.h"
#include "lib/base/hash.h"
#include "lib/base/result.h"
#include "lib/exec/output/packed_format.h"

namespace torc::exec {

// Keeps what it read of the indexes: one for many attempts. Missing files are no errors. One
// thread.
class PackedReader {
 public:
  // `directory`: of packed_directory(). Below `root` (a store, or a directory of output) no link is
  // followed.
  PackedReader(std::filesystem::path root, std::filesystem::path directory)
      : root_(std::move(root)), directory_(std::move(directory)) {}

  // The worker that began the attempt; the newest if there were several, nullopt if none is known.
  // Reads all indexes.
  Result<std::optional<std::uint64_t>> worker_of(AttemptKey key);

  struct Chunk {
    std::string bytes;
    std::uint64_t size = 0;      // of all that there is, now
    bool begun = false;          // this worker had the attempt
    std::filesystem::path file;  // that it was read from; empty: from none
  };
  // At most `most` bytes of what the attempt wrote, from `from` on.
  Result<Chunk> read(std::uint64_t worker, AttemptKey key, Stream stream, std::uint64_t from,
                     std::size_t most);

 private:
  struct Part {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;  // 0: not kept
  };
  struct Attempt {
    std::uint32_t slot = 0;
    Part parts[2];
  };
  struct KeyHash {
    std::size_t operator()(const AttemptKey& key) const {
      const std::uint64_t words[] = {key.job, std::uint64_t{key.rank} << 32U | key.attempt};
      return hash64(std::as_bytes(std::span(words)));
    }
  };
  struct Index {
    std::uint64_t read = 0;  // bytes of the file
    std::unordered_map<AttemptKey, Attempt, KeyHash> attempts;
    std::unordered_map<std::uint32_t, AttemptKey> slots;  // who has each
  };

  Result<Index*> refresh(std::uint64_t worker);
  static void take(Index& index, const PackedRecord& record);
  // Whether the attempt's scratch files are still its own.
  static const Attempt* holder(const Index& index, AttemptKey key, Stream stream);

  beneath::Root root_;
  std::filesystem::path directory_;
  std::map<std::uint64_t, Index> indexes_;
};

// A part of a file: at most `most` bytes from `from` on, counted from `begin`; what lies beyond
// `length` (none: the file's end) is not read. nullopt: no such file. `file` is a path below
// `root`, where no link is followed.
struct FilePart {
  std::string bytes;
  std::uint64_t size = 0;
};
Result<std::optional<FilePart>> read_part(const beneath::Root& root,
                                          const std::filesystem::path& file, std::uint64_t begin,
                                          std::optional<std::uint64_t> length, std::uint64_t from,
                                          std::size_t most);

}  // namespace torc::exec
