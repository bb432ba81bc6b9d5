// The examples of the standard, and texts around the length of a block.
#include "lib/base/sha256.h"

#include <gtest/gtest.h>

namespace torc {
namespace {

std::string sha256(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.digest();
}

TEST(Sha256, is_that_of_the_standard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, does_not_depend_on_how_the_bytes_came) {
  for (std::size_t length = 50; length < 140; ++length) {
    const std::string text(length, 'x');
    Sha256 in_parts;
    for (std::size_t i = 0; i < length; i += 7) in_parts.add(std::string_view(text).substr(i, 7));
    EXPECT_EQ(in_parts.digest(), sha256(text)) << length;
  }
}

}  // namespace
}  // namespace torc
