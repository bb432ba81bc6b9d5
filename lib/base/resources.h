// What a job needs of each of its nodes, and the one list of the kinds there are. Whoever reads,
// writes, compares or shows needs goes over that list.
//
// A new kind: a member here and its row, which is `later`; a row of lib/spec/language/language.cc,
// so that a file may say it; where workers have some of it, lib/worker, which fills
// WorkerInfo::more and Offer::more. All else goes over the list.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/codec.h"
#include "lib/base/units.h"

namespace torc {

struct Resources {
  std::uint32_t cpus = 1;
  std::uint32_t gpus = 0;
  std::uint32_t nodes = 1;
  ByteCount memory = mebibytes(1);
  std::chrono::seconds runtime{0};  // 0: not declared; fits any remaining walltime
  auto operator<=>(const Resources&) const = default;
};

enum class Measure : std::uint8_t { count, bytes, seconds };

struct ResourceKind {
  std::string_view word;   // of `torc set`, JSON and reasons
  std::string_view key;    // of a workflow file
  std::string_view one{};  // of a count, as people say it
  std::string_view many{};
  Measure measure = Measure::count;
  std::uint64_t least = 0;  // of a count
  std::uint64_t most = 0;
  bool shown = false;     // also where it is the default
  bool shared = false;    // by the jobs of a worker, which has only so much of it
  bool settable = false;  // for single jobs, by `torc set`
  bool later = false;     // came after the first stores: see write_later_resources()
  std::uint64_t (*get)(const Resources&) = nullptr;
  void (*put)(Resources&, std::uint64_t) = nullptr;
};

// In the order in which they are shown.
// clang-format off
inline constexpr ResourceKind kResourceKinds[] = {
    {.word = "cpus", .key = "num_cpus", .one = "CPU", .many = "CPUs", .least = 1, .most = 65536,
     .shown = true, .shared = true, .settable = true,
     .get = [](const Resources& r) -> std::uint64_t { return r.cpus; },
     .put = [](Resources& r, std::uint64_t n) { r.cpus = static_cast<std::uint32_t>(n); }},
    {.word = "memory", .key = "memory", .measure = Measure::bytes,
     .shown = true, .shared = true, .settable = true,
     .get = [](const Resources& r) -> std::uint64_t { return r.memory.value; },
     .put = [](Resources& r, std::uint64_t n) { r.memory.value = n; }},
    {.word = "gpus", .key = "num_gpus", .one = "GPU", .many = "GPUs", .most = 1024,
     .shared = true, .settable = true,
     .get = [](const Resources& r) -> std::uint64_t { return r.gpus; },
     .put = [](Resources& r, std::uint64_t n) { r.gpus = static_cast<std::uint32_t>(n); }},
    {.word = "nodes", .key = "num_nodes", .one = "node", .many = "nodes", .least = 1, .most = 1000000,
     .get = [](const Resources& r) -> std::uint64_t { return r.nodes; },
     .put = [](Resources& r, std::uint64_t n) { r.nodes = static_cast<std::uint32_t>(n); }},
    {.word = "runtime", .key = "runtime", .measure = Measure::seconds, .settable = true,
     .get = [](const Resources& r) { return static_cast<std::uint64_t>(r.runtime.count()); },
     .put = [](Resources& r, std::uint64_t n) { r.runtime = std::chrono::seconds(n); }},
};
// clang-format on

// Nothing of any kind.
[[nodiscard]] Resources no_resources();

// "4 CPUs", "1 CPU", "16 GiB", "1h 30min".
[[nodiscard]] std::string show_amount(const ResourceKind& kind, std::uint64_t amount);
// The same beside such an amount: a count without its unit.
[[nodiscard]] std::string show_number(const ResourceKind& kind, std::uint64_t amount);
// "4 CPUs, 16 GiB, 2 GPUs, 2 nodes, 1h": what is not the default, CPUs and memory always.
[[nodiscard]] std::string show(const Resources& resources);
// The same of what the jobs of a worker share.
[[nodiscard]] std::string show_shared(const Resources& resources);

// "cpus", "memory_bytes", "runtime_seconds".
[[nodiscard]] std::string json_name(const ResourceKind& kind);

// How stores keep them: those of the first stores, and as the last of a record, where there is
// some, the kinds that came later.
void write_resources(Encoder& out, const Resources& resources);
[[nodiscard]] Resources read_resources(Decoder& in);
[[nodiscard]] bool has_later_resources(const Resources& resources);
void write_later_resources(Encoder& out, const Resources& resources);
void read_later_resources(Decoder& in, Resources& resources);

}  // namespace torc
