// Preloaded into User Mode Linux 6.1 on hosts whose processor state is larger than that kernel was
// built for (AMX): PTRACE_SETREGSET of the extended state must then be given all of it. What the
// caller does not know is read first and written back as it was.
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {
constexpr long kGetRegisterSet = 0x4204;
constexpr long kSetRegisterSet = 0x4205;
constexpr long kFirstPeek = 1;  // PTRACE_PEEKTEXT, PEEKDATA, PEEKUSER: the value is the answer
constexpr long kLastPeek = 3;

long call(long request, long pid, void* address, void* data) {
  return syscall(SYS_ptrace, request, pid, address, data);
}
}  // namespace

extern "C" long ptrace(int request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  const long pid = va_arg(arguments, int);
  void* address = va_arg(arguments, void*);
  void* data = va_arg(arguments, void*);
  va_end(arguments);
  if (request >= kFirstPeek && request <= kLastPeek) {
    long value = 0;
    const long answer = call(request, pid, address, &value);
    if (answer < 0) return answer;
    errno = 0;
    return value;
  }
  if (request == kSetRegisterSet && reinterpret_cast<long>(address) == NT_X86_XSTATE) {
    alignas(64) static thread_local char whole[1 << 15];
    iovec all{whole, sizeof whole};
    const auto* given = static_cast<const iovec*>(data);
    if (call(kGetRegisterSet, pid, address, &all) == 0 && given->iov_len < all.iov_len) {
      memcpy(whole, given->iov_base, given->iov_len);
      return call(request, pid, address, &all);
    }
  }
  return call(request, pid, address, data);
}
