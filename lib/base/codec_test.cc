#include "lib/base/codec.h"

#include <gtest/gtest.h>

namespace torc {
namespace {

TEST(Codec, reads_back_what_it_wrote) {
  const std::string bytes = Encoder('T').be64(7).varint(300).svarint(-5).text("abc").u8(9).bytes();
  Decoder d(bytes);
  EXPECT_EQ(d.u8(), 'T');
  EXPECT_EQ(d.be64(), 7u);
  EXPECT_EQ(d.varint(), 300u);
  EXPECT_EQ(d.svarint(), -5);
  EXPECT_EQ(d.text(), "abc");
  EXPECT_EQ(d.u8(), 9);
  EXPECT_TRUE(d.ok() && d.at_end());
}

TEST(Codec, a_short_input_spoils_the_decoder_and_reads_as_zero) {
  Decoder d(
      "\x05"
      "ab");
  EXPECT_EQ(d.text(), "");
  EXPECT_FALSE(d.ok());
  EXPECT_EQ(d.be64(), 0u);
}

TEST(Codec, a_varint_longer_than_64_bits_is_refused) {
  Decoder d("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_EQ(d.varint(), 0u);
  EXPECT_FALSE(d.ok());
}

}  // namespace
}  // namespace torc
