#include "lib/base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace torc {

void give_back_pages(std::string_view part) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + part.size()) / page * page;
  if (first >= end) return;
  auto* at = const_cast<char*>(part.data()) + (first - begin);
  (void)::madvise(at, end - first, MADV_DONTNEED);
}

}  // namespace torc
