// The last commit of a worker: its last words, the end of its registration, and what the workflow
// is like then.
#pragma once

#include <string>
#include <vector>

#include "lib/store/engine/store.h"
#include "lib/worker/bell/udp_bell.h"
#include "lib/worker/machine/step.h"

namespace torc::worker {

struct Goodbye {
  event::GoodbyeAnswer answer;          // its error: what the commit met; nothing was said then
  std::vector<std::string> mismatches;  // why no job fits, of a worker that leaves for that
};

// `offer`: what the worker has, of which `mismatches` tell. `bell`: rings those who can begin now;
// null: nobody. Removes the worker's heartbeat file once nobody needs it.
[[nodiscard]] Goodbye say_goodbye(const store::World& world, store::Store& store,
                                  const State& state, const claim::Offer& offer, UdpBell* bell,
                                  const command::Goodbye& order);

}  // namespace torc::worker
