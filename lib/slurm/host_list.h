// Lists of hosts as Slurm writes them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace torc::slurm {

// "n[1-3,7],login1" -> n1 n2 n3 n7 login1; "r[0-1]n[08-10]" -> r0n08 r0n09 r0n10 r1n08 …: zero
// padding is kept, the last bracket varies fastest. Errors: invalid (brackets that do not match or
// nest, a range that runs backwards, more than kMaxHosts hosts, a name of more than 255 bytes).
inline constexpr std::size_t kMaxHosts = 100'000;
Result<std::vector<std::string>> expand_host_list(std::string_view text);

}  // namespace torc::slurm
