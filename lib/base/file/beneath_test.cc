#include "lib/base/file/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

namespace torc::beneath {
namespace {

namespace fs = std::filesystem;

// A directory with a file and a directory, and beside it a victim that nothing may reach.
class Beneath : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "torc-beneath-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top = name;
    root = top / "root";
    victim = top / "victim";
    fs::create_directories(root / "in");
    fs::create_directories(victim);
    write(root / "in/file", "mine");
    write(victim / "file", "precious");
  }
  void TearDown() override { fs::remove_all(top); }
  static void write(const Path& file, const std::string& text) { std::ofstream(file) << text; }
  static std::string read(const Path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static Error error_of(const Result<Descriptor>& opened) {
    return opened.ok() ? Error{ErrorKind::io, "opened", {}} : opened.error();
  }
  void expect_untouched() const {
    EXPECT_EQ(read(victim / "file"), "precious");
    EXPECT_EQ(std::distance(fs::directory_iterator(victim), fs::directory_iterator()), 1);
  }

  Path top;
  Path root;
  Path victim;
};

TEST_F(Beneath, what_is_there_is_opened_read_and_made) {
  EXPECT_TRUE(open_file(root, "in/file", O_RDONLY).ok());
  EXPECT_TRUE(open_file(root, "in/new", O_WRONLY | O_CREAT | O_EXCL).ok());
  EXPECT_EQ(error_of(open_file(root, "in/new", O_WRONLY | O_CREAT | O_EXCL)).os_errno, EEXIST);
  EXPECT_EQ(error_of(open_file(root, "in/none", O_RDONLY)).kind, ErrorKind::not_found);
  EXPECT_TRUE(make_directories(root, "a/b/c").ok());
  EXPECT_TRUE(make_directories(root, "a/b/c").ok());
  EXPECT_TRUE(fs::is_directory(root / "a/b/c"));
  const auto found = entry(root, "in/file");
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_EQ(::faccessat(found->directory.get(), found->name.c_str(), F_OK, 0), 0);
}

// The user says where the root is.
TEST_F(Beneath, a_root_may_be_named_by_a_link) {
  fs::create_directory_symlink(root, top / "named");
  EXPECT_TRUE(open_file(top / "named", "in/file", O_RDONLY).ok());
}

TEST_F(Beneath, another_directory_in_the_place_of_the_root_is_refused) {
  const Root held(root);
  ASSERT_TRUE(open_file(held, "in/file", O_RDONLY).ok());
  fs::rename(root, top / "moved");
  fs::create_directories(root / "in");
  write(root / "in/file", "theirs");
  EXPECT_EQ(error_of(open_file(held, "in/file", O_RDONLY)).kind, ErrorKind::fenced);
  EXPECT_EQ(error_of(open_fresh(held, "in/file", O_WRONLY)).kind, ErrorKind::fenced);
  EXPECT_FALSE(entry(held, "in/file").ok());
  EXPECT_FALSE(make_directories(held, "more").ok());
  EXPECT_EQ(read(root / "in/file"), "theirs");
  EXPECT_TRUE(open_file(root, "in/file", O_RDONLY).ok()) << "to whoever begins now it is the root";
  fs::rename(root, top / "theirs");
  fs::rename(top / "moved", root);
  EXPECT_TRUE(open_file(held, "in/file", O_RDONLY).ok());
}

// What was looked at is what is opened, or nothing.
TEST_F(Beneath, a_root_is_the_directory_that_was_open_already) {
  Descriptor looked_at = *Root(root).open();
  fs::rename(root, top / "moved");
  fs::create_directories(root / "in");
  Root held(root);
  ASSERT_TRUE(held.hold(std::move(looked_at), Root::Until::the_end).ok());
  EXPECT_EQ(error_of(held.open()).kind, ErrorKind::fenced);
  (void)held.let_go();
  EXPECT_TRUE(held.open().ok());
}

// As in containers whose filter is older than the call.
TEST_F(Beneath, a_root_is_known_where_statx_is_forbidden) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_statx, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof filter / sizeof *filter, filter};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      ::_exit(2);
    const Root held(root);
    if (!held.open().ok() || !held.open().ok()) ::_exit(1);
    fs::rename(root, top / "moved");
    fs::create_directories(root / "in");
    ::_exit(is_exchanged(error_of(held.open())) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "needs a filter of system calls";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// An interrupted mount that came back is the same root, whatever its number is now.
TEST_F(Beneath, a_root_on_a_filesystem_that_was_mounted_again_is_the_same) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto mount = [&] { return ::mount("none", root.c_str(), "tmpfs", 0, "size=1m") == 0; };
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !mount())
      ::_exit(2);
    const Root held(root);
    if (!held.open().ok() || ::umount2(root.c_str(), MNT_DETACH) != 0 || !mount()) ::_exit(3);
    ::_exit(held.open().ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "needs root, to mount";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Beneath, no_link_is_followed_at_the_end_or_on_the_way) {
  fs::create_symlink(victim / "file", root / "in/link");
  fs::create_directory_symlink(victim, root / "away");
  fs::create_symlink("in/file", root / "harmless");  // not even one that stays inside
  for (const char* name : {"in/link", "away/file", "harmless"}) {
    for (const int flags : {O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_WRONLY | O_APPEND}) {
      const Error error = error_of(open_file(root, name, flags));
      EXPECT_EQ(error.kind, ErrorKind::corrupt) << name << ": " << error.what;
      EXPECT_NE(error.what.find("symbolic link"), std::string::npos) << error.what;
    }
  }
  EXPECT_FALSE(open_file(root, "away/new", O_WRONLY | O_CREAT).ok());
  EXPECT_FALSE(open_fresh(root, "away/file", O_WRONLY).ok());
  EXPECT_EQ(make_directories(root, "away/more").error().os_errno, ELOOP);
  EXPECT_EQ(make_directories(root, "away").error().os_errno, ELOOP);
  EXPECT_FALSE(entry(root, "away/file").ok());
  expect_untouched();
}

TEST_F(Beneath, nothing_outside_is_reached_by_dots) {
  for (const char* name : {"../victim/file", "in/../../victim/file", "/etc/passwd", ""})
    EXPECT_FALSE(open_file(root, name, O_RDONLY).ok()) << name;
}

// The same without openat2(2), as on older kernels and below filters of system calls.
TEST_F(Beneath, a_walk_from_name_to_name_gives_the_same_answers) {
  fs::create_directory_symlink(victim, root / "away");
  fs::create_symlink(victim / "file", root / "in/link");
  const Descriptor at = *Root(root).open();
  const auto walk = [&](const char* name, int flags) {
    return Descriptor(walk_at(at.get(), name, flags, 0600));
  };
  EXPECT_TRUE(walk("in/file", O_RDONLY));
  EXPECT_TRUE(walk("in//./file", O_RDONLY));
  EXPECT_TRUE(walk("in/made", O_WRONLY | O_CREAT | O_EXCL));
  EXPECT_TRUE(walk("in/", O_RDONLY | O_DIRECTORY));
  for (const char* name : {"away/file", "away"}) {
    EXPECT_FALSE(walk(name, O_PATH | O_DIRECTORY)) << name;
    EXPECT_EQ(errno, ELOOP) << name;
  }
  EXPECT_TRUE(walk("in", O_PATH | O_DIRECTORY));
  for (const char* name : {"away/file", "in/link", "../victim/file", "in/../../victim/file"}) {
    EXPECT_FALSE(walk(name, O_RDONLY)) << name;
    EXPECT_FALSE(walk(name, O_WRONLY | O_CREAT | O_TRUNC)) << name;
  }
  expect_untouched();
}

TEST_F(Beneath, what_is_no_regular_file_is_refused_at_once_and_by_name) {
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  (root / "socket").string().copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  for (const char* file : {"fifo", "socket", "in"}) {
    for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
      const Error error = error_of(open_file(root, file, flags));
      EXPECT_NE(error.what, "opened") << file;
      EXPECT_TRUE(error.kind == ErrorKind::corrupt || error.os_errno == EISDIR) << error.what;
      EXPECT_NE(error.what.find(file), std::string::npos) << error.what;
    }
  }
  ::close(listener);
}

// A fifo is not waited for; but who reads or writes a file shall not be told to try again.
TEST_F(Beneath, what_was_opened_blocks_as_files_do) {
  for (const int flags : {O_RDONLY, O_WRONLY | O_APPEND}) {
    const auto opened = open_file(root, "in/file", flags);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(::fcntl(opened->get(), F_GETFL) & (O_NONBLOCK | O_APPEND), flags & O_APPEND);
  }
  const auto log = open_to_append(root, "in/log");
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(::fcntl(log->get(), F_GETFL) & O_NONBLOCK, 0);
}

// As an NFS server or Samba on this machine has.
TEST_F(Beneath, a_file_that_somebody_has_under_a_lease_is_waited_for) {
  Descriptor holder(::open((root / "in/file").c_str(), O_RDONLY | O_CLOEXEC));
  if (::fcntl(holder.get(), F_SETLEASE, F_RDLCK) != 0)
    GTEST_SKIP() << "no leases on this filesystem: " << std::strerror(errno);
  ::signal(SIGIO, SIG_IGN);
  EXPECT_EQ(::open((root / "in/file").c_str(), O_WRONLY | O_NONBLOCK), -1);
  std::thread gives_back([&] { ::fcntl(holder.get(), F_SETLEASE, F_UNLCK); });
  EXPECT_TRUE(open_file(root, "in/file", O_WRONLY).ok());
  gives_back.join();
}

TEST_F(Beneath, a_fresh_file_is_shared_with_nobody_who_had_the_name) {
  fs::create_symlink(victim / "file", root / "1.out");
  fs::create_hard_link(victim / "file", root / "2.out");
  ASSERT_EQ(::mkfifo((root / "3.out").c_str(), 0600), 0);
  write(root / "4.out", "of an earlier run");
  for (const char* name : {"1.out", "2.out", "3.out", "4.out", "5.out"}) {
    const auto fresh = open_fresh(root, name, O_WRONLY);
    ASSERT_TRUE(fresh.ok()) << name << ": " << fresh.error().what;
    ASSERT_EQ(::write(fresh->get(), "new", 3), 3);
    EXPECT_FALSE(fs::is_symlink(root / name));
    EXPECT_EQ(read(root / name), "new") << name;
  }
  expect_untouched();
  EXPECT_EQ(open_fresh(root, "in", O_WRONLY).error().os_errno, EISDIR) << "directories stay";
}

TEST_F(Beneath, a_replaced_file_can_keep_mode_owner_and_group) {
  const Root at(root);
  struct stat like {};
  ASSERT_EQ(::stat((root / "in/file").c_str(), &like), 0);
  like.st_mode = S_IFREG | 04674;
  const bool may_give_away = ::geteuid() == 0;
  if (may_give_away) {
    like.st_uid = 4321;
    like.st_gid = 4322;
  }
  ASSERT_TRUE(replace_file(at, "in/file", "new", like).ok());
  struct stat now {};
  ASSERT_EQ(::stat((root / "in/file").c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777, 0674U) << "never more than reading, writing and executing";
  EXPECT_EQ(now.st_uid, like.st_uid);
  EXPECT_EQ(now.st_gid, like.st_gid);
  EXPECT_EQ(read(root / "in/file"), "new");
}

}  // namespace
}  // namespace torc::beneath
