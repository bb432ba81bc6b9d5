// `torc repair` of engine lmdb. The file has two states: the newest, and the one before it, which
// is there until the next commit overwrites it. The newest may be damaged in what it wrote last, by
// a power cut for instance, and the one before be whole; or the list of free pages may be damaged,
// which no state needs; or pages that lead to entries and hold none.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/open_lock.h"
#include "lib/store/disk/owner.h"
#include "lib/store/engine/engines.h"
#include "lib/store/engine/memory_state.h"
#include "lib/store/lmdb/lmdb_file.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/repair.h"
#include "lib/store/maintenance/salvage.h"

namespace torc::store {
namespace {

constexpr int kLooksAtLmdb = 10;
constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds(10);

Result<void> copy_file(const Path& directory, const Path& from, const Path& to) {
  TORC_ASSIGN(const Descriptor source, beneath::open_file(directory, from, O_RDONLY));
  TORC_ASSIGN(const Descriptor target,
              beneath::open_file(directory, to, O_WRONLY | O_CREAT | O_EXCL));
  std::string buffer(1U << 20U, '\0');
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(source.get(), buffer.data(), buffer.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, "cannot read " + (directory / from).string());
    if (n == 0) break;
    // On a disk that is nearly full a part of it is written first.
    const ssize_t written = ::pwrite(target.get(), buffer.data(), static_cast<std::size_t>(n), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error(errno, "cannot write " + (directory / to).string());
    at += written;
  }
  if (::fsync(target.get()) != 0)
    return os_error(errno, "cannot write " + (directory / to).string());
  return {};
}

class LmdbRepair final : public Repair {
 public:
  LmdbRepair(const World& world, Path directory, LmdbFile file)
      : world_(world), directory_(std::move(directory)), file_(std::move(file)) {}

  Result<void> look();
  [[nodiscard]] const LmdbFile& file() const { return file_; }

  [[nodiscard]] bool needed() const override { return !damages_.empty(); }
  [[nodiscard]] std::uint64_t last_good() const override { return number_; }
  [[nodiscard]] std::uint64_t continues_at() const override { return number_ + 1; }
  [[nodiscard]] const Path& from_copy() const override { return none_; }
  [[nodiscard]] const std::vector<LostCommit>& lost() const override { return lost_; }
  [[nodiscard]] bool lost_without_trace() const override { return false; }
  Result<std::string> writes_of(const LostCommit&) override { return std::string(); }
  [[nodiscard]] const std::vector<Damage>& damages() const override { return damages_; }
  [[nodiscard]] const std::vector<Path>& other_copies() const override { return no_copies_; }
  Result<void> view(const std::function<Result<void>(const Reader&)>& body) override;
  Result<Path> carry_out(const std::string& name) override;

 private:
  // Whether all entries of a state can be read; it is the good part then.
  Result<bool> take(const LmdbHead& head);

  World world_;
  Path directory_;
  LmdbFile file_;
  LmdbEntries entries_;  // with the store's own
  std::uint64_t number_ = 0;
  std::vector<Damage> damages_;
  std::vector<LostCommit> lost_;
  Path none_;
  std::vector<Path> no_copies_;
};

Result<bool> LmdbRepair::take(const LmdbHead& head) {
  entries_.clear();  // never two states at a time
  TORC_ASSIGN(LmdbRemains remains, remains_of(file_, head));
  const bool complete = remains.complete();
  entries_ = std::move(remains.entries);
  const auto place = entries_.find(kHeadKey);
  const auto known = place != entries_.end() ? decode_head(place->second) : std::nullopt;
  number_ = known ? known->sequence : 0;
  return complete && known.has_value();
}

Result<void> LmdbRepair::look() {
  const Path data = directory_ / "data.mdb";
  const Result<void> whole = file_.check(file_.newest());
  TORC_ASSIGN(const bool newest, take(file_.newest()));
  if (whole.ok() && newest) return {};
  damages_.push_back(
      {data, whole.ok() ? data.string() + " has no head of its history" : whole.error().what});
  if (newest) return {};  // no entry is on what is damaged
  const std::uint64_t had = file_.newest().main.entries;
  const std::uint64_t unread = had - std::min<std::uint64_t>(had, entries_.size());
  TORC_ASSIGN(const bool older, take(file_.older()));
  if (!older) {
    return Error{ErrorKind::corrupt,
                 damages_.front().what +
                     "; the state before it is damaged, too, and of the newest " +
                     std::to_string(unread) + " entries cannot be read",
                 "put it back from a backup (`torc backup` makes them); `torc repair " +
                     directory_.string() +
                     " --salvage NEW` gives back what can be read, and leaves it as it is"};
  }
  lost_.push_back({number_ + 1, data, damages_.front().what, 0});
  return {};
}

Result<void> LmdbRepair::view(const std::function<Result<void>(const Reader&)>& body) {
  return body(EntriesReader(entries_, number_));
}

Result<Path> LmdbRepair::carry_out(const std::string& name) {
  // As compact: nobody is there, and nobody waits inside LMDB.
  TORC_ASSIGN(const OpenLock closed, OpenLock::take(directory_, "repairing it", kPatience));
  TORC_ASSIGN(const ExclusiveEnvironment alone, ExclusiveEnvironment::take(directory_));
  TORC_ASSIGN(const bool moved, file_.has_moved_on());
  if (moved) {
    return Error{ErrorKind::busy, directory_.string() + " changed while it was looked at",
                 "end all workers and start again"};
  }
  const Path quarantine = directory_ / "quarantine" / name;
  const Result<void> parent = world_.disk.make_directory(directory_ / "quarantine");
  if (!parent.ok() && parent.error().os_errno != EEXIST) return parent.error();
  TORC_TRY(world_.disk.make_directory(quarantine));
  TORC_TRY(copy_file(directory_, "data.mdb", Path("quarantine") / name / "data.mdb"));
  TORC_TRY(world_.disk.sync_directory(quarantine));
  TORC_TRY(world_.disk.sync_directory(directory_ / "quarantine"));
  const Path bench = directory_ / (".repair-" + std::to_string(world_.entropy.next()));
  TORC_TRY(world_.disk.make_directory(bench));
  const auto work = [&]() -> Result<void> {
    TORC_TRY(write_entries(bench, entries_));
    TORC_TRY(take_over_owner(directory_, directory_ / "data.mdb", bench / "data.mdb"));
    TORC_TRY(world_.disk.rename(bench / "data.mdb", directory_ / "data.mdb", Replace::yes));
    return world_.disk.sync_directory(directory_);
  };
  const Result<void> done = work();
  (void)remove_tree(world_.disk, bench);
  TORC_TRY(done);
  return quarantine;
}

}  // namespace

Result<std::unique_ptr<Repair>> examine_lmdb(const World& world, const Path& directory) {
  for (int tries = 1;; ++tries) {
    TORC_ASSIGN(LmdbFile file, LmdbFile::open(directory));
    auto repair = std::make_unique<LmdbRepair>(world, directory, std::move(file));
    const Result<void> looked = repair->look();
    if (looked.ok() && !repair->needed()) return std::unique_ptr<Repair>(std::move(repair));
    TORC_ASSIGN(const bool moved, repair->file().has_moved_on());
    if (moved && tries < kLooksAtLmdb) continue;
    if (moved) {
      return Error{ErrorKind::busy,
                   "workers go on in " + directory.string() + ": it changed while it was looked at",
                   "end the workers and start again"};
    }
    TORC_TRY(looked);
    return std::unique_ptr<Repair>(std::move(repair));
  }
}

}  // namespace torc::store
