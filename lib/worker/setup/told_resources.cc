// What a worker is told that its node has: --resource.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/number.h"
#include "lib/base/plural.h"
#include "lib/base/text/quote.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/node/node_member.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::worker {
namespace {

constexpr std::size_t kLongestId = 32;

Error bad(const std::string& told, const std::string& why, std::string remedy) {
  return Error{ErrorKind::invalid, fmt::format("--resource {}: {}", told, why), std::move(remedy)};
}

bool is_id(const std::string& id) {
  return !id.empty() && id.size() <= kLongestId && std::ranges::all_of(id, [](char c) {
    return c > ' ' && c < 0x7f && c != ',' && c != '[' && c != ']' && c != '/';
  });
}

using Ids = std::vector<std::string>;

std::string without_blanks(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// "a, b"; what stands behind the last comma is one, too.
Ids listed(std::string list) {
  Ids ids;
  list += ',';
  for (std::size_t at = 0; at < list.size(); at = list.find(',', at) + 1)
    ids.push_back(without_blanks(list.substr(at, list.find(',', at) - at)));
  return ids;
}

// "[a,b],[c,d]"; none: it is no such list. What is in brackets further inside is part of an id,
// which is refused.
std::optional<std::vector<Ids>> lists_in(std::string value) {
  value = without_blanks(std::move(value));
  if (!value.starts_with('[') || !value.ends_with(']')) return std::nullopt;
  std::vector<Ids> lists;
  for (std::size_t at = 0;;) {
    const std::size_t end = value.find(']', at);
    lists.push_back(listed(value.substr(at + 1, end - at - 1)));
    if (end + 1 == value.size()) return lists;
    at = value.find_first_not_of(' ', end + 1);
    if (at == std::string::npos || value[at] != ',') return std::nullopt;
    at = value.find_first_not_of(' ', at + 1);
    if (at == std::string::npos || value[at] != '[') return std::nullopt;
  }
}

// The ids of "[a,b],[c,d]" by group, and of "8000-8009"; none: it is neither.
std::optional<std::vector<Ids>> ids_in(const std::string& value) {
  if (without_blanks(value).starts_with('[')) return lists_in(value);
  const std::size_t dash = value.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto first = whole_number<std::uint32_t>(value.substr(0, dash));
  const auto last = whole_number<std::uint32_t>(value.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  Ids ids;
  for (std::uint64_t id = *first; id <= *last && ids.size() <= exec::NodeMember::kMostGpus; ++id)
    ids.push_back(std::to_string(id));
  return std::vector<Ids>{std::move(ids)};
}

Result<void> add_ids(const std::string& told, const std::string& name, const Ids& ids,
                     std::uint32_t group, exec::Machine& machine) {
  constexpr std::size_t kMost = exec::NodeMember::kMostGpus;
  for (const std::string& id : ids) {
    if (machine.pieces.size() > kMost) break;  // which is told below
    if (!is_id(id))
      return bad(told, fmt::format("'{}' cannot be the name of a piece", printable(id)),
                 "up to 32 letters, digits and signs other than , / [ ]: fpga=[a,b]");
    const bool twice = std::ranges::any_of(
        machine.pieces, [&](const auto& p) { return p.kind == name && p.id == id; });
    if (twice) return bad(told, fmt::format("'{}' is there twice", id), "once");
    if (std::min(machine.gpus.size(), kMost) + machine.pieces.size() == kMost)
      return bad(told, fmt::format("more than {} pieces, GPUs included", kMost),
                 "name fewer: a worker hands out so many at most");
    machine.pieces.push_back({name, id, group});
  }
  return {};
}

// Of which type its GPUs are, the first that have none.
Result<void> type_gpus(const std::string& told, const std::string& kind, std::uint64_t amount,
                       exec::Machine& machine) {
  std::uint64_t left = amount / kWhole;
  machine.gpu_kinds.resize(machine.gpus.size(), std::string(kGpus));
  // Those that were found to be of it count.
  for (const std::string& one : machine.gpu_kinds) {
    if (one == kind && left > 0) --left;
  }
  for (std::string& one : machine.gpu_kinds) {
    if (left == 0) break;
    if (one != kGpus) continue;
    one = kind;
    --left;
  }
  if (amount % kWhole != 0 || left > 0)
    return bad(told,
               fmt::format("{} without another type found here ({})",
                           plural(static_cast<std::uint64_t>(amount / kWhole - left), "GPU"),
                           machine.gpus_from),
               "a whole number of those that there are");
  return {};
}

Result<void> add_one(const std::string& told, exec::Machine& machine) {
  const std::size_t equals = told.find('=');
  const auto name = resource_name(told.substr(0, equals));
  if (equals == std::string::npos)
    return bad(told, "there is no '='", "scratch_gb=500, port=8000-8009, fpga=[a,b], gpus/a100=2");
  if (!name) return bad(told, "that is not the name of a resource", std::string(kNameRule));
  if (is_reserved_resource(*name))
    return bad(told, fmt::format("'{}' has a flag of its own", *name),
               name->starts_with("gpu/") ? fmt::format("did you mean gpus{}?", name->substr(3))
                                         : "--num-cpus, --memory, --num-gpus");
  const std::string value = told.substr(equals + 1);
  const bool there =
      find_amount(machine.sums, *name) != nullptr ||
      std::ranges::any_of(machine.pieces, [&](const auto& p) { return p.kind == *name; });
  if (there) return bad(told, fmt::format("'{}' is told twice", *name), "once");
  const auto lists = ids_in(value);
  if (lists && !is_gpu(*name)) {
    // Those of one list are all near each other, or nobody knows.
    for (std::uint32_t i = 0; i < lists->size(); ++i)
      TORC_TRY(add_ids(told, *name, (*lists)[i], lists->size() == 1 ? 0 : i + 1, machine));
    return {};
  }
  const auto amount = value == "all" ? std::nullopt : parse_amount(value);
  if (!amount)
    return bad(told,
               fmt::format("'{}' is neither an amount nor a list of pieces", printable(value)),
               "a number above 0 with at most three decimals, 8000-8009, [a,b] or [a,b],[c,d]");
  if (is_gpu(*name)) return type_gpus(told, *name, *amount, machine);
  if (machine.sums.size() == exec::NodeMember::kMostSums)
    return bad(told, fmt::format("more than {} amounts", exec::NodeMember::kMostSums),
               "name fewer: a worker shares out so many at most");
  set_amount(machine.sums, {*name, *amount});
  return {};
}

}  // namespace

Result<void> add_told_resources(const std::vector<std::string>& told, exec::Machine& machine) {
  for (const std::string& one : told) TORC_TRY(add_one(one, machine));
  if (exec::named_of(machine).size() > kMostNamed)
    return Error{ErrorKind::invalid, fmt::format("more than {} resources are named", kMostNamed),
                 "leave some --resource out"};
  return {};
}

}  // namespace torc::worker
