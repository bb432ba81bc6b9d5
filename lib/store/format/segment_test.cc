// Segments: what they spare, and that nothing hangs on them.
#include "lib/store/format/segment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

class Segments : public Hosts {
 protected:
  static Tuning keeping_all() {
    Tuning t = quick();
    t.checkpoint_commits = 1'000'000;
    return t;
  }
  // From here on with this tuning; nobody has seen anything yet.
  void begin(const Tuning& with) {
    tuning = with;
    a = open(first);
    b = open(second);
  }
  // By both hosts in turn, with their maintenance.
  void work_by_turns(int count) {
    for (int i = 0; i < count; ++i) work(i % 2 == 0 ? *b : *c_, 1);
  }
  [[nodiscard]] Path segment(std::uint64_t start, std::uint64_t count) const {
    return state / "segment" / SegmentName{start, count}.text();
  }
  [[nodiscard]] std::map<std::string, std::string> state_of(Store& store) const {
    std::map<std::string, std::string> out;
    const auto seen = store.view(Freshness::latest, [&](const Reader& reader) -> Result<void> {
      reader.scan(kFirstUserKey, [&](const Entry& e) {
        out.emplace(e.key, e.value);
        return true;
      });
      return {};
    });
    EXPECT_TRUE(seen.ok()) << seen.error().text();
    return out;
  }
  // Counts what the host of `a` asks while `act` runs.
  struct Asked {
    int opens = 0;
    int all = 0;
  };
  Asked asked_by(const std::function<void()>& act) {
    Asked out;
    faulty.oracle = [&](const std::string& operation, const Path&) {
      ++out.all;
      if (operation == "open_read") ++out.opens;
      return proceed();
    };
    act();
    faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
    return out;
  }
  // A node that has seen nothing and gets to the same state.
  void expect_same_for_a_new_node() {
    ++fresh_;
    Node fresh(scratch.path(), numbered("fresh", fresh_), 50 + fresh_);
    const auto store = open(fresh);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(state_of(*store), state_of(*b));
    EXPECT_EQ(sequence_of(*store), sequence_of(*b));
  }
  static void overwrite(const Path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  static std::string content(const Path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  Node third{scratch.path(), "third", 3};
  std::unique_ptr<Store> c_;
  std::uint64_t fresh_ = 0;
};

TEST_F(Segments, spare_a_node_that_is_a_thousand_commits_behind_a_thousand_opens) {
  begin(keeping_all());
  c_ = open(third);
  for (const int offset : {0, 1, 20, 43}) {
    work_by_turns(offset);
    (void)sequence_of(*a);
    work_by_turns(1000);
    const Asked asked = asked_by([&] { EXPECT_EQ(state_of(*a), state_of(*b)); });
    EXPECT_LE(asked.opens, 40) << offset;
    EXPECT_LE(asked.all, 130) << offset;
  }
  expect_verified();
}

TEST_F(Segments, let_a_node_that_is_behind_go_on_when_the_files_are_collected) {
  Tuning t = quick();
  t.retention = std::chrono::nanoseconds(0);
  begin(t);
  c_ = open(third);
  (void)sequence_of(*a);
  work_by_turns(2000);
  ASSERT_FALSE(fs::exists(commit_file(200)));
  bool loaded = false;
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    loaded = loaded || (operation == "open_read" && path.parent_path() == state / "snapshot");
    return proceed();
  };
  EXPECT_EQ(state_of(*a), state_of(*b));
  EXPECT_FALSE(loaded) << "a snapshot was loaded though segments would do";
}

TEST_F(Segments, let_a_new_node_open_few_files_after_its_snapshot) {
  Tuning t = quick();
  t.checkpoint_commits = 512;  // of a large state
  begin(t);
  c_ = open(third);
  work_by_turns(1120);  // just before the third snapshot
  a.reset();
  fs::remove_all(first.replicas);
  fs::create_directories(first.replicas);
  int snapshots = 0;
  const Asked asked = asked_by([&] {
    faulty.after = [&](const std::string& operation, const Path& path) {
      if (operation == "open_read" && path.parent_path() == state / "snapshot") ++snapshots;
    };
    a = open(first);
  });
  EXPECT_EQ(snapshots, 1);
  EXPECT_LE(asked.opens, 1 + 40);
  EXPECT_EQ(state_of(*a), state_of(*b));
}

TEST_F(Segments, that_are_missing_damaged_or_of_another_history_only_cost_time) {
  begin(keeping_all());
  c_ = open(third);
  work_by_turns(300);
  const Path whole = segment(64, 64);
  const std::string good = content(whole);
  ASSERT_FALSE(good.empty());
  expect_same_for_a_new_node();
  std::vector<std::string> bad{"",
                               "x",
                               good.substr(0, good.size() / 2),
                               good.substr(0, good.size() - 1),
                               good + "more",
                               content(segment(128, 64)),  // of other numbers
                               std::string(good.size(), '\0')};
  for (std::size_t at = 0; at < good.size(); at += good.size() / 50) {
    bad.push_back(good);
    bad.back()[at] = static_cast<char>(bad.back()[at] ^ 0x10);
  }
  {
    // Whole, and of a history that forks from this one at 100.
    std::string forked;
    std::string_view rest = good;
    Hash128 before{};
    for (std::uint64_t n = 64; n < 128; ++n) {
      const std::string_view one = rest.substr(0, *commit_length(rest));
      rest.remove_prefix(one.size());
      if (n < 100) {
        before = decode_commit(b->identity().id, n, one, "x")->after;
        forked += one;
        continue;
      }
      WriteSet writes;
      writes.put("forked", "yes");
      const std::string other = encode_commit(b->identity().id, {n, before, {}, 1}, writes.bytes());
      before = hash128(b->identity().id, other);
      forked += other;
    }
    bad.push_back(forked);
  }
  for (const std::string& bytes : bad) {
    overwrite(whole, bytes);
    expect_same_for_a_new_node();
  }
  fs::remove(whole);
  expect_same_for_a_new_node();
  fs::remove_all(state / "segment");
  expect_same_for_a_new_node();
  expect_verified();
}

TEST_F(Segments, do_not_lead_beyond_the_newest_commit_file) {
  begin(keeping_all());
  c_ = open(third);
  work_by_turns(100);  // 101 commits; files of 96 … 101 are single
  std::string bytes;
  Hash128 before{};
  for (std::uint64_t n = 96; n < 112; ++n) {
    std::string one = n <= 101 ? content(commit_file(n)) : std::string();
    if (one.empty()) {  // as if those after 101 had been set aside, and the segment left
      WriteSet writes;
      writes.put("gone", "yes");
      one = encode_commit(b->identity().id, {n, before, {}, 1}, writes.bytes());
    }
    before = hash128(b->identity().id, one);
    bytes += one;
  }
  overwrite(segment(96, 16), bytes);
  expect_same_for_a_new_node();
  // Others go on from 101 another way, into the next directory and beyond.
  work_by_turns(50);
  overwrite(segment(64, 64), content(segment(64, 16)) + content(segment(80, 16)) + bytes);
  expect_same_for_a_new_node();
  EXPECT_EQ(state_of(*a), state_of(*b));
}

TEST_F(Segments, whose_author_dies_in_the_middle_harm_nobody) {
  begin(keeping_all());
  c_ = open(third);
  bool more = true;
  for (std::uint64_t nth = 0; more; ++nth) {
    while ((sequence_of(*b) + 2) % 16 != 0) work_by_turns(1);
    ASSERT_TRUE(a->commit(1, put("last", numbered("", nth))).ok());
    std::uint64_t at = 0;
    more = false;
    faulty.oracle = [&](const std::string&, const Path&) {
      if (at++ < nth) return proceed();
      more = true;
      return refuse(EIO);
    };
    (void)a->maintain();
    faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
    a = open(first);
    expect_same_for_a_new_node();
  }
  work_by_turns(200);
  expect_same_for_a_new_node();
  expect_verified();
}

TEST_F(Segments, that_cannot_be_written_fail_and_delay_no_commit) {
  begin(keeping_all());
  int asked = 0;
  faulty.oracle = [&](const std::string&, const Path& path) {
    if (path.string().find("/segment") == std::string::npos) return proceed();
    ++asked;
    return refuse(ENOSPC);
  };
  for (int i = 0; i < 200; ++i) {
    const int before = asked;
    ASSERT_TRUE(a->commit(1, put("x", numbered("", worked++))).ok());
    EXPECT_EQ(asked, before) << "a commit does not touch segments";
    EXPECT_TRUE(a->maintain().ok());
  }
  EXPECT_GT(asked, 10);
  expect_same_for_a_new_node();
}

TEST_F(Segments, stand_in_for_a_damaged_snapshot) {
  Tuning t = quick();
  t.checkpoint_commits = 100;
  t.retention = std::chrono::nanoseconds(0);
  begin(t);
  c_ = open(third);
  work_by_turns(450);
  std::vector<Path> snapshots;
  for (const auto& entry : fs::directory_iterator(state / "snapshot"))
    snapshots.push_back(entry.path());
  std::sort(snapshots.rbegin(), snapshots.rend());
  ASSERT_GE(snapshots.size(), 2u);
  const std::uint64_t older = snapshot_name_of(snapshots[1].filename().string())->sequence;
  ASSERT_FALSE(fs::exists(commit_file(older + 1))) << "else this shows nothing";
  expect_same_for_a_new_node();
  overwrite(snapshots[0], "damaged");
  expect_same_for_a_new_node();
}

TEST_F(Segments, are_whole_only_with_every_commit_in_order_and_the_right_last_one) {
  begin(keeping_all());
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(a->commit(1, put("x", numbered("", worked++))).ok());
  const StoreId id = a->identity().id;
  const SegmentName name{16, 16};
  std::string bytes;
  for (std::uint64_t n = 16; n < 32; ++n) bytes += content(commit_file(n));
  const std::string last = content(commit_file(31));
  EXPECT_TRUE(is_whole_segment(id, name, bytes, last));
  EXPECT_FALSE(is_whole_segment(id, name, bytes, content(commit_file(30))));
  EXPECT_FALSE(is_whole_segment(id, name, bytes + last, last));
  EXPECT_FALSE(is_whole_segment(id, name, bytes.substr(0, bytes.size() - last.size()), last));
  WriteSet writes;
  writes.put("x", "other");
  std::string other;
  for (std::uint64_t n = 16; n < 32; ++n) {
    const CommitHeader header{n, {}, {}, 1};
    other += n == 20 ? encode_commit(id, header, writes.bytes()) : content(commit_file(n));
  }
  EXPECT_FALSE(is_whole_segment(id, name, other, last));
}

// A file that only the newest snapshot covers goes when a segment has it, and not before.
TEST_F(Segments, are_made_up_for_before_a_commit_file_goes) {
  Tuning t = quick();
  t.checkpoint_commits = 100;
  t.retention = std::chrono::nanoseconds(0);
  begin(t);
  c_ = open(third);
  while (sequence_of(*b) < 190) {
    work_by_turns(1);
    overwrite(segment(0, 64), "damaged");
    fs::remove(segment(64, 64));
  }
  overwrite(segment(64, 64), "damaged");
  work_by_turns(200);
  EXPECT_FALSE(fs::exists(commit_file(130)));
  EXPECT_EQ(content(segment(64, 64)).substr(0, 8), "torcCMT1");
  expect_verified();
}

}  // namespace
}  // namespace torc::store
