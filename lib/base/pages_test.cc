#include "lib/base/pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace torc {
namespace {

TEST(Pages, that_are_given_back_are_the_whole_ones_inside) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory =
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* bytes = static_cast<char*>(memory);
  std::fill(bytes, bytes + 4 * page, 'x');
  give_back_pages({bytes + 1, 3 * page});
  std::vector<unsigned char> resident(4);
  ASSERT_EQ(::mincore(memory, 4 * page, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](int r) { return (r & 1) != 0; }), 2);
  EXPECT_EQ(bytes[page - 1], 'x');
  EXPECT_EQ(bytes[page], '\0');
  EXPECT_EQ(bytes[3 * page - 1], '\0');
  EXPECT_EQ(bytes[3 * page], 'x');
  give_back_pages({bytes + 1, page - 2});  // none is whole
  EXPECT_EQ(bytes[page - 1], 'x');
  EXPECT_EQ(::munmap(memory, 4 * page), 0);
}

}  // namespace
}  // namespace torc
