#include "bin/commands/run/progress.h"

#include <gtest/gtest.h>

namespace torc::cli {
namespace {

using claim::JobState;

claim::WorkflowState of(std::uint64_t jobs, std::uint64_t completed, std::uint64_t running,
                        std::uint64_t failed) {
  claim::WorkflowState w;
  w.jobs = jobs;
  w.counts[static_cast<std::size_t>(JobState::completed)] = completed;
  w.counts[static_cast<std::size_t>(JobState::running)] = running;
  w.counts[static_cast<std::size_t>(JobState::failed)] = failed;
  w.counts[static_cast<std::size_t>(JobState::ready)] = jobs - completed - running - failed;
  return w;
}

TEST(Progress, shows_share_counts_failures_rate_and_what_is_left) {
  EXPECT_EQ(progress_text({of(1000, 490, 4, 10), 50}, 80),
            "[==========>           ]  49 %  490/1,000  4 running  10 failed  50/s  ETA 10 s");
}

TEST(Progress, a_hundred_per_cent_means_all) {
  EXPECT_NE(progress_text({of(1000, 999, 1, 0), 0}, 60).find(" 99 %"), std::string::npos);
}

TEST(Progress, jobs_that_wait_at_their_worker_are_not_called_running) {
  claim::WorkflowState w = of(10, 0, 2, 0);
  w.counts[static_cast<std::size_t>(JobState::claimed)] = 3;
  EXPECT_NE(progress_text({w, 0}, 80).find("2 running  3 claimed"), std::string::npos);
}

TEST(Progress, what_was_canceled_has_not_failed_and_what_was_not_needed_is_neither) {
  claim::WorkflowState w = of(10, 2, 0, 1);
  w.counts[static_cast<std::size_t>(JobState::canceled)] = 3;
  w.unmet = 1;
  EXPECT_NE(progress_text({w, 0}, 80).find("1 failed  2 canceled"), std::string::npos);
  w.unmet = 3;
  EXPECT_EQ(progress_text({w, 0}, 80).find("canceled"), std::string::npos);
}

TEST(Progress, what_was_not_needed_is_done_and_what_failed_is_not) {
  claim::WorkflowState w = of(4, 2, 0, 1);
  w.counts[static_cast<std::size_t>(JobState::ready)] = 0;
  w.counts[static_cast<std::size_t>(JobState::canceled)] = 1;
  w.unmet = 1;
  EXPECT_NE(progress_text({w, 0}, 80).find(" 75 %  3/4  1 failed"), std::string::npos)
      << progress_text({w, 0}, 80);
}

TEST(Progress, fits_a_narrow_terminal_by_leaving_the_bar_out) {
  const std::string line = progress_text({of(1000, 490, 4, 10), 50}, 20);
  EXPECT_EQ(line, "  49 %  490/1,000");
}

TEST(Progress, no_part_is_cut_in_the_middle) {
  claim::WorkflowState w = of(1'000'000, 490'000, 64, 12'345);
  w.counts[static_cast<std::size_t>(JobState::claimed)] = 1000;
  const std::string whole = progress_text({w, 1.7}, std::nullopt);
  EXPECT_NE(whole.find("1.7/s  ETA "), std::string::npos) << whole;
  for (int columns = 30; columns < 120; ++columns) {
    const std::string line = progress_text({w, 1.7}, columns);
    EXPECT_LT(static_cast<int>(line.size()), columns);
    for (std::size_t at = line.find("  "); at != std::string::npos; at = line.find("  ", at + 1)) {
      const std::string part = line.substr(at, line.find("  ", at + 2) - at);
      if (line[0] == '[') continue;
      EXPECT_NE((whole + "  ").find(part + "  "), std::string::npos) << part;
    }
  }
  EXPECT_NE(progress_text({w, 1.7}, 62).find("failed"), std::string::npos);
  EXPECT_EQ(progress_text({w, 1.7}, 62).find("ETA"), std::string::npos);
}

TEST(Progress, an_empty_workflow_is_done) {
  EXPECT_NE(progress_text({of(0, 0, 0, 0), 0}, 60).find("100 %"), std::string::npos);
}

}  // namespace
}  // namespace torc::cli
