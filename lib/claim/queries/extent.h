// How many jobs a workflow has, by tables that must agree in it.
#pragma once

#include <cstdint>

#include "lib/claim/tables/state.h"

namespace torc::claim {

// How many jobs there are. That the counters, the spans and the templates agree in it costs two
// looks, and leaves nothing that a walk over all jobs could be made endless with. A third one: no
// record stands before that of the first job, where a walk that begins there would not see it.
[[nodiscard]] std::uint64_t extent(State& state);

}  // namespace torc::claim
