#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz.h"

namespace torc::fuzz {

void fail(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  std::abort();
}

}  // namespace torc::fuzz
