// How the jobs of a group may be given allocations: one large one, many small ones, or chunks in
// between; and which of these is recommended. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cluster/job_groups.h"
#include "lib/cluster/packing.h"

namespace torc::cluster {

enum class ChoiceKind : std::uint8_t { one_large, chunks, many_small };
[[nodiscard]] std::string_view to_string(ChoiceKind kind);  // "one large"

// As many nodes as keep busy by so much, by the jobs' shares of them, are asked for at most; the
// usual min_utilization of a workflow file, docs/user/slurm.md.
inline constexpr double kLeastUse = 0.5;
// Allocations at a time: a controller is not given thousands.
inline constexpr std::uint32_t kMostAtOnce = 100;

struct Choice {
  ChoiceKind kind = ChoiceKind::one_large;
  std::uint32_t nodes = 1;           // of each allocation
  std::uint32_t at_once = 1;         // allocations at a time, at most
  std::chrono::seconds walltime{0};  // of each
  Packing packing;
  // What Slurm says of one of them.
  enum class Answer : std::uint8_t { none, accepted, refused };
  Answer answer = Answer::none;
  std::optional<std::chrono::seconds> start = {};  // from now; of one that is accepted, as it says
  std::string why = {};                            // refused or none: its words or a clause
};

// The nodes that are worth while together, N: the most of 1, 2, 3, 4, 6, 8, 12, …, that there are
// and that one allocation of so many keeps busy by kLeastUse. Then one allocation of N, or of as
// many as one may have; as small ones as may be, as many as have N nodes; and a size in between, by
// doubling the small one, and `own_nodes` (0: none), as the file has it. Their walltime is for what
// pack() says and a tenth more, in steps of 5 minutes, within the limit. All begin at once, until
// Slurm has been asked. Precondition: the group's why_none is empty.
[[nodiscard]] std::vector<Choice> choices_for(const JobGroup& group, std::uint32_t own_nodes);

// When the answers are there: packs anew by when allocations can begin. That allocations of k nodes
// in all can begin by some time is taken from the choice of the fewest nodes, but at least k, whose
// start is known; where there is none, from that of the most.
void settle(const JobGroup& group, std::vector<Choice>& choices);

struct Recommendation {
  std::optional<std::size_t> choice;  // none: Slurm refuses all of them
  std::string sentence;
};
// Of those that are not refused: those that end last by a twentieth of the best's time from now at
// most, and by 5 minutes where that is more; of these those that are held for the fewest core-hours
// by a fiftieth at most; of these the fewest allocations. Where no start is known they are taken to
// begin at once.
[[nodiscard]] Recommendation recommend(const JobGroup& group, const std::vector<Choice>& choices);

// What is paid for, and what the jobs have of it by their declared CPUs.
[[nodiscard]] double granted_core_hours(const JobGroup& group, const Choice& choice);
[[nodiscard]] double used_core_hours(const JobGroup& group);

}  // namespace torc::cluster
