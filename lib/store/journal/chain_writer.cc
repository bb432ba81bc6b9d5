#include "lib/store/journal/chain_writer.h"

#include <cerrno>
#include <utility>

#include "lib/store/format/segment.h"

namespace torc::store {
namespace {

constexpr std::uint32_t kMaxConflicts = 1000;
// How long after a commit of its own a process may try the next number without listing first.
constexpr std::chrono::nanoseconds kOptimism = std::chrono::seconds(5);
// It tries no more for so long after it read a commit of another host.
constexpr std::chrono::nanoseconds kOthersMemory = std::chrono::seconds(30);

}  // namespace

Error ChainWriter::unknown(std::uint64_t sequence, const std::string& why,
                           const std::string& remedy) const {
  return {ErrorKind::unknown,
          "whether commit " + std::to_string(sequence) + " of " +
              parts_.location.directory().string() + " is part of the history is unknown: " + why,
          remedy.empty() ? "read the state again before acting" : remedy};
}

std::optional<SegmentName> ChainWriter::take_due_segment() {
  return std::exchange(due_segment_, std::nullopt);
}

// Right after a commit of our own, with nobody else about, the next number is most likely ours as
// well; if it is not, publishing says so. Only an answer that writes nothing must then be looked at
// again.
Result<bool> ChainWriter::may_skip_listing() {
  const std::uint64_t own = parts_.evidence.own_newest();
  if (!parts_.replica.is_validated() || lock_.contended() || own == 0) return false;
  const std::optional<BootTime> others = parts_.reader.others_seen();
  if (others && world_.clock.boot_now() - *others < kOthersMemory) return false;
  TORC_ASSIGN(const Head head, parts_.replica.read_head());
  const BootTime confirmed = parts_.replica.confirmed();
  return head.sequence == own && world_.clock.boot_now() - confirmed < kOptimism;
}

Result<Commit> ChainWriter::commit(std::uint64_t author, const Store::Body& body,
                                   std::uint32_t& conflicts) {
  TORC_ASSIGN(const bool optimistic, may_skip_listing());
  for (bool listed = !optimistic; conflicts < kMaxConflicts;) {
    lock_.acquire(lock_wait_);
    if (listed) TORC_TRY(parts_.catch_up.run());
    TORC_ASSIGN(Attempt tried, attempt(author, body));
    switch (tried.outcome) {
      case Attempt::Outcome::committed:
        return Commit{tried.sequence, true, {}, 0};
      case Attempt::Outcome::nothing:
        if (listed) return Commit{tried.sequence, false, {}, 0};
        break;
      case Attempt::Outcome::refused:
        if (listed) return std::move(tried.refusal);
        break;
      case Attempt::Outcome::conflict:
        ++conflicts;
        // Whoever did not look first was not in a race, and need not ask for the lock.
        if (listed) lock_.saw_conflict();
        break;
    }
    listed = true;
  }
  return Error{ErrorKind::busy,
               parts_.location.directory().string() + ": other hosts were first " +
                   std::to_string(conflicts) + " times",
               "try again; let fewer workers commit at the same time"};
}

Result<ChainWriter::Attempt> ChainWriter::attempt(std::uint64_t author, const Store::Body& body) {
  Head head;
  TORC_ASSIGN(Txn txn, parts_.replica.begin(Access::write, head));
  WriteSet writes;
  {
    LmdbTransaction transaction(txn, head.sequence + 1, &writes);
    Result<void> answer = body(transaction);
    if (Result<void> health = transaction.health(); !health.ok()) {
      if (health.error().kind == ErrorKind::invalid) return std::move(health).error();
      return parts_.replica.failure(transaction.code(), "a transaction failed");
    }
    if (!answer.ok())
      return Attempt{Attempt::Outcome::refused, head.sequence, std::move(answer).error()};
  }
  if (writes.empty()) return Attempt{Attempt::Outcome::nothing, head.sequence, {}};
  return publish(txn, author, head, writes);
}

Result<ChainWriter::Attempt> ChainWriter::publish(Txn& txn, std::uint64_t author, const Head& head,
                                                  const WriteSet& writes) {
  if (writes.bytes().size() > kMostWrites) {
    return Error{ErrorKind::invalid,
                 "a commit of " + std::to_string(writes.bytes().size()) + " bytes is too large; " +
                     std::to_string(kMostWrites) + " is the most",
                 "split it into several smaller ones"};
  }
  const StoreId& id = parts_.journal.id();
  const CommitHeader header{head.sequence + 1, head.chain, random_bytes(world_.entropy), author};
  const std::string bytes = encode_commit(id, header, writes.bytes());
  const Head next{header.sequence, hash128(id, bytes), head.bytes + bytes.size(), author};
  // Everything that may fail in the replica comes before the commit becomes visible.
  int rc = write_ring(txn, header.sequence, header.id);
  if (rc == 0) rc = write_tail(txn, header.sequence, bytes);
  if (rc == 0) rc = write_head(txn, next);
  if (rc != 0) return parts_.replica.failure(rc, "cannot write the head");

  const BootTime asked = world_.clock.boot_now();
  TORC_ASSIGN(Publication published, parts_.journal.publish(header.sequence, bytes));
  TORC_ASSIGN(const Fate fate, settle(head, header, std::move(published)));
  if (fate == Fate::covered) {
    txn.abort();
    return decide_by_ring(header);
  }
  if (fate == Fate::not_ours) return Attempt{Attempt::Outcome::conflict, head.sequence, {}};
  // Committed. Should the replica fail now, it is left behind; that changes nothing for the caller.
  if (txn.commit().ok()) {
    parts_.evidence.note_own(header.sequence);
    if (const auto segment = segment_ending_at(header.sequence)) due_segment_ = segment;
    parts_.replica.confirm(asked);
    parts_.evidence.note_seen(header.sequence);
  } else {
    parts_.replica.note_broken();
  }
  return Attempt{Attempt::Outcome::committed, header.sequence, {}};
}

Result<ChainWriter::Fate> ChainWriter::settle(const Head& head, const CommitHeader& header,
                                              Publication published) {
  const Location& location = parts_.location;
  const bool absent = published.state == Publication::State::absent;
  // The rule of the writer: the number may have been used, covered by a snapshot and collected
  // while this process stood still, and so have been free again. No clock is asked; the listing
  // tells.
  Result<SnapshotName> newest = parts_.snapshots.look();
  if (!newest.ok()) {
    Error error = std::move(newest).error();
    // The name was asked for: it may count. Unless there was no directory to ask in. Where
    // something was mounted since, that is about other files than those it was asked in.
    const bool never = absent && (!published.asked ||
                                  (published.error.os_errno == ENOENT &&
                                   error.kind == ErrorKind::fenced && !location.mounts_changed()));
    if (!never) error.kind = ErrorKind::unknown;
    return error;
  }
  parts_.snapshots.note(*newest);
  if (newest->sequence >= header.sequence) return Fate::covered;
  // That nothing newer was listed is no evidence, since a listing may be old. The commit before
  // this one is: while its file is there, no number after it was ever free again. Without that a
  // name that nobody has, or somebody else, may have been ours before a lost reply, and been
  // collected.
  const Result<Agreement> agreement = parts_.evidence.of(head);
  if (!agreement.ok()) {
    if (absent && !published.asked) return std::move(published.error);
    Error error = unknown(header.sequence, agreement.error().what);
    error.os_errno = agreement.error().os_errno;  // is_gone() goes by it
    return error;
  }
  if (absent && published.asked && location.mounts_changed())
    return unknown(header.sequence, "something was mounted or unmounted while it was made");
  if (*agreement == Agreement::covered) return Fate::covered;
  if (published.state == Publication::State::taken) {
    parts_.survey.note_taken(header.sequence);  // and so there, even if no listing shows it yet
    return Fate::not_ours;
  }
  if (*agreement != Agreement::agrees) {
    const Error why = parts_.evidence.finding(*agreement, head);
    if (absent) return why;
    // Nobody can build on our file where another commit has the number before it. Where that one
    // is lost it stays: a repair may put back what it continues.
    if (*agreement == Agreement::differs) remove_own(header.sequence, header.id);
    return unknown(header.sequence, why.what, why.remedy);
  }
  if (!absent) return Fate::counts;
  const int e = published.error.os_errno;
  // Whoever had the number took it back before we could read it.
  if (e == EEXIST || e == ENOTEMPTY) return Fate::not_ours;
  if (e != ENOENT) return std::move(published.error);
  return without_directory(head, header);
}

// Nobody has the number, and nothing of ours can get it any more, since its directory is not there.
// Its maker is the author of the number before its first, who made it before that number got its
// name: so it was collected, or is lost. It is made again only here, where that number's file shows
// that nothing after it was ever collected (Agreement::agrees).
Result<ChainWriter::Fate> ChainWriter::without_directory(const Head& head,
                                                         const CommitHeader& header) {
  const Result<bool> asked_anew = parts_.snapshots.refresh();
  if (!asked_anew.ok()) return unknown(header.sequence, asked_anew.error().what);
  // There may have been a file of ours, collected since.
  if (parts_.snapshots.newest().sequence > head.sequence) return Fate::covered;
  if (first_of_directory(header.sequence) != header.sequence) {
    return Error{ErrorKind::busy,
                 parts_.journal.directory_of(header.sequence).string() +
                     " is not there for a new commit, though the commit before is",
                 "try again in a few seconds"};
  }
  TORC_TRY(parts_.journal.make_directory_of(header.sequence));
  return Fate::not_ours;
}

// The name may be another one's by now: this process may have stood still for long.
void ChainWriter::remove_own(std::uint64_t sequence, const CommitId& id) {
  const Result<CommitFile> file = parts_.journal.read(sequence);
  if (file.ok() && file->header.id == id) (void)parts_.journal.remove(sequence);
}

// The number is covered by a snapshot, so what the replica would hold of it proves nothing: the
// state itself knows whose it is.
Result<ChainWriter::Attempt> ChainWriter::decide_by_ring(const CommitHeader& header) {
  const std::uint64_t sequence = header.sequence;
  parts_.replica.confirm(BootTime{0});
  if (Result<void> caught = parts_.catch_up.run(); !caught.ok())
    return unknown(sequence, caught.error().what);
  Result<Txn> txn = Txn::begin(parts_.replica.environment(), Access::read);
  if (!txn.ok()) return unknown(sequence, txn.error().what);
  RingEntry entry;
  if (const int rc = read_ring(*txn, sequence, entry); rc != 0)
    return unknown(sequence, mdb_strerror(rc));
  if (entry.sequence != sequence) return unknown(sequence, "it was made too long ago");
  if (entry.id == header.id) return Attempt{Attempt::Outcome::committed, sequence, {}};
  // Our file, if there is one, sits on a number that was collected. It deceives nobody (readers
  // check the chain), but it should go.
  remove_own(sequence, header.id);
  return Attempt{Attempt::Outcome::conflict, sequence, {}};
}

}  // namespace torc::store
