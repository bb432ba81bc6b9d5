#include "lib/report/worker_places.h"

#include <gtest/gtest.h>

namespace torc::report {
namespace {

claim::Worker member(std::uint64_t epoch, const std::string& node) {
  claim::Worker w;
  w.epoch = claim::WorkerEpoch{epoch};
  w.info.host = "vm";
  w.info.group = "nodes";
  w.info.node_name = node;
  w.info.more.named = {{"fpga", 2000, true}};
  return w;
}

TEST(WorkerPlaces, workers_of_one_kind_share_a_line_with_the_names_of_their_nodes) {
  const claim::Worker a = member(1, "127.0.0.1");
  const claim::Worker b = member(2, "vm");
  claim::Worker c = member(5, "127.0.0.3");
  c.info.labels = "gpu,ssd";
  c.info.also_unlabelled = false;
  claim::Worker plain;
  EXPECT_EQ(say_kinds({&a, &b, &c, &plain}),
            "workers 1 (127.0.0.1), 2: group nodes; 2 fpga\n"
            "worker 5 (127.0.0.3): group nodes; labels 'gpu', 'ssd'; 2 fpga\n");
}

TEST(WorkerPlaces, many_workers_take_no_more_lines_than_they_have_kinds) {
  std::vector<claim::Worker> workers;
  for (std::uint64_t i = 1; i <= 300; ++i) workers.push_back(member(i, "vm"));
  std::vector<const claim::Worker*> all;
  for (const claim::Worker& w : workers) all.push_back(&w);
  EXPECT_EQ(say_kinds(all), "workers 1, 2, 3, 4, 5, 6, 7, 8 and 292 more: group nodes; 2 fpga\n");
}

TEST(WorkerPlaces, a_worker_of_an_allocation_is_in_no_group_that_somebody_named) {
  claim::Worker w = member(1, "n1");
  w.info.allocation = "17";
  w.info.more.named.clear();
  EXPECT_EQ(say_kind(w.info), "");
}

}  // namespace
}  // namespace torc::report
