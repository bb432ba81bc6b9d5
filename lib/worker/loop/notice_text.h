// What a worker tells people, in sentences.
#pragma once

#include <string>
#include <vector>

#include "lib/claim/rules/action.h"
#include "lib/exec/node/node_table.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/worker/machine/notice.h"

namespace torc::worker {

// What the sentences need beside the notice.
struct NoticeWorld {
  const JobPreparer& preparer;
  const std::vector<claim::Action>& actions;
  std::size_t running = 0;   // commands, now
  std::string holders = {};  // node_is_taken: who has it; empty: not known
};

// Empty: there is nothing to say.
[[nodiscard]] std::string show_notice(const Notice& notice, const NoticeWorld& world);

// How an attempt of a job ended, with the name of what was missing.
[[nodiscard]] std::string show_end_of(const Load& load, const claim::Outcome& outcome,
                                      const JobPreparer& preparer);
// How a recovery script ended.
[[nodiscard]] std::string show_script_end(const exec::Ended& script);

// Which other workers of the store of `self` are among `here`, all that are on its node. Empty:
// none.
[[nodiscard]] std::string show_others_here(const std::vector<exec::NodeEntry>& here,
                                           const exec::NodeMember& self);

// A recovery script that takes longer is ended, and has failed.
inline constexpr auto kRecoveryLimit = std::chrono::minutes(10);

}  // namespace torc::worker
