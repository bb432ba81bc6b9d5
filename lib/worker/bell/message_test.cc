#include "lib/worker/bell/message.h"

#include <gtest/gtest.h>

namespace torc::worker {
namespace {

constexpr StoreInstance kStore{1, 2, 3};
constexpr SipKey kKey{9, 8, 7};
constexpr BellMessage kMessage{0x1234567890, 5};

TEST(BellMessages, are_read_as_they_were_rendered) {
  const std::string datagram = render_bell(kMessage, kStore, kKey);
  EXPECT_EQ(datagram.size(), 54U);
  EXPECT_LE(datagram.size(), kMostBellBytes);
  EXPECT_EQ(read_bell(datagram, kStore, kKey), kMessage);
}

TEST(BellMessages, under_another_key_or_for_another_store_are_none) {
  const std::string datagram = render_bell(kMessage, kStore, kKey);
  EXPECT_FALSE(read_bell(datagram, kStore, SipKey{9, 8, 6}).has_value());
  EXPECT_FALSE(read_bell(datagram, StoreInstance{1, 2, 4}, kKey).has_value());
}

TEST(BellMessages, with_any_bit_flipped_are_none) {
  const std::string datagram = render_bell(kMessage, kStore, kKey);
  for (std::size_t bit = 0; bit < 8 * datagram.size(); ++bit) {
    std::string forged = datagram;
    forged[bit / 8] = static_cast<char>(forged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(read_bell(forged, kStore, kKey).has_value()) << "bit " << bit;
  }
}

TEST(BellMessages, shorter_or_longer_ones_are_none) {
  const std::string datagram = render_bell(kMessage, kStore, kKey);
  for (std::size_t n = 0; n < datagram.size(); ++n)
    EXPECT_FALSE(read_bell(datagram.substr(0, n), kStore, kKey).has_value()) << n;
  EXPECT_FALSE(read_bell(datagram + "x", kStore, kKey).has_value());
}

}  // namespace
}  // namespace torc::worker
