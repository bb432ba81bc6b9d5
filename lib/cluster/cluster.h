// What a cluster offers: its partitions, the nodes in them, and the limits of accounts, as Slurm
// tells them (from_slurm.h) or as somebody has written them down (profile.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/units.h"

namespace torc::cluster {

struct Gpus {
  std::string type;  // "a100"; empty: the site names none
  std::uint32_t count = 0;
  bool operator==(const Gpus&) const = default;
};

// Nodes of one partition that are alike. Of each: CPUs as Slurm counts them, memory that it hands
// out, GPUs.
struct NodeGroup {
  std::uint32_t count = 0;
  std::uint32_t cpus = 0;
  ByteCount memory = {};
  std::vector<Gpus> gpus = {};
  std::vector<std::string> features = {};
  // How many can be used, and how many of these nothing runs on, as far as is known.
  std::optional<std::uint32_t> usable = {};
  std::optional<std::uint32_t> idle = {};
  bool operator==(const NodeGroup&) const = default;

  [[nodiscard]] std::uint32_t all_gpus() const;
  [[nodiscard]] std::uint32_t gpus_of(const std::string& type) const;  // empty: of any
};

// nullopt in this and the next two: there is no limit, or it is not known.
struct Partition {
  std::string name;
  bool is_default = false;
  bool is_up = true;                                          // it takes jobs and starts them
  bool whole_nodes = false;                                   // nobody else runs on a job's nodes
  std::optional<std::chrono::seconds> walltime = {};          // the longest
  std::optional<std::chrono::seconds> default_walltime = {};  // of who asks for none
  std::uint32_t min_nodes = 0;                                // 0: none
  std::optional<std::uint32_t> max_nodes = {};
  std::optional<std::uint32_t> max_cpus = {};  // of a node
  std::optional<ByteCount> max_memory = {};    // of a node
  std::vector<std::string> accounts = {};      // that may use it; empty: all but the next ones
  std::vector<std::string> denied_accounts = {};
  std::vector<std::string> submit_from = {};  // nodes on which it takes jobs; empty: all
  std::vector<NodeGroup> nodes = {};
  bool operator==(const Partition&) const = default;

  [[nodiscard]] std::uint64_t node_count() const;
  // What an allocation can have of a node of that kind.
  [[nodiscard]] std::uint32_t cpus_of(const NodeGroup& kind) const;
  [[nodiscard]] ByteCount memory_of(const NodeGroup& kind) const;
  [[nodiscard]] std::optional<std::uint64_t> usable_nodes() const;
  [[nodiscard]] std::optional<std::uint64_t> idle_nodes() const;
};

// Of allocations of one user.
struct Limits {
  std::optional<std::chrono::seconds> walltime = {};
  std::optional<std::uint32_t> running_jobs = {};
  std::optional<std::uint32_t> submitted_jobs = {};  // running ones with them
  bool operator==(const Limits&) const = default;
};

struct Qos {
  std::string name;
  Limits limits = {};
  bool operator==(const Qos&) const = default;
};

// What this user may do by one account.
struct Association {
  std::string account;
  std::string partition = {};         // empty: any
  std::vector<std::string> qos = {};  // that may be asked for
  std::string default_qos = {};       // empty: not told
  Limits limits = {};
  bool operator==(const Association&) const = default;
};

struct Cluster {
  std::string name;                     // empty: not told
  std::string slurm_version = {};       // empty: not told
  std::optional<bool> accounting = {};  // whether Slurm keeps one
  std::vector<Partition> partitions = {};
  std::vector<Qos> qos = {};
  std::vector<Association> associations = {};
  std::string limits_missing = {};  // why not all of the two above is known: a clause; else empty
  WallTime read_at{};               // when Slurm told it; 0: nobody says
  bool operator==(const Cluster&) const = default;
};

}  // namespace torc::cluster
