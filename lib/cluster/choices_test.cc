#include "lib/cluster/choices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace torc::cluster {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

Batch jobs(std::uint64_t count, seconds runtime, std::size_t stage = 0, std::uint32_t cpus = 8) {
  return {.stage = stage, .jobs = count, .cpus = cpus, .runtime = runtime};
}

// Of nodes of 8 CPUs.
JobGroup group(std::vector<Batch> batches, std::uint32_t nodes = 64) {
  JobGroup one;
  one.node = {8, mebibytes(8000), 0};
  one.bounds.all_nodes = nodes;
  one.bounds.most_nodes = nodes;
  one.batches = std::move(batches);
  return one;
}

// "one large: 16 nodes, 1 at once".
std::vector<std::string> told(const std::vector<Choice>& choices) {
  std::vector<std::string> all;
  for (const Choice& one : choices)
    all.push_back(std::string(to_string(one.kind)) + ": " + std::to_string(one.nodes) + " nodes, " +
                  std::to_string(one.at_once) + " at once");
  return all;
}
using Told = std::vector<std::string>;

TEST(Choices, are_one_large_many_small_and_chunks_between) {
  EXPECT_EQ(told(choices_for(group({jobs(16, 1h)}), 0)),
            (Told{"one large: 16 nodes, 1 at once", "chunks: 4 nodes, 4 at once",
                  "many small: 1 nodes, 16 at once"}));
  EXPECT_EQ(told(choices_for(group({jobs(2, 1h)}), 0)),
            (Told{"one large: 2 nodes, 1 at once", "many small: 1 nodes, 2 at once"}));
  EXPECT_EQ(told(choices_for(group({jobs(1, 1h)}), 0)), (Told{"one large: 1 nodes, 1 at once"}));
  EXPECT_EQ(told(choices_for(group({jobs(16, 1h)}), 2)),
            (Told{"one large: 16 nodes, 1 at once", "chunks: 4 nodes, 4 at once",
                  "chunks: 2 nodes, 8 at once", "many small: 1 nodes, 16 at once"}))
      << "with what the file has";
}

TEST(Choices, ask_for_no_more_nodes_than_are_busy_for_half_of_their_time) {
  // 8 nodes for an hour, then one for twenty: of 2 nodes both are busy for 4 of 24 hours.
  const auto choices = choices_for(group({jobs(8, 1h, 0), jobs(1, 20h, 1)}), 0);
  EXPECT_EQ(choices.front().nodes, 2U);
  EXPECT_EQ(choices_for(group({jobs(8, 1h, 0), jobs(1, 2h, 1)}), 0).front().nodes, 4U);
}

TEST(Choices, keep_within_what_there_is_and_what_a_job_of_several_nodes_needs) {
  JobGroup one = group({jobs(64, 1h)}, 10);
  one.bounds.most_nodes = 4;
  one.bounds.running = 3;
  EXPECT_EQ(told(choices_for(one, 0)),
            (Told{"one large: 4 nodes, 1 at once", "chunks: 2 nodes, 3 at once",
                  "many small: 1 nodes, 3 at once"}));
  one = group({jobs(64, 1h)}, 9);
  for (const Choice& choice : choices_for(one, 0)) EXPECT_LE(choice.nodes * choice.at_once, 9U);
  one = group({jobs(8, 1h)});
  one.batches.front().nodes = 4;
  EXPECT_EQ(choices_for(one, 0).back().nodes, 4U);
  one = group({jobs(1000, 1h)}, 1000);
  EXPECT_LE(choices_for(one, 0).back().at_once, kMostAtOnce);
}

TEST(Choices, have_a_walltime_for_a_tenth_more_in_steps_of_five_minutes) {
  JobGroup one = group({jobs(4, 1h)});
  const Choice large = choices_for(one, 0).front();
  EXPECT_EQ(large.walltime.count() % 300, 0);
  EXPECT_GE(large.walltime, 66min);
  EXPECT_LE(large.walltime, 75min);
  one.bounds.walltime = 62min;
  EXPECT_EQ(choices_for(one, 0).front().walltime, 62min);
}

TEST(Recommendation, is_the_fewest_allocations_where_all_else_is_alike) {
  const JobGroup one = group({jobs(16, 1h)});
  auto choices = choices_for(one, 0);
  for (Choice& choice : choices) choice.start = 0s;
  settle(one, choices);
  const Recommendation best = recommend(one, choices);
  EXPECT_EQ(choices[*best.choice].kind, ChoiceKind::one_large);
  EXPECT_EQ(best.sentence,
            "one large: done as soon as by others for as many core-hours, with a single "
            "allocation");
}

TEST(Recommendation, is_small_ones_where_stages_leave_nodes_idle) {
  const JobGroup one = group({jobs(8, 1h, 0), jobs(1, 2h, 1)});
  const auto choices = choices_for(one, 0);
  const Recommendation best = recommend(one, choices);
  EXPECT_EQ(choices[*best.choice].kind, ChoiceKind::many_small);
  EXPECT_NE(best.sentence.find("core-hours less"), std::string::npos) << best.sentence;
  EXPECT_NE(best.sentence.find("when they would start is not known"), std::string::npos);
}

TEST(Recommendation, is_small_ones_where_these_start_sooner) {
  const JobGroup one = group({jobs(16, 1h)});
  auto choices = choices_for(one, 0);
  choices[0].start = 10h;  // 16 nodes
  choices[1].start = 1h;   // 4
  choices[2].start = 0s;   // 1
  settle(one, choices);
  // One node at once, four in an hour, the rest with the large one: 1 + 4 * 3 of 16 in 4 hours.
  EXPECT_EQ(choices[2].packing.start, 0s);
  EXPECT_EQ(choices[2].packing.end, 5h);
  EXPECT_EQ(choices[1].packing.end, 5h) << "4 from 1 h on";
  EXPECT_EQ(choices[0].packing.end, 11h);
  for (const Choice& choice : choices) EXPECT_LE(choice.packing.longest, choice.walltime);
  const Recommendation best = recommend(one, choices);
  EXPECT_NE(choices[*best.choice].kind, ChoiceKind::one_large) << best.sentence;
}

TEST(Recommendation, is_of_what_slurm_does_not_refuse) {
  const JobGroup one = group({jobs(16, 1h)});
  auto choices = choices_for(one, 0);
  choices[0].answer = Choice::Answer::refused;
  choices[0].why = "too many nodes";
  const Recommendation best = recommend(one, choices);
  EXPECT_NE(*best.choice, 0U);
  for (Choice& choice : choices) {
    choice.answer = Choice::Answer::refused;
    choice.why = "no such account";
  }
  EXPECT_EQ(recommend(one, choices).choice, std::nullopt);
  EXPECT_EQ(recommend(one, choices).sentence, "Slurm refuses all of them: no such account");
}

TEST(Recommendation, of_the_only_choice_says_why_there_is_no_other) {
  const JobGroup little = group({jobs(1, 1h)});
  EXPECT_EQ(recommend(little, choices_for(little, 0)).sentence,
            "one large: for more than 1 node there is too little to do; when it would start is not "
            "known");
  const JobGroup small = group({jobs(8, 1h)}, 1);
  EXPECT_EQ(recommend(small, choices_for(small, 0)).sentence,
            "one large: more than 1 node cannot be had; when it would start is not known");
}

TEST(Recommendation, compares_none_of_which_slurm_says_nothing) {
  const JobGroup one = group({jobs(16, 1h)});
  auto choices = choices_for(one, 0);
  choices[1].start = 5h;
  settle(one, choices);
  const Recommendation best = recommend(one, choices);
  EXPECT_EQ(*best.choice, 1U);
  EXPECT_EQ(best.sentence, "chunks: Slurm does not say when any other one would start");
}

}  // namespace
}  // namespace torc::cluster
