#include "lib/slurm/refusals.h"

#include <fmt/format.h>

namespace torc::slurm {
namespace {

using spec::SlurmScheduler;

// A given option that torc sets itself, or that has a key of its own, would be a second truth.
Result<void> check_given(std::string_view option, std::string_view where, const SlurmScheduler& s) {
  const auto remedy = reserved_for(option);
  if (!remedy.empty()) {
    return invalid(fmt::format("{} may not hold --{}", where, option), remedy);
  }
  if (option == "dependency" && s.serialize_allocations) {
    return invalid(
        fmt::format("{} holds --dependency, but the scheduler '{}' has serialize_allocations",
                    where, s.name),
        "leave out one of the two");
  }
  return {};
}

}  // namespace

std::vector<Refusal> refusals_of_extra(const SlurmScheduler& s,
                                       std::vector<SbatchOption>* options) {
  const auto where = fmt::format("slurm scheduler '{}': extra", s.name);
  auto extra = parse_options(s.extra, where);
  if (!extra.ok()) return {{"extra", std::move(extra).error()}};
  std::vector<Refusal> refusals;
  for (SbatchOption& option : *extra) {
    auto checked = check_given(option.name, where, s);
    if (!checked.ok()) {
      refusals.push_back({"extra", std::move(checked).error()});
    } else if (options != nullptr) {
      options->push_back(std::move(option));
    }
  }
  return refusals;
}

std::vector<Refusal> refusals_of_defaults(const SlurmScheduler& s, const Defaults& defaults,
                                          std::vector<SbatchOption>* options) {
  std::vector<Refusal> refusals;
  for (const auto& [name, value] : defaults) {
    auto checked = check_given(name, "slurm_defaults", s);
    if (!checked.ok()) {
      refusals.push_back({name, std::move(checked).error()});
      continue;
    }
    auto option = default_option(name, value);
    if (!option.ok()) {
      refusals.push_back({name, std::move(option).error()});
    } else if (*option && options != nullptr) {
      options->push_back(**std::move(option));
    }
  }
  return refusals;
}

}  // namespace torc::slurm
