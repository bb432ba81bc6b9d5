// The worker as a state machine: what it does about what happens to it. No input or output, no
// clock, no threads, nothing formatted; the same state, event and time give the same commands.
// lib/worker/loop turns the world into events and commands into deeds; the simulator
// (tests/simulation) does the same with a world of its own.
#pragma once

#include <optional>

#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/pace.h"
#include "lib/worker/machine/command.h"
#include "lib/worker/machine/event.h"
#include "lib/worker/machine/state.h"

namespace torc::worker {

struct Moment {
  BootTime boot{};
  WallTime wall{};
};

// What a worker knows when it has registered.
struct Birth {
  Terms terms;
  std::uint64_t seed = 0;
  claim::Pace pace{claim::Sharing::local};
  std::optional<exec::CpuPool> cpu_pool;
  claim::WorkflowState workflow;
  std::optional<BootTime> first_claim;  // its turn, where workers start one after the other
};
[[nodiscard]] State be_born(Birth birth, Moment now);

// Adds what is to be done to `commands`, in the order in which it is to be done. Precondition: the
// commands before were answered, as far as command.h says so.
void step(State& state, Event event, Moment now, Commands& commands);

// When the next Turn is due unless something else happens.
[[nodiscard]] BootTime wake_at(const State& state, BootTime now);

// What the worker could start now and wants to hold ready.
[[nodiscard]] claim::Offer offer_of(const State& state, BootTime now);

}  // namespace torc::worker
