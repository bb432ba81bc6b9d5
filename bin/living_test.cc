// Which registered workers are known to be gone.
#include "bin/living.h"

#include "bin/session_fixture.h"

namespace torc::cli {
namespace {

class Living : public SessionTest {
 protected:
  Living() {
    const exec::ProcessIdentity self = exec::this_process();
    info_.host = app_.world.host;
    info_.boot_id = app_.world.boot_id;
    info_.pid_namespace = app_.world.pid_namespace;
    info_.pid = self.pid;
    info_.pid_start = self.start;
  }
  claim::WorkerInfo info_;
};

TEST_F(Living, a_worker_of_this_node_is_here_or_gone) {
  EXPECT_EQ(presence_of(app_, info_), exec::Presence::here);
  ++info_.pid_start;
  EXPECT_EQ(presence_of(app_, info_), exec::Presence::gone);
  EXPECT_FALSE(may_live(app_, info_));
}

TEST_F(Living, of_a_worker_elsewhere_nothing_is_known) {
  ++info_.pid_start;  // here it would be gone
  for (std::string claim::WorkerInfo::*where :
       {&claim::WorkerInfo::host, &claim::WorkerInfo::boot_id, &claim::WorkerInfo::pid_namespace}) {
    for (const char* other : {"other", ""}) {
      claim::WorkerInfo info = info_;
      info.*where = other;
      EXPECT_EQ(presence_of(app_, info), exec::Presence::unknown);
      EXPECT_TRUE(may_live(app_, info));
    }
  }
}

TEST_F(Living, what_is_not_known_on_either_side_is_not_the_same) {
  ++info_.pid_start;
  info_.boot_id.clear();
  EXPECT_FALSE(is_here(info_, info_.host, {"", info_.pid_namespace}));
}

}  // namespace
}  // namespace torc::cli
