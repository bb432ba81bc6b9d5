#include "lib/cluster/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "lib/base/quantities.h"

namespace torc::cluster {
namespace {

using std::chrono::seconds;

// How many jobs fit beside each other into what is free.
std::uint64_t room_for(const NodeShape& free, const Batch& batch) {
  const auto times = [](std::uint64_t has, std::uint64_t wants) {
    return wants == 0 ? UINT64_MAX : has / wants;
  };
  return std::min({times(free.cpus, batch.cpus), times(free.memory.value, batch.memory.value),
                   times(free.gpus, batch.gpus)});
}

class Packer {
 public:
  Packer(const Pool& pool, const std::vector<Batch>& batches) : pool_(pool), batches_(batches) {
    allocations_.resize(pool.starts.size());
    for (std::size_t i = 0; i < allocations_.size(); ++i) {
      allocations_[i].from = pool.starts[i];
      allocations_[i].idle_nodes = pool.nodes;
    }
    nodes_.resize(allocations_.size() * pool.nodes, Node{pool.node});
    order_.resize(batches.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) {
      const Batch& x = batches[a];
      const Batch& y = batches[b];
      return std::tuple(x.stage, y.nodes, y.runtime, y.cpus) <
             std::tuple(y.stage, x.nodes, x.runtime, x.cpus);
    });
  }

  Packing run() {
    for (auto at = order_.begin(); at != order_.end();) {
      const std::size_t stage = batches_[*at].stage;
      auto end = at;
      while (end != order_.end() && batches_[*end].stage == stage) ++end;
      run_stage(at, end);
      ++stage_;
      at = end;
    }
    for (Allocation& one : allocations_) finish(one);
    done_.end = now_;
    done_.start = first_;
    done_.nodes = static_cast<std::uint32_t>(
        std::ranges::count_if(nodes_, [](const Node& n) { return n.used; }));
    return done_;
  }

 private:
  struct Node {
    NodeShape free;
    std::uint64_t running = 0;
    bool used = false;
  };
  struct Allocation {
    seconds from{0};  // it can begin
    bool open = false;
    seconds begun{0};
    seconds last_end{0};
    std::uint64_t running = 0;
    std::uint32_t idle_nodes = 0;
    std::size_t stage = 0;  // the last one that uses it
  };
  struct End {
    seconds at{0};
    std::size_t batch = 0;
    std::size_t node = 0;     // the first of its nodes; kNone: an allocation can begin
    std::uint64_t slots = 0;  // jobs beside each other on it; 0: all of the nodes below
    std::vector<std::size_t> nodes = {};
    bool operator>(const End& other) const {
      return std::tie(at, node, batch) > std::tie(other.at, other.node, other.batch);
    }
  };
  using Order = std::vector<std::size_t>::const_iterator;
  static constexpr std::size_t kNone = ~std::size_t{0};

  void run_stage(Order from, Order to) {
    left_.assign(static_cast<std::size_t>(to - from), 0);
    for (auto at = from; at != to; ++at)
      left_[static_cast<std::size_t>(at - from)] = batches_[*at].jobs;
    // Those that cannot begin yet are looked at when they can.
    for (const Allocation& one : allocations_) {
      if (one.from > now_) ends_.push({one.from, 0, kNone, 0, {}});
    }
    changed_.clear();
    all_changed_ = true;
    place(from, to);
    while (std::ranges::any_of(left_, [](std::uint64_t n) { return n != 0; }) || runs_ != 0) {
      if (ends_.empty()) break;  // why_never() would have said so
      now_ = ends_.top().at;
      while (!ends_.empty() && ends_.top().at == now_) {
        free(ends_.top());
        ends_.pop();
      }
      place(from, to);
    }
    ends_ = {};
  }

  void free(const End& end) {
    if (end.node == kNone) {
      all_changed_ = true;
      return;
    }
    const Batch& batch = batches_[end.batch];
    runs_ -= 1;
    if (end.slots == 0) {
      for (const std::size_t n : end.nodes) free_node(n, batch, 1);
    } else {
      free_node(end.node, batch, end.slots);
    }
    if (Allocation& one = allocations_[end.node / pool_.nodes]; --one.running == 0) {
      const std::size_t begin = end.node / pool_.nodes * pool_.nodes;
      for (std::size_t n = begin; n < begin + pool_.nodes; ++n) changed_.push_back(n);
    }
  }

  void free_node(std::size_t n, const Batch& batch, std::uint64_t slots) {
    Node& node = nodes_[n];
    if (batch.nodes > 1) {
      node.free = pool_.node;
    } else {
      node.free.cpus += static_cast<std::uint32_t>(slots * batch.cpus);
      node.free.memory.value += slots * batch.memory.value;
      node.free.gpus += static_cast<std::uint32_t>(slots * batch.gpus);
    }
    node.running -= slots;
    if (node.running == 0) allocations_[n / pool_.nodes].idle_nodes += 1;
    changed_.push_back(n);
  }

  void place(Order from, Order to) {
    std::ranges::sort(changed_);
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (auto at = from; at != to; ++at) {
      std::uint64_t& left = left_[static_cast<std::size_t>(at - from)];
      if (left == 0) continue;
      if (batches_[*at].nodes > 1) {
        place_gangs(*at, left);
        // What has changed is not forgotten: others have not seen it.
        if (left != 0) return;
      } else if (all_changed_) {
        for (std::size_t n = 0; n < nodes_.size() && left != 0; ++n) place_on(n, *at, left);
      } else {
        for (auto n = changed_.begin(); n != changed_.end() && left != 0; ++n)
          place_on(*n, *at, left);
      }
    }
    changed_.clear();
    all_changed_ = false;
  }

  void place_gangs(std::size_t b, std::uint64_t& left) {
    const Batch& batch = batches_[b];
    for (std::size_t a = 0; a < allocations_.size(); ++a) {
      Allocation& one = allocations_[a];
      while (left != 0 && one.idle_nodes >= batch.nodes && lets_begin(one, batch.runtime)) {
        End end{now_ + batch.runtime, b, 0, 0, {}};
        for (std::size_t n = a * pool_.nodes; end.nodes.size() < batch.nodes; ++n) {
          if (nodes_[n].running != 0) continue;
          end.nodes.push_back(n);
          take(n, NodeShape{}, 1);
          nodes_[n].free = {0, {}, 0};
        }
        end.node = end.nodes.front();
        begin(one, end, 1);
        left -= 1;
      }
    }
  }

  void place_on(std::size_t n, std::size_t b, std::uint64_t& left) {
    const Batch& batch = batches_[b];
    const std::uint64_t room = room_for(nodes_[n].free, batch);
    Allocation& one = allocations_[n / pool_.nodes];
    if (room == 0 || !lets_begin(one, batch.runtime)) return;
    const std::uint64_t all =
        nodes_.size() * std::max<std::uint64_t>(room_for(pool_.node, batch), 1);
    std::uint64_t turns = std::max<std::uint64_t>(left / all / kTurns, 1);
    if (pool_.time)
      turns = std::min<std::uint64_t>(
          turns, static_cast<std::uint64_t>((one.begun + *pool_.time - now_) / batch.runtime));
    const std::uint64_t slots = std::min(room, (left + turns - 1) / turns);
    const std::uint64_t jobs = std::min(left, slots * turns);
    take(n,
         {static_cast<std::uint32_t>(slots * batch.cpus),
          {slots * batch.memory.value},
          static_cast<std::uint32_t>(slots * batch.gpus)},
         slots);
    begin(one, {now_ + batch.runtime * static_cast<std::int64_t>(turns), b, n, slots, {}}, jobs);
    left -= jobs;
  }

  void take(std::size_t n, const NodeShape& some, std::uint64_t slots) {
    Node& node = nodes_[n];
    if (node.running == 0) allocations_[n / pool_.nodes].idle_nodes -= 1;
    node.running += slots;
    node.used = true;
    node.free.cpus -= some.cpus;
    node.free.memory.value -= some.memory.value;
    node.free.gpus -= some.gpus;
  }

  // Whether a job may begin in it now; where another allocation has to follow it, that one.
  bool lets_begin(Allocation& one, seconds runtime) {
    if (one.from > now_) return false;
    if (one.open && one.running == 0) {
      const bool unused_since = one.stage + 1 < stage_;
      const bool too_late = pool_.time && now_ + runtime > one.begun + *pool_.time;
      if (unused_since || too_late) finish(one);
    }
    if (!one.open) {
      one.open = true;
      one.begun = now_;
      done_.allocations += 1;
      open_ += 1;
      done_.at_once = std::max(done_.at_once, open_);
    }
    return !pool_.time || now_ + runtime <= one.begun + *pool_.time;
  }

  void begin(Allocation& one, End end, std::uint64_t jobs) {
    const Batch& batch = batches_[end.batch];
    if (!any_) first_ = now_;
    any_ = true;
    one.running += 1;
    runs_ += 1;
    one.stage = stage_;
    one.last_end = std::max(one.last_end, end.at);
    done_.busy_node_seconds += static_cast<double>(jobs) * batch.nodes *
                               share_of(pool_.node, batch) *
                               static_cast<double>(batch.runtime.count());
    ends_.push(std::move(end));
  }

  void finish(Allocation& one) {
    if (!one.open) return;
    const seconds held = one.last_end - one.begun;
    done_.node_seconds += static_cast<double>(held.count()) * pool_.nodes;
    done_.longest = std::max(done_.longest, held);
    one.open = false;
    open_ -= 1;
  }

  const Pool& pool_;
  const std::vector<Batch>& batches_;
  std::vector<std::size_t> order_;  // of the batches
  std::vector<Allocation> allocations_;
  std::vector<Node> nodes_;          // of the first allocation, of the second, …
  std::vector<std::uint64_t> left_;  // of each batch of the stage
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t runs_ = 0;
  std::vector<std::size_t> changed_;  // nodes on which more may be free than before
  bool all_changed_ = true;
  std::size_t stage_ = 0;  // those without batches left out
  seconds now_{0};
  seconds first_{0};
  bool any_ = false;
  std::uint32_t open_ = 0;
  Packing done_;
};

}  // namespace

std::string why_never(const Pool& pool, const Batch& batch) {
  const NodeShape& node = pool.node;
  if (batch.gpus > node.gpus)
    return node.gpus == 0 ? std::string("no GPUs")
                          : fmt::format("at most {} GPUs a node", node.gpus);
  if (batch.cpus > node.cpus)
    return fmt::format("at most {} CPU{} a node", node.cpus, node.cpus == 1 ? "" : "s");
  if (batch.memory > node.memory)
    return fmt::format("at most {} of memory a node", show_bytes(node.memory));
  if (batch.nodes > pool.nodes)
    return fmt::format("at most {} node{} an allocation", pool.nodes, pool.nodes == 1 ? "" : "s");
  if (pool.time && batch.runtime > *pool.time)
    return fmt::format("at most {} for a job", show_exactly(*pool.time));
  return {};
}

double share_of(const NodeShape& node, const Batch& batch) {
  if (batch.nodes > 1) return 1;
  const auto part = [](std::uint64_t some, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
  };
  return std::max({part(batch.cpus, node.cpus), part(batch.memory.value, node.memory.value),
                   part(batch.gpus, node.gpus)});
}

Packing pack(const Pool& pool, const std::vector<Batch>& batches) {
  return Packer(pool, batches).run();
}

}  // namespace torc::cluster
