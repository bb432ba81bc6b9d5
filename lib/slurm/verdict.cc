#include "lib/slurm/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc::slurm {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::string_view kVerdicts[] = {"accepted", "refused", "unanswered"};
constexpr std::string_view kFailure = "allocation failure: ";
constexpr std::string_view kStart = " to start at ";
constexpr std::string_view kCut = "…";

// Of slurm_strerror(3) and of what sbatch says before it gets as far: no word of a controller that
// looked at the script.
constexpr std::array<std::string_view, 36> kNotReached{"Unable to contact slurm controller",
                                                       "Socket timed out",
                                                       "Communication connection failure",
                                                       "Communication shutdown failure",
                                                       "Message send failure",
                                                       "Message receive failure",
                                                       "Zero Bytes were transmitted",
                                                       "Unexpected message received",
                                                       "Insane message length",
                                                       "Received zero length message",
                                                       "Received message length",
                                                       "Failed to send entire message",
                                                       "Header lengths are longer",
                                                       "Incompatible versions",
                                                       "Can't find an address",
                                                       "Unexpected missing socket",
                                                       "standby mode",
                                                       "authentication",
                                                       "Authentication",
                                                       "Munge",
                                                       "munged",
                                                       "Could not establish a configuration source",
                                                       "Unable to process configuration file",
                                                       "Plugin initialization failed",
                                                       "Slurm internal error",
                                                       "can't be reached now",
                                                       "talking to database",
                                                       "connect to database",
                                                       "try again",
                                                       "Connection refused",
                                                       "Connection reset",
                                                       "No route to host",
                                                       "Network is unreachable",
                                                       "name resolution",
                                                       "temporarily unable",
                                                       "Resource temporarily unavailable"};

// Where Slurm is and how to talk to it, and how it shows times: of the user, or of the site.
constexpr std::array<std::string_view, 5> kOfTheUser{
    "SLURM_CLUSTERS", "SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_TIME_FORMAT"};

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_not_reached(std::string_view line) {
  return std::ranges::any_of(kNotReached, [&](auto words) { return says(line, words); });
}

// "sbatch: error: …", "/usr/bin/sbatch.real: unrecognized option …": what a program of that name
// says.
bool is_of_sbatch(std::string_view line) {
  const std::string_view program = line.substr(0, line.find(": "));
  if (program.size() == line.size() || says(program, " ")) return false;
  return program.substr(program.rfind('/') + 1).starts_with("sbatch");
}

Lines lines_of(std::string_view text) {
  Lines lines;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = trimmed(line);
    if (!words.empty()) lines.push_back(words);
  }
  return lines;
}

// Cut between characters.
std::string bounded(std::string_view line) {
  // What is escaped becomes longer: no more than could be shown is looked at.
  const bool is_long = line.size() > kMostBytes;
  std::string shown = printable(line.substr(0, kMostBytes));
  if (!is_long && shown.size() <= kMostBytes) return shown;
  std::size_t end = 0;
  while (end < shown.size()) {
    const std::size_t bytes = std::max<std::size_t>(decode_utf8(shown, end).bytes, 1);
    if (end + bytes > kMostBytes - kCut.size()) break;
    end += bytes;
  }
  return shown.substr(0, end).append(kCut);
}

// What it says of the start; empty: nothing.
Lines start_in(const Lines& lines) {
  const auto begins = std::ranges::find_if(
      lines, [](auto line) { return is_of_sbatch(line) && says(line, kStart); });
  Lines found(begins, lines.end());
  for (std::string_view& line : found) {
    if (is_of_sbatch(line)) line = trimmed(line.substr(line.find(": ") + 2));
    // Of "Job 13 to start at …" no job gets the number: nothing was submitted.
    const std::size_t start = line.find(kStart);
    if (line.starts_with("Job ") && start != std::string_view::npos) line.remove_prefix(start + 1);
  }
  return found;
}

Answer unanswered(const Lines& lines, std::string why) {
  return {Verdict::unanswered, words_for_people(lines), std::move(why)};
}

// Of an sbatch that failed by itself.
Answer judge_failure(const Lines& lines, int exit_code) {
  // The exit codes of sbatch are 1 and 255; these are those of a shell around it.
  constexpr int kCannotExecute = 126;
  constexpr int kNotReal = 255;
  if (exit_code >= kCannotExecute && exit_code != kNotReal)
    return unanswered(lines, fmt::format("sbatch ended with exit code {}", exit_code));
  if (lines.empty())
    return unanswered(lines, fmt::format("sbatch printed nothing (exit code {})", exit_code));
  const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                 [](auto line) { return line.starts_with(kFailure); });
  const bool is_told = last != lines.rend();
  if (is_told ? is_not_reached(*last) : std::ranges::any_of(lines, is_not_reached))
    return unanswered(lines, "Slurm could not be reached");
  if (is_told || std::ranges::any_of(lines, is_of_sbatch))
    return {Verdict::refused, words_for_people(lines)};
  return unanswered(
      lines, fmt::format("something other than sbatch failed, by what it printed (exit code {})",
                         exit_code));
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return word_of(verdict, kVerdicts);
}

std::vector<std::string> words_for_people(Lines lines) {
  std::vector<std::string> words;
  if (lines.size() > kMostLines) {
    words.emplace_back(kCut);
    lines.erase(lines.begin(), lines.end() - (kMostLines - 1));
  }
  std::ranges::transform(lines, std::back_inserter(words), bounded);
  return words;
}

Answer judge(const SbatchOutput& output) {
  const Lines of_err = lines_of(output.err);
  Lines lines = lines_of(output.out);
  lines.insert(lines.end(), of_err.begin(), of_err.end());
  if (output.timed_out) return unanswered(lines, "sbatch took too long, and was killed");
  if (output.exit_code < 0)
    return unanswered(lines, fmt::format("sbatch was ended by signal {}", output.signal));
  if (output.truncated) return unanswered(lines, "sbatch printed more than can be read");
  if (output.exit_code != 0) return judge_failure(lines, output.exit_code);
  Lines start = start_in(lines);
  if (!start.empty()) return {Verdict::accepted, words_for_people(std::move(start))};
  return unanswered(
      lines, lines.empty() ? "sbatch printed nothing" : "sbatch does not say when it would start");
}

bool is_for_sbatch(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return !name.starts_with("SLURM_") || std::ranges::find(kOfTheUser, name) != kOfTheUser.end();
}

}  // namespace torc::slurm
