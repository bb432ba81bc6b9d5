#include "lib/base/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace torc {
namespace {

// Stores are keyed by it.
TEST(Hash, of_stores_agrees_with_the_vectors_of_its_authors) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
}

TEST(Hash, of_words_is_that_of_their_bytes) {
  const std::vector<std::uint64_t> words = {1, 2, 3};
  const auto* const bytes = reinterpret_cast<const char*>(words.data());
  EXPECT_EQ(hash64(std::as_bytes(std::span(words))), hash64(std::string_view(bytes, 24)));
  EXPECT_NE(hash64("a"), hash64("b"));
}

}  // namespace
}  // namespace torc
