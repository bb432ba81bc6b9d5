// What a worker offers to jobs, and which of them fit into it: pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/room.h"
#include "lib/claim/rules/worker.h"

namespace torc::claim {

// What the worker could start now, and beyond that what it wants to hold ready.
struct Offer {
  std::uint32_t cpus = 0;  // free now
  std::uint32_t gpus = 0;
  ByteCount memory;
  Resources more = no_resources();  // of the kinds that came later
  std::uint32_t total_cpus = 0;     // a job that needs more than the total never fits
  std::uint32_t total_gpus = 0;
  ByteCount total_memory;
  Resources total_more = no_resources();
  std::vector<Piece> pieces = {};  // of total_more that are given one by one, see Room
  std::uint32_t nodes = 1;
  // Expected until all that it runs and has claimed has ended, by Grant::runtime; 0: it has
  // nothing; none: not known.
  std::optional<std::chrono::seconds> busy_for;
  // Until the worker must have ended its jobs; none: unlimited.
  std::optional<std::chrono::seconds> remaining;
  std::string scheduler;        // jobs bound to another scheduler never fit
  std::string labels;           // nor do those that ask for a label that is not among these
  bool also_unlabelled = true;  // or that ask for none, where there are labels and this is false
  bool any_binding = false;     // one machine serves everybody (`torc run`): neither of them binds
  bool ignore_resources = false;  // queue-depth mode (--max-parallel-jobs): only `max_jobs` counts
  std::uint64_t max_jobs = 0;     // at most this many jobs for free capacity, in either mode
  // And up to this many more that will fit when capacity frees (prefetch), but where there are
  // other workers no more than a fair share: (jobs that are still ready) / (2 * live workers).
  std::uint64_t prefetch = 0;
  // Of all jobs it takes these alone: ascending, no two touch. Null: all.
  std::shared_ptr<const std::vector<JobRange>> only;
};

// What it has free, and what it has, of each kind that jobs share; of the others nothing.
[[nodiscard]] Resources free_of(const Offer& offer);
[[nodiscard]] Resources total_of(const Offer& offer);
[[nodiscard]] Resources total_of(const WorkerInfo& info);

// What keeps the jobs of a class from ever running on a worker: a set of these. Those from kCpus on
// are the kinds that jobs share, in the order of kResourceKinds.
namespace mismatch {
inline constexpr std::uint8_t kNodes = 1;
inline constexpr std::uint8_t kScheduler = 2;
inline constexpr std::uint8_t kLabel = 4;
inline constexpr std::uint8_t kTime = 8;
inline constexpr std::uint8_t kCpus = 16;
inline constexpr std::uint8_t kMemory = 32;
inline constexpr std::uint8_t kGpus = 64;
inline constexpr std::uint8_t kNamed = 128;  // something of Resources::named
[[nodiscard]] std::uint8_t of(const ResourceKind& shared);
}  // namespace mismatch
// 0: could_fit(). Of a class with alternatives of which none could: those of the first.
[[nodiscard]] std::uint8_t mismatches_of(const JobClass& job_class, const Offer& offer);

// Whether a job of this class could ever run on a worker that offers this: used to explain waiting.
[[nodiscard]] bool could_fit(const JobClass& job_class, const Offer& offer);
// Whether the worker's node could ever be one of those that a job of this class needs.
[[nodiscard]] bool could_be_part(const JobClass& job_class, const Offer& offer);
// What a registered worker could ever offer, as far as its record tells. `now` by the asker's wall
// clock: good enough to explain, never to decide.
[[nodiscard]] Offer whole_offer(const WorkerInfo& info, WallTime now);

// Resources that are free on a worker.
struct Capacity {
  Resources left;         // of each kind that jobs share
  bool untouched = true;  // the whole worker is free: what a job of several nodes needs
  // What it has, and was granted, lets a job be as alone as that.
  Alone leaves = Alone::no;
  bool taken_whole = false;  // a suspect was granted: nothing runs beside it
  std::vector<Piece> pieces = {};
};
[[nodiscard]] Capacity free_capacity(const Offer& offer);
// Whether a job of the class may wait on a worker for others to end. What has a name, and GPUs that
// lie as they have to, are scarce: whoever has them free may have such a job, and nobody keeps one
// beside it. Which alternative a job
// has is decided when there is room for it.
[[nodiscard]] bool may_be_prefetched(const JobClass& job_class);
// How many jobs of the class fit into `free` now; UINT64_MAX: as many as you like. Of both
// functions, the class has one alternative (JobClass::by()).
[[nodiscard]] std::uint64_t how_many_fit(const JobClass& job_class, const Capacity& free,
                                         const Offer& offer);
void occupy(Capacity& free, const JobClass& job_class, std::uint64_t jobs, const Offer& offer);

}  // namespace torc::claim
