// What would let a job come further than it came, with values to put in. A part of why.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/plan.h"
#include "lib/report/situation.h"
#include "lib/workflow/context/context.h"

namespace torc::report {

// For a job that ran out of memory or time, and was given `had`: more of it, and how to try again.
// `store`, `job`: as words of commands. nullopt: it ended otherwise.
[[nodiscard]] std::optional<std::string> more_of_it(const claim::Outcome& outcome,
                                                    const claim::Requirement& had,
                                                    const std::string& store,
                                                    const std::string& job);

// " cpus=2 memory=3072m": what a job of this class may need at most to run on a worker that offers
// this, as `torc set` takes it. Empty: that would not do.
[[nodiscard]] std::string settings_that_fit(const claim::JobClass& job_class,
                                            const claim::Offer& here);

// "it needs 1000 CPUs, and there are 2": what this machine, as this process may use it, lacks for
// all of the classes, by the first of them. Empty: it could run jobs of one of them, or there are
// none. What a worker is told of, and other nodes, is not looked at.
[[nodiscard]] std::string lacks_here(const workflow::Context& context,
                                     const std::vector<claim::JobClass>& classes);

// How a job of this class gets a worker where there is none: how_to_start(), but what this machine,
// as this process may use it, lacks for it is told instead of the command that would not run it.
[[nodiscard]] std::string remedy_without_worker(const workflow::Context& context,
                                                const Situation& situation,
                                                const claim::JobClass& job_class,
                                                const std::string& store, const std::string& job);

}  // namespace torc::report
