// What there is to say of a Situation: the sentences that all commands have in common, and their
// JSON. Pure; `now` by the wall clock.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/situation.h"

namespace torc::report {

struct Start {
  enum class By : std::uint8_t { sbatch, run, nothing };
  By by = By::run;
  std::string how;  // commands; by nothing: why no batch script would do
};
// The commands that bring workers for jobs of one of these classes: "sbatch
// wf.torc/slurm/big.sbatch" where there is an sbatch and a script that fits, those that may do with
// more certainty first; "torc run wf.torc" where there is no script or no sbatch. Without a class:
// any script.
[[nodiscard]] Start how_to_start(const workflow::Context& context, const Situation& situation,
                                 const std::string& store,
                                 const std::vector<claim::JobClass>& classes);

// "worker 3 on n2, allocation 17"
[[nodiscard]] std::string say_place(const claim::Worker& worker);
// "worker 3 on n2, allocation 17, has been silent for 45 s, Slurm says n2 is down; its jobs run
// again at the latest in 12 s". Precondition: it is not at work.
[[nodiscard]] std::string say_absence(const Situation& situation, const WorkerNow& worker,
                                      WallTime now);

// A line for each that is not at work, the first of them.
[[nodiscard]] std::string say_absences(const Situation& situation, WallTime now);

// What to do where there is work and no worker at work, and no allocation that is waited for.
[[nodiscard]] std::optional<std::string> remedy_for_nobody(const workflow::Context& context,
                                                           const Situation& situation,
                                                           const std::string& store);
// "no worker is at work; start one: torc run wf.torc", or what is waited for, or why no batch
// script, or this machine, would do; a line. Empty: some are at work, or nothing is to do.
[[nodiscard]] std::string say_nobody(const workflow::Context& context, const Situation& situation,
                                     const std::string& store);

// " (asked 7 s ago)" where what it shows may be past; else nothing.
[[nodiscard]] std::string say_asked(const SlurmAnswer& said, WallTime now);
// "PENDING (Resources), expected to start 2026-05-01 12:00:00", "CANCELLED by uid 7, ended …".
[[nodiscard]] std::string say_state(const slurm::ShownAllocation& allocation, WallTime now);
// "allocation 17 (wf-big) is PENDING …"
[[nodiscard]] std::string say_allocation(const slurm::ShownAllocation& allocation, WallTime now);
// Those that bring workers later: they wait, are suspended, or have begun just now. Of `scheduler`
// where it is given.
[[nodiscard]] std::vector<const slurm::ShownAllocation*> waiting(const Situation& situation,
                                                                 const std::string& scheduler = {});
// What passes by itself, or takes somebody to do something, for each of at most three.
[[nodiscard]] std::string remedy_for_waiting(
    const std::vector<const slurm::ShownAllocation*>& allocations);
// The allocation of this worker where Slurm shows that as suspended; else nullptr.
[[nodiscard]] const slurm::ShownAllocation* suspended_of(const Situation& situation,
                                                         const claim::WorkerInfo& worker);
// A line for each allocation that somebody has to do something about, the first of them.
[[nodiscard]] std::string say_stuck(const Situation& situation);
// What Slurm says to there being no worker at work: what waits or runs, how the last one ended,
// that it shows none, or that it did not answer. Empty: it was not asked, or says nothing.
[[nodiscard]] std::string say_slurm(const Situation& situation, WallTime now,
                                    const std::string& scheduler = {});

// Adds {allocations: [{allocation, slurm_job, scheduler, slurm_state, slurm_reason, starts_at,
// ends_at, canceled_by}], slurm_answered_at, slurm_error, remedy}.
void add_situation(nlohmann::ordered_json& out, const workflow::Context& context,
                   const Situation& situation, const std::string& store);
// Adds {heard_at, lease_ends_at, silent_seconds, gone, slurm_node_state}.
void add_presence(nlohmann::ordered_json& out, const Situation& situation, const WorkerNow& worker);

}  // namespace torc::report
