#include "lib/claim/tables/gang_record.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

Gang gang_of_two() {
  Gang gang;
  gang.token = {JobId{7}, 2, 99};
  gang.job_class = 3;
  gang.stage = GangStage::running;
  gang.port = 40'000;
  gang.members = {{WorkerEpoch{5}, "n1", true, false, {}, true},
                  {WorkerEpoch{6}, "n2", true, true, {}, false}};
  Outcome end;
  end.cause = EndCause::exited;
  end.exit_code = 3;
  gang.members[1].end = end;
  gang.members[1].saved = true;
  return gang;
}

TEST(GangRecord, reads_what_was_written) {
  const Gang gang = gang_of_two();
  const Key key = gang_key(name_of(gang.token));
  const auto read = decode_gang(key, encode(GangRecord{gang, 120}));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->gang, gang);
  EXPECT_EQ(read->changed, 120U);
}

TEST(GangRecord, is_no_gang_where_it_is_cut_off_or_goes_on) {
  const Key key = gang_key({7, 99});
  const std::string whole = encode(GangRecord{gang_of_two(), 120});
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(decode_gang(key, whole.substr(0, n)).has_value()) << n;
  EXPECT_FALSE(decode_gang(key, whole + "x").has_value());
  EXPECT_FALSE(decode_gang(Key(Table::gang, 7), whole).has_value());
}

TEST(GangRecord, of_a_gang_in_which_nothing_was_saved_is_as_it_was_before_that_could_be) {
  Gang gang = gang_of_two();
  gang.members[1].saved = false;
  gang.members[1].end.reset();
  const std::string bytes = encode(GangRecord{gang, 120});
  // Worker, length and letters of its node, and what holds of it: confirmed, lives; left.
  EXPECT_TRUE(bytes.ends_with(std::string("\x05\x02n1\x09\x06\x02n2\x03", 10)));
}

TEST(GangRecord, has_no_member_that_saved_and_has_not_ended) {
  Gang gang = gang_of_two();
  gang.members[0].saved = true;
  const Key key = gang_key(name_of(gang.token));
  EXPECT_FALSE(decode_gang(key, encode(GangRecord{gang, 120})).has_value());
}

TEST(GangRecord, nodes_are_listed_by_group_and_then_by_when_they_are_free) {
  const NodePlace offered{8, NodePlace::kOffered};
  const NodePlace soon{8, 1000};
  const NodePlace unknown{8};
  const auto key = [](const NodePlace& place, std::uint64_t worker) {
    return std::string(std::string_view(node_key(place, WorkerEpoch{worker})));
  };
  EXPECT_LT(key(offered, 9), key(soon, 1));
  EXPECT_LT(key(soon, 9), key(unknown, 1));
  EXPECT_LT(key(unknown, 9), key({9, NodePlace::kOffered}, 1));
  EXPECT_EQ(node_in(key(soon, 4))->place, soon);
}

TEST(GangRecord, a_lease_says_where_its_node_stands_and_what_it_is_part_of) {
  Lease lease;
  lease.node = NodePlace{8, 1000};
  lease.gang = GangName{7, 99};
  lease.reserved = true;
  const auto read = decode_lease(encode(lease));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->node, lease.node);
  EXPECT_EQ(read->gang, lease.gang);
  EXPECT_TRUE(read->reserved);
  lease.node.reset();
  EXPECT_FALSE(decode_lease(encode(lease)).has_value()) << "a gang has nodes that are listed";
}

TEST(GangRecord, a_worker_keeps_its_group_and_the_name_of_its_node) {
  WorkerInfo info;
  info.host = "host";
  info.group = "g";
  const auto read = decode_worker(encode_worker(info, WorkerStatus::registered, Lease{}, {}));
  EXPECT_EQ(read->info.group, "g");
  EXPECT_EQ(read->info.ledger_entry, 0U);
  EXPECT_EQ(name_of_node(read->info), "host");
  info.ledger_entry = 7;
  info.output_dir = "/out";
  const auto of_ledger = decode_worker(encode_worker(info, WorkerStatus::registered, Lease{}, {}));
  EXPECT_EQ(of_ledger->info.ledger_entry, 7U);
  EXPECT_EQ(of_ledger->info.group, "g");
  EXPECT_EQ(of_ledger->info.output_dir, "/out");
  info.node_name = "n1";
  EXPECT_EQ(name_of_node(info), "n1");
}

}  // namespace
}  // namespace torc::claim
