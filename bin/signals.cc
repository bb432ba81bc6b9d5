#include "bin/signals.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

#include "bin/app.h"
#include "lib/base/sanitizer.h"
#include "lib/store/lmdb/environment.h"

namespace torc::cli {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
// A handler can reach nothing but globals.
volatile sig_atomic_t g_dies = 0;
volatile sig_atomic_t g_noted = 0;

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
  if (g_dies == 0) ::_exit(static_cast<int>(Exit::store));
}

void note(int number) {
  g_noted = number;
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
  g_dies = 1;
}

bool is_crash(int signal) {
  return std::find(kCrashes.begin(), kCrashes.end(), signal) != kCrashes.end();
}

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

bool interrupted() {
  return g_noted != 0;
}

}  // namespace torc::cli
