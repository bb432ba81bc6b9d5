// What a worker says and asks in one exchange (exchange.h), and what it is answered. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/gang.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/rules/workflow_state.h"

namespace torc::claim {

// One commit carries everything a worker has to say.
struct Exchange {
  WorkerEpoch worker{};
  WallTime now{};
  std::vector<Started> starts;  // one of a job that is also in `finishes` does no harm
  std::vector<Finished> finishes;
  // Claimed, never started: back to ready, the attempt not used up, also of a suspect. One that was
  // reported as running counts as stopped, its attempt as used up.
  std::vector<ClaimToken> returns;
  // Claimed, not to be started before the next exchange. While ready jobs are scarce (fewer than
  // two for each live worker) they go back like `returns`, and Answer::took_spares says so.
  std::vector<ClaimToken> spares;
  // None: claim nothing (draining). As long as a suspect is in its probation or runs alone to its
  // end there is none: the store takes an offer for the word that none is.
  std::optional<Offer> offer;
  // The silence that the worker may keep from here on; 0: as before.
  std::chrono::seconds ttl{};
  std::vector<ActionReport> actions;
  ActionWish wish;             // which runs of actions it would take
  std::vector<GangWord> gang;  // in the order in which it happened
  // How long jobs run here lately, by the boot clock; 0: nothing to say. For other workers to plan
  // by.
  std::chrono::milliseconds job_time{};
};

struct Grant {
  ClaimToken token;
  std::uint32_t job_class = 0;
  std::int32_t priority = 0;
  std::uint32_t stopped = 0;  // Job::stopped
  // It is a suspect, and the only grant of its answer, no action beside it: the worker starts
  // nothing beside it and offers nothing before it has shown to be harmless. Job::lost says how
  // often it has not been.
  bool alone = false;
  std::uint32_t lost = 0;
  // Of several nodes, and the only grant of its answer: the worker is the head of its gang
  // (Answer::gang), which starts the command only when that is complete.
  bool gang = false;
  // That it is expected to take, by what was learned of such jobs; 0: nobody knows.
  std::chrono::seconds runtime{};
  std::uint32_t alternative = 0;  // of its class, that it was granted for
};

struct Refused {
  ClaimToken token;
  Refusal why = Refusal::superseded;
  WorkerEpoch holder{};  // who has the job now; 0: nobody
};

// Of the jobs that a worker takes alone (Offer::only), those that may yet run without a person's
// doing: all others wait for one that failed, or is held.
struct OpenJobs {
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t at_work = 0;  // claimed or running, or canceled, still to be ended, and then again
};

struct Answer {
  std::vector<Grant> grants;  // in the order in which they should start
  std::vector<Refused> refused;
  std::vector<ActionGrant> actions;      // in the order in which they should run
  WorkflowState workflow;                // after this exchange; `settings` left empty
  std::uint64_t live_workers = 0;        // workers
  std::chrono::milliseconds job_time{};  // how long jobs run lately, on all workers; 0: not known
  bool took_spares = false;
  bool promoted = false;  // jobs whose delay is over were made ready
  // By the asker's clock, until the next delayed job may be claimed; nullopt: none is delayed.
  std::optional<std::chrono::microseconds> next_due;
  // What the worker must end, now: canceled while it held it. Told in every answer until one of
  // `finishes` or `returns` says that it is over.
  std::vector<ClaimToken> revoked;
  std::optional<GangPart> gang;  // that this worker is part of after this exchange
  // Whom this exchange concerns besides: members of a gang that it changed. To be rung.
  std::vector<WorkerEpoch> concerned;
  // The worker's node is kept for a gang that waits: it has no more than what ends before that, and
  // is not to prefetch.
  bool reserved = false;
  // A job of several nodes waits that the worker's node could be one of.
  std::optional<WaitingGang> could_be_part;
  // What others plan by has changed (the node is free, or is not any more; it is kept; what they
  // are told of the gang): to be committed, also where nothing was granted.
  bool to_be_known = false;
  // To an offer for which there was no job, where it was for some jobs only.
  std::optional<OpenJobs> open;
};

}  // namespace torc::claim
