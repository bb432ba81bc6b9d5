// The node ledger on a real file: workers that share a node, that die, that find their file gone.
#include "lib/exec/node/node_ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>

#include "lib/base/file/shared_mapping.h"
#include "lib/exec/machine/machine.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/node/node_file.h"
#include "lib/exec/node/node_ledger_fixture.h"
#include "lib/exec/testing/other_process.h"

namespace torc::exec {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

bool rings(NodeLedger& ledger) {
  pollfd bell{ledger.bell(), POLLIN, 0};
  return poll(&bell, 1, 0) == 1;
}

TEST_F(Ledgers, what_one_has_no_other_gets) {
  const auto a = enter();
  const auto b = enter();
  EXPECT_TRUE(a->take({4, {500}, 1}).complete);
  EXPECT_FALSE(b->take({4, {500}, 1}).complete);
  EXPECT_EQ(b->holding().cpu_count(), 2U);
  EXPECT_EQ(b->holding().memory.value, 100U);
  EXPECT_EQ(a->holding().gpus | b->holding().gpus, 3U);
  a->keep({});
  EXPECT_TRUE(b->take({4, {500}, 1}).complete);
}

TEST_F(Ledgers, one_that_leaves_gives_back_what_it_had) {
  auto a = enter();
  const auto b = enter();
  a->take(kAll);
  EXPECT_EQ(entries(), 2U);
  a.reset();
  EXPECT_EQ(entries(), 1U);
  EXPECT_TRUE(b->take(kAll).complete);
}

TEST_F(Ledgers, the_last_one_removes_the_file) {
  auto a = enter();
  auto b = enter();
  a.reset();
  EXPECT_FALSE(file().empty());
  b.reset();
  EXPECT_TRUE(file().empty());
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Ledgers, the_bell_rings_only_for_those_who_wait) {
  const auto a = enter();
  const auto b = enter();
  a->take(kAll);
  EXPECT_FALSE(rings(*b));
  a->keep({});
  EXPECT_FALSE(rings(*b));
  a->take(kAll);
  b->wait_for_more(true);
  EXPECT_FALSE(rings(*b));
  a->keep({});
  EXPECT_TRUE(rings(*b));
  b->silence_bell();
  EXPECT_FALSE(rings(*b));
}

TEST_F(Ledgers, who_waited_longest_has_the_first_grasp) {
  const auto a = enter();
  const auto b = enter();
  const auto c = enter();
  a->take(kAll);
  clock_.advance(1ms);
  b->wait_for_more(true);
  clock_.advance(1ms);
  c->wait_for_more(true);
  a->keep({});
  const auto refused = c->take(kAll);
  EXPECT_EQ(c->holding().cpu_count(), 0U);
  ASSERT_TRUE(refused.again);
  EXPECT_EQ(a->take(kAll).again, refused.again) << "who gave it back does not take it again";
  EXPECT_TRUE(b->take({1, {}, 0}).complete);
  // It has had its chance; whether it is hung or does not want more, the others go on.
  clock_.advance(*refused.again - clock_.boot_now());
  EXPECT_FALSE(c->take(kAll).again);
  EXPECT_EQ(c->holding().cpu_count(), 5U);
}

TEST_F(Ledgers, a_release_that_is_said_to_come_keeps_nobody_waiting) {
  const auto first = enter();
  const auto second = enter();
  first->wait_for_more(true);
  clock_.advance(NodeLedger::kTurn);
  const auto file = NodeFile::open({{root_}, {}}, NodeFile::Missing::fail);
  ASSERT_TRUE(file.ok());
  for (const BootTime released : {BootTime::max(), clock_.boot_now() + 24h}) {
    NodeTable(**file).set_released_at(released);
    const auto taken = second->take({1, {}, 0});
    EXPECT_TRUE(taken.complete);
    EXPECT_FALSE(taken.again);
    second->keep({});
  }
}

TEST_F(Ledgers, one_with_more_owes_half_of_the_difference_after_its_turn) {
  const auto a = enter();
  const auto b = enter();
  a->take(kAll);
  b->wait_for_more(true);
  EXPECT_EQ(a->owed_to_others(), 0U);
  clock_.advance(NodeLedger::kTurn);
  EXPECT_EQ(a->owed_to_others(), 3U);
  a->keep({parse_cpus("0-2"), 0, {}, {}, 0, {}});
  b->take(kAll);
  clock_.advance(NodeLedger::kTurn);
  EXPECT_EQ(a->owed_to_others(), 0U) << "they have the same";
}

TEST_F(Ledgers, nothing_is_owed_to_one_that_could_not_take_it) {
  const auto a = enter();
  a->take(kAll);
  NodeMember small = member();
  small.most_cpus = 1;
  small.gpus.clear();
  const auto b = enter(small);
  b->wait_for_more(true);
  clock_.advance(2 * NodeLedger::kTurn);
  EXPECT_EQ(a->owed_to_others(), 1U) << "it has none and may have one";
  a->keep({parse_cpus("0-4"), 0, {}, {}, 3, {}});
  b->take({1, {}, 0});
  ASSERT_EQ(b->holding().cpu_count(), 1U);
  clock_.advance(2 * NodeLedger::kTurn);
  EXPECT_EQ(a->owed_to_others(), 0U) << "neither CPUs beyond its number nor GPUs";
}

TEST_F(Ledgers, who_comes_while_the_lock_is_held_enters_later) {
  const auto a = enter();
  a->take({1, {}, 0});
  const int lock = open(file().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  const auto b = enter();
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->holding().cpu_count(), 0U);
  EXPECT_EQ(entries(), 1U);
  EXPECT_FALSE(b->take(kAll).complete);
  close(lock);
  b->take(kAll);
  EXPECT_EQ(b->holding().cpu_count(), kCpus - 1);
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Ledgers, what_killed_processes_had_is_free) {
  const pid_t killed = fork();
  if (killed == 0) {
    auto ledger = enter();
    ledger->take(kAll);
    raise(SIGKILL);
  }
  waitpid(killed, nullptr, 0);
  const auto a = enter();
  EXPECT_EQ(entries(), 1U);
  EXPECT_TRUE(a->take(kAll).complete);
}

TEST_F(Ledgers, what_a_worker_had_is_held_while_its_watchdog_lives) {
  const auto a = enter();
  NodeMember orphaned = member();
  orphaned.worker = {1, 999};  // gone
  const auto b = enter(orphaned);
  b->take(kAll);
  EXPECT_FALSE(a->take({1, {}, 0}).complete);
}

TEST_F(Ledgers, of_whom_nothing_is_known_keeps_what_it_had) {
  const auto a = enter();
  NodeMember unseen = member();
  unseen.worker = unseen.watchdog = {this_process().pid, 0};  // its /proc told it nothing
  const auto b = enter(unseen);
  b->take(kAll);
  EXPECT_FALSE(a->take({1, {}, 0}).complete);
  EXPECT_EQ(entries(), 2U);
}

// The lock of a ledger needs no descriptor, a look at /proc does.
TEST_F(Ledgers, without_a_descriptor_nobody_takes_what_a_live_one_has) {
  const auto a = enter();
  const auto b = enter();
  b->take(kAll);
  EXPECT_EQ(in_child([&] {
              use_up_descriptors();
              return a->take({1, {}, 0}).complete ? 1 : 0;
            }),
            0);
}

TEST_F(Ledgers, a_stopped_worker_without_jobs_holds_nothing_and_notices_when_it_goes_on) {
  const pid_t stopped = fork();
  if (stopped == 0) {
    auto ledger = enter();
    ledger->take(kAll);
    raise(SIGSTOP);
    _exit(ledger->is_there() ? 1 : 7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(stopped, &status, WUNTRACED), stopped);
  ASSERT_TRUE(WIFSTOPPED(status));
  const auto a = enter();
  EXPECT_TRUE(a->take(kAll).complete);
  kill(stopped, SIGCONT);
  ASSERT_EQ(waitpid(stopped, &status, 0), stopped);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(Ledgers, workers_whose_file_was_removed_meet_in_a_new_one) {
  const auto a = enter();
  const auto b = enter();
  a->take({4, {}, 0});
  fs::remove(file());
  b->take({1, {}, 0});  // finds out
  a->take({1, {}, 0});  // too, and enters with what it has
  EXPECT_EQ(entries(), 2U);
  EXPECT_EQ(a->holding().cpu_count(), 5U);
  EXPECT_FALSE(b->take({4, {}, 0}).complete);
}

TEST_F(Ledgers, a_damaged_file_is_made_anew) {
  const auto a = enter();
  a->take({4, {}, 0});
  const int fd = open(file().c_str(), O_WRONLY);
  const std::string garbage(4096, 'x');
  ASSERT_EQ(pwrite(fd, garbage.data(), garbage.size(), 0), 4096);
  close(fd);
  clock_.advance(1ns);
  const auto b = enter();
  EXPECT_FALSE(a->is_there());
  a->reenter(a->holding());
  EXPECT_FALSE(b->take(kAll).complete);
  EXPECT_EQ(b->holding().cpu_count(), 2U);
}

TEST_F(Ledgers, links_and_what_others_can_write_are_refused) {
  { const auto a = enter(); }
  const fs::path directory = *fs::directory_iterator(root_);
  fs::path name;
  {
    const auto a = enter();
    name = file();
  }
  const fs::path target = root_ / "target";
  close(open(target.c_str(), O_CREAT | O_WRONLY, 0600));
  fs::create_symlink(target, name);
  EXPECT_EQ(refusal(), ErrorKind::permission);
  EXPECT_EQ(fs::file_size(target), 0U);
  fs::remove(name);
  fs::create_hard_link(target, name);
  EXPECT_EQ(refusal(), ErrorKind::permission);
  fs::remove(name);
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), ErrorKind::permission);
  fs::remove(name);
  close(open(name.c_str(), O_CREAT | O_WRONLY, 0600));
  chmod(name.c_str(), 0644);
  EXPECT_EQ(refusal(), ErrorKind::permission);
}

TEST_F(Ledgers, workers_meet_elsewhere_when_somebody_has_the_name_of_their_directory) {
  const fs::path directory = root_ / ("torc-" + std::to_string(geteuid()));
  for (const bool link : {true, false}) {
    if (link) {
      fs::create_directory_symlink(root_, directory);
    } else {
      fs::create_directory(directory);
      chmod(directory.c_str(), 0755);
    }
    const auto a = enter();
    const auto b = enter();
    EXPECT_EQ(entries(), 2U);
    EXPECT_TRUE(a->take({4, {}, 0}).complete);
    EXPECT_FALSE(b->take({4, {}, 0}).complete);
    EXPECT_NE(file().parent_path(), directory);
    EXPECT_TRUE(link || fs::is_empty(directory));
    fs::remove(directory);
  }
}

// As of two that came at the same moment: whose name is the first, all others find.
TEST_F(Ledgers, a_worker_that_is_where_nobody_else_looks_moves) {
  const fs::path directory = root_ / ("torc-" + std::to_string(geteuid()));
  fs::create_symlink("nowhere", directory);
  const auto a = enter();
  a->take({4, {}, 0});
  const fs::path before = file();
  const fs::path first = directory.string() + "-000000";
  ASSERT_EQ(mkdir(first.c_str(), 0700), 0);
  const auto b = enter();
  EXPECT_EQ(entries(), 1U);
  EXPECT_TRUE(a->is_there());
  clock_.advance(10s);
  EXPECT_FALSE(a->is_there());
  a->reenter(a->holding());
  EXPECT_EQ(entries(), 2U);
  EXPECT_EQ(a->holding().cpu_count(), 4U);
  EXPECT_FALSE(b->take({4, {}, 0}).complete);
  EXPECT_TRUE(fs::exists(before)) << "who still looks there sees what it holds";
  clock_.advance(20s);
  EXPECT_TRUE(a->is_there());
  a->take({0, {}, 0});
  EXPECT_FALSE(fs::exists(before)) << "the last one there removed it";
}

// At the header, within a slot, between slots, at the end of what a worker keeps twice.
TEST_F(Ledgers, a_file_that_is_cut_short_is_made_anew_by_those_who_were_there) {
  mind_shared_mappings();
  constexpr std::size_t kSlot = NodeTable::kSlotWords * 8;
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{4096}, kSlot,
                                 kSlot + 8, kSlot + 4096, 2 * kSlot, 2 * kSlot + 4096}) {
    auto a = enter();
    auto b = enter();
    a->take({4, {500}, 1});
    b->take({1, {}, 0});
    fs::resize_file(file(), size);
    clock_.advance(1s);
    for (NodeLedger* ledger : {a.get(), b.get()}) {
      if (!ledger->is_there()) ledger->reenter(ledger->holding());
      EXPECT_TRUE(ledger->is_there()) << size;
    }
    EXPECT_EQ(entries(), 2U) << size;
    EXPECT_EQ(a->holding().cpu_count(), 4U);
    EXPECT_FALSE(b->take({4, {}, 0}).complete) << size;
    b.reset();
    EXPECT_TRUE(a->take(kAll).complete) << size;
    a.reset();
    EXPECT_TRUE(file().empty()) << size;
  }
}

// It leaves an entry that nobody looks at, and nothing that has the name now.
TEST_F(Ledgers, one_whose_file_was_removed_does_not_remove_the_next_one) {
  auto a = enter();
  fs::remove(file());
  const auto b = enter();
  a.reset();
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Ledgers, a_root_that_cannot_be_used_is_passed_over) {
  const auto ledger = NodeLedger::enter({{"/nowhere", root_}, {}}, member(), clock_);
  EXPECT_TRUE(ledger.ok());
  EXPECT_FALSE(file().empty());
  const auto none = NodeLedger::enter({{"/nowhere"}, {}}, member(), clock_);
  ASSERT_FALSE(none.ok());
}

TEST_F(Ledgers, a_lock_that_a_stopped_process_keeps_hangs_nobody) {
  const auto a = enter();
  auto held = NodeFile::open({{root_}, {}}, NodeFile::Missing::fail);
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE((*held)->lock());
  EXPECT_TRUE(a->take(kAll).again);
  EXPECT_EQ(a->holding().cpu_count(), 0U);
  (*held)->unlock();
  EXPECT_TRUE(a->take(kAll).complete);
}

}  // namespace
}  // namespace torc::exec
