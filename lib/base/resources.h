// What a job needs of each of its nodes, and the one list of the kinds there are. Whoever reads,
// writes, compares or shows needs goes over that list.
//
// A new kind: a member here and its row, which is `later`; a row of lib/spec/language/language.cc,
// so that a file may say it; where workers have some of it, lib/worker, which fills
// WorkerInfo::more and Offer::more. All else goes over the list.
//
// What has no row there has a name (Resources::named): what only some nodes have, types of GPUs,
// parts of one. A store keeps the names behind all kinds: a further kind is a name, too, as
// `locality` is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/amounts.h"
#include "lib/base/codec.h"
#include "lib/base/units.h"

namespace torc {

// Out of which groups (NUMA nodes, switches) the pieces of one resource come, where a job has
// several of them whole.
enum class Locality : std::uint8_t {
  preferred,  // as few as what is free allows
  strict,     // as few as the worker would need if all of it were free: else the job waits
  scatter     // as many as what is free allows
};
inline constexpr Locality kLastLocality = Locality::scatter;
[[nodiscard]] std::string_view word(Locality locality);
[[nodiscard]] std::optional<Locality> locality_named(std::string_view word);

struct Resources {
  std::uint32_t cpus = 1;
  std::uint32_t gpus = 0;
  std::uint32_t nodes = 1;
  ByteCount memory = mebibytes(1);
  // Of these three 0 is not declared. What is to be made of them: expected_time() and those below.
  std::chrono::seconds runtime{0};     // how long it runs, as far as anybody knows
  std::chrono::seconds time_limit{0};  // when it is ended
  std::chrono::seconds min_time{0};    // which is worth while: the rest it does in a later attempt
  // What has a name, and is no row of the list. A job that needs some of "gpus" here, or of a type
  // of them, has a `gpus` of 0.
  Amounts named = {};
  Locality locality = Locality::preferred;  // of GPUs and of what has a name
  auto operator<=>(const Resources&) const = default;
};

enum class Measure : std::uint8_t { count, bytes, seconds, locality };

struct ResourceKind {
  std::string_view word;   // of `torc set`, JSON and reasons
  std::string_view key;    // of a workflow file
  std::string_view one{};  // of a count, as people say it; of a time, what stands before it
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

// So that sums with other times stay numbers, whatever a store says.
[[nodiscard]] constexpr std::chrono::seconds seconds_in_reach(std::uint64_t n) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 33;
  return std::chrono::seconds(n < kMost ? n : kMost);
}

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
    {.word = "time_limit", .key = "time_limit", .one = "time limit", .measure = Measure::seconds, .settable = true,
     .later = true,
     .get = [](const Resources& r) { return static_cast<std::uint64_t>(r.time_limit.count()); },
     .put = [](Resources& r, std::uint64_t n) { r.time_limit = seconds_in_reach(n); }},
    {.word = "min_time", .key = "min_time", .one = "at least", .measure = Measure::seconds, .settable = true,
     .later = true,
     .get = [](const Resources& r) { return static_cast<std::uint64_t>(r.min_time.count()); },
     .put = [](Resources& r, std::uint64_t n) { r.min_time = seconds_in_reach(n); }},
    {.word = "locality", .key = "locality", .one = "locality", .measure = Measure::locality,
     .most = static_cast<std::uint64_t>(kLastLocality), .settable = true,
     .get = [](const Resources& r) { return static_cast<std::uint64_t>(r.locality); },
     .put = [](Resources& r, std::uint64_t n) { r.locality = static_cast<Locality>(n); }},
};
// clang-format on

// How long it is expected to run: its runtime; where it declares none, its time_limit. 0: nobody
// knows, so it fits any time that is left.
[[nodiscard]] constexpr std::chrono::seconds expected_time(const Resources& r) {
  return r.runtime.count() > 0 ? r.runtime : r.time_limit;
}
// The time that must be left for it to be started: min_time, else what it is expected to run.
[[nodiscard]] constexpr std::chrono::seconds least_time(const Resources& r) {
  return r.min_time.count() > 0 ? r.min_time : expected_time(r);
}
// When it is ended: after its time_limit; where it declares none, after its runtime. 0: never.
[[nodiscard]] constexpr std::chrono::seconds longest_time(const Resources& r) {
  return r.time_limit.count() > 0 ? r.time_limit : r.runtime;
}

// GPUs that a job sees: whole ones, those of a type, one of which it has a part. Of all that there
// are, one.
[[nodiscard]] std::uint32_t gpu_count(const Resources& resources);

// Nothing of any kind.
[[nodiscard]] Resources no_resources();

// "4 CPUs", "1 CPU", "16 GiB", "1h 30min", "time limit 2h".
[[nodiscard]] std::string show_amount(const ResourceKind& kind, std::uint64_t amount);
// The same beside such an amount: a count without its unit.
[[nodiscard]] std::string show_number(const ResourceKind& kind, std::uint64_t amount);
// "4 CPUs, 16 GiB, 2 GPUs, 2 nodes, 1h": what is not the default, CPUs and memory always.
[[nodiscard]] std::string show(const Resources& resources);
// The same of what the jobs of a worker share.
[[nodiscard]] std::string show_shared(const Resources& resources);

// Of least_time(): "it declares 2h", "it needs at least 30min".
[[nodiscard]] std::string say_least_time(const Resources& resources);

// "cpus", "memory_bytes", "runtime_seconds".
[[nodiscard]] std::string json_name(const ResourceKind& kind);

// How stores keep them: those of the first stores, and as the last of a record, where there is
// some, the kinds that came later.
void write_resources(Encoder& out, const Resources& resources);
[[nodiscard]] Resources read_resources(Decoder& in);
[[nodiscard]] bool has_later_resources(const Resources& resources);
// What stands behind them in the record: the number of the names is written then, also when it is
// 0.
enum class Behind : std::uint8_t { nothing, more };
void write_later_resources(Encoder& out, const Resources& resources,
                           Behind behind = Behind::nothing);
// False: they were not written so.
[[nodiscard]] bool read_later_resources(Decoder& in, Resources& resources);

}  // namespace torc
