#include "lib/store/disk/hash.h"

#include <gtest/gtest.h>

namespace torc::store {
namespace {

Bytes16 counting() {
  Bytes16 key{};
  for (std::size_t i = 0; i < 16; ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

TEST(Crc32c, agrees_with_the_published_check_values) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, goes_on_from_the_bytes_before) {
  for (std::size_t first = 0; first <= 9; ++first) {
    const std::string_view text = "123456789";
    EXPECT_EQ(crc32c(text.substr(first), crc32c(text.substr(0, first))), 0xe3069283u) << first;
  }
}

TEST(SipHash, agrees_with_the_vectors_of_its_authors) {
  EXPECT_EQ(to_hex(hash128(counting(), "")), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(to_hex(hash128(counting(), std::string(1, '\0'))), "da87c1d86b99af44347659119b22fc45");
}

TEST(SipHash, does_not_depend_on_how_the_input_is_cut) {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i * 7));
  const Hash128 whole = hash128(counting(), text);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    Hasher h(counting());
    h.add(std::string_view(text).substr(0, first / 2));
    h.add(std::string_view(text).substr(first / 2, first - first / 2));
    h.add(std::string_view(text).substr(first));
    EXPECT_EQ(h.finish(), whole) << first;
  }
}

TEST(Hex, goes_there_and_back_and_refuses_what_is_not_hex) {
  Bytes16 back{};
  EXPECT_TRUE(from_hex(to_hex(counting()), back));
  EXPECT_EQ(back, counting());
  EXPECT_FALSE(from_hex("00", back));
  EXPECT_FALSE(from_hex(std::string(32, 'g'), back));
}

}  // namespace
}  // namespace torc::store
