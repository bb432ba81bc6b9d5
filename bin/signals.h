// What this program makes of signals to itself: crashes are explained, Ctrl-C is noted by those who
// have to clean up.
#pragma once

namespace torc::cli {

// LMDB trusts what it reads and this process maps files that others may shorten, so reading a
// damaged store can be SIGSEGV, SIGBUS, SIGFPE, or an assertion's SIGABRT. From now on such an end
// is told as what it most likely is, and is exit code 4; as long as no store was opened it stays
// what it is. Not where a sanitizer explains them better.
void explain_crashes();
// In the process below a watchdog, which has to see that it died: explains, and dies.
void explain_crashes_and_die();
// Whether a worker that died of `signal` died as above.
[[nodiscard]] bool is_crash(int signal);

// For commands that try things out or measure and must clean up after themselves: from here on the
// first SIGINT, SIGTERM or SIGHUP is only noted; the second one ends the process.
void note_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace torc::cli
