#include "lib/slurm/asked.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text/text.h"

namespace torc::slurm {
namespace {

// By any of these a node's share is another one than its tasks times their CPUs.
constexpr std::array<std::string_view, 16> kOtherwise{
    "exclusive",       "mincpus",          "cpus-per-gpu",      "ntasks",
    "ntasks-per-core", "cores-per-socket", "ntasks-per-socket", "sockets-per-node",
    "ntasks-per-gpu",  "threads-per-core", "extra-node-info",   "hint",
    "overcommit",      "core-spec",        "thread-spec",       "oversubscribe"};

class Options {
 public:
  explicit Options(const std::vector<SbatchOption>& all) : all_(all) {}

  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::find(all_, name, &SbatchOption::name) != all_.end();
  }
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const {
    const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                    [&](const SbatchOption& o) { return o.name == name; });
    return found == all_.rend() ? std::nullopt : found->value;
  }
  // `usual` where it is not given; nullopt: it is no number from 1.
  [[nodiscard]] std::optional<std::uint32_t> number(std::string_view name,
                                                    std::uint32_t usual) const {
    if (!has(name)) return usual;
    const auto number = whole_number<std::uint32_t>(value(name).value_or(""));
    return number && *number > 0 ? number : std::nullopt;
  }

 private:
  const std::vector<SbatchOption>& all_;
};

}  // namespace

Asked asked_by(const std::vector<SbatchOption>& all) {
  const Options options(all);
  Asked asked;
  const bool is_simple =
      std::ranges::none_of(kOtherwise, [&](auto name) { return options.has(name); });
  const auto tasks = options.number("ntasks-per-node", 1);
  const auto each = options.number("cpus-per-task", 1);
  if (is_simple && tasks && each) {
    const std::uint64_t cpus = std::uint64_t{*tasks} * *each;
    if (cpus <= UINT32_MAX) asked.cpus = static_cast<std::uint32_t>(cpus);
    asked.cpus_by_default = !options.has("cpus-per-task");
  }
  const auto memory = parse_slurm_memory(options.value("mem").value_or(""));
  if (memory && memory->value > 0) asked.memory = memory;  // 0: all of the node's
  const auto limit = parse_walltime(options.value("time").value_or(""));
  if (limit.ok() && options.has("time")) asked.walltime = *limit;
  return asked;
}

Asked asked_by(const spec::SlurmScheduler& s, const Defaults& defaults) {
  std::vector<SbatchOption> options;
  (void)refusals_of_defaults(s, defaults, &options);
  const auto key = [&](const char* name, const std::string& value) {
    if (!value.empty()) options.push_back({name, value});
  };
  key("time", s.walltime);
  key("mem", s.mem);
  if (s.ntasks_per_node) key("ntasks-per-node", std::to_string(*s.ntasks_per_node));
  std::vector<SbatchOption> extra;
  (void)refusals_of_extra(s, &extra);
  std::ranges::move(extra, std::back_inserter(options));
  return asked_by(options);
}

Asked asked_by_script(std::string_view text) {
  constexpr std::string_view kDirective = "#SBATCH ";
  std::vector<SbatchOption> options;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(kDirective)) continue;
    auto found = parse_options(trimmed(line.substr(kDirective.size())), "");
    if (found.ok()) std::ranges::move(*found, std::back_inserter(options));
  }
  return asked_by(options);
}

}  // namespace torc::slurm
