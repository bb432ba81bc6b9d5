// Ctrl-C for commands that try things out or measure and must clean up after themselves.
#pragma once

namespace torc::cli {

// From here on the first SIGINT, SIGTERM or SIGHUP is only noted; the second one ends the process.
void note_interrupts();
[[nodiscard]] bool interrupted();
// The signal that was noted; 0: none.
[[nodiscard]] int interrupting_signal();

}  // namespace torc::cli
