// What can be said of the shell line that a job runs without running it.
#pragma once

#include <string_view>

namespace torc::spec {

// The word of a command that is run: behind assignments and `exec`; empty: none. A view into it.
[[nodiscard]] std::string_view program_of(std::string_view command);
// srun, mpirun, mpiexec, orterun or prterun, which start tasks on several nodes; by its last path
// element, with or without an ending (mpiexec.hydra).
[[nodiscard]] bool is_launcher(std::string_view program);

// The first of `;`, `&&`, `||`, `|`, `&` or a line end that stands between two commands of a shell
// line, outside of quotes and brackets: what is written before the line is for the first of them
// only. Empty: there is none.
[[nodiscard]] std::string_view command_separator(std::string_view line);

}  // namespace torc::spec
