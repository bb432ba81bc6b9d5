#include "bin/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace torc::cli {
namespace {

// A handler can reach nothing but a global.
volatile sig_atomic_t g_signal = 0;

void note(int number) {
  g_signal = number;
}

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

bool interrupted() {
  return g_signal != 0;
}

int interrupting_signal() {
  return g_signal;
}

}  // namespace torc::cli
