#include "lib/spec/language/workflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace torc::spec {
namespace {

constexpr int kMaxDecimals = 15;
constexpr double kMaxExact = 9007199254740992.0;  // 2^53: above it a double skips integers

double float_at(const FloatRange& range, std::uint64_t index) {
  const double k = static_cast<double>(index);
  if (range.decimals >= 0 && range.decimals <= kMaxDecimals) {
    // In units of the last decimal everything is an exact integer, and one division by an exact
    // power of ten rounds to the double that the decimal text would have been read as.
    const double unit = std::pow(10.0, range.decimals);
    const double scaled = std::round(range.first * unit) + k * std::round(range.step * unit);
    if (std::fabs(scaled) < kMaxExact) return scaled / unit;
  }
  return range.first + k * range.step;
}

struct Count {
  std::uint64_t operator()(const IntegerRange& r) const {
    if (r.step <= 0 || r.last < r.first) return 0;
    const auto span = static_cast<std::uint64_t>(r.last) - static_cast<std::uint64_t>(r.first);
    return span / static_cast<std::uint64_t>(r.step) + 1;
  }
  std::uint64_t operator()(const FloatRange& r) const { return r.count; }
  std::uint64_t operator()(const std::vector<ParameterValue>& v) const { return v.size(); }
};

struct ValueAt {
  std::uint64_t index;
  ParameterValue operator()(const IntegerRange& r) const {
    // Unsigned, because first + index * step may pass through values that no int64 holds on its
    // way.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(r.first) +
                                     index * static_cast<std::uint64_t>(r.step));
  }
  ParameterValue operator()(const FloatRange& r) const { return float_at(r, index); }
  ParameterValue operator()(const std::vector<ParameterValue>& v) const { return v[index]; }
};

}  // namespace

Resources SaidNeeds::over(Resources needs) const {
  const auto erase = [&](auto is_replaced) { std::erase_if(needs.named, is_replaced); };
  const bool says_gpus =
      std::ranges::any_of(amounts, [](const auto& a) { return a.first->word == kGpus; }) ||
      std::ranges::any_of(named, [](const Amount& a) { return is_gpu(a.name); });
  if (says_gpus) {
    needs.gpus = 0;
    erase([](const Amount& a) { return is_gpu(a.name); });
  }
  for (const auto& [kind, amount] : amounts) kind->put(needs, amount);
  for (const Amount& own : named) {
    erase([&](const Amount& a) { return is_of(a.name, own.name) || is_of(own.name, a.name); });
    set_amount(needs.named, own);
  }
  return needs;
}

std::string command_key(std::size_t alternative) {
  return fmt::format("one_of[{}].command", alternative);
}

std::vector<Resources> choices_of(const ResourceRequirements& needs) {
  if (needs.one_of.empty()) return {static_cast<const Resources&>(needs)};
  std::vector<Resources> all;
  for (const Alternative& one : needs.one_of) all.push_back(one.needs);
  return all;
}

std::string show_needs(const ResourceRequirements& needs) {
  std::string out;
  for (const Resources& one : choices_of(needs)) out += (out.empty() ? "" : ", or ") + show(one);
  return out;
}

ResourceRequirements JobEntry::needs_with(const ResourceRequirements* set) const {
  ResourceRequirements all = set == nullptr ? ResourceRequirements{} : *set;
  if (one_of.empty()) {
    for (Alternative& of_set : all.one_of) of_set.needs = needs.over(std::move(of_set.needs));
    Resources& common = all;
    common = needs.over(common);
  } else {
    const Resources common = needs.over(static_cast<const Resources&>(all));
    all.one_of.clear();
    for (const SaidAlternative& own : one_of)
      all.one_of.push_back({own.needs.over(common), own.weight});
  }
  if (!all.one_of.empty()) static_cast<Resources&>(all) = all.one_of.front().needs;
  return all;
}

std::string_view word(LaunchOn on) {
  return on == LaunchOn::all ? "all" : on == LaunchOn::head ? "head" : "none";
}

std::string_view word(LaunchEnd end) {
  return end == LaunchEnd::all ? "all" : "first_failure";
}

Place Placed::place_of(const std::string& key) const {
  const auto found = places.find(key);
  return found == places.end() ? place : found->second;
}

Place Placed::place_of(std::string_view list, std::size_t element) const {
  const auto found = places.find(fmt::format("{}[{}]", list, element));
  return found == places.end() ? place_of(std::string(list)) : found->second;
}

Place JobEntry::place_of_need(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (const auto found = places.find(std::string(key)); found != places.end())
      return found->second;
  }
  return place_of("resource_requirements");
}

std::uint64_t count(const ParameterValues& values) {
  return std::visit(Count{}, values);
}

ParameterValue value_at(const ParameterValues& values, std::uint64_t index) {
  return std::visit(ValueAt{index}, values);
}

}  // namespace torc::spec
