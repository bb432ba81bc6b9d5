// A batch system, as whoever wants allocations sees it: submit, list, cancel. Slurm is one, others
// are told of by configuration. What a launcher says is taken from positive signs alone: what did
// not answer, or answered by half, has said nothing of what is not in its answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/path.h"
#include "lib/slurm/shown.h"

namespace torc::launcher {

// One try to get one allocation.
struct Submission {
  // Unique name of this try, by which it is found again: see is_intent().
  std::string intent = {};
  // Not empty: the batch system's job name must be this one (allocations of one name follow each
  // other, --dependency=singleton); then the intent goes into the comment. Else the intent is the
  // job's name.
  std::string shared_name = {};
  Path script = {};  // absolute
  // TORC_…: for the batch script, besides the user's own environment, with which it is exported.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> exclude_nodes = {};
};

inline constexpr std::size_t kLongestIntent = 200;  // bytes
// Plain characters, [A-Za-z0-9._-], the first no '-'; not empty, at most kLongestIntent of them.
[[nodiscard]] bool is_intent(std::string_view name);

enum class Submitted : std::uint8_t {
  accepted,  // it has an id
  refused,   // for good; nothing was submitted: a bad account, partition or option, a limit of the
             // association
  later,     // nothing was submitted, and it may work later: the controller is down and was sent
             // nothing, too many jobs now, "try again"
  unclear    // it may or may not have acted: a timeout, a signal, rubbish, a connection that broke
             // after something was sent. The intent's name has to be looked for
};

struct SubmitAnswer {
  Submitted what = Submitted::unclear;
  std::string cluster = {};  // empty: not known
  std::string id = {};       // of one that was accepted
  // What it printed, for people: bounded, no control characters.
  std::vector<std::string> words = {};
  // Of these the line by which it is known what became of it; empty: the last one.
  std::string told_by = {};
  // Of one that was refused: this host, or this place, may not submit; another one may (a login
  // node).
  bool not_from_here = false;
};

struct Listed {
  std::string cluster = {};  // empty: the system tells none
  std::string id = {};
  std::string intent = {};  // found name or comment; empty: not known
  std::string name = {};    // of the job
  std::string state = {};   // the system's word
  std::string reason = {};  // of one that waits; empty: none is told
  slurm::Stage stage = slurm::Stage::other;
  WallTime submitted{};     // 0: not told, as below
  WallTime start{};         // of one that waits: expected
  WallTime end{};           // of one that runs: of its time; of one that is over: when it ended
  std::uint32_t nodes = 0;  // how many; 0: not told
  bool operator==(const Listed&) const = default;
};

struct Listing {
  std::vector<Listed> allocations = {};
  // The whole answer of the right system was read: a heading or another proof, and its last line is
  // complete. So what is not among them is not in the queue.
  bool whole = false;
  // The accounting was asked, too, and answered whole: what ended long ago would be seen. It hears
  // of things some seconds after the queue, for which the queue still has them.
  bool accounting = false;
  std::string failure = {};  // why there is no answer: a clause; else empty
  // Which cluster answered; empty: not known, or the system has no such names. Nothing is said of
  // what was submitted to another one.
  std::string cluster = {};
};

// What is looked for: the user's own with one of these names or ids.
struct Looking {
  std::vector<std::string> intents = {};
  std::vector<std::string> shared_names = {};
  std::vector<std::string> ids = {};
  WallTime since{};        // none of them was submitted before; 0: not known
  bool ended_too = false;  // ask the accounting also
};

inline constexpr std::chrono::seconds kSubmitLimit{60};

// Not for several threads at once. Nothing throws.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Blocks at most kSubmitLimit, then kills the command with its group.
  [[nodiscard]] virtual SubmitAnswer submit(const Submission& submission) = 0;
  // At most one command for the queue and, if asked for, one for the accounting, whatever the
  // number of names.
  [[nodiscard]] virtual Listing list(const Looking& looking) = 0;
  // One command for all, or one for as many as the kernel takes. False: one of them failed; then
  // some may be cancelled. True does not mean that they have ended.
  virtual bool cancel(const std::vector<std::string>& ids) = 0;
  [[nodiscard]] virtual std::string name() const = 0;  // "slurm"
  // The cluster that this host submits to and asks, as it calls itself; empty: not known (now), or
  // there are no such names. May ask it, once.
  [[nodiscard]] virtual std::string cluster() { return {}; }
};

}  // namespace torc::launcher
