#include "lib/doctor/probe.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::doctor {
namespace {

using namespace store::testing;

bool never() {
  return false;
}

class Probe : public ::testing::Test {
 protected:
  Result<Checkup> examine_here() {
    ExamineOptions options;
    options.rounds = 4;
    options.mountinfo = "1 1 0:1 / / rw - nfs4 srv:/x rw,vers=4.2\n";
    return examine(node.world(), place, options, never);
  }
  std::string findings() {
    const auto checkup = examine_here();
    if (!checkup.ok()) return checkup.error().text();
    std::string out;
    for (const store::Finding& f : judge(*checkup))
      out += std::string(to_string(f.severity)) + ": " + f.check + ": " + f.text + "\n";
    return out;
  }
  ScratchDirectory scratch;
  FaultyDisk disk;
  Node node{scratch.path(), "node", 1, &disk};
  Path place = [this] {
    std::filesystem::create_directory(scratch.path() / "here");
    return scratch.path() / "here";
  }();
};

TEST_F(Probe, measures_and_leaves_nothing_behind) {
  const auto checkup = examine_here();
  ASSERT_TRUE(checkup.ok()) << checkup.error().text();
  EXPECT_TRUE(checkup->publish);
  EXPECT_EQ(checkup->locks.size(), 3U);
  EXPECT_EQ(checkup->publication.samples, 4U);
  EXPECT_GT(checkup->space.total.value, 0U);
  EXPECT_EQ(checkup->mount->source, "srv:/x");
  EXPECT_TRUE(std::filesystem::is_empty(place));
}

TEST_F(Probe, leaves_nothing_behind_when_a_step_fails) {
  for (const char* operation :
       {"link", "link_unnamed", "write", "sync", "close", "make_directory"}) {
    disk.oracle = [&](const std::string& op, const Path&) {
      return op == operation ? refuse(EIO) : proceed();
    };
    (void)examine_here();
    EXPECT_TRUE(std::filesystem::is_empty(place)) << operation;
  }
}

TEST_F(Probe, finds_a_filesystem_without_put_if_absent_unfit) {
  disk.magic = 0x6969;  // no unnamed files are tried on a shared filesystem
  disk.oracle = [](const std::string& op, const Path& path) {
    if (op == "link") return refuse(EPERM);
    // A rename that replaces whatever is there.
    if (op == "rename") std::filesystem::remove_all(path);
    return proceed();
  };
  EXPECT_NE(findings().find("unfit: put-if-absent"), std::string::npos) << findings();
}

TEST_F(Probe, takes_renamed_directories_where_there_are_no_links) {
  disk.magic = 0x6969;
  disk.oracle = [](const std::string& op, const Path&) {
    return op == "link" ? refuse(EPERM) : proceed();
  };
  const auto checkup = examine_here();
  ASSERT_TRUE(checkup.ok()) << checkup.error().text();
  ASSERT_TRUE(checkup->publish);
  EXPECT_EQ(checkup->publish->primitive, store::Primitive::rename_directory);
  EXPECT_EQ(checkup->publication.samples, 4U);
  EXPECT_EQ(checkup->link.samples, 0U);
  EXPECT_EQ(checkup->engine, store::Engine::journal);
}

TEST_F(Probe, of_a_directory_that_cannot_be_written_is_an_error) {
  disk.oracle = [](const std::string& op, const Path&) {
    return op == "make_directory" ? refuse(EACCES) : proceed();
  };
  EXPECT_EQ(examine_here().error().kind, ErrorKind::permission);
}

TEST_F(Probe, of_what_is_no_directory_says_so) {
  place /= "absent";
  EXPECT_EQ(examine_here().error().kind, ErrorKind::not_found);
  place = scratch.path() / "file";
  std::ofstream(place) << "x";
  EXPECT_EQ(examine_here().error().kind, ErrorKind::invalid);
}

TEST_F(Probe, tells_what_a_killed_doctor_left) {
  std::filesystem::create_directory(place / ".torc-trial-0123456789abcdef");
  EXPECT_NE(findings().find("leftovers"), std::string::npos);
}

TEST_F(Probe, ends_early_when_interrupted) {
  const auto checkup = examine(node.world(), place, ExamineOptions{}, [] { return true; });
  ASSERT_TRUE(checkup.ok());
  EXPECT_TRUE(checkup->interrupted);
  EXPECT_EQ(checkup->publication.samples, 0U);
  EXPECT_TRUE(std::filesystem::is_empty(place));
}

Checkup healthy() {
  Checkup c;
  c.publish = store::PublishMethod{};
  c.type = {"nfs", store::Sharing::shared, false, true};
  c.engine = store::Engine::journal;
  c.space = {{1ULL << 40}, {1ULL << 41}, 1'000'000, 2'000'000};
  c.replicas.push_back({"/dev/shm", std::nullopt, mebibytes(1024)});
  c.clock = ClockReading{};
  return c;
}

std::string judged(const Checkup& c) {
  std::string out;
  for (const store::Finding& f : judge(c))
    out += std::string(to_string(f.severity)) + ": " + f.check + ": " + f.text + "\n";
  return out;
}

TEST(Judgement, of_a_healthy_place_is_silence) {
  EXPECT_EQ(judged(healthy()), "");
}

TEST(Judgement, locks_that_exclude_nobody_spoil_lmdb_alone) {
  Checkup c = healthy();
  c.locks.push_back({store::LockKind::fcntl, store::LockVerdict::given_to_all, 0});
  EXPECT_TRUE(is_fit(judge(c)));
  EXPECT_NE(judged(c).find("warning: locks"), std::string::npos);
  c.engine = store::Engine::lmdb;
  EXPECT_FALSE(is_fit(judge(c)));
}

TEST(Judgement, a_full_disk_is_unfit_and_a_filling_one_a_warning) {
  Checkup c = healthy();
  c.space.free = mebibytes(100);
  EXPECT_NE(judged(c).find("warning: space"), std::string::npos);
  c.space.free = mebibytes(1);
  EXPECT_FALSE(is_fit(judge(c)));
  c = healthy();
  c.space.inodes_free = 10;
  EXPECT_FALSE(is_fit(judge(c)));
  c.space.inodes_total = 0;  // not counted
  EXPECT_TRUE(is_fit(judge(c)));
}

TEST(Judgement, a_clock_that_is_off_is_told_and_no_reason_to_refuse) {
  Checkup c = healthy();
  c.clock->mtime_ahead = -std::chrono::seconds(90);
  EXPECT_NE(judged(c).find("note: clock: the filesystem's clock is 90.0 s behind"),
            std::string::npos)
      << judged(c);
  EXPECT_TRUE(is_fit(judge(c)));
}

TEST(Judgement, without_a_place_for_the_copy_the_journal_cannot_be) {
  Checkup c = healthy();
  c.replicas[0].refusal = Error{ErrorKind::permission, "closed", {}};
  EXPECT_FALSE(is_fit(judge(c)));
  c.engine = store::Engine::lmdb;
  EXPECT_TRUE(is_fit(judge(c)));
}

TEST(Judgement, a_quota_that_is_nearly_used_up_is_told) {
  Checkup c = healthy();
  c.quotas.push_back({"user", mebibytes(900), mebibytes(1000), 10, 0});
  EXPECT_NE(judged(c).find("quota of bytes"), std::string::npos);
  c.quotas[0] = {"user", mebibytes(1), {0}, 99'000, 100'000};
  EXPECT_NE(judged(c).find("quota of files"), std::string::npos);
}

TEST(Judgement, low_limits_are_told) {
  Checkup c = healthy();
  c.limits = {{"open files", 64}, {"address space", 1 << 20}, {"file size", 1 << 20}};
  const std::string text = judged(c);
  EXPECT_NE(text.find("only 64 files"), std::string::npos) << text;
  EXPECT_NE(text.find("address space is limited"), std::string::npos) << text;
  EXPECT_NE(text.find("files may not grow"), std::string::npos) << text;
}

TEST(Percentiles, are_by_nearest_rank_and_survive_text) {
  std::vector<std::chrono::nanoseconds> samples;
  for (int i = 100; i > 0; --i) samples.emplace_back(i);
  const store::Latency l = store::summarize(samples);
  EXPECT_EQ(l.p50.count(), 50);
  EXPECT_EQ(l.p90.count(), 90);
  EXPECT_EQ(l.p99.count(), 99);
  EXPECT_EQ(l.max.count(), 100);
  EXPECT_EQ(store::latency_of(to_text(l)).p90, l.p90);
  EXPECT_EQ(store::latency_of("nonsense").samples, 0U);
  EXPECT_EQ(store::summarize({}).samples, 0U);
}

}  // namespace
}  // namespace torc::doctor
