#include "lib/slurm/accounting.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/slurm/shown.h"
#include "lib/slurm/squeue.h"

namespace torc::slurm {
namespace {

// A name may hold the bar that stands between fields, so it is the last.
constexpr std::string_view kFields =
    "JobIDRaw,JobID,Cluster,State,ExitCode,Start,End,ElapsedRaw,NNodes,NCPUS,MaxRSS,AveCPU,"
    "NodeList,JobName";
constexpr std::size_t kNumberOfFields = 14;
constexpr std::size_t kAtOnce = 300;  // allocations in one question
constexpr std::uint64_t kMostSeconds = 1'000'000'000;

std::optional<std::array<std::string_view, kNumberOfFields>> fields_of(std::string_view line) {
  std::array<std::string_view, kNumberOfFields> fields;
  for (std::size_t i = 0; i + 1 < kNumberOfFields; ++i) {
    const auto bar = line.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    fields.at(i) = line.substr(0, bar);
    line.remove_prefix(bar + 1);
  }
  fields.back() = line;
  return fields;
}

// "1234.batch" -> "1234" and "batch".
std::pair<std::string_view, std::string_view> parts_of(std::string_view id) {
  const auto dot = id.find('.');
  if (dot == std::string_view::npos) return {id, {}};
  return {id.substr(0, dot), id.substr(dot + 1)};
}

std::string node_list_of(std::string_view text) {
  const bool is_none = text == "None assigned" || text == "(null)" || text == "Unknown";
  return is_none ? std::string() : std::string(text);
}

std::optional<Accounted> read_accounted(std::string_view line) {
  const auto f = fields_of(line);
  if (!f) return std::nullopt;
  const auto [number, step] = parts_of(f->at(0));
  const auto shown = parts_of(f->at(1)).first;
  const auto state = words(f->at(3));  // "CANCELLED by 1000"
  if (!is_job_id(number) || state.empty()) return std::nullopt;
  if (!step.empty() && !is_plain(step)) return std::nullopt;
  Accounted one{name_of(number, shown), std::string(step), std::string(f->at(2)),
                std::string(f->at(13)), std::string(state[0])};
  const std::string_view ending = f->at(4);  // "0:9"
  const auto colon = std::min(ending.find(':'), ending.size());
  one.exit_code = whole_number<std::uint32_t>(ending.substr(0, colon));
  one.signal = whole_number<std::uint32_t>(ending.substr(std::min(colon + 1, ending.size())));
  one.start = time_of(f->at(5)).value_or(WallTime{});
  one.end = time_of(f->at(6)).value_or(WallTime{});
  one.elapsed = std::chrono::seconds(
      std::min(whole_number<std::uint64_t>(f->at(7)).value_or(0), kMostSeconds));
  one.nodes = whole_number<std::uint32_t>(f->at(8)).value_or(0);
  one.cpus = whole_number<std::uint32_t>(f->at(9)).value_or(0);
  one.max_rss = accounted_memory(f->at(10));
  one.ave_cpu = accounted_time(f->at(11));
  one.node_list = node_list_of(f->at(12));
  return one;
}

// Takes what one sacct printed; false: it is no whole answer.
bool take(const CommandOutput& output, const std::set<std::string>& asked, Accounting& told) {
  bool is_whole = output.out.empty() || output.out.back() == '\n';
  for (const std::string_view line : whole_lines(output.out)) {
    if (line.empty()) continue;
    auto one = read_accounted(line);
    is_whole = is_whole && one;
    if (!one || !asked.contains(one->allocation)) continue;
    if (told.rows.size() == kMostAccounted) {
      told.failure = "it tells of more than is taken in";
      return false;
    }
    told.rows.push_back(*std::move(one));
  }
  if (!is_whole) told.failure = "it printed something else than what it was asked for";
  return is_whole;
}

}  // namespace

std::optional<ByteCount> accounted_memory(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTP";
  std::uint64_t unit = 1;
  if (!text.empty()) {
    if (const auto at = kUnits.find(text.back()); at != std::string_view::npos) {
      unit <<= 10 * (at + 1);
      text.remove_suffix(1);
    }
  }
  const auto point = std::min(text.find('.'), text.size());
  const auto whole = whole_number<std::uint64_t>(text.substr(0, point));
  if (!whole || *whole > UINT64_MAX / 2 / unit) return std::nullopt;
  std::uint64_t bytes = *whole * unit;
  if (point < text.size()) {
    const std::string_view digits = text.substr(point + 1);
    const auto part = whole_number<std::uint32_t>(digits);
    if (!part || digits.size() > 6) return std::nullopt;
    double share = *part;
    for (std::size_t i = 0; i < digits.size(); ++i) share /= 10;
    bytes += static_cast<std::uint64_t>(share * static_cast<double>(unit));
  }
  return ByteCount{bytes};
}

std::optional<std::chrono::seconds> accounted_time(std::string_view text) {
  std::uint64_t days = 0;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto told = whole_number<std::uint32_t>(text.substr(0, dash));
    if (!told) return std::nullopt;
    days = *told;
    text.remove_prefix(dash + 1);
  }
  text = text.substr(0, text.find('.'));
  const auto parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  std::uint64_t seconds = 0;
  for (const std::string_view part : parts) {
    const auto told = whole_number<std::uint32_t>(part);
    if (!told) return std::nullopt;
    seconds = seconds * 60 + *told;
  }
  seconds += days * 86'400;
  if (seconds > kMostSeconds) return std::nullopt;
  return std::chrono::seconds(seconds);
}

Accounting ask_accounting(const RunProgram& run, const std::vector<std::string>& allocations) {
  Accounting told;
  std::set<std::string> asked;
  std::ranges::copy_if(allocations, std::inserter(asked, asked.end()), is_job_id);
  for (auto at = asked.begin(); at != asked.end();) {
    std::string list;
    for (std::size_t i = 0; i < kAtOnce && at != asked.end(); ++i, ++at)
      list += (list.empty() ? "" : ",") + *at;
    const auto answer = run(question(
        "sacct", {"-n", "-P", "-D", "--noconvert", "-j", list, "-o", std::string(kFields)}));
    if (!answer.ok()) told.failure = answer.error().what;
    if (answer.ok() && answer->exit_code != 0) told.failure = failure_of(*answer);
    if (!told.failure.empty() || !take(*answer, asked, told)) return told;
  }
  return told;
}

}  // namespace torc::slurm
