// The author of the last commit of a directory makes the next one first. What others do who come
// while the next is there and the last is not, also for good.
#include <gtest/gtest.h>

#include "lib/store/format/journal.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;

TEST(NextDirectory, may_be_there_before_the_last_commit_of_the_one_before) {
  for (const std::uint64_t full : {1, 2, 3}) {
    const ScratchDirectory scratch;
    const Path directory = scratch.path() / "wf.torc";
    Node author(scratch.path(), "h1", 1);
    auto made = Store::create(author.world(), directory, Engine::journal, quick(), put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    const std::uint64_t last = full * kPerDirectory - 1;
    for (std::uint64_t n = 2; n < last; ++n)
      ASSERT_TRUE((*made)->commit(1, put("n", std::to_string(n))).ok());
    // It died here.
    std::filesystem::create_directory((*made)->state_directory() / "journal" /
                                      Path(number_name(last + 1)));
    made->reset();

    Node other(scratch.path(), "h2", 2);
    auto late = Store::open(other.world(), directory, quick());
    ASSERT_TRUE(late.ok()) << full << ": " << late.error().text();
    EXPECT_EQ(value_of(**late, "n"), std::to_string(last - 1));
    const auto done = (*late)->commit(2, put("b", "2"));
    ASSERT_TRUE(done.ok()) << done.error().text();
    EXPECT_EQ(done->sequence, last);
    ASSERT_TRUE((*late)->commit(2, put("b", "3")).ok());
    const auto verified = verify(other.world(), directory, no_check);
    EXPECT_TRUE(verified.ok()) << verified.error().text();
    EXPECT_EQ(verified->last_sequence, last + 1);
  }
}

}  // namespace
}  // namespace torc::store
