// Which registered workers are known to be gone.
#include "lib/workflow/context/live_workers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/exec/machine/machine.h"
#include "lib/store/disk/disk.h"

namespace torc::workflow {
namespace {

class LiveWorkers : public testing::Test {
 protected:
  LiveWorkers() {
    const exec::ProcessIdentity self = exec::this_process();
    info_.host = context_.world.host;
    info_.boot_id = context_.world.boot_id;
    info_.pid_namespace = context_.world.pid_namespace;
    info_.pid = self.pid;
    info_.pid_start = self.start;
  }
  SystemClock clock_;
  store::PosixDisk disk_;
  SeededEntropy entropy_{1};
  Context context_{clock_, store::World{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}},
                   store::World{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}},
                   [](std::string_view) { return std::optional<std::string>(); }};
  claim::WorkerInfo info_;
};

TEST_F(LiveWorkers, a_worker_of_this_node_is_here_or_gone) {
  EXPECT_EQ(presence_of(context_, info_), exec::Presence::here);
  ++info_.pid_start;
  EXPECT_EQ(presence_of(context_, info_), exec::Presence::gone);
  EXPECT_FALSE(may_live(context_, info_));
}

TEST_F(LiveWorkers, of_a_worker_elsewhere_nothing_is_known) {
  ++info_.pid_start;  // here it would be gone
  for (std::string claim::WorkerInfo::*where :
       {&claim::WorkerInfo::host, &claim::WorkerInfo::boot_id, &claim::WorkerInfo::pid_namespace}) {
    for (const char* other : {"other", ""}) {
      claim::WorkerInfo info = info_;
      info.*where = other;
      EXPECT_EQ(presence_of(context_, info), exec::Presence::unknown);
      EXPECT_TRUE(may_live(context_, info));
    }
  }
}

TEST_F(LiveWorkers, what_is_not_known_on_either_side_is_not_the_same) {
  ++info_.pid_start;
  info_.boot_id.clear();
  EXPECT_FALSE(is_here(info_, info_.host, {"", info_.pid_namespace}));
}

}  // namespace
}  // namespace torc::workflow
