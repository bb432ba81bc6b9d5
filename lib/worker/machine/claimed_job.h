// A job that a worker has claimed, as its state machine sees it: what decides when it is started
// and what its end means. The command, its output and its name travel along unread.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/clock.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/request.h"

namespace torc::worker {

// Of a job, what only whoever starts it needs (lib/worker/jobs/load.h; a simulation has its own).
struct Load;

// One start of a command, numbered by the state machine; never reused in the life of a worker.
enum class Run : std::uint64_t {};
[[nodiscard]] constexpr std::uint64_t raw(Run run) {
  return static_cast<std::uint64_t>(run);
}

struct ClaimedJob {
  claim::Grant grant;
  claim::Requirement need;
  std::shared_ptr<const claim::Handler> handler;  // what to do when it fails; null: nothing
  claim::RetryCounts retries;
  ByteCount memory_ceiling;       // what its handler may give it at most
  bool has_alternatives = false;  // of what it needs
  int checkpoint_exit_code = 0;   // 0: none
  std::uint32_t crash_limit = 0;  // of a grant that runs alone: workers that it may take with it
  bool has_inputs = false;        // that are looked at when it starts
  bool must_make_files = false;   // or it has failed, whatever its exit code
  // Of several nodes:
  bool on_each_node = false;            // its command runs on all of them, not on the head alone
  bool ends_with_first_failure = true;  // then: one that fails ends the others
  std::uint16_t port = 0;  // then: free on the head, for what its nodes run together; 0: none
  std::shared_ptr<Load> load;
  // In the queue of its worker:
  BootTime queued_at{};
  bool passed_over = false;  // it did not fit where one behind it did
  // A filesystem that it needs did not answer, so often; not tried again before that.
  int refusals = 0;
  BootTime not_before{};
};

}  // namespace torc::worker
