// Jobs that have failed and wait a while before they are tried again.
//
// A delayed job carries a moment by the clock of the worker that reported its failure, and is made
// ready by the first worker that asks for jobs after that moment by its own clock. No two clocks
// are trusted to agree: one that is wrong shifts a delay, and as long as the clocks run on, to no
// more than twice its length.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/base/clock.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// May the job be tried again? Also when the moment lies more than twice the delay ahead: then it
// was written by a clock that is not this one's.
[[nodiscard]] bool is_due(WallTime not_before, std::chrono::seconds delay, WallTime now);

// The job in the key that a look into the list of delayed ones found; nullopt: its end.
[[nodiscard]] std::optional<std::uint64_t> listed_id(State& state,
                                                     const std::optional<store::Entry>& entry);
// From `now` until the next delayed job is due; nullopt: none is delayed.
[[nodiscard]] std::optional<std::chrono::microseconds> next_due(State& state, WallTime now);

}  // namespace torc::claim
