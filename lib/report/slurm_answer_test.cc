#include "lib/report/slurm_answer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/store/disk/disk.h"

namespace torc::report {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

SlurmAnswer some_answer(WallTime at) {
  SlurmAnswer answer;
  answer.asked_at = answer.answered_at = at;
  answer.whole = true;
  answer.workers = 7;
  answer.allocations.push_back({"7", "alpha", "wf-one", "PENDING", "Priority", "one", 1000, at - 9s,
                                at + 100s, at + 700s, "uid 7"});
  answer.nodes.push_back({"n1", "down*", "Not responding"});
  return answer;
}

class SlurmAnswers : public testing::Test {
 protected:
  SlurmAnswers() {
    std::string name = (fs::temp_directory_path() / "torc-answer-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    store_ = directory_ / "wf.torc";
    fs::create_directory(store_);
    file_ = store_ / answer_file(context_);
  }
  ~SlurmAnswers() override { fs::remove_all(directory_); }
  SlurmAnswer ask(std::uint64_t workers = 0) {
    return ask_once(context_, store_, "id", workers, [&] {
      ++asked_;
      return some_answer(clock_.wall_now());
    });
  }
  // What another user, who may write into the store, has put in its place, is not believed: the
  // question is asked anew.
  void expect_not_believed() {
    EXPECT_EQ(read_answer(context_, store_), std::nullopt);
    const int before = asked_;
    EXPECT_EQ(ask().allocations.size(), 1U);
    EXPECT_EQ(asked_, before + 1);
  }
  [[nodiscard]] std::string forged() const {
    SlurmAnswer answer = some_answer(clock_.wall_now());
    answer.allocations[0].state = "CANCELLED";
    return encode(answer, "id");
  }
  static void write(const Path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  }

  store::PosixDisk disk_;
  ManualClock clock_;
  SeededEntropy entropy_{1};
  const store::World world_{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}};
  const workflow::Context context_{clock_, world_, world_,
                                   [](std::string_view) { return std::optional<std::string>(); }};
  Path directory_;
  Path store_;
  Path file_;
  int asked_ = 0;
};

TEST(SlurmAnswerBytes, are_read_back_and_nothing_else_is_taken_for_them) {
  const SlurmAnswer answer = some_answer(1'800'000'000s);
  const std::string bytes = encode(answer, "id");
  EXPECT_EQ(decode_answer(bytes, "id"), answer);
  EXPECT_FALSE(decode_answer(bytes, "another store"));
  EXPECT_FALSE(decode_answer(bytes + "x", "id"));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_answer(bytes.substr(0, size), "id")) << size;
}

TEST(SlurmAnswerBytes, are_bounded_and_what_was_left_out_is_told) {
  SlurmAnswer answer = some_answer(1'800'000'000s);
  answer.allocations[0].name = std::string(100'000, 'x');
  answer.allocations.resize(5000, answer.allocations[0]);
  answer.nodes.resize(5000, answer.nodes[0]);
  const std::string bytes = encode(answer, "id");
  EXPECT_LE(bytes.size(), kMostOfAnswer);
  const auto read = decode_answer(bytes, "id");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->whole);
  EXPECT_EQ(read->allocations.size(), 100U);
}

TEST_F(SlurmAnswers, are_asked_for_once_in_ten_seconds) {
  EXPECT_EQ(ask(), ask());
  EXPECT_EQ(asked_, 1);
  clock_.advance(9s);
  (void)ask();
  EXPECT_EQ(asked_, 1);
  clock_.advance(1s);
  (void)ask();
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(SlurmAnswers, are_asked_for_after_two_seconds_where_other_workers_are_at_work) {
  (void)ask(1);
  clock_.advance(1s);
  (void)ask(2);
  EXPECT_EQ(asked_, 1);
  clock_.advance(1s);
  (void)ask(2);
  EXPECT_EQ(asked_, 2);
  clock_.advance(9s);
  (void)ask(2);
  EXPECT_EQ(asked_, 2) << "no others than when it was asked";
}

TEST_F(SlurmAnswers, are_asked_for_after_two_seconds_where_none_shows_what_goes_on) {
  for (const char* reason : {"JobHeldUser", "DependencyNeverSatisfied", "Priority"}) {
    SlurmAnswer known = some_answer(clock_.wall_now());
    known.allocations[0].reason = reason;
    EXPECT_EQ(kept_for(known, 7), reason == std::string("Priority") ? 10s : 2s) << reason;
    known.failure = "it took too long";
    EXPECT_EQ(kept_for(known, 8), 10s) << "a Slurm that does not answer is left alone";
  }
  SlurmAnswer known = some_answer(clock_.wall_now());
  known.allocations[0].state = "RUNNING";
  EXPECT_EQ(kept_for(known, 7), 10s);
  known.allocations[0].state = "CANCELLED";
  EXPECT_EQ(kept_for(known, 7), 2s);
  known.allocations.clear();
  EXPECT_EQ(kept_for(known, 7), 2s);
}

TEST_F(SlurmAnswers, are_asked_for_at_most_once_in_two_seconds_however_often_one_looks) {
  for (int looks = 0; looks < 600; ++looks) {
    (void)ask(static_cast<std::uint64_t>(looks));  // each time other workers
    clock_.advance(100ms);
  }
  EXPECT_EQ(asked_, 30) << "in a minute";
}

TEST_F(SlurmAnswers, are_not_asked_for_while_another_command_does) {
  (void)ask();
  clock_.advance(1min);
  SlurmAnswer beside;
  (void)ask_once(context_, store_, "id", 0, [&] {
    beside = ask();
    return some_answer(clock_.wall_now());
  });
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(beside.allocations.size(), 1U) << "the answer before";
  EXPECT_EQ(beside.answered_at, clock_.wall_now() - 1min);
  fs::remove(file_);
  (void)ask_once(context_, store_, "id", 0, [&] {
    beside = ask();
    return some_answer(clock_.wall_now());
  });
  EXPECT_EQ(beside.failure, "another command is asking it just now");
}

TEST_F(SlurmAnswers, that_did_not_come_are_kept_as_well_so_that_slurm_is_left_alone) {
  const auto none = [&] {
    ++asked_;
    SlurmAnswer answer;
    answer.failure = "it took too long";
    return answer;
  };
  (void)ask_once(context_, store_, "id", 0, none);
  EXPECT_EQ(ask_once(context_, store_, "id", 0, none).failure, "it took too long");
  EXPECT_EQ(asked_, 1);
}

TEST_F(SlurmAnswers, of_a_clock_that_was_ahead_are_not_believed) {
  write(file_, encode(some_answer(clock_.wall_now() + 1h), "id"));
  (void)ask();
  EXPECT_EQ(asked_, 1);
}

TEST_F(SlurmAnswers, of_another_user_are_not_believed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write(file_, forged());
  ASSERT_TRUE(read_answer(context_, store_)) << "it is what it should be, but for its owner";
  ASSERT_EQ(::chown(file_.c_str(), 65534, 65534), 0);
  expect_not_believed();
}

TEST_F(SlurmAnswers, that_others_could_write_are_not_believed) {
  write(file_, forged());
  fs::permissions(file_, fs::perms::group_write, fs::perm_options::add);
  expect_not_believed();
}

TEST_F(SlurmAnswers, with_a_second_name_or_behind_a_link_are_not_believed) {
  write(directory_ / "mine", forged());
  fs::create_hard_link(directory_ / "mine", file_);
  expect_not_believed();
  fs::remove(file_);
  fs::create_symlink(directory_ / "mine", file_);
  expect_not_believed();
  EXPECT_EQ(fs::file_size(directory_ / "mine"), forged().size()) << "nothing is written through it";
}

TEST_F(SlurmAnswers, that_are_fifos_or_directories_hold_nobody_up) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  expect_not_believed();
  fs::remove(file_);
  fs::create_directories(file_ / "full");
  expect_not_believed();
  for (const auto& entry : fs::directory_iterator(store_))
    EXPECT_EQ(entry.path(), file_) << "what could not be kept is left nowhere";
}

TEST_F(SlurmAnswers, that_are_huge_or_nonsense_are_not_read) {
  write(file_, forged());
  fs::resize_file(file_, std::uintmax_t{1} << 40);
  expect_not_believed();
  write(file_, std::string(1000, '\xff'));
  (void)ask();
  EXPECT_EQ(asked_, 2);
}

TEST_F(SlurmAnswers, are_asked_for_each_time_where_none_can_be_kept) {
  fs::remove(store_);
  (void)ask();
  (void)ask();
  EXPECT_EQ(asked_, 2);
}

}  // namespace
}  // namespace torc::report
