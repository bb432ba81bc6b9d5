// Two instances as two threads on one directory, on the real clock; their bells are UDP ports of
// the loopback interface.
#include "lib/doctor/bell_trial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "lib/doctor/meeting.h"
#include "lib/store/testing/test_world.h"

namespace torc::doctor {
namespace {

using namespace store::testing;

// It loses them all.
class Nowhere final : public worker::Datagrams {
 public:
  void send(const claim::BellAddress&, std::string_view) override {}
};

// As one instance says it.
struct Said {
  bool is_a = false;
  Result<BellTrial> trial = Error{};
  [[nodiscard]] const BellSide& own() const { return is_a ? trial->a : trial->b; }
  [[nodiscard]] const BellSide& other() const { return is_a ? trial->b : trial->a; }
};

class BellTrials : public ::testing::Test {
 protected:
  BellTrials() { std::filesystem::create_directory(place_); }

  static BellTerms on(const std::string& interface) {
    BellTerms terms;
    terms.interface = interface;
    terms.wait = std::chrono::seconds(30);
    return terms;
  }

  Said meet(const std::string& name, std::uint64_t seed, const BellTerms& terms,
            const std::string& boot) {
    Node node(scratch_.path(), name, seed);
    SystemClock clock;
    const store::World w = node.world();
    const store::World world{w.disk,          clock, w.entropy,       w.host, boot,
                             w.pid_namespace, w.uid, w.replica_roots, w.tell, w.machine};
    TwoNodeOptions options;
    options.publish = {store::Primitive::link, store::DurableName::directory};
    const Interrupted never = [] { return false; };
    Meeting meeting(world, place_ / kMeetingPlace, options, never);
    Said said;
    const NodeCard card{name, boot, w.pid_namespace, static_cast<std::uint64_t>(::getpid()), "fs"};
    const Result<void> found = meeting.find_partner(card, [](const std::string&) {});
    if (!found.ok()) {
      said.trial = found.error();
      return said;
    }
    said.is_a = meeting.is_a();
    said.trial = try_bells(meeting, world, terms);
    (void)meeting.part();
    return said;
  }

  void run(const BellTerms& first, const BellTerms& second, const std::string& boot_of_second) {
    std::thread other([&] { second_ = meet("two", 2, second, boot_of_second); });
    first_ = meet("one", 1, first, "boot");
    other.join();
    ASSERT_TRUE(first_.trial.ok()) << first_.trial.error().text();
    ASSERT_TRUE(second_.trial.ok()) << second_.trial.error().text();
    EXPECT_EQ(first_.own().heard, second_.other().heard) << "both know it";
    EXPECT_EQ(second_.own().heard, first_.other().heard);
  }

  ScratchDirectory scratch_;
  Path place_ = scratch_.path() / "shared";
  Said first_, second_;
};

TEST_F(BellTrials, each_hears_what_the_other_rings) {
  run(on("127.0.0.1"), on("127.0.0.1"), "boot");
  if (HasFatalFailure()) return;
  EXPECT_GT(first_.trial->rung, 0U);
  EXPECT_EQ(first_.own().heard, first_.trial->rung);
  EXPECT_EQ(second_.own().heard, first_.trial->rung);
  EXPECT_EQ(first_.other().addresses, std::vector<std::string>{"127.0.0.1"});
}

TEST_F(BellTrials, what_is_lost_one_way_is_known_to_both) {
  Nowhere nowhere;
  BellTerms losing = on("127.0.0.1");
  losing.net = &nowhere;
  BellTerms short_wait = on("127.0.0.1");
  short_wait.wait = std::chrono::milliseconds(10);
  run(losing, short_wait, "boot");
  if (HasFatalFailure()) return;
  EXPECT_EQ(first_.own().heard, first_.trial->rung);
  EXPECT_EQ(second_.own().heard, 0U);
}

TEST_F(BellTrials, a_loopback_address_is_not_rung_from_another_host) {
  BellTerms short_wait = on("127.0.0.1");
  short_wait.wait = std::chrono::milliseconds(10);
  run(short_wait, short_wait, "another boot");
  if (HasFatalFailure()) return;
  EXPECT_EQ(first_.own().heard + second_.own().heard, 0U);
  EXPECT_TRUE(first_.own().loopback);
  EXPECT_EQ(passage_to(first_.own(), first_.other()), BellPassage::loopback);
}

TEST_F(BellTrials, who_can_open_no_bell_says_why_and_rings_nobody) {
  run(on("no-such-interface"), on("127.0.0.1"), "boot");
  if (HasFatalFailure()) return;
  for (const Said* said : {&first_, &second_}) {
    const BellSide& refused = said == &first_ ? said->own() : said->other();
    EXPECT_NE(refused.refusal.find("no-such-interface"), std::string::npos) << refused.refusal;
  }
  EXPECT_EQ(second_.own().heard, 0U);
  EXPECT_EQ(passage_to(first_.own(), first_.other()), BellPassage::no_bell);
}

// --- what it means ---

BellSide hears(std::uint64_t heard) {
  BellSide side;
  side.addresses = {"10.0.0.1"};
  side.heard = heard;
  return side;
}
BellSide only_itself() {
  BellSide side;
  side.addresses = {"127.0.1.1"};
  side.loopback = true;
  return side;
}
BellSide none() {
  BellSide side;
  side.refusal = "its name has no address";
  return side;
}

struct Case {
  BellSide a, b;
  std::vector<std::string> sentences;  // a part of each, in their order
  std::string shown;                   // a part of the line
};

TEST(BellJudge, has_a_plain_sentence_for_each_outcome_and_none_is_a_failure) {
  const std::vector<Case> cases{
      {hears(5), hears(1), {}, "passes both ways; A hears on 10.0.0.1, B hears on 10.0.0.1"},
      {hears(0), hears(5), {"bells do not pass from node2 to node1"}, "passes from A to B alone"},
      {hears(5), hears(0), {"bells do not pass from node1 to node2"}, "passes from B to A alone"},
      {hears(0), hears(0), {"bells do not pass between the two nodes"}, "does not pass"},
      {only_itself(),
       hears(0),
       {"from node1 to node2", "the bell of node1 is on a loopback"},
       "does not pass; A hears on 127.0.1.1 (loopback only)"},
      {hears(5), none(), {"node2 has no bell: its name has no address"}, "B has none"},
  };
  for (const Case& c : cases) {
    const BellTrial trial{5, c.a, c.b};
    const std::vector<store::Finding> findings = judge_bells(trial, "node1", "node2");
    ASSERT_EQ(findings.size(), c.sentences.size()) << c.shown;
    for (std::size_t i = 0; i < findings.size(); ++i) {
      EXPECT_EQ(findings[i].severity, store::Severity::note);
      EXPECT_NE(findings[i].text.find(c.sentences[i]), std::string::npos) << findings[i].text;
      EXPECT_NE(findings[i].remedy.find("--bell-interface"), std::string::npos);
    }
    EXPECT_NE(show_bells(trial).find(c.shown), std::string::npos) << show_bells(trial);
  }
  EXPECT_TRUE(judge_bells(BellTrial{}, "node1", "node2").empty()) << "it was not tried";
}

}  // namespace
}  // namespace torc::doctor
