// The one place that makes a question for squeue, and the one reader of what it prints. Of this
// host's own cluster, whatever the user's variables say, with jobs of all partitions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"

namespace torc::slurm {

// States that an allocation never leaves, and reaches when the nodes have said that its processes
// have ended. COMPLETING is none: they may still run.
inline constexpr std::array<std::string_view, 3> kEnded{"COMPLETED", "FAILED", "OUT_OF_MEMORY"};
// Such states that no process of the allocation brings about.
inline constexpr std::array<std::string_view, 4> kCutOff{"CANCELLED", "DEADLINE", "PREEMPTED",
                                                         "TIMEOUT"};
// Such states where a node says nothing. (REVOKED is none: another cluster has what runs.)
inline constexpr std::array<std::string_view, 2> kGivenUp{"NODE_FAIL", "BOOT_FAIL"};
// States of a run with nodes. What is in no list is not acted upon.
inline constexpr std::array<std::string_view, 8> kRuns{"COMPLETING", "CONFIGURING", "RUNNING",
                                                       "RESIZING",   "SIGNALING",   "STOPPED",
                                                       "SUSPENDED",  "EXPEDITING"};
// States of one that waits for its run: after a run, for the next one.
inline constexpr std::array<std::string_view, 5> kWaits{"PENDING", "REQUEUED", "REQUEUE_FED",
                                                        "REQUEUE_HOLD", "SPECIAL_EXIT"};

template <class List, class Word>
[[nodiscard]] bool holds(const List& list, const Word& word) {
  return std::ranges::find(list, word) != list.end();
}

// "1234", and "1234_7" of an array: what may stand on a command line.
[[nodiscard]] bool is_job_id(std::string_view id);

// Seconds since 1970 are free of time zones; a Slurm that does not know the format prints local
// time ("2024-05-01T12:00:00").
[[nodiscard]] std::optional<WallTime> epoch_seconds(std::string_view text);
[[nodiscard]] std::optional<WallTime> time_of(std::string_view text);

[[nodiscard]] std::vector<std::string_view> words(std::string_view line);
// The last one may have been cut where the text does not end with its line.
[[nodiscard]] std::vector<std::string_view> whole_lines(std::string_view text);

// A cell of theirs without its blanks; empty where they have nothing to tell and say so ("N/A",
// "(null)").
[[nodiscard]] std::string_view told(std::string_view cell);
// The same of a time; 0: none is told.
[[nodiscard]] WallTime time_told(std::string_view cell);

// The command `program` with `options`, whose answer none of the user's variables changes or cuts.
[[nodiscard]] std::vector<std::string> question(std::string_view program,
                                                std::vector<std::string> options);

// Of each allocation in one line. Slurm pads each column with blanks, and cuts what is too long for
// it: then the number of words is another one.
inline constexpr std::string_view kColumns =
    "JobID:24,JobArrayID:48,Cluster:64,NodeList:16384,NumNodes:12,State:24,StartTime:32,EndTime:32";
inline constexpr std::size_t kWidth = 24 + 48 + 64 + 16384 + 12 + 24 + 32 + 32;  // bytes

struct Line {
  std::string_view id;
  std::string_view array_id;
  std::string_view cluster;
  std::string_view nodes;  // empty: none
  std::string_view number_of_nodes;
  std::string_view state;
  std::string_view start;
  std::string_view end;
};
// nullopt: not of these columns. Views into `text`.
[[nodiscard]] std::optional<Line> read_line(std::string_view text);

}  // namespace torc::slurm
