#include "lib/slurm/shown.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/slurm/squeue.h"

namespace torc::slurm {

bool is_plain(std::string_view word) {
  return !word.empty() && word.front() != '-' && word.size() < 256 &&
         std::ranges::all_of(word, [](char c) {
           return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.' || c == '+';
         });
}

std::string failure_of(const CommandOutput& output) {
  if (output.exit_code == -1) return "it took too long";
  const auto lines = split(trimmed(output.err), '\n');
  return lines.empty() ? "exit code " + std::to_string(output.exit_code)
                       : std::string(trimmed(lines.back()));
}

// What bears the number of a whole array is told from it by what Slurm shows.
std::string name_of(std::string_view number, std::string_view shown) {
  const bool is_of_all = shown.starts_with(std::string(number) + "_");
  return std::string(is_of_all ? shown : number);
}

namespace {

// After kColumns. Names and paths may hold blanks, so these are cut out by their widths.
constexpr std::string_view kMore = ",SubmitTime:32,UserID:12,Name:256,Command:4096,Reason:512";
constexpr std::array<std::size_t, 5> kWidths{32, 12, 256, 4096, 512};
constexpr std::string_view kNoUser = "Invalid user";  // of 22.05 with exit code 0
constexpr std::size_t kMostWords = 1000;              // of names or ids in one question

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  std::size_t taken = 0;
  for (const std::string& word : words) {
    if (!is_plain(word) || ++taken > kMostWords) continue;
    list += (list.empty() ? "" : ",") + word;
  }
  return list;
}

std::optional<ShownAllocation> read_shown(std::string_view text) {
  std::size_t width = kWidth;
  for (const std::size_t one : kWidths) width += one;
  if (text.size() < width) return std::nullopt;
  const auto line = read_line(text.substr(0, kWidth));
  if (!line) return std::nullopt;
  std::array<std::string_view, kWidths.size()> cells;
  std::size_t at = kWidth;
  for (std::size_t i = 0; i < cells.size(); at += kWidths.at(i++))
    cells.at(i) = text.substr(at, kWidths.at(i));
  ShownAllocation shown{name_of(line->id, line->array_id), std::string(line->cluster),
                        std::string(told(cells[2])),       std::string(line->state),
                        std::string(told(cells[4])),       std::string(told(cells[3]))};
  shown.uid = whole_number<std::uint32_t>(trimmed(cells[1]));
  shown.submitted = time_told(cells[0]);
  shown.start = time_told(line->start);
  shown.end = time_told(line->end);
  // Slurm leaves the last reason to wait with an allocation that has ended.
  if (stage_of(shown.state) != Stage::waits) shown.reason.clear();
  return shown;
}

Shown ask_squeue(const RunProgram& run, std::vector<std::string> which) {
  std::vector<std::string> options{"--local", "-a", "-t", "all"};
  std::ranges::move(which, std::back_inserter(options));
  options.insert(options.end(), {"-O", std::string(kColumns) + std::string(kMore)});
  const auto answer = run(question("squeue", std::move(options)));
  Shown shown;
  if (!answer.ok()) shown.failure = answer.error().what;
  if (answer.ok() && (answer->exit_code != 0 || answer->err.find(kNoUser) != std::string::npos))
    shown.failure = failure_of(*answer);
  if (!shown.failure.empty()) return shown;
  const auto lines = whole_lines(answer->out);
  const bool headed = !lines.empty() && trimmed(lines.front()).starts_with("JOBID");
  shown.whole = headed && answer->out.back() == '\n';
  if (!headed) shown.failure = "it printed something else than what it was asked for";
  for (std::size_t i = 1; headed && i < lines.size(); ++i) {
    auto one = read_shown(lines[i]);
    shown.whole = shown.whole && one;
    if (one) shown.allocations.push_back(*std::move(one));
  }
  return shown;
}

}  // namespace

Stage stage_of(std::string_view state) {
  if (holds(kWaits, state)) return Stage::waits;
  if (holds(kRuns, state)) return Stage::runs;
  if (holds(kEnded, state) || holds(kCutOff, state) || holds(kGivenUp, state)) return Stage::over;
  return Stage::other;
}

Shown show_named(const RunProgram& run, const std::vector<std::string>& names,
                 const std::vector<std::uint32_t>& users) {
  const std::string list = list_of(names);
  if (list.empty()) return Shown{{}, true};
  if (!users.empty()) {
    // So nobody else can fill the answer with what is called the same.
    std::string numbers;
    for (const std::uint32_t user : users)
      numbers += (numbers.empty() ? "" : ",") + std::to_string(user);
    Shown shown = ask_squeue(run, {"-u", numbers, "-n", list});
    if (shown.failure.find(kNoUser) == std::string::npos) return shown;
  }
  return ask_squeue(run, {"-n", list});
}

Shown show_numbered(const RunProgram& run, const std::vector<std::string>& ids) {
  std::vector<std::string> good;
  std::ranges::copy_if(ids, std::back_inserter(good), is_job_id);
  const std::string list = list_of(good);
  return list.empty() ? Shown{{}, true} : ask_squeue(run, {"-j", list});
}

Shown show_ended(const RunProgram& run, const std::vector<std::string>& names, WallTime since) {
  Shown shown;
  const std::string list = list_of(names);
  if (list.empty()) return shown;
  const auto answer =
      run(question("sacct", {"-X", "-n", "-P", "-S", "now-7days", "--name=" + list, "-o",
                             "JobIDRaw,JobID,Cluster,UID,State,Submit,Start,End,JobName"}));
  if (!answer.ok() || answer->exit_code != 0) return shown;
  for (const auto text : whole_lines(answer->out)) {
    const auto f = split(text, '|');
    if (f.size() != 9) continue;
    const auto state = words(f[4]);  // "CANCELLED by 1000"
    if (state.empty() || stage_of(state[0]) != Stage::over) continue;
    ShownAllocation one{
        name_of(f[0], f[1]), std::string(f[2]), std::string(f[8]), std::string(state[0]), {}, {}};
    one.uid = whole_number<std::uint32_t>(f[3]);
    one.submitted = time_told(f[5]);
    one.start = time_told(f[6]);
    one.end = time_told(f[7]);
    const bool says_who = state.size() == 3 && state[1] == "by" && is_job_id(state[2]);
    if (says_who) one.canceled_by = state[2] == "0" ? "root" : "uid " + std::string(state[2]);
    if (one.submitted >= since) shown.allocations.push_back(std::move(one));
  }
  return shown;
}

std::vector<ShownNode> show_nodes(const RunProgram& run, const std::vector<std::string>& nodes) {
  std::vector<ShownNode> shown;
  const std::string list = list_of(nodes);
  if (list.empty()) return shown;
  const auto answer =
      run(question("sinfo", {"--local", "-a", "-h", "-N", "-n", list, "-o", "%N|%T|%E"}));
  if (!answer.ok() || answer->exit_code != 0) return shown;
  for (const auto line : whole_lines(answer->out)) {
    const auto bar = line.find('|');
    const auto second = bar == std::string_view::npos ? bar : line.find('|', bar + 1);
    if (second == std::string_view::npos) continue;
    ShownNode one{std::string(told(line.substr(0, bar))),
                  std::string(told(line.substr(bar + 1, second - bar - 1))),
                  std::string(told(line.substr(second + 1)))};
    // Once for each partition that it is in.
    if (!one.node.empty() && !one.state.empty() && !holds(shown, one)) shown.push_back(one);
  }
  return shown;
}

}  // namespace torc::slurm
