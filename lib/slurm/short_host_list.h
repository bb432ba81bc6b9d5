// Many names of nodes in the short form that Slurm reads: "n[001-100,105],m7".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace torc::slurm {

// No variable of the environment (with its name) and no word of a command can be longer on Linux
// (MAX_ARG_STRLEN, with its end): the command would not start.
inline constexpr std::size_t kLongestWord = 128 * 1024 - 1;

// In their order. Names that end in numbers of as many digits, and are alike before these, become
// one where they follow each other.
[[nodiscard]] std::string short_host_list(const std::vector<std::string>& nodes);

}  // namespace torc::slurm
