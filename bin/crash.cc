#include "bin/crash.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "bin/app.h"
#include "lib/base/sanitizer.h"
#include "lib/store/lmdb/environment.h"

namespace torc::cli {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
volatile sig_atomic_t dies = 0;

void put(const char* text) {
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
}

// Calls that are safe in a handler alone. The action was reset: who returns meets the signal again.
void explain(int number) {
  const store::LastOpened& last = store::last_opened();
  if (last.directory[0] == '\0') return;
  put("torc: error: reading ");
  put(last.directory);
  put(" ended by ");
  put(number == SIGSEGV  ? "SIGSEGV"
      : number == SIGBUS ? "SIGBUS"
      : number == SIGFPE ? "SIGFPE"
                         : "SIGABRT");
  put(": a file there is damaged or became shorter, or this is a mistake in torc\n");
  put(last.is_copy
          ? "  it is this node's copy of a store: remove that directory, and it is made anew\n"
          : "  `torc verify` looks at every page; keep a copy of the store directory before "
            "anything else\n");
  if (dies == 0) ::_exit(static_cast<int>(Exit::store));
}

}  // namespace

void explain_crashes() {
  if (kSanitized) return;
  struct sigaction action {};
  action.sa_handler = explain;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int number : kCrashes) ::sigaction(number, &action, nullptr);
}

void explain_crashes_and_die() {
  dies = 1;
}

bool is_crash(int signal) {
  for (const int number : kCrashes) {
    if (signal == number) return true;
  }
  return false;
}

}  // namespace torc::cli
