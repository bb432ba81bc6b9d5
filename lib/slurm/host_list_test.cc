#include "lib/slurm/host_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace torc::slurm {
namespace {

using Hosts = std::vector<std::string>;

Hosts expanded(std::string_view text) {
  const auto hosts = expand_host_list(text);
  EXPECT_TRUE(hosts.ok()) << text << ": " << (hosts.ok() ? "" : hosts.error().text());
  return hosts.ok() ? *hosts : Hosts{};
}

TEST(HostList, names_and_ranges_come_out_in_order) {
  EXPECT_EQ(expanded("n[1-3,7],login1"), (Hosts{"n1", "n2", "n3", "n7", "login1"}));
  EXPECT_EQ(expanded("a,b"), (Hosts{"a", "b"}));
  EXPECT_EQ(expanded("a"), (Hosts{"a"}));
  EXPECT_EQ(expanded(""), Hosts{});
}

TEST(HostList, zero_padding_is_kept_and_may_be_outgrown) {
  EXPECT_EQ(expanded("n[008-010]"), (Hosts{"n008", "n009", "n010"}));
  EXPECT_EQ(expanded("n[098-101]"), (Hosts{"n098", "n099", "n100", "n101"}));
  EXPECT_EQ(expanded("n[9-11]"), (Hosts{"n9", "n10", "n11"}));
  EXPECT_EQ(expanded("n[01,1]"), (Hosts{"n01", "n1"}));
}

TEST(HostList, of_several_brackets_the_last_varies_fastest) {
  EXPECT_EQ(expanded("r[0-1]n[08-10]x"),
            (Hosts{"r0n08x", "r0n09x", "r0n10x", "r1n08x", "r1n09x", "r1n10x"}));
}

TEST(HostList, garbage_is_refused_with_the_reason) {
  for (const auto* text :
       {"n[1-3", "n1-3]", "n[3-1]", "n[]", "n[1,]", "n[a-b]", "n[1[2-3]]", "a,,b", ",a", "a,",
        "n[-1]", "n[1-]", "n[1-2-3]", "n[99999999999999999999]", "n[+1]"}) {
    const auto hosts = expand_host_list(text);
    ASSERT_FALSE(hosts.ok()) << text;
    EXPECT_EQ(hosts.error().kind, ErrorKind::invalid);
    EXPECT_NE(hosts.error().what.find(text), std::string::npos) << hosts.error().what;
  }
}

TEST(HostList, a_list_of_too_many_hosts_is_refused_before_it_takes_memory) {
  EXPECT_EQ(expanded("n[1-100000]").size(), kMaxHosts);
  EXPECT_FALSE(expand_host_list("n[0-100000]").ok());
  EXPECT_FALSE(expand_host_list("n[0-18446744073709551615]").ok());
  EXPECT_FALSE(expand_host_list("n[1-100000]m[1-100000]").ok());
  EXPECT_FALSE(expand_host_list("n[0-60000],m[0-60000]").ok());
}

TEST(HostList, the_last_number_of_all_ends_its_range) {
  EXPECT_EQ(expanded("n[18446744073709551614-18446744073709551615]"),
            (Hosts{"n18446744073709551614", "n18446744073709551615"}));
}

TEST(HostList, names_longer_than_any_host_has_are_refused_before_they_take_memory) {
  const std::string longest(255, 'n');
  EXPECT_EQ(expanded(longest), Hosts{longest});
  const auto digits = "[" + std::string(300, '0') + "-99999]";
  for (const auto& text : {longest + "n", longest + "[0-99999]", digits, "[1-9]" + longest,
                           longest.substr(1) + "[9-10]", longest.substr(1) + "[8,10]"}) {
    const auto hosts = expand_host_list(text);
    ASSERT_FALSE(hosts.ok()) << text;
    EXPECT_NE(hosts.error().what.find("more than 255 bytes"), std::string::npos);
    EXPECT_LT(hosts.error().what.size(), 400U) << "the list is not shown whole";
  }
}

RC_GTEST_PROP(HostList, a_range_gives_each_of_its_numbers_once, ()) {
  const auto first = *rc::gen::inRange<std::uint64_t>(0, 5000);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 300);
  const auto text = fmt::format("x[{}-{}]y", first, first + count - 1);
  const auto hosts = expand_host_list(text);
  RC_ASSERT(hosts.ok());
  RC_ASSERT(hosts->size() == count);
  for (std::uint64_t i = 0; i < count; ++i)
    RC_ASSERT((*hosts)[i] == fmt::format("x{}y", first + i));
}

RC_GTEST_PROP(HostList, any_text_gives_hosts_or_an_error, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("n0129[]-,")));
  const auto hosts = expand_host_list(text);
  if (hosts.ok()) RC_ASSERT(hosts->size() <= kMaxHosts);
}

}  // namespace
}  // namespace torc::slurm
