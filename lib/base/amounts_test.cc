#include "lib/base/amounts.h"

#include <gtest/gtest.h>

#include "lib/base/resources.h"

namespace torc {
namespace {

TEST(ResourceName, is_a_word_in_lower_case_perhaps_with_a_type) {
  EXPECT_EQ(resource_name("Scratch_GB"), "scratch_gb");
  EXPECT_EQ(resource_name("gpus/A100"), "gpus/a100");
  EXPECT_EQ(resource_name("fpga/7"), "fpga/7");
  for (const char* bad : {"", "7up", "a b", "a/", "/a", "a/b/c", "a=b", "é", "_x"})
    EXPECT_FALSE(resource_name(bad)) << bad;
  EXPECT_FALSE(resource_name(std::string(65, 'a')));
}

TEST(ResourceName, matches_itself_and_its_types) {
  EXPECT_TRUE(is_of("gpus/a100", "gpus"));
  EXPECT_TRUE(is_of("gpus", "gpus"));
  EXPECT_FALSE(is_of("gpus", "gpus/a100"));
  EXPECT_FALSE(is_of("gpusx", "gpus"));
  EXPECT_FALSE(is_of("gpus/a1000", "gpus/a100"));
}

TEST(ResourceName, gives_its_environment_variable) {
  EXPECT_EQ(variable_of("gpus/a100"), "TORC_RESOURCE_GPUS_A100");
  EXPECT_EQ(variable_of("scratch-gb"), "TORC_RESOURCE_SCRATCH_GB");
}

TEST(ParseAmount, takes_up_to_three_decimals) {
  EXPECT_EQ(parse_amount("2"), 2000U);
  EXPECT_EQ(parse_amount("0.25"), 250U);
  EXPECT_EQ(parse_amount("1.001"), 1001U);
  EXPECT_EQ(parse_amount("all"), kAllThereIs);
  EXPECT_EQ(parse_amount("1000000"), kMostAmount);
  for (const char* bad : {"", "0", "0.0", "0.0001", "-1", "1.", ".5", "1e3", "1000001", "a", "1 "})
    EXPECT_FALSE(parse_amount(bad)) << bad;
}

TEST(ShowAmount, is_as_it_would_be_written) {
  for (const char* text : {"2", "0.25", "1.001", "all", "1000000"})
    EXPECT_EQ(show_thousandths(*parse_amount(text)), text);
  EXPECT_EQ(show(Amounts{{"fpga", 2000}, {"licence", 500}}), "2 fpga, 0.5 licence");
}

TEST(SetAmount, keeps_them_in_order_each_once) {
  Amounts all;
  for (const char* name : {"b", "a", "c", "b"}) set_amount(all, {name, 1000});
  set_amount(all, {"c", 0});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(find_amount(all, "c"), nullptr);
}

Resources read_back(const std::string& bytes, bool& sound) {
  Decoder in(bytes);
  Resources r;
  sound = read_later_resources(in, r) && in.is_whole();
  return r;
}

TEST(LaterResources, keep_what_has_a_name) {
  Resources r;
  r.time_limit = std::chrono::seconds(5);
  r.named = {{"gpus/a100", 2000}, {"port", 3000, true}, {"sum", kAllThereIs}};
  Encoder out;
  write_later_resources(out, r);
  bool sound = false;
  EXPECT_EQ(read_back(out.bytes(), sound), r);
  EXPECT_TRUE(sound);
}

TEST(LaterResources, are_written_as_before_without_a_name) {
  Resources r;
  r.time_limit = std::chrono::seconds(5);
  Encoder out;
  write_later_resources(out, r);
  EXPECT_EQ(out.bytes(), std::string("\x05\x00", 2));
  EXPECT_FALSE(has_later_resources(Resources{}));
}

TEST(LaterResources, keep_the_locality_beside_names_or_without_any) {
  for (const Locality locality : {Locality::strict, Locality::scatter}) {
    for (const Amounts& named : {Amounts{}, Amounts{{"gpus/a100", 2000}, {"port", 1000}}}) {
      for (const Behind behind : {Behind::nothing, Behind::more}) {
        Resources r;
        r.named = named;
        r.locality = locality;
        EXPECT_TRUE(has_later_resources(r));
        Encoder out;
        write_later_resources(out, r, behind);
        bool sound = false;
        EXPECT_EQ(read_back(out.bytes(), sound), r);
        EXPECT_TRUE(sound);
      }
    }
  }
}

TEST(LaterResources, with_a_locality_are_no_names_that_a_torc_of_before_would_take) {
  Resources r;
  r.locality = Locality::strict;
  Encoder out;
  write_later_resources(out, r);
  EXPECT_EQ(out.bytes(), std::string("\x00\x00\x01\x00\x01", 5));
  EXPECT_FALSE(resource_name("").has_value());
}

TEST(LaterResources, of_a_locality_that_there_is_not_are_refused) {
  for (const std::uint64_t locality : {0, 3}) {
    Encoder out;
    out.varint(0).varint(0).varint(1).text("").varint(locality);
    bool sound = true;
    (void)read_back(out.bytes(), sound);
    EXPECT_FALSE(sound) << locality;
  }
}

TEST(LaterResources, of_as_many_names_as_there_can_be_have_a_locality_beside_them) {
  Resources r;
  r.locality = Locality::scatter;
  for (std::size_t i = 0; i < kMostNamed; ++i) set_amount(r.named, {"n" + std::to_string(i), 1000});
  Encoder out;
  write_later_resources(out, r);
  bool sound = false;
  EXPECT_EQ(read_back(out.bytes(), sound), r);
  EXPECT_TRUE(sound);
  set_amount(r.named, {"one_more", 1000});
  Encoder more;
  r.locality = Locality::preferred;
  write_later_resources(more, r);
  (void)read_back(more.bytes(), sound);
  EXPECT_FALSE(sound);
}

TEST(Locality, is_written_as_the_language_has_it) {
  for (const Locality one : {Locality::preferred, Locality::strict, Locality::scatter})
    EXPECT_EQ(locality_named(word(one)), one);
  EXPECT_FALSE(locality_named("Strict").has_value());
  Resources r;
  EXPECT_EQ(show(r), "1 CPU, 1 MiB");
  r.gpus = 2;
  r.locality = Locality::strict;
  EXPECT_EQ(show(r), "1 CPU, 1 MiB, 2 GPUs, locality strict");
}

TEST(LaterResources, that_cannot_have_been_written_are_refused) {
  for (const Amounts& bad :
       {Amounts{{"b", 1000}, {"a", 1000}}, Amounts{{"A", 1000}}, Amounts{{"a", 0}},
        Amounts{{"a", kMostAmount + 1}}, Amounts{{"a", 1}, {"a", 1}}, Amounts{}}) {
    Encoder out;
    out.varint(0).varint(0);
    out.varint(bad.size());
    write_amounts_of(out, bad);
    bool sound = true;
    (void)read_back(out.bytes(), sound);
    EXPECT_FALSE(sound) << show(bad);
  }
}

TEST(GpuCount, is_what_a_job_sees) {
  Resources r;
  r.gpus = 2;
  EXPECT_EQ(gpu_count(r), 2U);
  r = {};
  r.named = {{"gpus", 250}};
  EXPECT_EQ(gpu_count(r), 1U);
  r.named = {{"gpus/a100", 2000}, {"gpus/h100", 1000}, {"port", 9000}};
  EXPECT_EQ(gpu_count(r), 3U);
}

}  // namespace
}  // namespace torc
