// Every fault at every operation of everything that a store does with its files: each errno,
// replies that are lost, a disk that stays broken, a disk that lies, the end of the process, a
// power cut.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <map>

#include "lib/store/testing/test_fault_case.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;

enum class Faults : std::uint8_t { every, some };

struct Scene {
  std::string name;
  Abilities abilities = kLikeNfs;
  // With a healthy disk, once: what is there before. Nothing: no store yet.
  std::function<void(FaultCase&)> before = {};
  // With a healthy disk, in each case: what this process has seen already.
  std::function<void(FaultCase&)> ready = [](FaultCase& c) { (void)c.open(); };
  // With a healthy disk, after `ready`: what others do meanwhile.
  std::function<void(FaultCase&)> meanwhile = {};
  // Under the fault.
  std::function<Result<void>(FaultCase&)> act = [](FaultCase& c) { return c.commit(); };
  // What the scene needs to happen at each operation besides.
  FaultyDisk::Oracle always = {};
  bool creates = false;
  Faults faults = Faults::every;
  std::uint64_t at_least = 0;  // operations: so that a scene cannot become empty unseen
};

// 000000000064/.tmp-8f3c becomes #/.tmp-#.
std::string general(const Path& path) {
  std::string out;
  for (const char c : path.string()) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
      out.push_back(c);
    } else if (out.empty() || out.back() != '#') {
      out.push_back('#');
    }
  }
  return out;
}

// Hundreds of deletions in a row are one situation: the first two and the last of a kind get every
// fault, those between a few, in turn. So do all of a scene that differs little from another.
std::vector<Fault> faults_for(const std::vector<Operation>& all, std::size_t nth, Faults scene) {
  const auto kind = [&](std::size_t i) {
    return all[i].name + general(all[i].path) + (i > 0 ? all[i - 1].name : "") +
           (i + 1 < all.size() ? all[i + 1].name : "");
  };
  std::size_t before = 0, after = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != nth && kind(i) == kind(nth)) (i < nth ? before : after)++;
  }
  const std::vector<Fault> every = faults_on(all[nth].name, nth + 1 == all.size());
  if (scene == Faults::every && (before < 2 || after == 0)) return every;
  std::vector<Fault> out;
  for (std::size_t i = nth % 6; i < every.size(); i += 6) out.push_back(every[i]);
  return out;
}

class Matrix {
 public:
  explicit Matrix(Scene scene) : scene_(std::move(scene)) {}

  void run() {
    base_.abilities = scene_.abilities;
    base_.server = FileServer(scene_.abilities.magic == kLikeExt4.magic  ? NamesLast::in_order
                              : scene_.abilities.magic == kLikeNfs.magic ? NamesLast::at_once
                                                                         : NamesLast::by_directory);
    if (scene_.before) prepare();
    std::vector<Operation> all;
    one([&](FaultCase& c) {
      c.only_note(scene_.always);
      const Result<void> done = scene_.act(c);
      EXPECT_TRUE(done.ok()) << scene_.name << ": " << done.error().text();
      all = c.operations();
      return std::string();
    });
    EXPECT_GE(all.size(), scene_.at_least) << scene_.name;
    for (std::size_t nth = 0; nth < all.size(); ++nth) {
      for (const Fault& fault : faults_for(all, nth, scene_.faults)) strike(all, nth, fault);
    }
    std::printf("%-44s %4zu operations %6d cases\n", scene_.name.c_str(), all.size(), cases);
  }

  int cases = 0;

 private:
  void prepare() {
    const ScratchDirectory scratch;
    FaultCase maker(base_, scratch.path());
    const Result<void> made = maker.create();
    ASSERT_TRUE(made.ok()) << made.error().text();
    scene_.before(maker);
    maker.store().reset();
    base_ = maker.keep();
    if (!scene_.meanwhile) return;
    const ScratchDirectory another;
    FaultCase others(base_, another.path());
    scene_.ready(others);
    scene_.meanwhile(others);
    others.store().reset();
    later_ = others.keep();
  }

  void one(const std::function<std::string(FaultCase&)>& body) {
    const ScratchDirectory scratch;
    FaultCase c(base_, scratch.path());
    if (!scene_.creates) scene_.ready(c);
    if (scene_.meanwhile) c.move_on(later_);
    const std::string wrong = body(c);
    if (!wrong.empty()) ADD_FAILURE() << where_ << "\n  " << wrong;
  }

  void strike(const std::vector<Operation>& all, std::size_t nth, const Fault& fault) {
    ++cases;
    where_ = scene_.name + ": operation " + std::to_string(nth) + " (" + all[nth].name + " " +
             all[nth].path.string() + ") " + fault.text();
    one([&](FaultCase& c) {
      c.strike(scene_.always, nth, fault);
      const Result<void> told = scene_.act(c);
      return scene_.creates ? c.check_created(fault, told) : c.check(fault);
    });
  }

  Scene scene_;
  Prepared base_;
  Prepared later_;  // after `meanwhile`
  std::string where_;
};

int run(const Scene& scene) {
  Matrix matrix(scene);
  matrix.run();
  return matrix.cases;
}

const std::map<std::string, Abilities> kEachFault{
    {"unnamed file and link", kLikeExt4}, {"link", kLikeNfs}, {"directory and rename", kLikeFuse}};

TEST(EveryFault, of_creating_a_store_leaves_all_of_it_or_nothing) {
  int cases = 0;
  for (const auto& [name, abilities] : kEachFault) {
    cases += run({.name = "create by " + name,
                  .abilities = abilities,
                  .act = [](FaultCase& c) { return c.create(); },
                  .creates = true,
                  .faults = name == "link" ? Faults::every : Faults::some,
                  .at_least = 40});
  }
  EXPECT_GE(cases, 2000);
}

void one_second(FaultCase& c) {
  (void)c.open();
  c.first().clock.advance(std::chrono::seconds(1));  // so that the commit lists first
}

TEST(EveryFault, of_a_commit_leaves_it_wholly_there_or_wholly_not) {
  int cases = 0;
  for (const auto& [name, abilities] : kEachFault) {
    cases += run({.name = "commit by " + name,
                  .abilities = abilities,
                  .before = [](FaultCase& c) { c.others_work(3); },
                  .ready = one_second,
                  .at_least = 8});
    cases += run({.name = "commits into a new directory by " + name,
                  .abilities = abilities,
                  .before = [](FaultCase& c) { c.others_work(61); },
                  .act = [](FaultCase& c) -> Result<void> {
                    TORC_TRY(c.commit());
                    return c.commit();
                  },
                  .at_least = 15});
  }
  EXPECT_GE(cases, 2000);
}

// The reply to the first naming call is lost (it happened, or not): what is then done to find out
// meets a second fault.
TEST(EveryFault, of_finding_out_what_became_of_a_commit_is_met) {
  int cases = 0;
  for (const auto& [name, abilities] : kEachFault) {
    for (const bool happened : {false, true}) {
      const auto first = std::make_shared<bool>(true);
      cases += run({.name = "commit, reply lost, " + std::string(happened ? "done" : "not done") +
                            ", by " + name,
                    .abilities = abilities,
                    .before = [](FaultCase& c) { c.others_work(3); },
                    .ready =
                        [first](FaultCase& c) {
                          one_second(c);
                          *first = true;
                        },
                    .act = [](FaultCase& c) -> Result<void> {
                      if (c.commit().ok()) return {};
                      return c.commit();
                    },
                    .always =
                        [first, happened](const std::string& operation, const Path& path) {
                          const bool naming = operation.starts_with("link") ||
                                              (operation == "rename" &&
                                               !path.filename().string().starts_with(".tmp-"));
                          if (!naming || !std::exchange(*first, false)) return proceed();
                          return happened ? lose_reply(EIO) : refuse(ETIMEDOUT);
                        },
                    .at_least = 10});
    }
  }
  EXPECT_GE(cases, 2000);
}

TEST(EveryFault, of_a_commit_that_loses_a_race_leaves_it_wholly_there_or_wholly_not) {
  const int taken = run({.name = "commit onto a number that is taken",
                         .before = [](FaultCase& c) { c.others_work(3); },
                         .ready =
                             [](FaultCase& c) {
                               (void)c.open();
                               (void)c.commit();
                             },
                         .meanwhile = [](FaultCase& c) { c.others_work(2); },
                         .at_least = 14});
  const int collected = run({.name = "commit onto a number that was collected",
                             .before = [](FaultCase& c) { c.others_work(3); },
                             .ready =
                                 [](FaultCase& c) {
                                   (void)c.open();
                                   (void)c.commit();
                                 },
                             .meanwhile = [](FaultCase& c) { c.others_work(200); },
                             .at_least = 16});
  EXPECT_GE(taken, 300);
  EXPECT_GE(collected, 600);
}

TEST(EveryFault, of_a_checkpoint_or_a_collection_takes_nothing_away) {
  const auto maintenance = [](FaultCase& c) { return c.store()->maintain(); };
  int cases = 0;
  for (const auto& [name, abilities] : kEachFault) {
    cases += run({.name = "checkpoint by " + name,
                  .abilities = abilities,
                  .before =
                      [](FaultCase& c) {
                        for (int i = 0; i < 55; ++i) (void)c.commit();
                      },
                  .act = maintenance,
                  .at_least = 6});
    cases += run({.name = "collection by " + name,
                  .abilities = abilities,
                  .before =
                      [](FaultCase& c) {
                        c.tuning.retention = std::chrono::hours(10000);
                        c.others_work(160);
                      },
                  .ready =
                      [](FaultCase& c) {
                        c.tuning.retention = std::chrono::hours(1);
                        (void)c.open();
                        for (int i = 0; i < 8; ++i) {  // one of them makes a snapshot due
                          (void)c.commit();
                          (void)c.store()->maintain();
                        }
                        c.first().clock.advance(std::chrono::hours(2));
                      },
                  .act = maintenance,
                  .at_least = 70});
  }
  EXPECT_GE(cases, 3500);
}

TEST(EveryFault, of_rebuilding_a_replica_leaves_a_replica_that_is_right_or_none) {
  const auto nobody = [](FaultCase&) {};
  const auto open = [](FaultCase& c) { return c.open(); };
  int cases = run({.name = "rebuild from commit files",
                   .before = [](FaultCase& c) { c.others_work(8); },
                   .ready = nobody,
                   .act = open,
                   .at_least = 30});
  cases += run({.name = "rebuild from a segment and commit files",
                .before = [](FaultCase& c) { c.others_work(20); },
                .ready = nobody,
                .act = open,
                .at_least = 20});
  cases += run({.name = "rebuild from a snapshot and commit files",
                .before = [](FaultCase& c) { c.others_work(170); },
                .ready = nobody,
                .act = open,
                .at_least = 20});
  cases += run({.name = "open with a replica that is there",
                .before = [](FaultCase& c) { c.others_work(20); },
                .ready =
                    [](FaultCase& c) {
                      (void)c.open();
                      c.store().reset();
                    },
                .act = open,
                .at_least = 5});
  EXPECT_GE(cases, 1000);
}

TEST(EveryFault, of_catching_up_is_met) {
  const auto look = [](FaultCase& c) {
    return c.store()->view(Freshness::latest, [](const Reader&) { return Result<void>(); });
  };
  int cases = run({.name = "catch up with files of two directories",
                   .before = [](FaultCase& c) { c.others_work(3); },
                   .meanwhile =
                       [](FaultCase& c) {
                         c.tuning.checkpoint_commits = 10000;
                         c.others_work(70);
                       },
                   .act = look,
                   .at_least = 30});
  cases += run({.name = "catch up over a collection",
                .before = [](FaultCase& c) { c.others_work(3); },
                .meanwhile = [](FaultCase& c) { c.others_work(200); },
                .act = look,
                .at_least = 20});
  EXPECT_GE(cases, 800);
}

}  // namespace
}  // namespace torc::store
