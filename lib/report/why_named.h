// What workers lack of a resource that has a name, and what helps. A part of why.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/amounts.h"
#include "lib/claim/rules/worker.h"

namespace torc::report {

struct NamedLack {
  std::uint64_t workers = 0;  // that could never give as much; 0: none
  std::string text;           // "it needs 2 'fpga', and they have at most 1"
  std::string remedy;
};
// `store`, `job`: as words of the commands that are recommended.
[[nodiscard]] NamedLack lack_of(const Amount& need, const std::vector<claim::Worker>& workers,
                                const std::string& store, const std::string& job);

}  // namespace torc::report
