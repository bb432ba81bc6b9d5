#include "lib/launcher/slurm_submission.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/text/text.h"
#include "lib/launcher/missing_program.h"
#include "lib/slurm/shown.h"
#include "lib/slurm/squeue.h"

namespace torc::launcher {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::string_view kFailed = "Batch job submission failed: ";
// Nobody but AllocNodes of a partition says it (and DisableRootJobs, of root).
constexpr std::string_view kNotFromHere = "Access/permission denied";
// sbatch names the limit before it says that there is one: that of how many may be in the queue
// passes when one leaves it.
constexpr std::string_view kTooManyNow = "SubmitJob";

// Words of slurm_strerror(3) with which the controller answers that it has not taken what it was
// sent: without a record in the queue, and for as long as the request, the account and the cluster
// are what they are.
constexpr std::array<std::string_view, 50> kRefused{
    "Invalid partition name specified",
    "No partition specified or system default partition",
    "Access/permission denied",
    "User's group not permitted to use this partition",
    "Requested nodes not in this partition",
    "More processors requested than permitted",
    "Node count specification invalid",
    "Job size specification needs to be provided",
    "Job script not specified",
    "Invalid user id",
    "Invalid group id",
    "Pathname of a file, directory or other parameter too long",
    "Requested node configuration is not available",
    "Requested partition configuration not available now",
    "Invalid node name specified",
    "Task distribution specification invalid",
    "Task count specification invalid",
    "Invalid feature specification",
    "Requested operation not supported on this system",
    "Job dependency problem",
    "Only batch jobs are accepted or processed",
    "Requested more tasks than available processors",
    "Memory required by task is not available",
    "Invalid account or account/partition combination specified",
    "Invalid license specification",
    "Job violates accounting/QOS policy",
    "Requested time limit is invalid",
    "Access denied to requested reservation",
    "Requested reservation is invalid",
    "Invalid time specified",
    "Invalid wckey specification",
    "Invalid qos specification",
    "CPU count specification invalid",
    "Circular job dependency",
    "Invalid generic resource (gres) specification",
    "Requested account has breached requested QOS usage threshold",
    "Invalid job array specification",
    "Burst Buffer permission denied",
    "Burst Buffer request invalid",
    "Invalid mcs_label specified",
    "Duplicate generic resource (gres) specification",
    "X11 forwarding not available",
    "Job --batch option is invalid or not a subset of --constraints",
    "Invalid Trackable RESource (TRES) specification",
    "Invalid GRES specification (with and without type identification)",
    "Invalid --nice value",
    "Invalid time-min specification",
    "Time limit specification required, but not provided",
    "Requested GRES option unsupported by configured SelectType plugin",
    "Invalid preferred feature specification"};

// The same, for as long as something lasts that passes; or nothing was sent.
constexpr std::array<std::string_view, 19> kLater{
    "Unable to contact slurm controller (connect failure)",
    "Can't find an address, check slurm.conf", "Unable to create job record, try again",
    "Resource temporarily unavailable", "Requested nodes are busy",
    "Slurm backup controller in standby mode",
    "Controller is in standby mode, try a different controller",
    "Requested operation is presently disabled", "Requested reservation is in use",
    "Requested reservation not usable now",
    "Required node not available (down, drained or reserved)",
    "Required partition not available (inactive or drain)", "Partition in DOWN state",
    "Burst Buffer resource limit exceeded", "Job update not available right now",
    "System submissions disabled", "Unable to connect to database",
    "I/O error writing script/environment to file",
    // Of a plugin of the site's (job_submit) that said no, perhaps in words of its own before.
    "Unspecified error"};

// What sbatch says by itself of the command line or of the script, before it sends anything.
constexpr std::array<std::string_view, 14> kOwnRefusal{"Try \"sbatch --help\"",
                                                       "Unable to open file",
                                                       "Batch script is empty",
                                                       "Batch script contains",
                                                       "does not look like a batch script",
                                                       "scripts that contain a NULL character",
                                                       "does not allow scripts that",
                                                       "Invalid directive found in batch script",
                                                       "Invalid generic resource (gres)",
                                                       "Invalid --",
                                                       "is not a valid node count",
                                                       "Invalid argument: ",
                                                       "are mutually exclusive",
                                                       "invalid number of "};
// What it says of its own configuration, before it knows where to send anything.
constexpr std::array<std::string_view, 2> kNoConfiguration{
    "Could not establish a configuration source", "Unable to process configuration file"};

template <class List>
bool begins_with_one_of(const List& list, std::string_view text) {
  return std::ranges::any_of(list, [&](auto words) { return text.starts_with(words); });
}
template <class List>
bool says_one_of(const List& list, std::string_view text) {
  return std::ranges::any_of(
      list, [&](auto words) { return text.find(words) != std::string_view::npos; });
}

Lines lines_of(std::string_view text) {
  Lines lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!trimmed(line).empty()) lines.push_back(trimmed(line));
  }
  return lines;
}

// What sbatch says in this line; nullopt: it is somebody else's.
std::optional<std::string_view> said_by_sbatch(std::string_view line) {
  const auto colon = line.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view program = line.substr(0, colon);
  const std::string_view name = program.substr(program.rfind('/') + 1);
  if (!name.starts_with("sbatch") || name.find(' ') != std::string_view::npos) return std::nullopt;
  return line.substr(colon + 2);
}

struct Accepted {
  std::string id;
  std::string cluster;
  auto operator<=>(const Accepted&) const = default;
};

// "1234", "1234;alpha" as --parsable has it; as a wrapper without it has: "Submitted batch job 1234
// on cluster alpha".
std::optional<Accepted> accepted_in(std::string_view line) {
  const auto is_id = [](std::string_view text) {
    return text.find('_') == std::string_view::npos && slurm::is_job_id(text);
  };
  constexpr std::string_view kSubmitted = "Submitted batch job ";
  if (line.starts_with(kSubmitted)) {
    const auto words = slurm::words(line.substr(kSubmitted.size()));
    const bool on_cluster = words.size() == 4 && words[1] == "on" && words[2] == "cluster";
    if (!words.empty() && is_id(words[0]) && (words.size() == 1 || on_cluster))
      return Accepted{std::string(words[0]), on_cluster ? std::string(words[3]) : std::string()};
    return std::nullopt;
  }
  const auto semicolon = line.find(';');
  if (!is_id(line.substr(0, semicolon))) return std::nullopt;
  if (semicolon == std::string_view::npos) return Accepted{std::string(line), {}};
  if (!slurm::is_plain(line.substr(semicolon + 1))) return std::nullopt;
  return Accepted{std::string(line.substr(0, semicolon)), std::string(line.substr(semicolon + 1))};
}

// Of an sbatch that ended by itself, and says that it failed.
Submitted judge_failure(const slurm::SbatchOutput& output, const Lines& lines,
                        bool& not_from_here) {
  if (is_missing_program(output)) {
    not_from_here = true;
    return Submitted::refused;
  }
  Lines said;
  for (const auto line : lines) {
    if (const auto words = said_by_sbatch(line)) said.push_back(*words);
    if (line.starts_with("Try \"sbatch --help\"")) said.push_back(line);
  }
  std::optional<std::string_view> failed;
  for (const auto words : said) {
    if (const auto at = words.find(kFailed); at != std::string_view::npos)
      failed = words.substr(at + kFailed.size());
  }
  if (failed) {
    const Submitted meaning = meaning_of_failure(*failed);
    not_from_here = meaning == Submitted::refused && failed->starts_with(kNotFromHere);
    const bool passes = std::ranges::any_of(
        said, [](auto words) { return words.find(kTooManyNow) != std::string_view::npos; });
    return meaning == Submitted::refused && passes ? Submitted::later : meaning;
  }
  if (!trimmed(output.out).empty()) return Submitted::unclear;  // it got further than that
  const auto any = [&](const auto& list) {
    return std::ranges::any_of(said, [&](auto words) { return says_one_of(list, words); });
  };
  if (any(kNoConfiguration)) return Submitted::later;
  return any(kOwnRefusal) ? Submitted::refused : Submitted::unclear;
}

}  // namespace

Submitted meaning_of_failure(std::string_view words) {
  if (begins_with_one_of(kRefused, words)) return Submitted::refused;
  if (begins_with_one_of(kLater, words)) return Submitted::later;
  return Submitted::unclear;
}

SubmitAnswer read_submission(const slurm::SbatchOutput& output) {
  const Lines of_out = lines_of(output.out);
  Lines lines = of_out;
  const Lines of_err = lines_of(output.err);
  lines.insert(lines.end(), of_err.begin(), of_err.end());
  SubmitAnswer answer;
  answer.words = slurm::words_for_people(lines);
  if (output.timed_out || output.truncated || output.exit_code < 0) return answer;
  if (output.exit_code != 0) {
    answer.what = judge_failure(output, lines, answer.not_from_here);
    return answer;
  }
  // The last line may have been cut where it does not end.
  std::set<Accepted> accepted;
  if (output.out.ends_with('\n')) {
    for (const auto line : of_out) {
      if (auto one = accepted_in(line)) accepted.insert(*std::move(one));
    }
  }
  if (accepted.size() != 1) return answer;
  answer.what = Submitted::accepted;
  answer.id = accepted.begin()->id;
  answer.cluster = accepted.begin()->cluster;
  return answer;
}

}  // namespace torc::launcher
