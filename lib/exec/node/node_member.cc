#include "lib/exec/node/node_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>

#include "lib/base/codec.h"
#include "lib/base/hash.h"
#include "lib/exec/machine/cgroup.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

constexpr std::size_t kMostPools = 64;
// A sum is written as a pool of so many CPUs: nobody of an earlier version is a member of it.
constexpr std::uint32_t kIsSum = UINT32_MAX;
constexpr std::size_t kLongestStore = 512;
constexpr std::size_t kLongestGpu = 40;  // "MIG-" and a UUID

// Workers of all versions share the ledger; 0 is kept for "nobody".
std::uint64_t hash_of(std::string_view text) {
  return std::max<std::uint64_t>(fnv1a(text), 1);
}

// Where control groups hide devices, every allocation's first GPU is called "0". Slurm tells the
// real numbers beside; else such a number means something within its allocation only. The name of a
// device by UUID is the same for everybody.
std::vector<NodeGpu> gpus_of(const Machine& machine, const GetEnv& env) {
  std::vector<std::string> global;
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}) {
    global = split(env(name).value_or(""), ',');
    if (global.size() == machine.gpus.size()) break;
    global.clear();
  }
  const std::string scope = global.empty() ? env("SLURM_JOB_ID").value_or("") : "";
  std::vector<NodeGpu> gpus;
  for (std::size_t i = 0; i < machine.gpus.size() && i < NodeMember::kMostGpus; ++i) {
    const std::string& name = machine.gpus[i];
    const bool number = name.find_first_not_of("0123456789") == std::string::npos;
    std::string known = number ? scope + "/" + (global.empty() ? name : global[i]) : name;
    gpus.push_back({name.substr(0, kLongestGpu), hash_of(machine.gpu_variable + known)});
  }
  return gpus;
}

}  // namespace

void CpuSet::add(std::size_t cpu) {
  if (cpu < kMost) words[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
}

void CpuSet::remove(std::size_t cpu) {
  if (cpu < kMost) words[cpu / 64] &= ~(std::uint64_t{1} << (cpu % 64));
}

bool CpuSet::has(std::size_t cpu) const {
  return cpu < kMost && (words[cpu / 64] >> (cpu % 64) & 1) != 0;
}

std::size_t CpuSet::count() const {
  std::size_t n = 0;
  for (const std::uint64_t word : words) n += static_cast<std::size_t>(std::popcount(word));
  return n;
}

bool CpuSet::meets(const CpuSet& other) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if ((words[i] & other.words[i]) != 0) return true;
  }
  return false;
}

std::vector<std::uint32_t> CpuSet::numbers() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    for (std::uint64_t left = words[i]; left != 0; left &= left - 1)
      all.push_back(i * 64 + static_cast<std::uint32_t>(std::countr_zero(left)));
  }
  return all;
}

CpuSet operator|(CpuSet a, const CpuSet& b) {
  for (std::size_t i = 0; i < a.words.size(); ++i) a.words[i] |= b.words[i];
  return a;
}

CpuSet operator-(CpuSet a, const CpuSet& b) {
  for (std::size_t i = 0; i < a.words.size(); ++i) a.words[i] &= ~b.words[i];
  return a;
}

CpuSet parse_cpus(std::string_view list) {
  CpuSet set;
  for (const std::string& part : split(list, ',')) {
    std::size_t first = 0;
    const char* end = part.data() + part.size();
    const auto [at, bad] = std::from_chars(part.data(), end, first);
    if (bad != std::errc{}) continue;
    std::size_t last = first;
    if (at != end && *at == '-' && std::from_chars(at + 1, end, last).ec != std::errc{}) continue;
    for (std::size_t cpu = first; cpu <= last && cpu < CpuSet::kMost; ++cpu) set.add(cpu);
  }
  return set;
}

std::string show(const CpuSet& set) {
  std::string text;
  const auto all = set.numbers();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && all[end] == all[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end - i == 1 ? fmt::format("{}", all[i]) : fmt::format("{}-{}", all[i], all[end - 1]);
    i = end;
  }
  return text;
}

NodePlace node_place(const GetEnv& env, const std::string& host) {
  NodePlace place{{"/dev/shm", "/tmp"}, {}};
  if (const auto chosen = env("TORC_NODE_DIR"); chosen && !chosen->empty()) place.roots = {*chosen};
  const std::string node = env("SLURMD_NODENAME").value_or("");
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-';
  };
  if (host.substr(0, host.find('.')) != node && std::all_of(node.begin(), node.end(), is_plain))
    place.node = node;
  return place;
}

NodeMember describe_member(const Machine& machine, const GetEnv& env, const std::string& root) {
  NodeMember member;
  const std::string at = root == "/" ? "" : root;
  member.most_cpus = machine.cpus;
  member.most_memory = machine.memory;
  member.cpus = parse_cpus(allowed_cpu_list(at));
  member.gpus = gpus_of(machine, env);
  const ByteCount memory = node_memory(at);
  if (memory.value > 0) member.pools.push_back({hash_of("node"), {}, memory});
  for (const SlurmShare& share : slurm_shares(env, machine.cpus)) {
    const std::string name =
        fmt::format("slurm {} {}", env("SLURMD_NODENAME").value_or(""), share.name);
    member.pools.push_back({hash_of(name), share.cpus, share.memory});
  }
  for (const CgroupLevel& level : cgroup_levels(at))
    member.pools.push_back(
        {hash_of("cgroup " + level.name), level.limits.cpus, level.limits.memory});
  if (member.pools.size() > kMostPools) member.pools.resize(kMostPools);
  // Alone it gets all that was found for it, whatever the parts say of themselves.
  for (NodePool& pool : member.pools) {
    if (pool.cpus) pool.cpus = std::max(*pool.cpus, machine.cpus);
    if (pool.memory) pool.memory = std::max(*pool.memory, machine.memory);
  }
  const auto known = static_cast<std::uint32_t>(member.cpus.count());
  member.own_cpus = machine.cpus > known ? machine.cpus - known : 0;
  return member;
}

void apply_flags(NodeMember& member, const Machine& told) {
  if (told.cpus > member.most_cpus) member.own_cpus += told.cpus - member.most_cpus;
  member.own_memory =
      told.memory > member.most_memory ? told.memory - member.most_memory : ByteCount{};
  member.most_cpus = told.cpus;
  member.most_memory = told.memory;
  if (member.gpus.size() > told.gpus.size()) member.gpus.resize(told.gpus.size());
}

void add_named(NodeMember& member, const Machine& told) {
  for (const MachinePiece& piece : told.pieces) {
    if (member.gpus.size() == NodeMember::kMostGpus) break;
    const std::string name = piece.kind + "=" + piece.id;
    member.gpus.push_back({name.substr(0, kLongestGpu), hash_of("resource " + name)});
  }
  for (const Amount& sum : told.sums) {
    if (member.sums.size() == NodeMember::kMostSums) break;
    member.sums.push_back({hash_of("resource " + sum.name), sum.thousandths});
  }
}

void let_overcommit(NodeMember& member) {
  member.overcommits = true;
  member.own_cpus = member.most_cpus;
  member.own_memory = member.most_memory;
  member.cpus = {};
  member.pools.clear();
  for (NodeGpu& gpu : member.gpus) gpu.identity = 0;
  for (NodeSum& sum : member.sums) sum.key = 0;
}

std::string encode(const NodeMember& m) {
  Encoder out;
  for (const ProcessIdentity& process : {m.worker, m.watchdog})
    out.varint(process.pid).varint(process.start);
  out.svarint(m.since.count()).text(std::string_view(m.store).substr(0, kLongestStore));
  for (const std::uint64_t word : m.cpus.words) out.varint(word);
  out.varint(m.most_cpus).varint(m.most_memory.value).varint(m.own_cpus);
  const std::size_t sums = std::min(m.sums.size(), NodeMember::kMostSums);
  const std::size_t pools = std::min(m.pools.size(), kMostPools);
  out.varint(m.own_memory.value).u8(m.overcommits ? 1 : 0).varint(pools + sums);
  for (std::size_t i = 0; i < sums; ++i)
    out.be64(m.sums[i].key).varint(std::uint64_t{kIsSum} + 1).varint(m.sums[i].most + 1);
  for (std::size_t i = 0; i < pools; ++i) {
    const NodePool& pool = m.pools[i];
    // Shifted by one: 0 is "no limit".
    out.be64(pool.key).varint(pool.cpus ? std::uint64_t{*pool.cpus} + 1 : 0);
    out.varint(pool.memory ? pool.memory->value + 1 : 0);
  }
  out.varint(m.gpus.size());
  for (const NodeGpu& gpu : m.gpus) out.be64(gpu.identity).text(gpu.name);
  return std::move(out).bytes();
}

std::optional<NodeMember> decode_member(std::string_view bytes) {
  Decoder in(bytes);
  NodeMember m;
  for (ProcessIdentity* process : {&m.worker, &m.watchdog}) {
    process->pid = in.varint();
    process->start = in.varint();
  }
  m.since = WallTime(in.svarint());
  m.store = in.text();
  for (std::uint64_t& word : m.cpus.words) word = in.varint();
  m.most_cpus = static_cast<std::uint32_t>(in.varint());
  m.most_memory = {in.varint()};
  m.own_cpus = static_cast<std::uint32_t>(in.varint());
  m.own_memory = {in.varint()};
  m.overcommits = in.u8() != 0;
  const std::uint64_t pools = in.varint();
  if (!in.ok() || pools > kMostPools + NodeMember::kMostSums) return std::nullopt;
  for (std::uint64_t i = 0; i < pools; ++i) {
    NodePool pool{in.be64(), {}, {}};
    if (const auto cpus = in.varint(); cpus > 0) pool.cpus = static_cast<std::uint32_t>(cpus - 1);
    if (const auto memory = in.varint(); memory > 0) pool.memory = ByteCount{memory - 1};
    if (pool.cpus == kIsSum && pool.memory && m.sums.size() < NodeMember::kMostSums) {
      m.sums.push_back({pool.key, pool.memory->value});
      continue;
    }
    m.pools.push_back(pool);
  }
  const std::uint64_t gpus = in.varint();
  if (!in.ok() || gpus > NodeMember::kMostGpus) return std::nullopt;
  for (std::uint64_t i = 0; i < gpus; ++i) {
    const std::uint64_t identity = in.be64();
    m.gpus.push_back({std::string(in.text()), identity});
  }
  if (!in.is_whole()) return std::nullopt;
  return m;
}

}  // namespace torc::exec
