// What is known of a process, and what not being able to see it says: nothing.
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/exec/testing/other_process.h"

namespace torc::exec {
namespace {

namespace fs = std::filesystem;

int number(Presence presence) {
  return static_cast<int>(presence);
}
constexpr int kHere = static_cast<int>(Presence::here);
constexpr int kGone = static_cast<int>(Presence::gone);
constexpr int kUnknown = static_cast<int>(Presence::unknown);

// A process that has ended and was waited for.
ProcessIdentity ended_process() {
  ProcessIdentity identity;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  identity = {static_cast<std::uint64_t>(child), 1};
  waitpid(child, nullptr, 0);
  return identity;
}

TEST(Presence, a_process_is_here_until_it_has_ended) {
  EXPECT_EQ(presence_of(this_process()), Presence::here);
  ProcessIdentity reused = this_process();
  ++reused.start;
  EXPECT_EQ(presence_of(reused), Presence::gone) << "another process of the same number";

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const ProcessIdentity self = this_process();
    if (write(ends[1], &self, sizeof self) != sizeof self) _exit(1);
    _exit(0);
  }
  ProcessIdentity identity;
  ASSERT_EQ(read(ends[0], &identity, sizeof identity), static_cast<ssize_t>(sizeof identity));
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(presence_of(identity), Presence::gone) << "a zombie";
  waitpid(child, nullptr, 0);
  EXPECT_EQ(presence_of(identity), Presence::gone);
  close(ends[0]);
  close(ends[1]);
}

TEST(Presence, a_first_thread_that_has_ended_is_no_end_of_its_process) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const ProcessIdentity self = this_process();
    std::thread([&] {
      const std::string first = "/proc/self/task/" + std::to_string(getpid()) + "/stat";
      while (read_small_file(first).value_or("").find(") Z ") == std::string::npos) {
      }
      if (write(ends[1], &self, sizeof self) != sizeof self) _exit(1);
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);  // this thread alone
  }
  ProcessIdentity identity;
  ASSERT_EQ(read(ends[0], &identity, sizeof identity), static_cast<ssize_t>(sizeof identity));
  EXPECT_EQ(presence_of(identity), Presence::here);
  kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(presence_of(identity), Presence::gone);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(Presence, without_a_descriptor_only_a_number_that_nobody_has_is_gone) {
  const ProcessIdentity living = this_process();
  const ProcessIdentity ended = ended_process();
  EXPECT_EQ(in_child([&] {
              use_up_descriptors();
              return number(presence_of(living));
            }),
            kUnknown);
  EXPECT_EQ(in_child([&] {
              use_up_descriptors();
              return number(presence_of(ended));
            }),
            kGone);
}

TEST(Presence, what_was_never_learnt_is_unknown) {
  EXPECT_EQ(presence_of({}), Presence::unknown);
  EXPECT_EQ(presence_of({this_process().pid, 0}), Presence::unknown);
  EXPECT_EQ(presence_of({std::uint64_t{1} << 40, 1}), Presence::unknown);
}

TEST(Presence, a_proc_that_hides_the_processes_of_others_tells_nothing_of_them) {
  if (geteuid() != 0) GTEST_SKIP() << "another user, and a /proc with hidepid, need root";
  for (const char* hidden : {"hidepid=1", "hidepid=2"}) {
    EXPECT_EQ(in_namespace(hidden,
                           [] {
                             const ProcessIdentity roots = this_process();
                             return in_child([&] {
                               if (!become_somebody()) return 96;
                               if (presence_of(this_process()) != Presence::here) return 95;
                               if (presence_of({4000, 1}) != Presence::gone) return 94;
                               return number(presence_of(roots));
                             });
                           }),
              kUnknown)
        << hidden;
  }
}

TEST(Presence, a_proc_of_another_pid_namespace_tells_nothing) {
  if (geteuid() != 0) GTEST_SKIP() << "a pid namespace needs root";
  // Without a /proc of its own: there number 1 is another process.
  EXPECT_EQ(in_namespace(nullptr,
                         [] {
                           if (this_process().start != 0) return 96;
                           return number(presence_of({1, 1}));
                         }),
            kUnknown);
}

class FakeProc : public testing::Test {
 protected:
  FakeProc() {
    std::string name = (fs::temp_directory_path() / "torc-proc-XXXXXX").string();
    root_ = mkdtemp(name.data());
    fs::create_directory(own());
    fs::create_symlink(std::to_string(getpid()), root_ / "self");
  }
  ~FakeProc() override { fs::remove_all(root_); }
  [[nodiscard]] fs::path own() const { return root_ / std::to_string(getpid()); }
  void write_stat(const std::string& text) const { std::ofstream(own() / "stat") << text; }
  // This process, which lives, as this /proc shows it.
  [[nodiscard]] int seen(std::uint64_t start) const {
    return number(presence_of({static_cast<std::uint64_t>(getpid()), start}, root_.string()));
  }

  fs::path root_;
};

TEST_F(FakeProc, a_stat_that_is_missing_empty_or_cut_off_tells_nothing) {
  const std::string whole = "7 (a) b) S 1 7 7 0 -1 0 1 1 0 0 3 4 0 0 20 0 1 0 1234567 999 1\n";
  EXPECT_EQ(seen(1234567), kUnknown);
  write_stat("");
  EXPECT_EQ(seen(1234567), kUnknown);
  for (std::size_t n = 0; n <= whole.find(" 999"); ++n) {
    write_stat(whole.substr(0, n));
    EXPECT_EQ(seen(1234567), kUnknown) << n;
  }
  write_stat(whole);
  EXPECT_EQ(seen(1234567), kHere);
  EXPECT_EQ(seen(1234568), kGone);
}

TEST_F(FakeProc, an_unmounted_one_tells_nothing) {
  fs::remove_all(own());
  fs::remove(root_ / "self");
  EXPECT_EQ(seen(1), kUnknown);
}

TEST_F(FakeProc, only_a_zombie_without_threads_has_ended) {
  const auto stat = [](const std::string& state, int threads) {
    return "7 (a) " + state + " 1 7 7 0 -1 0 1 1 0 0 3 4 0 0 20 0 " + std::to_string(threads) +
           " 0 55 0 1\n";
  };
  for (const std::string state : {"R", "S", "D", "T", "t", "I"}) {
    write_stat(stat(state, 1));
    EXPECT_EQ(seen(55), kHere) << state;
  }
  write_stat(stat("Z", 2));
  EXPECT_EQ(seen(55), kHere);
  write_stat(stat("Z", 1));
  EXPECT_EQ(seen(55), kGone);
  write_stat(stat("X", 0));
  EXPECT_EQ(seen(55), kGone);
}

TEST(ProcessSpace, is_known_and_the_same_only_as_itself) {
  const ProcessSpace here{boot_id(), pid_namespace()};
  EXPECT_EQ(here.boot_id.size(), 36u);
  EXPECT_TRUE(here.pid_namespace.starts_with("pid:["));
  EXPECT_TRUE(is_same(here, here));
  EXPECT_FALSE(is_same(here, {here.boot_id, "pid:[1]"}));
  EXPECT_FALSE(is_same(here, {"another", here.pid_namespace}));
  EXPECT_FALSE(is_same({"", here.pid_namespace}, {"", here.pid_namespace})) << "not known";
  EXPECT_FALSE(is_same({here.boot_id, ""}, {here.boot_id, ""}));
}

TEST(Ancestors, are_all_up_to_the_first_process_or_not_known) {
  const auto above = ancestors_of(this_process());
  ASSERT_FALSE(above.empty());
  EXPECT_EQ(above.front(), static_cast<std::uint64_t>(getppid()));
  const ProcessIdentity self = this_process();
  EXPECT_TRUE(ancestors_of({self.pid, self.start + 1}).empty());
  EXPECT_EQ(in_child([&] {
              use_up_descriptors();
              return ancestors_of(self).empty() ? 0 : 1;
            }),
            0);
}

TEST(ThisUser, has_a_number_and_a_namespace) {
  EXPECT_TRUE(this_user().starts_with(std::to_string(geteuid()) + " user:[")) << this_user();
}

}  // namespace
}  // namespace torc::exec
