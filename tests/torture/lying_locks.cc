// File locks that lie, as some filesystems' do. Preloaded, it answers every fcntl, OFD, lockf and
// flock lock on files below a directory:
//
//   LYING_LOCKS_MODE     fail: ENOLCK · succeed: everybody gets every lock at once ·
//                        stuck: whoever locks a file first, of all processes, never lets go
//   LYING_LOCKS_UNDER    the directory, as /proc/self/fd shows it; other files are left alone
//   LYING_LOCKS_RECORD   stuck: a directory in which the first holders are remembered
//
// Without LYING_LOCKS_MODE it changes nothing.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

enum class Answer { yes, no_lock, busy };
enum class Ask { test, lock, unlock };

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_below(int fd) {
  const char* under = getenv("LYING_LOCKS_UNDER");
  if (under == nullptr) return true;
  char link[40];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return false;
  path[n] = '\0';
  const size_t size = strlen(under);
  return strncmp(path, under, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

// True for the first caller of all processes, and once only.
bool is_first(int fd) {
  const char* record = getenv("LYING_LOCKS_RECORD");
  struct stat st {};
  if (record == nullptr || fstat(fd, &st) != 0) return false;
  char path[4096];
  snprintf(path, sizeof path, "%s/%llu-%llu", record, static_cast<unsigned long long>(st.st_dev),
           static_cast<unsigned long long>(st.st_ino));
  const int made = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (made < 0) return false;
  close(made);
  return true;
}

// False: this file or process is none of ours, the real call is to be made.
bool lie(int fd, Ask ask, Answer* answer) {
  const char* mode = getenv("LYING_LOCKS_MODE");
  if (mode == nullptr || !is_below(fd)) return false;
  if (strcmp(mode, "fail") == 0) {
    *answer = Answer::no_lock;
  } else if (strcmp(mode, "succeed") == 0 || ask == Ask::unlock) {
    *answer = Answer::yes;
  } else {
    *answer = ask == Ask::lock && is_first(fd) ? Answer::yes : Answer::busy;
  }
  return true;
}

// `may_wait`: the caller asked to wait for the lock; a lock that is never released is waited for.
int say(Answer answer, bool may_wait) {
  while (answer == Answer::busy && may_wait) pause();
  if (answer == Answer::yes) return 0;
  errno = answer == Answer::busy ? EAGAIN : ENOLCK;
  return -1;
}

int fcntl_as(const char* name, int fd, int command, void* argument) {
  const bool waits = command == F_SETLKW || command == F_OFD_SETLKW;
  const bool tests = command == F_GETLK || command == F_OFD_GETLK;
  if (waits || tests || command == F_SETLK || command == F_OFD_SETLK) {
    auto* range = static_cast<struct flock*>(argument);
    const Ask ask = tests ? Ask::test : range->l_type == F_UNLCK ? Ask::unlock : Ask::lock;
    Answer answer{};
    if (lie(fd, ask, &answer)) {
      if (!tests || answer == Answer::no_lock) return say(answer, waits);
      if (answer == Answer::yes) range->l_type = F_UNLCK;
      return 0;
    }
  }
  return real<int (*)(int, int, ...)>(name)(fd, command, argument);
}

int lockf_as(const char* name, int fd, int command, off_t size) {
  const Ask ask = command == F_ULOCK ? Ask::unlock : command == F_TEST ? Ask::test : Ask::lock;
  Answer answer{};
  if (lie(fd, ask, &answer)) return say(answer, command == F_LOCK);
  return real<int (*)(int, int, off_t)>(name)(fd, command, size);
}

}  // namespace

extern "C" {

int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl_as("fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl_as("fcntl64", fd, command, argument);
}

int flock(int fd, int operation) noexcept {
  Answer answer{};
  const Ask ask = (operation & LOCK_UN) != 0 ? Ask::unlock : Ask::lock;
  if (lie(fd, ask, &answer)) return say(answer, (operation & LOCK_NB) == 0);
  return real<int (*)(int, int)>("flock")(fd, operation);
}

int lockf(int fd, int command, off_t size) {
  return lockf_as("lockf", fd, command, size);
}

int lockf64(int fd, int command, off64_t size) {
  return lockf_as("lockf64", fd, command, size);
}

}  // extern "C"
