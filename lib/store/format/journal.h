// The files that are the truth of engine `journal`, as names and bytes: commits and snapshots. It
// decides nothing. All are in the state directory of the store, which bears the store's id.
//
//   journal/000000000000/000000000001 … 63     64 numbers to a directory, named by the first of
//   them journal/000000000064/000000000064 … snapshot/000000000512-<chain hash of 512>  the newest
//   is the one with the highest number
//
// The directory of the number after the newest commit always exists already: the author of the last
// number of a directory makes the next one first. So a poll is one listing of a directory known to
// exist, and nobody ever looks up a name before it is there (NFS would remember the absence for
// half a minute).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/disk/publisher.h"
#include "lib/store/engine/commit_file.h"
#include "lib/store/engine/store.h"

namespace torc::store {

inline constexpr std::uint64_t kPerDirectory = 64;

[[nodiscard]] constexpr std::uint64_t first_of_directory(std::uint64_t sequence) {
  return sequence - sequence % kPerDirectory;
}
// Of from … to the first number that is not among the ascending `numbers`; 0: all are.
[[nodiscard]] std::uint64_t first_missing(const std::vector<std::uint64_t>& numbers,
                                          std::uint64_t from, std::uint64_t to);
[[nodiscard]] std::string number_name(std::uint64_t number);  // 12 digits or more
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view name);

struct SnapshotName {
  std::uint64_t sequence = 0;  // 0: there is none
  Hash128 chain{};             // chain hash at that commit
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] std::optional<SnapshotName> snapshot_name_of(std::string_view name);

struct SegmentName {  // see segment.h
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t last() const { return first + count - 1; }
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] std::optional<SegmentName> segment_name_of(std::string_view name);

class Journal {
 public:
  Journal(Disk& disk, const Path& store, const StoreId& id, Publisher publisher)
      : disk_(&disk),
        state_(Identity{id, Engine::journal, {}, {}}.state_directory(store)),
        id_(id),
        publisher_(std::move(publisher)) {}

  // The numbers that a listing shows in the directory in which `sequence` belongs, ascending. Error
  // kind not_found: it shows no such directory.
  Result<std::vector<std::uint64_t>> numbers_beside(std::uint64_t sequence);
  // By opening it, whatever listings show. Only where a name may be looked up before it is there.
  Result<bool> is_there(std::uint64_t sequence);
  // Makes this client forget what it remembers of a directory, by a change of its own: a temporary
  // file, made and removed. false: it could not be made.
  bool refresh(const Path& directory);
  // Error kind not_found: no such file. Kind corrupt names it. `bytes` (may be null) is given those
  // of the file where a tail may have them; of a larger one they are never there as a whole.
  Result<CommitFile> read(std::uint64_t sequence, std::string* bytes = nullptr);
  Result<std::string> read_bytes(std::uint64_t sequence);
  // Asked past what this client remembers of names: before it is concluded that a file is missing.
  Result<std::string> read_bytes_anew(std::uint64_t sequence);
  Result<CommitFile> read_anew(std::uint64_t sequence);
  Result<Publication> publish(std::uint64_t sequence, std::string_view bytes);
  // Removes a commit file that is not part of the history.
  Result<void> remove(std::uint64_t sequence);
  Result<void> make_directory_of(std::uint64_t sequence);

  // Numbers of the first commits of all directories, ascending.
  Result<std::vector<std::uint64_t>> directories();
  Result<std::vector<std::uint64_t>> numbers_in(std::uint64_t first);  // ascending

  // All snapshots, newest first.
  Result<std::vector<SnapshotName>> snapshots();
  Result<SnapshotName> newest_snapshot();
  // Lets the next listing of snapshot/ be a new one, see Publisher::touch().
  Result<void> refresh_snapshots() { return publisher_.touch(snapshot_directory()); }

  Result<std::vector<SegmentName>> segments();  // ascending

  [[nodiscard]] Path commit_path(std::uint64_t sequence) const;
  [[nodiscard]] Path snapshot_path(const SnapshotName& name) const;
  [[nodiscard]] Path segment_path(const SegmentName& name) const;
  [[nodiscard]] Path lock_file() const { return state_ / "lock"; }
  [[nodiscard]] Path segment_directory() const { return state_ / "segment"; }
  [[nodiscard]] Path journal_directory() const { return state_ / "journal"; }
  [[nodiscard]] Path snapshot_directory() const { return state_ / "snapshot"; }
  [[nodiscard]] Path directory_of(std::uint64_t sequence) const;
  [[nodiscard]] const StoreId& id() const { return id_; }
  [[nodiscard]] Publisher& publisher() { return publisher_; }
  [[nodiscard]] Disk& disk() { return *disk_; }

 private:
  Disk* disk_;
  Path state_;
  StoreId id_;
  Publisher publisher_;
};

}  // namespace torc::store
