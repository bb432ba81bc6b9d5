// Amounts of named resources: what a site or a user names beside the kinds that every node has
// (resources.h), types of GPUs ("gpus/a100"), and parts of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/codec.h"

namespace torc {

inline constexpr std::uint64_t kWhole = 1000;  // amounts are counted in thousandths
// Of a need: all that the node has, and that is some.
inline constexpr std::uint64_t kAllThereIs = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMostAmount = 1'000'000 * kWhole;
inline constexpr std::size_t kMostNamed = 32;  // of one job, of one worker
inline constexpr std::string_view kGpus = "gpus";

// Names are in lower case: a word of letters, digits, '_', '-' and '.', which may be followed by a
// type, "gpus/a100".
struct Amount {
  std::string name;
  std::uint64_t thousandths = 0;
  // Of what a worker has: pieces that are handed out one by one (GPUs, ports), of which a job has
  // whole ones, or a part of one.
  bool by_piece = false;
  auto operator<=>(const Amount&) const = default;
};
// Ascending by name, each once. Empty for nearly all jobs and workers.
using Amounts = std::vector<Amount>;

// As it is kept; none: it is no name.
[[nodiscard]] std::optional<std::string> resource_name(std::string_view text);
// Without its type: "gpus" of "gpus/a100".
[[nodiscard]] inline std::string_view base_name(std::string_view resource) {
  return resource.substr(0, resource.find('/'));
}
// Those that have a key and a flag of their own.
[[nodiscard]] bool is_reserved_resource(std::string_view name);
inline constexpr std::string_view kNameRule =
    "a name begins with a letter and has letters, digits, '_', '-' and '.', then perhaps a type: "
    "gpus/a100";
// "2", "0.25", "all". None: it is no amount, or nothing.
[[nodiscard]] std::optional<std::uint64_t> parse_amount(std::string_view text);
[[nodiscard]] std::string show_thousandths(std::uint64_t thousandths);
// "2 fpga, 0.5 licence, all scratch_gb"; empty: nothing.
[[nodiscard]] std::string show(const Amounts& amounts);
// By which a job sees what it has of it: "TORC_RESOURCE_GPUS_A100".
[[nodiscard]] std::string variable_of(std::string_view name);

// Whether what is called `kind` is of that name: it is the same, or a type of it.
[[nodiscard]] bool is_of(std::string_view kind, std::string_view name);
[[nodiscard]] inline bool is_gpu(std::string_view kind) {
  return is_of(kind, kGpus);
}
// As many pieces as that can be: a part of one, or whole ones.
[[nodiscard]] constexpr bool is_by_piece(std::uint64_t thousandths) {
  return thousandths < kWhole || thousandths % kWhole == 0;
}
[[nodiscard]] const Amount* find_amount(const Amounts& amounts, std::string_view name);
// 0 takes it out.
void set_amount(Amounts& amounts, Amount amount);

// Without their number, which is the caller's to write before them.
void write_amounts_of(Encoder& out, const Amounts& amounts);
// None: they were not written so.
[[nodiscard]] std::optional<Amounts> read_amounts_of(Decoder& in, std::uint64_t count);

}  // namespace torc
