// What a worker tells the other workers of its node about itself: which CPUs it may run on, which
// limits it has in common with others, which GPUs it may hand out. Values only.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/exec/machine/machine.h"

namespace torc::exec {

// CPUs by the kernel's numbers. Those from kMost on are left out.
struct CpuSet {
  static constexpr std::size_t kMost = 1024;
  std::array<std::uint64_t, kMost / 64> words{};

  void add(std::size_t cpu);
  void remove(std::size_t cpu);
  [[nodiscard]] bool has(std::size_t cpu) const;
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] bool meets(const CpuSet& other) const;
  [[nodiscard]] std::vector<std::uint32_t> numbers() const;  // ascending
  bool operator==(const CpuSet&) const = default;
};
[[nodiscard]] CpuSet operator|(CpuSet a, const CpuSet& b);
[[nodiscard]] CpuSet operator-(CpuSet a, const CpuSet& b);
// "0-3,8", as the kernel prints it; what cannot be read counts as no CPU.
[[nodiscard]] CpuSet parse_cpus(std::string_view list);
[[nodiscard]] std::string show(const CpuSet& set);

// A limit on what all workers that name it use together: the node, a control group, an allocation.
struct NodePool {
  std::uint64_t key = 0;              // hash of its name
  std::optional<std::uint32_t> cpus;  // none: no limit of its own
  std::optional<ByteCount> memory;
};

struct NodeGpu {
  // No GPU's name has a '=': what else is handed out by the piece is called "port=8000".
  [[nodiscard]] bool is_gpu() const { return name.find('=') == std::string::npos; }
  std::string name;            // as the visible-devices variable has it
  std::uint64_t identity = 0;  // equal for the same device; 0: shared with nobody
};

// What the workers of a node share out by amount, as some of them were told.
struct NodeSum {
  std::uint64_t key = 0;   // hash of its name; 0: shared with nobody
  std::uint64_t most = 0;  // thousandths
  bool operator==(const NodeSum&) const = default;
};

struct NodeMember {
  // It is there as long as one of them is: the worker, and the watchdog that ends what it leaves.
  ProcessIdentity worker;
  ProcessIdentity watchdog;
  WallTime since{};   // for people
  std::string store;  // for people
  CpuSet cpus;        // that it may be given
  std::uint32_t most_cpus = 0;
  ByteCount most_memory;
  // What it was told to use beyond what it was granted: shared with nobody.
  std::uint32_t own_cpus = 0;
  ByteCount own_memory;
  bool overcommits = false;  // all of it is
  std::vector<NodePool> pools;
  // At most kMostGpus; further ones are not handed out. Behind the GPUs whatever else is handed out
  // by the piece: to workers of earlier versions these are GPUs that they do not have.
  std::vector<NodeGpu> gpus;
  std::vector<NodeSum> sums;  // at most kMostSums

  static constexpr std::size_t kMostGpus = 64;
  static constexpr std::size_t kMostSums = 8;
};

// Where the ledger of a node is looked for.
struct NodePlace {
  // The first directory that can be used. A network filesystem cannot.
  std::vector<std::filesystem::path> roots;
  // Where several Slurm nodes are played by one host: which of them. Else empty.
  std::string node;
};
[[nodiscard]] NodePlace node_place(const GetEnv& env, const std::string& host);

// A member without its processes and store. `machine` is what it was granted, before any flag.
[[nodiscard]] NodeMember describe_member(const Machine& machine, const GetEnv& env,
                                         const std::string& root = "/");
// What flags made of it: a larger number than was granted is the worker's own.
void apply_flags(NodeMember& member, const Machine& told);
// What has a name, behind the GPUs.
void add_named(NodeMember& member, const Machine& told);
// It minds nobody, and nobody minds it.
void let_overcommit(NodeMember& member);

[[nodiscard]] std::string encode(const NodeMember& member);
[[nodiscard]] std::optional<NodeMember> decode_member(std::string_view bytes);

}  // namespace torc::exec
