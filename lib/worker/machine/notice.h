// What a worker has to tell a person, as values: lib/worker/loop/notice_text.h has the sentences.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/units.h"
#include "lib/claim/rules/ceiling.h"
#include "lib/claim/rules/recovery.h"
#include "lib/claim/rules/request.h"
#include "lib/exec/run/process_host.h"
#include "lib/worker/machine/claimed_job.h"

namespace torc::worker {

struct Notice {
  enum class What : std::uint8_t {
    cannot_start,          // job, text: why
    cannot_start_mount,    // job, step, number: errno
    runs_alone,            // job; flag: to its end
    node_cannot_run,       // job, step, number: errno
    mount_stays_dead,      // time: for so long; step, number, or text
    job_canceled,          // job
    tried_again,           // job, outcome, count: which retry, of `other`, time: after
    recovered,             // job, outcome, remedy, count: which recovery, of `other`, time: after
    recoveries_used,       // job, count: all that there are
    ceiling_reached,       // job, ceiling, memory, time
    failures_wait,         // for a decision
    recovery_begins,       // job, outcome
    recovery_not_started,  // job, text
    recovery_failed,       // job, ended: of the script
    finishes_jobs,         // count
    told_to_leave,         // count: told, other: not told, time: all, lead: to end in
    stops_jobs,            // count, lead, number: of the signal
    results_left,          // count, lead, number
    kills_jobs,            // count
    no_time_left,          // count: jobs that are stopped
    lease_lost,            // text
    too_late,              // the lease could not be renewed in time
    lease_stands,          // after a doubt
    lease_in_doubt,        //
    no_answer,             // text
    cannot_write,          // text
    can_write_again,       //
    result_refused,        // refused
    waits_for_new_jobs,    // time
    stays,                 //
    allocation_unused,     // time; flag: it leaves alone
    awaits_others,         // count: canceled jobs, other: actions
    gave_up_results,       // count, text; flag: the store may have them
    node_is_taken,         //
    gang_formed,           // job, count: nodes; of the head
    gang_joined,           // job, else other: its id; count: nodes, number: rank, text: the head
    gang_incomplete,       // job, time, text: nodes that are silent
    gang_lacks_node,       // job
    gang_stays,            // job, number: of the signal
    gang_silent,           // job, text: nodes that have not shown life since it failed
    gang_lost,           // job, else other: its id; text: nodes that are gone; flag: it runs again
    gang_over,           // job; of the head: not by an end of its own
    gang_left_some,      // job, time
    action_not_started,  // action, text, or number: errno
    action_failed        // action, outcome
  };
  What what{};
  std::shared_ptr<Load> job = nullptr;
  std::uint64_t count = 0;
  std::uint64_t other = 0;
  std::chrono::nanoseconds time{};
  std::chrono::nanoseconds lead{};
  int number = 0;
  bool flag = false;
  std::string text = {};
  exec::StartStep step = exec::StartStep::none;
  claim::Outcome outcome = {};
  claim::Remedy remedy = claim::Remedy::retry;
  claim::Ceiling ceiling = claim::Ceiling::none;
  ByteCount memory = {};
  exec::Ended ended = {};
  claim::Refused refused = {};
  claim::ActionGrant action = {};
};

}  // namespace torc::worker
