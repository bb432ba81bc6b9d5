// What Slurm shows of allocations and nodes, for people: nothing is decided by it. What it does not
// tell is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/slurm/query.h"

namespace torc::slurm {

struct ShownAllocation {
  // "1234", as allocation_name() of own_allocation.h has it; of elements of an array that wait, and
  // of its last one, with the number of the whole: "1234_[8-10]", "1234_7".
  std::string id;
  std::string cluster;
  std::string name;
  std::string state;   // Slurm's word: "PENDING"
  std::string reason;  // of one that waits: "Priority"; empty: none is told
  std::string script;  // the path that it was submitted as; empty: not told
  std::optional<std::uint32_t> uid = {};
  WallTime submitted = {};       // 0: not told, as below
  WallTime start = {};           // of one that waits: expected
  WallTime end = {};             // of one that runs: of its time; else when it ended
  std::string canceled_by = {};  // "uid 1000", "root"; empty: not told
  bool operator==(const ShownAllocation&) const = default;
};

// `over` only by a state that Slurm never takes back; what is in no list is `other`.
enum class Stage : std::uint8_t { waits, runs, over, other };
[[nodiscard]] Stage stage_of(std::string_view state);

// Whether it may be asked about: nothing in it means more than a name to Slurm or a shell.
[[nodiscard]] bool is_plain(std::string_view name);

// The id of an allocation of which Slurm tells a number of its own ("10") and one of an array.
[[nodiscard]] std::string name_of(std::string_view number, std::string_view shown);
// Why this is no answer: a clause.
[[nodiscard]] std::string failure_of(const CommandOutput& output);

struct Shown {
  std::vector<ShownAllocation> allocations;
  // The whole answer was read: it begins with its heading and ends with a line. So what is not in
  // it is not shown by Slurm.
  bool whole = false;
  std::string failure = {};  // there is no answer: a clause; else empty
};
// One squeue each, of all users. Of names and ids only plain ones are asked about. Those that ended
// are listed for some minutes (MinJobAge).
//
// `users`: whose are enough; none: everybody's. Of others some are shown all the same where this
// host does not know all of these by number.
[[nodiscard]] Shown show_named(const RunProgram& run, const std::vector<std::string>& names,
                               const std::vector<std::uint32_t>& users = {});
// Slurm refuses the whole question where it knows none of them.
[[nodiscard]] Shown show_numbered(const RunProgram& run, const std::vector<std::string>& ids);
// The same of those that have ended, by one sacct: from the accounting, where there is one.
// `since`: of submission; the last week at most.
[[nodiscard]] Shown show_ended(const RunProgram& run, const std::vector<std::string>& names,
                               WallTime since);

struct ShownNode {
  std::string node;
  std::string state;   // "down", "down*": Slurm does not hear of it
  std::string reason;  // empty: none is told
  bool operator==(const ShownNode&) const = default;
};
// By one sinfo; empty: no answer.
[[nodiscard]] std::vector<ShownNode> show_nodes(const RunProgram& run,
                                                const std::vector<std::string>& nodes);

}  // namespace torc::slurm
