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

TEST(Codec, a_number_that_does_not_fit_is_a_bad_field_and_not_another_number) {
  const std::string bytes =
      Encoder().varint(UINT32_MAX).svarint(INT32_MIN).svarint(-7).varint(9).bytes();
  Decoder good(bytes);
  EXPECT_EQ(good.u32(), UINT32_MAX);
  EXPECT_EQ(good.i32(), INT32_MIN);
  EXPECT_EQ(good.within(7), -7);
  EXPECT_EQ(good.up_to(9), 9u);
  EXPECT_TRUE(good.is_whole());
  const auto fails = [](const Encoder& field, auto read) {
    Decoder in(field.bytes());
    return read(in) == decltype(read(in)){} && !in.ok();
  };
  const std::int64_t large = std::int64_t{1} << 60;
  EXPECT_TRUE(fails(Encoder().varint(1ULL << 32), [](Decoder& in) { return in.u32(); }));
  EXPECT_TRUE(fails(Encoder().svarint(1LL << 31), [](Decoder& in) { return in.i32(); }));
  EXPECT_TRUE(fails(Encoder().svarint(-8), [](Decoder& in) { return in.within(7); }));
  EXPECT_TRUE(fails(Encoder().svarint(INT64_MIN), [](Decoder& in) { return in.within(7); }));
  EXPECT_TRUE(fails(Encoder().varint(10), [](Decoder& in) { return in.up_to(9); }));
  EXPECT_TRUE(fails(Encoder().svarint(large), [](Decoder& in) { return in.wall_time(); }));
  EXPECT_TRUE(fails(Encoder().svarint(-large), [](Decoder& in) { return in.seconds(); }));
  const std::chrono::microseconds now(1'800'000'000'000'000);
  EXPECT_TRUE(fails(Encoder().svarint(large), [&](Decoder& in) { return in.wall_time(now); }));
}

}  // namespace
}  // namespace torc
