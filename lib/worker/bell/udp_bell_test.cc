#include "lib/worker/bell/udp_bell.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "lib/worker/bell/addresses.h"

namespace torc::worker {
namespace {

constexpr StoreInstance kStore{1, 2, 3};

claim::BellAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  const std::uint8_t bytes[] = {a, b, c, d};
  return {std::string(reinterpret_cast<const char*>(bytes), 4), 0};
}
claim::BellAddress v6(std::uint8_t first, std::uint8_t second, std::uint8_t last) {
  std::string address(16, '\0');
  address[0] = static_cast<char>(first);
  address[1] = static_cast<char>(second);
  address[15] = static_cast<char>(last);
  return {address, 0};
}

TEST(BellAddresses, those_that_others_cannot_reach_are_not_told) {
  const claim::BellAddress here = v4(10, 0, 0, 1);
  const claim::BellAddress six = v6(0x20, 0x01, 1);
  EXPECT_EQ(
      worth_telling({v4(127, 0, 1, 1), here, v4(169, 254, 1, 1), v4(0, 0, 0, 0), v4(224, 0, 0, 1),
                     here, six, v6(0xfe, 0x80, 1), v6(0xff, 0x02, 1), v6(0, 0, 0), v6(0, 0, 1)}),
      (std::vector{here, six}));
}

TEST(BellAddresses, loopback_is_told_where_there_is_nothing_else) {
  EXPECT_EQ(worth_telling({v4(127, 0, 1, 1), v6(0, 0, 1)}),
            (std::vector{v4(127, 0, 1, 1), v6(0, 0, 1)}));
  EXPECT_TRUE(is_loopback(v4(127, 9, 9, 9)));
  EXPECT_TRUE(is_loopback(v6(0, 0, 1)));
  EXPECT_FALSE(is_loopback(v6(0x20, 0, 1)));
}

TEST(BellAddresses, are_shown_and_read_again) {
  for (const claim::BellAddress& a : {v4(10, 0, 200, 1), v6(0x20, 0x01, 7)})
    EXPECT_EQ(address_named(show_address(a)), a);
  EXPECT_EQ(show_address(v4(10, 0, 200, 1)), "10.0.200.1");
  EXPECT_EQ(show_address({"abc", 0}), "?");
  EXPECT_FALSE(address_named("localhost").has_value());
}

TEST(BellAddresses, an_interface_is_found_by_name_and_by_address) {
  const auto by_address = addresses_of_interface("127.0.0.1");
  ASSERT_TRUE(by_address.ok());
  EXPECT_EQ(*by_address, std::vector{v4(127, 0, 0, 1)});
  const auto by_name = addresses_of_interface("lo");
  ASSERT_TRUE(by_name.ok());
  EXPECT_NE(std::find(by_name->begin(), by_name->end(), v4(127, 0, 0, 1)), by_name->end());
  EXPECT_FALSE(addresses_of_interface("no-such-interface").ok());
}

class HeardBells : public ::testing::Test {
 protected:
  HeardBells() : bell_(UdpBell::open("127.0.0.1", entropy_)) {}

  std::vector<BellMessage> heard() {
    pollfd fd{(*bell_)->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&fd, 1, 10'000), 1);
    return (*bell_)->take();
  }
  void ring(const std::string& bytes) { (*bell_)->send((*bell_)->place().addresses[0], bytes); }
  [[nodiscard]] std::string rendered(std::uint64_t commit) const {
    return render_bell({commit, 0}, kStore, (*bell_)->place().key);
  }

  SystemEntropy entropy_;
  Result<std::unique_ptr<UdpBell>> bell_;
};

TEST_F(HeardBells, a_bell_is_heard_and_what_is_none_is_not) {
  ASSERT_TRUE(bell_.ok()) << bell_.error().text();
  EXPECT_NE((*bell_)->place().key, SipKey{});
  (*bell_)->listen(kStore);
  ring("nonsense");
  ring(render_bell({1, 0}, kStore, SipKey{}));
  ring(std::string(2000, 'x'));
  ring(rendered(2));
  EXPECT_EQ(heard(), std::vector{(BellMessage{2, 0})});
}

TEST_F(HeardBells, a_flood_is_outlived_and_the_newest_of_it_are_kept) {
  ASSERT_TRUE(bell_.ok());
  constexpr std::uint64_t kMany = 40;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    ring("nonsense");
    ring("more of it");
    ring(rendered(i));
  }
  (*bell_)->listen(kStore);
  for (std::uint64_t heard = 0; heard < kMany;) {
    pollfd fd{(*bell_)->fd(), POLLIN, 0};
    ASSERT_EQ(poll(&fd, 1, 10'000), 1) << heard;
    std::uint64_t more = 0;
    ASSERT_EQ(read(fd.fd, &more, sizeof more), static_cast<ssize_t>(sizeof more));
    heard += more;
  }
  const auto kept = (*bell_)->take();
  ASSERT_FALSE(kept.empty());
  EXPECT_LE(kept.size(), kMany / 2);
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i].commit, kMany - kept.size() + 1 + i);
}

TEST_F(HeardBells, who_has_no_bell_rings_and_what_cannot_be_sent_is_no_error) {
  ASSERT_TRUE(bell_.ok());
  (*bell_)->listen(kStore);
  UdpSender sender;
  sender.send({std::string(4, '\0'), 9}, rendered(1));
  sender.send(v6(0x20, 1, 1), rendered(1));
  sender.send({"no address", 9}, rendered(1));
  sender.send((*bell_)->place().addresses[0], rendered(2));
  EXPECT_EQ(heard(), std::vector{(BellMessage{2, 0})});
}

TEST_F(HeardBells, an_address_that_is_not_of_this_host_is_no_place_to_hear) {
  EXPECT_FALSE(UdpBell::open("192.0.2.1", entropy_).ok());
}

}  // namespace
}  // namespace torc::worker
