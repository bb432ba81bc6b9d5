// Engine `lmdb`: one host, a local filesystem; the environment in the store directory is the truth.
#include <sys/statvfs.h>

#include <cctype>
#include <cerrno>

#include "lib/store/disk/gate.h"
#include "lib/store/disk/watch.h"
#include "lib/store/engine/engines.h"
#include "lib/store/lmdb/environment.h"
#include "lib/store/lmdb/lmdb_transaction.h"

namespace torc::store {
namespace {

constexpr int kGrowTries = 16;
constexpr int kReplacedTries = 3;

// So little room that a write of a few pages may have been cut short.
bool is_full(const Path& directory) {
  struct statvfs room {};
  return statvfs(directory.c_str(), &room) == 0 && room.f_bavail * room.f_frsize < (64U << 10U);
}

class LmdbStore final : public Store {
 public:
  LmdbStore(const World& world, Path directory, const Meta& meta, const Tuning& tuning)
      : world_(world),
        directory_(std::move(directory)),
        identity_(meta.identity),
        place_(meta.place),
        copied_(meta.is_copy()),
        tuning_(tuning) {}

  Result<void> start();
  Result<Commit> commit(std::uint64_t author, const Body& body) override;
  Result<void> view(Freshness freshness,
                    const std::function<Result<void>(const Reader&)>& body) override;
  Result<void> maintain() override;
  [[nodiscard]] int changes_fd() const override;
  void clear_changes() override;
  void forget_copy() override {}
  [[nodiscard]] const Identity& identity() const override { return identity_; }
  [[nodiscard]] const Path& directory() const override { return directory_; }
  [[nodiscard]] const std::string& note() const override { return note_; }

 private:
  Result<void> open_environment();
  Result<void> check_still_ours();
  // The transaction that was refused saw nothing, so it may run again on a fresh environment.
  [[nodiscard]] bool replaced() const { return environment_ && environment_->foreign(); }
  Result<Txn> begin_read();
  Result<void> enter_gate();
  Result<Commit> commit_inside(std::uint64_t author, const Body& body, bool& grow);
  Error failed_commit(Error error, std::uint64_t sequence, bool& grow);
  std::optional<std::uint64_t> newest_sequence();
  [[nodiscard]] std::string gate_name() const;
  void remove_gates_of_other_boots();

  World world_;
  Path directory_;
  Identity identity_;
  Place place_;
  bool copied_ = false;  // a copy that has no instance of its own yet
  Tuning tuning_;
  std::string note_;
  std::shared_ptr<Environment> environment_;
  bool opened_ = false;
  std::uint64_t refused_ = 0;  // the number of a commit that LMDB could not make; 0: none
  std::unique_ptr<Gate> gate_;
  mutable std::unique_ptr<FileWatch> watch_;  // made when first asked for
};

std::string LmdbStore::gate_name() const {
  std::string boot;
  for (const char c : world_.boot_id) {
    if (boot.size() < 8 && std::isalnum(static_cast<unsigned char>(c)) != 0) boot.push_back(c);
  }
  return "gate-" + boot + "-" + place_.key;
}

// A mutex in a file outlives a reboot, and whoever held it then does not: so each boot has its own.
// So has each place: in a copy of a store somebody of the original may seem to hold it for ever.
void LmdbStore::remove_gates_of_other_boots() {
  if (world_.boot_id.empty()) return;  // all look old
  const Result<std::vector<std::string>> names = world_.disk.list(directory_);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (name.starts_with("gate-") && !name.starts_with(gate_name()))
      (void)world_.disk.unlink(directory_ / name);
  }
}

Result<void> LmdbStore::start() {
  remove_gates_of_other_boots();
  auto gate = Gate::open(directory_ / gate_name());
  if (!gate.ok()) {
    Error error = std::move(gate).error();
    if (error.kind == ErrorKind::permission && error.remedy.empty()) {
      error.remedy =
          "engine lmdb must write into the store even to read it (a table of its readers); ask its "
          "owner for write permission, or for a store of engine journal, which can be read without";
    }
    return error;
  }
  gate_ = *std::move(gate);
  return open_environment();
}

// Two system calls to the local disk for each transaction, against workers that go on for ever in a
// file that nobody else can see.
Result<void> LmdbStore::open_environment() {
  if (environment_ && !environment_->deleted() && !environment_->foreign()) return {};
  if (environment_ || opened_) TORC_TRY(check_still_there(world_, directory_, identity_, place_));
  if (opened_) {  // LMDB would make an empty one
    const Path file = directory_ / "data.mdb";
    if (const auto there = world_.disk.status(file); !there.ok()) {
      if (there.error().os_errno != ENOENT) return there.error();
      return Error{ErrorKind::io, file.string() + " is not there now",
                   "put it back where it was; nothing was changed", ENOENT};
    }
  }
  environment_.reset();  // the same store put back from a copy, or compacted
  opened_ = true;
  TORC_ASSIGN(environment_, Environment::open(directory_, tuning_.sync ? Durable::yes : Durable::no,
                                              tuning_.replica_wait));
  return check_still_ours();
}

// Another machine (a container of this host) may have adopted it since META was read; now that this
// process has it open nobody can.
Result<void> LmdbStore::check_still_ours() {
  const Result<Meta> meta = read_meta(world_, directory_);
  if (meta.ok()) return {};
  environment_.reset();
  return meta.error();
}

// What an error of mdb_txn_commit means. Pages are written and synced before the page that makes
// them count, so a full disk or map is met before anything counts; after a failed sync nobody knows
// what is on the disk. LMDB calls a write that a full disk cut short EIO: it is told from a dying
// disk by the room that is left, and believed only when the state is still the old one: somebody
// else's next commit would not tell.
Error LmdbStore::failed_commit(Error error, std::uint64_t sequence, bool& grow) {
  if (error.os_errno == MDB_MAP_FULL) {
    grow = true;
    return error;
  }
  if (error.kind != ErrorKind::no_space) {
    environment_.reset();  // LMDB: after a failed write the environment must be closed
    const bool cut_short = error.os_errno == EIO && is_full(directory_) && open_environment().ok();
    if (!cut_short || newest_sequence() != sequence - 1) {
      error.kind = ErrorKind::unknown;
      return error;
    }
    error = os_error(ENOSPC, "cannot write " + (directory_ / "data.mdb").string());
  }
  error.remedy = "free some space; nothing was changed";
  return error;
}

// nullopt: it cannot be read.
std::optional<std::uint64_t> LmdbStore::newest_sequence() {
  const Result<Txn> txn = Txn::begin(environment_, Access::read);
  Head head;
  if (!txn.ok() || read_head(*txn, head) != 0) return std::nullopt;
  return head.sequence;
}

Result<Commit> LmdbStore::commit_inside(std::uint64_t author, const Body& body, bool& grow) {
  TORC_ASSIGN(Txn txn, Txn::begin(environment_, Access::write));
  Head head;
  if (const int rc = read_head(txn, head); rc != 0)
    return lmdb_error(rc, "cannot read the head of " + (directory_ / "data.mdb").string());
  {
    LmdbTransaction transaction(txn, head.sequence + 1);
    Result<void> answer = body(transaction);
    grow = transaction.map_full();
    TORC_TRY(transaction.health());
    TORC_TRY(std::move(answer));
    if (!transaction.wrote()) return Commit{head.sequence, false, {}, 0};
  }
  ++head.sequence;
  head.author = author;
  if (const int rc = write_head(txn, head); rc != 0) {
    grow = rc == MDB_MAP_FULL;
    return lmdb_error(rc, "cannot write the head of " + (directory_ / "data.mdb").string());
  }
  if (Result<void> done = txn.commit(); !done.ok()) {
    refused_ = head.sequence;
    return std::move(done).error();
  }
  return Commit{head.sequence, true, {}, 0};
}

// One that somebody cut short is made anew.
Result<void> LmdbStore::enter_gate() {
  Result<void> entered = gate_->enter(world_.clock, tuning_.replica_wait);
  if (entered.ok() || entered.error().kind != ErrorKind::corrupt) return entered;
  TORC_ASSIGN(gate_, Gate::open(directory_ / gate_name()));
  return gate_->enter(world_.clock, tuning_.replica_wait);
}

Result<Commit> LmdbStore::commit(std::uint64_t author, const Body& body) {
  const BootTime begun = world_.clock.boot_now();
  if (copied_) {
    TORC_TRY(adopt_copy(world_, directory_, identity_));
    copied_ = false;
  }
  for (int tries = 0;; ++tries) {
    TORC_TRY(open_environment());
    bool grow = false;
    refused_ = 0;
    Result<Commit> done = [&]() -> Result<Commit> {
      TORC_TRY(enter_gate());
      const GateHold hold(gate_.get());
      return commit_inside(author, body, grow);
    }();
    // Not in the gate: to open the environment anew may have to wait for whoever has its lock.
    if (refused_ != 0) done = failed_commit(std::move(done).error(), refused_, grow);
    if (grow && tries < kGrowTries) {
      TORC_TRY(environment_->grow());
      continue;
    }
    if (replaced() && tries < kReplacedTries) continue;
    if (done.ok()) done->cost = world_.clock.boot_now() - begun;
    return done;
  }
}

Result<Txn> LmdbStore::begin_read() {
  for (int tries = 0;; ++tries) {
    TORC_TRY(open_environment());
    Result<Txn> txn = Txn::begin(environment_, Access::read);
    if (txn.ok() || !replaced() || tries == kReplacedTries) return txn;
  }
}

Result<void> LmdbStore::view(Freshness, const std::function<Result<void>(const Reader&)>& body) {
  TORC_ASSIGN(Txn txn, begin_read());
  Head head;
  if (const int rc = read_head(txn, head); rc != 0)
    return lmdb_error(rc, "cannot read the head of " + (directory_ / "data.mdb").string());
  const LmdbTransaction reader(txn, head.sequence);
  Result<void> answer = body(reader);
  TORC_TRY(reader.health());
  return answer;
}

Result<void> LmdbStore::maintain() {
  if (environment_) environment_->forget_dead_readers(world_.clock.boot_now());
  return {};
}

int LmdbStore::changes_fd() const {
  if (!watch_) watch_ = std::make_unique<FileWatch>(directory_ / "data.mdb");
  return watch_->fd();
}

void LmdbStore::clear_changes() {
  if (watch_) watch_->clear();
}

}  // namespace

Result<std::unique_ptr<Store>> open_lmdb_store(const World& world, const Path& directory,
                                               const Meta& meta, const Tuning& tuning) {
  auto store = std::make_unique<LmdbStore>(world, directory, meta, tuning);
  TORC_TRY(store->start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace torc::store
