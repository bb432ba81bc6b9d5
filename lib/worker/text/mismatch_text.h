// Why a worker cannot take a job, in words.
#pragma once

#include <string>

#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/plan.h"

namespace torc::worker {

// "it asks for label 'big', and this worker has none; it needs 8 CPUs of 2". Empty: it can.
[[nodiscard]] std::string show_mismatches(const claim::JobClass& job_class,
                                          const claim::Offer& worker);

}  // namespace torc::worker
