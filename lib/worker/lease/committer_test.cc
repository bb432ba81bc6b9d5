#include "lib/worker/lease/committer.h"

#include "lib/base/sanitizer.h"
#include "lib/worker/lease/lease_keeper_fixture.h"

namespace torc::worker {
namespace {

// It would renew its lease and take no request: nobody would ever have its jobs.
TEST_F(LeaseKeeperTest, a_committer_that_has_no_descriptor_to_be_called_by_does_not_start) {
  if (kSanitized) GTEST_SKIP() << "the check of an object's class needs the descriptors of a pipe";
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const JobPreparer preparer(store_, "id", {}, directory_, directory_ / "out", environ, {}, self);
  exec::WatchedLease lease;
  for (const int left : {0, 1, 2}) {
    const auto committer = [&] {
      const FewDescriptors few(left);
      return std::make_unique<Committer>(context_, std::move(store_here_), self, info,
                                         clock_.boot_now(), preparer, slurm::RunProgram(), lease);
    }();
    const auto started = committer->start();
    ASSERT_FALSE(started.ok()) << left;
    EXPECT_EQ(started.error().kind, ErrorKind::busy) << started.error().text();
    store_here_ = committer->stop();
  }
}

}  // namespace
}  // namespace torc::worker
