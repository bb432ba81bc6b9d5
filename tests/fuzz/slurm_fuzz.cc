// What squeue and scontrol print, and time limits. The input: job ids on the first line, the exit
// codes of both on the second, then what squeue prints, a line "--", and what scontrol prints.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "lib/slurm/query.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc::slurm;

std::string_view cut(std::string_view& text, std::string_view end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return front;
}

bool names_an_end(const std::string& text) {
  constexpr std::array<std::string_view, 10> kEnds{
      "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED",
      "NODE_FAIL", "OUT_OF",    "PREEMPTED", "REVOKED",  "TIMEOUT"};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](std::string_view end) { return text.find(end) != std::string::npos; });
}

void check_time_limit(std::string_view text) {
  const auto limit = parse_time_limit(text);
  if (!limit.ok() || !limit->has_value()) return;
  const std::int64_t all = (*limit)->count();
  TORC_MUST(all > 0 && all <= std::int64_t{100} * 366 * 86'400);
  const std::string canonical = std::to_string(all / 86'400) + "-" +
                                std::to_string(all / 3'600 % 24) + ":" +
                                std::to_string(all / 60 % 60) + ":" + std::to_string(all % 60);
  const auto again = parse_time_limit(canonical);
  TORC_MUST(again.ok() && *again == *limit);
}

}  // namespace

TORC_FUZZ_TARGET(slurm) {
  std::string_view rest = input;
  std::vector<std::string> ids;
  std::istringstream first{std::string(cut(rest, "\n"))};
  for (std::string id; first >> id;) ids.push_back(id);
  const std::string_view codes = cut(rest, "\n");
  const auto code = [&](std::size_t i) { return i < codes.size() && codes[i] != '0' ? 1 : 0; };
  const CommandOutput squeue{code(0), std::string(cut(rest, "\n--\n")), std::string(rest)};
  const CommandOutput scontrol{code(1), std::string(rest), std::string(rest)};

  std::size_t confirmations = 0;
  const RunProgram run = [&](const std::vector<std::string>& argv) -> torc::Result<CommandOutput> {
    const bool shows = argv.front() == "scontrol";
    confirmations += shows ? 1 : 0;
    // What comes from ids is numbers, and never an option.
    for (const char c : shows ? argv.back() : argv.front() == "squeue" ? argv.at(5) : argv.at(5))
      TORC_MUST((c >= '0' && c <= '9') || c == '_' || c == ',');
    return shows ? scontrol : squeue;
  };
  const auto states = allocation_states(run, ids);
  TORC_MUST(confirmations <= kMaxConfirmations);
  for (const std::string& id : ids) TORC_MUST(states.count(id) == 1);
  const bool may_end = names_an_end(squeue.out) || names_an_end(scontrol.out) ||
                       scontrol.err.find("Invalid job id") != std::string::npos;
  for (const auto& [id, state] : states) {
    TORC_MUST(std::find(ids.begin(), ids.end(), id) != ids.end());
    TORC_MUST(state != AllocationState::ended || may_end);
  }
  const std::optional<std::string> variable =
      ids.size() > 1 ? std::optional(ids.back()) : std::nullopt;
  if (const auto end = allocation_end(run, ids.empty() ? "" : ids.front(), variable))
    TORC_MUST(end->count() > 0);
  for (const std::string& id : ids) check_time_limit(id);
}
