// Ends by a signal that come from a damaged file. LMDB trusts what it reads and this process maps
// files that others may shorten, so reading a damaged store can be SIGSEGV, SIGBUS, SIGFPE, or an
// assertion's SIGABRT.
#pragma once

namespace torc::cli {

// From now on such an end is told as what it most likely is, and is exit code 3; as long as no
// store was opened it stays what it is. Not where a sanitizer explains them better.
void explain_crashes();
// In the process below a watchdog, which has to see that it died: explains, and dies.
void explain_crashes_and_die();
// Whether a worker that died of `signal` died as above.
[[nodiscard]] bool is_crash(int signal);

}  // namespace torc::cli
