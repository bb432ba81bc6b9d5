// How jobs are packed into allocations, against a scheduler that knows every job by itself and
// looks at everything at every second.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "lib/cluster/packing.h"

namespace torc::cluster {
namespace {

using std::chrono::seconds;

struct Job {
  Batch needs;
  std::int64_t end = -1;  // of one that runs
  bool done = false;
  std::vector<std::size_t> nodes;  // that it runs on
};

struct Naive {
  std::int64_t start = -1;
  std::int64_t end = 0;
  std::uint64_t allocations = 0;
  double node_seconds = 0;
};

class Slow {
 public:
  Slow(const Pool& pool, const std::vector<Batch>& batches) : pool_(pool) {
    for (const Batch& batch : batches)
      for (std::uint64_t i = 0; i < batch.jobs; ++i) jobs_.push_back({batch, -1, false, {}});
    std::ranges::stable_sort(jobs_, [](const Job& x, const Job& y) {
      return std::tuple(x.needs.stage, y.needs.nodes, y.needs.runtime, y.needs.cpus) <
             std::tuple(y.needs.stage, x.needs.nodes, x.needs.runtime, x.needs.cpus);
    });
    held_.resize(pool.starts.size());
  }

  Naive run() {
    std::vector<std::size_t> stages;
    for (const Job& job : jobs_) {
      if (stages.empty() || stages.back() != job.needs.stage) stages.push_back(job.needs.stage);
    }
    for (stage_ = 0; stage_ < stages.size(); ++stage_) {
      while (std::ranges::any_of(
          jobs_, [&](const Job& j) { return j.needs.stage == stages[stage_] && !j.done; })) {
        begin_what_can(stages[stage_]);
        ++now_;
        for (Job& job : jobs_) {
          if (job.end == now_) job.done = true, job.end = -1;
        }
      }
    }
    for (Held& one : held_) close(one);
    told_.end = now_;
    return told_;
  }

 private:
  struct Held {
    std::int64_t begun = -1;  // -1: it is not there
    std::int64_t last = 0;
    std::size_t stage = 0;
  };

  void begin_what_can(std::size_t stage) {
    for (Job& job : jobs_) {
      if (job.needs.stage != stage || job.done || job.end >= 0) continue;
      if (!begin(job) && job.needs.nodes > 1) return;
    }
  }

  [[nodiscard]] NodeShape free_on(std::size_t node) const {
    NodeShape free = pool_.node;
    for (const Job& job : jobs_) {
      if (job.end < 0 || std::ranges::find(job.nodes, node) == job.nodes.end()) continue;
      if (job.needs.nodes > 1) return {0, {}, 0};
      free.cpus -= job.needs.cpus;
      free.memory.value -= job.needs.memory.value;
      free.gpus -= job.needs.gpus;
    }
    return free;
  }
  [[nodiscard]] bool is_idle(std::size_t from, std::size_t to) const {
    return std::ranges::none_of(jobs_, [&](const Job& job) {
      return job.end >= 0 &&
             std::ranges::any_of(job.nodes, [&](std::size_t n) { return n >= from && n < to; });
    });
  }

  bool begin(Job& job) {
    for (std::size_t a = 0; a < held_.size(); ++a) {
      if (pool_.starts[a].count() > now_) continue;
      std::vector<std::size_t> nodes;
      for (std::size_t n = a * pool_.nodes; n < (a + 1) * pool_.nodes; ++n) {
        const NodeShape free = free_on(n);
        const bool fits = job.needs.nodes > 1
                              ? is_idle(n, n + 1)
                              : free.cpus >= job.needs.cpus && free.memory >= job.needs.memory &&
                                    free.gpus >= job.needs.gpus;
        if (fits && nodes.size() < job.needs.nodes) nodes.push_back(n);
      }
      if (nodes.size() < job.needs.nodes) continue;
      Held& held = held_[a];
      const std::int64_t end = now_ + job.needs.runtime.count();
      const auto late = [&] { return pool_.time && end > held.begun + pool_.time->count(); };
      if (held.begun >= 0 && is_idle(a * pool_.nodes, (a + 1) * pool_.nodes) &&
          (late() || held.stage + 1 < stage_))
        close(held);
      if (held.begun < 0) {
        held.begun = now_;
        told_.allocations += 1;
      }
      if (late()) continue;
      if (told_.start < 0) told_.start = now_;
      held.last = std::max(held.last, end);
      held.stage = stage_;
      job.end = end;
      job.nodes = nodes;
      return true;
    }
    return false;
  }

  void close(Held& held) {
    if (held.begun < 0) return;
    told_.node_seconds += static_cast<double>((held.last - held.begun) * pool_.nodes);
    held.begun = -1;
  }

  const Pool& pool_;
  std::vector<Job> jobs_;
  std::vector<Held> held_;
  std::size_t stage_ = 0;
  std::int64_t now_ = 0;
  Naive told_;
};

Pool some_pool() {
  Pool pool;
  pool.node = {*rc::gen::inRange<std::uint32_t>(1, 9),
               {*rc::gen::inRange<std::uint64_t>(1, 9)},
               *rc::gen::inRange<std::uint32_t>(0, 3)};
  pool.nodes = *rc::gen::inRange<std::uint32_t>(1, 4);
  const auto allocations = *rc::gen::inRange<std::size_t>(1, 4);
  for (std::size_t i = 0; i < allocations; ++i) pool.starts.emplace_back(*rc::gen::inRange(0, 12));
  std::ranges::sort(pool.starts);
  if (*rc::gen::arbitrary<bool>()) pool.time = seconds(*rc::gen::inRange(5, 20));
  return pool;
}

std::vector<Batch> some_batches(const Pool& pool, std::uint64_t most_jobs) {
  std::vector<Batch> batches;
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  while (batches.size() < count) {
    Batch batch;
    batch.stage = *rc::gen::inRange<std::size_t>(0, 3);
    batch.jobs = *rc::gen::inRange<std::uint64_t>(1, most_jobs);
    batch.nodes = *rc::gen::inRange<std::uint32_t>(1, pool.nodes + 1);
    batch.cpus = *rc::gen::inRange<std::uint32_t>(1, pool.node.cpus + 1);
    batch.memory = {*rc::gen::inRange<std::uint64_t>(0, pool.node.memory.value + 1)};
    batch.gpus = *rc::gen::inRange<std::uint32_t>(0, pool.node.gpus + 1);
    batch.runtime = seconds(*rc::gen::inRange(1, 6));
    RC_ASSERT(why_never(pool, batch).empty());
    batches.push_back(batch);
  }
  return batches;
}

RC_GTEST_PROP(Packing, is_what_a_scheduler_of_single_jobs_does, ()) {
  const Pool pool = some_pool();
  const std::vector<Batch> batches = some_batches(pool, 8);
  const Packing packed = pack(pool, batches);
  const Naive slow = Slow(pool, batches).run();
  RC_ASSERT(packed.end.count() == slow.end);
  RC_ASSERT(packed.start.count() == slow.start);
  RC_ASSERT(packed.allocations == slow.allocations);
  RC_ASSERT(packed.node_seconds == slow.node_seconds);
}

// Whatever is taken together.
RC_GTEST_PROP(Packing, uses_no_more_than_is_held_and_no_less_than_the_jobs_need, ()) {
  Pool pool = some_pool();
  std::ranges::fill(pool.starts, seconds(0));
  const std::vector<Batch> batches = some_batches(pool, 3000);
  const Packing packed = pack(pool, batches);
  double busy = 0;
  double cpu_seconds = 0;
  for (const Batch& batch : batches) {
    const double run =
        static_cast<double>(batch.jobs) * batch.nodes * static_cast<double>(batch.runtime.count());
    busy += run * share_of(pool.node, batch);
    cpu_seconds += run * batch.cpus;
  }
  const double all = static_cast<double>(pool.nodes) * static_cast<double>(pool.starts.size());
  RC_ASSERT(std::abs(packed.busy_node_seconds - busy) < 1e-6 * busy);
  RC_ASSERT(packed.node_seconds <= static_cast<double>(packed.end.count()) * all);
  RC_ASSERT(cpu_seconds <= packed.node_seconds * pool.node.cpus);
  RC_ASSERT(!pool.time || packed.longest <= *pool.time);
  RC_ASSERT(packed.at_once <= pool.starts.size());
}

}  // namespace
}  // namespace torc::cluster
