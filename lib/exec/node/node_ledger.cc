#include "lib/exec/node/node_ledger.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "lib/exec/machine/procfs.h"
#include "lib/exec/node/node_file.h"

namespace torc::exec {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kBusy = std::chrono::milliseconds(100);  // the lock: until the next try
constexpr nanoseconds kNamed = std::chrono::milliseconds(10);  // a look at the name of the file
constexpr nanoseconds kPlaced = std::chrono::seconds(10);      // … of its directory
constexpr int kMostReplacements = 8;                           // of the file, while it is opened

// A worker that was stopped with its watchdog and whose jobs have gone uses nothing; nobody knows
// whether it will ever go on.
bool stands_still(const NodeMember& member) {
  if (presence_of(member.worker) != Presence::here) return false;
  const auto worker = read_stat(static_cast<pid_t>(member.worker.pid));
  if (!worker || worker->start != member.worker.start || worker->state != 'T') return false;
  const Family below = descendants_of(static_cast<pid_t>(member.worker.pid));
  return below.complete && std::all_of(below.pids.begin(), below.pids.end(), [](pid_t pid) {
           const auto stat = read_stat(pid);
           return stat && has_ended(*stat);
         });
}

// What cannot be judged stays, and keeps what it holds.
bool is_gone(const NodeMember& member) {
  return (presence_of(member.worker) == Presence::gone &&
          presence_of(member.watchdog) == Presence::gone) ||
         stands_still(member);
}

class Ledger final : public NodeLedger {
 public:
  Ledger(NodePlace place, const NodeMember& member, Clock& clock)
      : place_(std::move(place)), clock_(clock) {
    mine_.member = member;
  }
  ~Ledger() override {
    if (bell_ >= 0) close(bell_);
    leave_old();
    leave();
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  Result<void> open();

  [[nodiscard]] const NodeHolding& holding() const override { return mine_.holding; }
  [[nodiscard]] const NodeMember& member() const override { return mine_.member; }
  Taken take(const NodeAmount& want) override;
  [[nodiscard]] NodeHolding could_hold() const override;
  void keep(const NodeHolding& rest) override;
  void wait_for_more(bool waits) override;
  [[nodiscard]] int bell() override;
  void silence_bell() override;
  [[nodiscard]] std::uint32_t owed_to_others() const override;
  [[nodiscard]] bool is_there() const override;
  void reenter(const NodeHolding& in_use) override;

 private:
  // The others, in the order in which they have waited; those who do not wait last.
  [[nodiscard]] std::vector<NodeEntry> others() const;
  static void clear_gone(NodeTable& table, std::vector<NodeEntry>& others);
  [[nodiscard]] bool is_others_turn(const std::vector<NodeEntry>& others, BootTime now) const;
  // What is told in another file than the one that is entered.
  struct Left {
    std::unique_ptr<NodeFile> file;
    std::unique_ptr<NodeTable> table;
    NodeEntry entry;
  };
  Result<void> enter(std::optional<Left>& left);
  void leave_old();
  void leave();
  void leave(NodeFile& file, NodeTable& table, const NodeEntry& entry);
  void watch_file();
  void write() { table_->write(mine_, sequence_); }

  NodePlace place_;
  Clock& clock_;
  std::unique_ptr<NodeFile> file_;
  std::unique_ptr<NodeTable> table_;
  NodeEntry mine_;
  std::uint64_t sequence_ = 0;
  bool entered_ = false;
  std::optional<Left> old_;  // which others may still look at
  BootTime old_since_{};
  BootTime took_at_{};                        // CPUs, last
  mutable std::optional<BootTime> named_at_;  // when the file was last seen to have its name
  mutable BootTime placed_at_{};              // … to be where the others look
  int bell_ = -1;
};

// With what is held now: nothing at first, more when the ledger was lost.
Result<void> Ledger::open() {
  std::optional<Left> left;
  if (std::exchange(entered_, false)) left = Left{std::move(file_), std::move(table_), mine_};
  named_at_.reset();
  Result<void> entered = enter(left);
  if (!left) return entered;
  if (!entered.ok()) {  // what was told there is told still
    file_ = std::move(left->file);
    table_ = std::move(left->table);
    entered_ = true;
    return entered;
  }
  // Whoever looks there for some moments more must see what runs.
  leave_old();
  old_ = std::move(left);
  old_since_ = clock_.boot_now();
  return {};
}

void Ledger::leave_old() {
  if (old_) leave(*old_->file, *old_->table, old_->entry);
  old_.reset();
}

// `left`: what is told in the file that was used before; none when that is the same one.
Result<void> Ledger::enter(std::optional<Left>& left) {
  for (int tries = 0; tries < kMostReplacements; ++tries) {
    TORC_ASSIGN(file_, NodeFile::open(place_, NodeFile::Missing::make));
    table_ = std::make_unique<NodeTable>(*file_);
    if (!file_->lock()) {
      return Error{ErrorKind::busy, "the lock of " + file_->path().string() + " cannot be taken",
                   "a stopped worker may hold it: see `torc node`"};
    }
    // The last of those who were there may have removed it in the meantime.
    if (!file_->is_named()) continue;
    if (left && file_->is_same(*left->file)) {
      table_->clear(left->entry.slot, left->entry.generation);
      left.reset();
    }
    std::optional<NodeEntry> entry;
    if (table_->prepare(clock_.boot_now())) {
      entry = table_->enter(mine_.member, mine_.holding);
      if (!entry) {
        std::vector<NodeEntry> all = table_->read();
        clear_gone(*table_, all);
        entry = table_->enter(mine_.member, mine_.holding);
      }
    }
    file_->unlock();
    if (file_->lost()) continue;  // the next one makes it as long as it was
    if (!entry) {
      return Error{ErrorKind::no_space, "there is no room in " + file_->path().string(),
                   "end other workers on this node, or set TORC_NODE_DIR"};
    }
    mine_ = *std::move(entry);
    sequence_ = 2;  // two copies were written
    entered_ = true;
    placed_at_ = clock_.boot_now();
    if (bell_ >= 0) watch_file();
    return {};
  }
  return Error{ErrorKind::busy, "the node ledger is removed each time that it is made", ""};
}

// A worker asks several times for each job.
bool Ledger::is_there() const {
  if (!entered_ || !table_->is_there(mine_) || file_->lost()) return false;
  const BootTime now = clock_.boot_now();
  if (named_at_ && now - *named_at_ < kNamed) return true;
  if (!file_->is_named() || !table_->is_whole(mine_) || file_->lost()) return false;
  if (now - placed_at_ >= kPlaced) {
    if (!file_->is_where_others_look()) return false;
    placed_at_ = now;
  }
  named_at_ = now;
  return true;
}

void Ledger::leave() {
  if (std::exchange(entered_, false)) leave(*file_, *table_, mine_);
}

void Ledger::leave(NodeFile& file, NodeTable& table, const NodeEntry& entry) {
  if (!file.lock()) {
    table.clear(entry.slot, entry.generation);
    return;
  }
  table.clear(entry.slot, entry.generation);
  std::vector<NodeEntry> rest = table.read();
  clear_gone(table, rest);
  table.set_released_at(clock_.boot_now());
  if (rest.empty()) {
    // Else the name is that of another one by now, or those who are there were not seen.
    if (file.is_named() && !file.lost()) file.remove();
  } else {
    file.ring();
  }
  file.unlock();
}

std::vector<NodeEntry> Ledger::others() const {
  std::vector<NodeEntry> all = table_->read(mine_.slot);
  std::stable_sort(all.begin(), all.end(), [](const NodeEntry& a, const NodeEntry& b) {
    const auto since = [](const NodeEntry& e) {
      return e.holding.waiting_since == BootTime{} ? BootTime::max() : e.holding.waiting_since;
    };
    return since(a) < since(b);
  });
  return all;
}

void Ledger::clear_gone(NodeTable& table, std::vector<NodeEntry>& others) {
  std::erase_if(others, [&](const NodeEntry& e) {
    if (!is_gone(e.member)) return false;
    table.clear(e.slot, e.generation);
    return true;
  });
}

bool Ledger::is_others_turn(const std::vector<NodeEntry>& others, BootTime now) const {
  const BootTime released = table_->released_at();
  // What is said to be released long after now would keep everybody waiting until then.
  if (released > now + kHeadStart || now >= released + kHeadStart || others.empty()) return false;
  const BootTime mine =
      mine_.holding.waiting_since == BootTime{} ? now : mine_.holding.waiting_since;
  return std::any_of(others.begin(), others.end(), [&](const NodeEntry& e) {
    const BootTime since = e.holding.waiting_since;
    return since != BootTime{} && since < mine && e.member.cpus.meets(mine_.member.cpus);
  });
}

NodeLedger::Taken Ledger::take(const NodeAmount& want) {
  const BootTime now = clock_.boot_now();
  // By now the others look where this worker looks: it would have met them else.
  if (old_ && now - old_since_ >= 2 * kPlaced) leave_old();
  named_at_.reset();  // what is taken is taken from those who look at the file of that name
  if (!is_there()) {
    // Removed by somebody who tidied up: a new one, with what is held.
    if (auto again = open(); !again) return {false, now + kBusy};
  }
  if (!file_->lock()) return {false, now + kBusy};
  const auto done = [&](Taken taken) {
    file_->unlock();
    return taken;
  };
  std::vector<NodeEntry> others = this->others();
  if (file_->lost()) return done({false, now + kBusy});  // of others nothing may have been seen
  const std::uint32_t before = mine_.holding.cpu_count();
  NodeHolding more = add_free(mine_.member, mine_.holding, want, others);
  const auto has_sums = [&] {
    for (std::size_t i = 0; i < want.sums.size(); ++i)
      if (more.sums[i] - mine_.holding.sums[i] != want.sums[i]) return false;
    return true;
  };
  const auto is_complete = [&] {
    return more.cpu_count() - before == want.cpus &&
           more.memory + more.own_memory ==
               mine_.holding.memory + mine_.holding.own_memory + want.memory &&
           std::popcount(more.gpus) - std::popcount(mine_.holding.gpus) ==
               static_cast<int>(want.gpus) &&
           has_sums();
  };
  if (!is_complete()) {
    const std::size_t count = others.size();
    clear_gone(*table_, others);
    if (others.size() != count) more = add_free(mine_.member, mine_.holding, want, others);
  }
  if (is_others_turn(others, now)) return done({false, table_->released_at() + kHeadStart});
  const bool complete = is_complete() || others.empty();
  if (more.cpu_count() > before) took_at_ = now;
  if (!(more == mine_.holding)) {
    // A new turn: it waits anew for the rest, behind those who have waited meanwhile.
    if (more.waiting_since != BootTime{}) more.waiting_since = now;
    mine_.holding = more;
    write();
  }
  return done({complete, {}});
}

NodeHolding Ledger::could_hold() const {
  if (!is_there()) return mine_.holding;
  std::vector<NodeEntry> all = others();
  std::erase_if(all, [](const NodeEntry& e) { return is_gone(e.member); });
  const NodeMember& m = mine_.member;
  NodeAmount want{m.most_cpus, m.most_memory, static_cast<std::uint32_t>(m.gpus.size())};
  want.sums.fill(kAllThereIs);
  return add_free(m, mine_.holding, want, all);
}

void Ledger::keep(const NodeHolding& rest) {
  const BootTime waits = mine_.holding.waiting_since;
  mine_.holding = rest;
  mine_.holding.waiting_since = waits;
  if (!is_there()) return;
  write();
  const std::vector<NodeEntry> all = table_->read(mine_.slot);
  const bool awaited = std::any_of(all.begin(), all.end(), [](const NodeEntry& e) {
    return e.holding.waiting_since != BootTime{};
  });
  if (!awaited) return;
  table_->set_released_at(clock_.boot_now());
  file_->ring();
}

void Ledger::wait_for_more(bool waits) {
  if (waits == (mine_.holding.waiting_since != BootTime{})) return;
  mine_.holding.waiting_since = waits ? clock_.boot_now() : BootTime{};
  if (is_there()) write();
}

int Ledger::bell() {
  if (bell_ >= 0 || !entered_) return bell_;
  bell_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (bell_ >= 0) watch_file();
  return bell_;
}

// IN_ATTRIB: it was removed.
void Ledger::watch_file() {
  (void)inotify_add_watch(bell_, file_->path().c_str(), IN_MODIFY | IN_ATTRIB);
}

void Ledger::silence_bell() {
  std::array<char, 4096> events;
  while (bell_ >= 0 && read(bell_, events.data(), events.size()) > 0) {
  }
}

std::uint32_t Ledger::owed_to_others() const {
  if (!is_there()) return 0;
  const BootTime now = clock_.boot_now();
  if (now - took_at_ < kTurn) return 0;
  const std::uint32_t held = mine_.holding.cpu_count();
  for (const NodeEntry& e : others()) {
    const BootTime since = e.holding.waiting_since;
    if (since == BootTime{} || now - since < kTurn) break;  // sorted
    if (!e.member.cpus.meets(mine_.member.cpus) || is_gone(e.member)) continue;
    const std::uint32_t theirs = e.holding.cpu_count();
    // Only what it could use: one that has its number of CPUs waits for something else.
    const std::uint32_t room = e.member.most_cpus - std::min(e.member.most_cpus, theirs);
    if (theirs < held && room > 0) return std::min((held - theirs + 1) / 2, room);
    const auto their_gpus = static_cast<std::size_t>(std::popcount(e.holding.gpus));
    const bool wants_gpus = their_gpus < e.member.gpus.size();
    if (wants_gpus && std::popcount(e.holding.gpus) < std::popcount(mine_.holding.gpus)) return 1;
  }
  return 0;
}

void Ledger::reenter(const NodeHolding& in_use) {
  mine_.holding = in_use;
  mine_.holding.waiting_since = {};
  (void)open();  // take() tries again
}

}  // namespace

Result<std::unique_ptr<NodeLedger>> NodeLedger::enter(const NodePlace& place,
                                                      const NodeMember& member, Clock& clock) {
  auto ledger = std::make_unique<Ledger>(place, member, clock);
  auto opened = ledger->open();
  // Another one has the lock: it holds nothing until take() or reenter() have got in.
  if (!opened && opened.error().kind != ErrorKind::busy) return std::move(opened).error();
  return std::unique_ptr<NodeLedger>(std::move(ledger));
}

Result<std::vector<NodeEntry>> NodeLedger::look(const NodePlace& place) {
  auto file = NodeFile::open(place, NodeFile::Missing::fail);
  if (!file && file.error().kind == ErrorKind::not_found) return std::vector<NodeEntry>{};
  if (!file) return std::move(file).error();
  std::vector<NodeEntry> all = NodeTable(**file).read();
  std::erase_if(all, [](const NodeEntry& e) { return is_gone(e.member); });
  return all;
}

}  // namespace torc::exec
