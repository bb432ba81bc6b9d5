#include "lib/slurm/squeue.h"

#include <array>
#include <ctime>
#include <iterator>

#include "lib/base/number.h"
#include "lib/base/text/text.h"

namespace torc::slurm {
namespace {

// The year 2255: later times are rubbish, and what is reckoned with them would leave 64 bits of
// nanoseconds.
constexpr std::int64_t kLatest = 9'000'000'000;

std::optional<WallTime> local_time(const std::string& text) {
  std::tm parts{};
  const char* const rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  parts.tm_isdst = -1;
  const auto seconds = std::mktime(&parts);
  if (seconds <= 0 || seconds > kLatest) return std::nullopt;
  return std::chrono::duration_cast<WallTime>(std::chrono::seconds(seconds));
}

}  // namespace

bool is_job_id(std::string_view id) {
  const auto good = [](char c) { return is_digit(c) || c == '_'; };
  return !id.empty() && id.front() != '_' && id.size() < 32 && std::ranges::all_of(id, good);
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (true) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return found;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(" \t\r"), line.size());
    found.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::vector<std::string_view> whole_lines(std::string_view text) {
  auto lines = split(text, '\n');
  if (!text.empty() && text.back() != '\n') lines.pop_back();
  return lines;
}

std::optional<WallTime> epoch_seconds(std::string_view text) {
  const std::int64_t seconds = whole_number<std::int64_t>(text).value_or(0);
  if (seconds <= 0 || seconds > kLatest) return std::nullopt;
  return std::chrono::duration_cast<WallTime>(std::chrono::seconds(seconds));
}

std::optional<WallTime> time_of(std::string_view text) {
  if (const auto seconds = epoch_seconds(text)) return seconds;
  return local_time(std::string(text));
}

std::string_view told(std::string_view cell) {
  constexpr std::array<std::string_view, 6> kNothing{"(null)", "None",    "none",
                                                     "N/A",    "Unknown", "Unassigned"};
  cell = trimmed(cell);
  return holds(kNothing, cell) ? std::string_view{} : cell;
}

WallTime time_told(std::string_view cell) {
  return time_of(trimmed(cell)).value_or(WallTime{});
}

std::vector<std::string> question(std::string_view program, std::vector<std::string> options) {
  std::vector<std::string> argv{"env"};
  for (const char* variable :
       {"SLURM_CLUSTERS", "SQUEUE_ACCOUNT", "SQUEUE_LICENSES", "SQUEUE_NAMES", "SQUEUE_PARTITION",
        "SQUEUE_QOS", "SQUEUE_USERS", "SINFO_PARTITION"})
    argv.insert(argv.end(), {"-u", variable});
  argv.emplace_back("SLURM_TIME_FORMAT=%s");
  argv.emplace_back(program);
  std::ranges::move(options, std::back_inserter(argv));
  return argv;
}

// One that has nodes has a field more than one that waits for some.
std::optional<Line> read_line(std::string_view text) {
  const auto f = words(text);
  if (f.size() == 8) return Line{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]};
  if (f.size() == 7) return Line{f[0], f[1], f[2], {}, f[3], f[4], f[5], f[6]};
  return std::nullopt;
}

}  // namespace torc::slurm
