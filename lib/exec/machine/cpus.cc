#include "lib/exec/machine/cpus.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>

namespace torc::exec {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

// `synthetic` empty: this machine.
Result<Topology> load(const std::string& synthetic) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return os_error(ENOMEM, "cannot look at the CPUs");
  Topology topology(made);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(made, synthetic.c_str()) != 0) {
    return Error{ErrorKind::invalid, "hwloc does not understand '" + synthetic + "'",
                 "see hwloc(7)", errno};
  }
  if (hwloc_topology_load(made) != 0) return os_error(errno, "hwloc cannot look at the CPUs");
  return topology;
}

constexpr std::uint32_t number_of(const hwloc_obj* object) {
  return object == nullptr ? 0 : object->logical_index + 1;
}

// The largest cache that the CPU shares with others, or has.
const hwloc_obj* last_cache(const hwloc_obj* cpu) {
  const hwloc_obj* last = nullptr;
  for (const hwloc_obj* at = cpu->parent; at != nullptr; at = at->parent) {
    if (hwloc_obj_type_is_dcache(at->type)) last = at;
  }
  return last;
}

std::uint32_t node_of(hwloc_topology_t topology, const hwloc_obj* cpu) {
  for (hwloc_obj* node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (hwloc_bitmap_isincluded(cpu->cpuset, node->cpuset)) return number_of(node);
  }
  return 0;
}

std::vector<CpuPlace> places_in(hwloc_topology_t topology, hwloc_const_cpuset_t allowed) {
  std::vector<CpuPlace> places;
  std::map<std::uint32_t, std::uint32_t> threads;  // of each core so far
  for (hwloc_obj* cpu = nullptr;
       (cpu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, cpu)) != nullptr;) {
    if (!hwloc_bitmap_isset(allowed, cpu->os_index)) continue;
    CpuPlace place;
    place.cpu = cpu->os_index;
    place.node = node_of(topology, cpu);
    place.cache = number_of(last_cache(cpu));
    const hwloc_obj* core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, cpu);
    place.core = core == nullptr ? number_of(cpu) : number_of(core);
    place.thread = threads[place.core]++;
    places.push_back(place);
  }
  return places;
}

struct Bitmap {
  hwloc_bitmap_t bits = hwloc_bitmap_alloc();
  Bitmap() = default;
  ~Bitmap() { hwloc_bitmap_free(bits); }
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;
};

}  // namespace

Result<std::vector<CpuPlace>> find_cpus(const std::string& synthetic) {
  TORC_ASSIGN(const Topology topology, load(synthetic));
  const Bitmap allowed;
  if (!synthetic.empty() ||
      hwloc_get_cpubind(topology.get(), allowed.bits, HWLOC_CPUBIND_THREAD) != 0)
    hwloc_bitmap_copy(allowed.bits, hwloc_topology_get_allowed_cpuset(topology.get()));
  return places_in(topology.get(), allowed.bits);
}

CpuPool::CpuPool(const std::vector<CpuPlace>& cpus) {
  slots_.reserve(cpus.size());
  for (const CpuPlace& place : cpus) slots_.push_back({place});
}

// The first free CPU of each core that nobody uses, near ones side by side.
CpuPool::Indexes CpuPool::whole_cores(const Usable& usable) const {
  std::map<std::uint32_t, std::size_t> first;
  std::set<std::uint32_t> busy;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const CpuPlace& place = slots_[i].place;
    if (slots_[i].taken || !usable(place.cpu)) busy.insert(place.core);
    first.emplace(place.core, i);
  }
  Indexes found;
  for (const auto& [core, i] : first) {
    if (!busy.contains(core)) found.push_back(i);
  }
  return found;
}

// One of each core before the second of any.
CpuPool::Indexes CpuPool::free_slots(const Usable& usable) const {
  Indexes found;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].taken && usable(slots_[i].place.cpu)) found.push_back(i);
  }
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
    return slots_[a].place.thread < slots_[b].place.thread;
  });
  return found;
}

// `count` of the candidates, in their order, of the one place that has enough and fewest of them;
// empty: none has.
CpuPool::Indexes CpuPool::best_group(const Indexes& candidates, Level level,
                                     std::uint32_t count) const {
  std::map<std::uint32_t, Indexes> groups;
  for (const std::size_t i : candidates) {
    const CpuPlace& p = slots_[i].place;
    groups[level == Level::cache ? p.cache : level == Level::node ? p.node : 0].push_back(i);
  }
  Indexes best;
  for (const auto& [number, members] : groups) {
    if (members.size() >= count && (best.empty() || members.size() < best.size())) best = members;
  }
  if (!best.empty()) best.resize(count);
  return best;
}

std::optional<CpuList> CpuPool::take(std::uint32_t count, const Usable& usable) {
  if (count == 0) return std::nullopt;
  Indexes chosen;
  for (const Indexes& candidates : {whole_cores(usable), free_slots(usable)}) {
    for (const Level level : {Level::cache, Level::node, Level::machine}) {
      if (chosen.empty()) chosen = best_group(candidates, level, count);
    }
  }
  if (chosen.empty()) return std::nullopt;
  CpuList taken;
  for (const std::size_t i : chosen) {
    slots_[i].taken = true;
    taken.push_back(slots_[i].place.cpu);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

void CpuPool::give_back(const CpuList& cpus) {
  for (Slot& slot : slots_) {
    if (std::find(cpus.begin(), cpus.end(), slot.place.cpu) != cpus.end()) slot.taken = false;
  }
}

}  // namespace torc::exec
