// Engine `journal`: the chain of commit files on a shared filesystem is the truth, LMDB on the node
// a copy of it. docs/maintainer/store-protocol.md has the protocol and why each rule is there; the
// parts of it are
//   journal_store.cc     the commit, and which replica is in use
//   journal_catch_up.cc  bringing the replica to the newest state
//   journal_agreement.cc  whether the files still say what the replica holds
//   journal_maintain.cc      segments and snapshots
//   journal_collect.cc   collection
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lib/store/disk/advisory_lock.h"
#include "lib/store/disk/watch.h"
#include "lib/store/engine/engines.h"
#include "lib/store/journal/journal.h"
#include "lib/store/journal/replica.h"
#include "lib/store/journal/snapshot_making.h"
#include "lib/store/lmdb/lmdb_transaction.h"

namespace torc::store {

class JournalStore final : public Store {
 public:
  JournalStore(const World& world, const Path& directory, const Meta& meta, const Tuning& tuning);
  ~JournalStore() override { cancel_snapshot(); }

  Result<void> start();
  Result<Commit> commit(std::uint64_t author, const Body& body) override;
  Result<void> view(Freshness freshness,
                    const std::function<Result<void>(const Reader&)>& body) override;
  Result<void> maintain() override;
  [[nodiscard]] int changes_fd() const override;
  void clear_changes() override;
  void forget_copy() override;
  [[nodiscard]] const Identity& identity() const override { return identity_; }
  [[nodiscard]] const Path& directory() const override { return directory_; }
  [[nodiscard]] const std::string& note() const override { return note_; }
  // Where this process keeps its copy now.
  [[nodiscard]] Path replica_directory() const;

 private:
  struct Attempt {
    enum class Outcome : std::uint8_t {
      committed,
      nothing,
      refused,
      conflict
    } outcome = Outcome::nothing;
    std::uint64_t sequence = 0;
    Error refusal;  // what the body said
  };
  enum class Applied : std::uint8_t { accepted, contradicted, vanished };
  struct Extent {
    bool directory = false;     // that of the number after the replica's newest is there
    std::uint64_t highest = 0;  // of all numbers
    bool shows_head = false;    // the replica's newest commit is listed, or belongs in another one
    std::uint64_t hole = 0;  // a number that is not listed though a higher one is, and the replica
                             // has it; 0: none
  };
  // What the files say of the replica's newest commit. Where nothing can be learned: an Error.
  enum class Agreement : std::uint8_t {
    agrees,   // its file is there and is that commit; nothing of its directory was ever collected
    covered,  // a snapshot goes beyond it
    lost,     // its file is gone and no snapshot explains it: copies alone have it
    differs   // another commit has its number: it was lost, and the number used again
  };
  // What can be said when there is no way on from the replica's newest commit to what is listed.
  enum class Next : std::uint8_t {
    none,       // it is the newest
    snapshot,   // a snapshot goes beyond it
    look_again  // what was missing is there now
  };
  using Passed = std::map<std::uint64_t, Hash128>;  // chain hash after each commit applied

  // --- where it lies (journal_store.cc)
  Result<void> look_at_mounts();
  Result<void> read_retention();
  [[nodiscard]] std::chrono::nanoseconds retention() const {
    return tuning_.retention.value_or(retention_);
  }

  // --- which replica (journal_store.cc)
  Result<void> attach();
  void detach();
  void leave_replica(bool stuck);
  Result<Commit> inside(const std::function<Result<Commit>()>& work);
  Error local_failure(int rc, const char* what);
  Result<Txn> begin(Access access, Head& head);
  Result<Head> read_local_head();
  [[nodiscard]] Gate::Shared& shared() { return replica_.gate->shared(); }

  // --- the commit (journal_store.cc)
  Result<Commit> commit_inside(std::uint64_t author, const Body& body, std::uint32_t& conflicts);
  Result<Attempt> attempt(std::uint64_t author, const Body& body);
  Result<Attempt> publish(Txn& txn, std::uint64_t author, const Head& head, const WriteSet& writes);
  Result<Attempt> without_directory(Txn& txn, const Head& head, const CommitHeader& header);
  void remove_own(std::uint64_t sequence, const CommitId& id);
  Result<Attempt> decide_by_ring(std::uint64_t sequence, const CommitId& id);
  Result<bool> may_skip_listing();

  // --- catching up (journal_catch_up.cc); all inside the gate, but quiet()
  Result<bool> quiet();
  Result<void> catch_up();
  Result<void> validate();
  [[nodiscard]] static Extent extent_of(const std::vector<std::uint64_t>& numbers,
                                        std::uint64_t head, std::uint64_t covered);
  // Of from … to the first number that is not among the ascending `numbers`; 0: all are.
  [[nodiscard]] static std::uint64_t first_missing(const std::vector<std::uint64_t>& numbers,
                                                   std::uint64_t from, std::uint64_t to);
  Result<std::vector<std::uint64_t>> newest_beside(std::uint64_t next);
  Result<Extent> survey(const Head& head);
  Result<bool> is_newest(const Head& head, const Extent& extent, BootTime asked);
  bool refresh_listings();
  Result<Applied> apply_files(const Head& head, std::uint64_t highest);
  Result<Applied> apply_run(Txn& txn, Head& head, std::uint64_t highest, Passed& passed);
  Result<void> apply_segments(Txn& txn, Head& head, std::uint64_t most, Passed& passed);
  // `bytes`: of the file; empty where they are more than kMostOfTail.
  Result<void> apply(Txn& txn, CommitFile file, std::string_view bytes, Head& head);
  Result<void> reload();
  // covered: the replica is what the snapshot says. differs: it has a commit that the snapshot
  // contradicts, and was left as it is.
  Result<Agreement> load(const SnapshotName& name);
  Result<SnapshotName> look_at_snapshots();
  [[nodiscard]] bool view_is_old(BootTime now);
  void confirm(BootTime asked) { shared().confirmed = asked.count(); }

  // --- whether the files still say what the replica holds (journal_agreement.cc)
  Result<Agreement> agreement_of(const Head& head);
  Result<Agreement> agreement_without_file(const Head& head);
  [[nodiscard]] bool seen_lately(const Head& head, BootTime now);
  void note_seen(std::uint64_t sequence);
  Error finding(Agreement agreement, const Head& head);
  Result<Next> explain(const Head& head, const Extent& extent);
  Result<void> check_hole(const Head& head, std::uint64_t number);
  Result<void> check_directories(const Head& head);
  Result<bool> refresh_snapshots();

  // --- maintenance (journal_maintain.cc)
  void write_due_segment();
  Result<std::string> commits_in(const SegmentName& name);
  [[nodiscard]] bool snapshot_due(const Head& head, std::uint64_t state_bytes) const;
  Result<void> take_snapshot();
  bool may_take_snapshot();
  Result<Head> make_snapshot();
  Result<void> finish_snapshot(Result<Head> made);
  void cancel_snapshot();

  // --- collection (journal_collect.cc)
  bool collect_directory(std::uint64_t first, std::uint64_t second);
  bool sweep(const Path& dead);
  void note_snapshot(const SnapshotName& newest);
  [[nodiscard]] std::uint64_t matured();
  Result<void> collect();
  Result<void> collect_directories(std::uint64_t floor, std::uint64_t second);
  bool have_segment_of(std::uint64_t first);
  void collect_segments(std::uint64_t newest, std::uint64_t second);
  void collect_temporaries(const Path& directory, const std::vector<std::string>& names);

  World world_;
  Path directory_;
  Identity identity_;
  Tuning tuning_;
  Place place_;
  std::uint64_t mounts_seen_ = 0;         // mount_changes() before place_ was looked at
  bool copied_ = false;                   // a copy that has no instance of its own yet
  std::chrono::seconds least_retention_;  // of META
  std::chrono::nanoseconds retention_;
  std::string note_;
  Journal journal_;
  AdvisoryLock lock_;

  Replica replica_;
  std::size_t root_ = 0;
  unsigned generation_ = 0;
  bool broken_ = false;     // the replica failed; it must be left
  bool grow_ = false;       // its map is full
  bool validated_ = false;  // compared with the journal and caught up since it was attached
  mutable std::unique_ptr<FileWatch> watch_;

  bool segments_usable_ = true;  // in this catching up
  bool segments_used_ = false;
  std::uint64_t missing_ = 0;     // the number at which catching up last found no file; 0: at none
  bool contradicted_ = false;     // … or one that does not continue the history
  std::uint64_t taken_ = 0;       // a number that was found to be taken, listed or not
  std::uint64_t own_newest_ = 0;  // number of the last commit of this Store
  std::optional<BootTime> others_seen_;  // when a commit of another host was last read
  std::optional<SegmentName> due_segment_;
  SnapshotName snapshot_;             // newest one known
  std::uint64_t snapshot_bytes_ = 0;  // length of the journal when it was first seen here
  std::uint64_t snapshot_bytes_of_ = UINT64_MAX;  // the snapshot that snapshot_bytes_ is about
  std::uint64_t jitter_ = 0;
  std::unique_ptr<SnapshotMaking> making_;  // of this Store's replica
  BootTime next_collection_{};
  std::map<Path, BootTime> temporaries_;  // with the time when first seen
};

// A commit file is missing, or continues something else.
[[nodiscard]] Error no_history(const Path& file);

}  // namespace torc::store
