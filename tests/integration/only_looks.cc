// A system call filter for programs that may only look (seccomp_unotify(2), kernel's
// samples/seccomp): BPF sees the numbers of calls and their arguments, not what these point to.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/integration/harness_internal.h"

namespace torc::itest {
namespace {

constexpr std::uint32_t kData(std::size_t offset) {
  return static_cast<std::uint32_t>(offset);
}
constexpr std::uint32_t kNumber = kData(offsetof(seccomp_data, nr));
constexpr std::uint32_t kLow(int argument) {  // the low half, on machines of little endian
  return kData(offsetof(seccomp_data, args) +
               sizeof(std::uint64_t) * static_cast<unsigned>(argument));
}
constexpr std::uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;

class Filter {
 public:
  void load(std::uint32_t from) { add(BPF_LD | BPF_W | BPF_ABS, from); }
  void give(std::uint32_t answer) { add(BPF_RET | BPF_K, answer); }
  // Skips the next `count` instructions unless the word is `value`.
  void unless_equal(std::uint32_t value, std::uint8_t count) {
    program_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
  }
  void unless_any_of(std::uint32_t bits, std::uint8_t count) {
    program_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, count));
  }
  void answer(long number, std::uint32_t with) {
    unless_equal(static_cast<std::uint32_t>(number), 1);
    give(with);
  }
  // The flags of open(2) are the argument with that number.
  void allow_only_reading(long number, int argument) {
    unless_equal(static_cast<std::uint32_t>(number), 4);
    load(kLow(argument));
    unless_any_of(kWriting, 1);
    give(SECCOMP_RET_KILL_PROCESS);
    give(SECCOMP_RET_ALLOW);
  }
  bool install() {
    const sock_fprog program{static_cast<unsigned short>(program_.size()), program_.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  void add(std::uint16_t code, std::uint32_t k) { program_.push_back(BPF_STMT(code, k)); }
  std::vector<sock_filter> program_;
};

}  // namespace

bool let_only_look(const char* program) {
  Filter filter;
  filter.load(kNumber);
  // Of the one that is meant the address is known, and no other program will have it.
  const auto address = reinterpret_cast<std::uintptr_t>(program);
  filter.unless_equal(SYS_execve, 4);
  filter.load(kLow(0));
  filter.unless_equal(static_cast<std::uint32_t>(address), 1);
  filter.give(SECCOMP_RET_ALLOW);
  filter.give(SECCOMP_RET_KILL_PROCESS);
  filter.allow_only_reading(SYS_openat, 2);
#ifdef SYS_open
  filter.allow_only_reading(SYS_open, 1);
#endif
  // Its flags are behind a pointer: as on a kernel without it.
  filter.answer(SYS_openat2, SECCOMP_RET_ERRNO | ENOSYS);
  for (const long number :
       {SYS_execveat,  SYS_mkdirat,  SYS_mknodat,   SYS_unlinkat,  SYS_symlinkat, SYS_linkat,
        SYS_renameat2, SYS_truncate, SYS_ftruncate, SYS_fallocate, SYS_fchmod,    SYS_fchmodat,
        SYS_fchown,    SYS_fchownat, SYS_utimensat, SYS_setxattr,  SYS_lsetxattr, SYS_fsetxattr,
        SYS_socket,    SYS_kill,     SYS_tkill,     SYS_ptrace,    SYS_mount,
#ifdef SYS_mkdir
        SYS_creat,     SYS_mkdir,    SYS_mknod,     SYS_unlink,    SYS_rmdir,     SYS_symlink,
        SYS_link,      SYS_rename,   SYS_chmod,     SYS_chown,     SYS_lchown,    SYS_fork,
        SYS_vfork,
#endif
        SYS_renameat})
    filter.answer(number, SECCOMP_RET_KILL_PROCESS);
  filter.give(SECCOMP_RET_ALLOW);
  return filter.install();
}

}  // namespace torc::itest
