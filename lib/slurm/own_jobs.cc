#include "lib/slurm/own_jobs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/slurm/short_host_list.h"
#include "lib/slurm/squeue.h"

namespace torc::slurm {
namespace {

using namespace std::chrono_literals;

// All in one row of blanks and cells, which are cut out by their widths: names may hold blanks.
// Narrow, so that thousands of rows can be read.
struct Cell {
  enum : std::size_t {
    id,
    array_id,
    cluster,
    nodes,
    state,
    start,
    end,
    submit,
    user,
    name,
    reason,
    comment,
    cells
  };
};
constexpr std::array<std::pair<std::string_view, std::size_t>, Cell::cells> kRow{
    {{"JobID", 24},
     {"JobArrayID", 48},
     {"Cluster", 64},
     {"NumNodes", 12},
     {"State", 24},
     {"StartTime", 32},
     {"EndTime", 32},
     {"SubmitTime", 32},
     {"UserID", 12},
     {"Name", 256},
     {"Reason", 256},
     {"Comment", 512}}};

constexpr ByteCount kMostOutput = mebibytes(128);
constexpr auto kClocksDiffer = 24h;

constexpr std::string_view kOtherAnswer = "it printed something else than what it was asked for";

std::string row_asked() {
  std::string columns;
  for (const auto& [name, width] : kRow)
    columns += (columns.empty() ? "" : ",") + std::string(name) + ":" + std::to_string(width);
  return columns;
}

// nullopt: no row of what was asked for.
std::optional<OwnJob> read_row(std::string_view text) {
  std::array<std::string_view, Cell::cells> cells;
  std::size_t at = 0;
  for (std::size_t i = 0; i < Cell::cells; at += kRow.at(i++).second) {
    if (at > text.size()) return std::nullopt;
    cells.at(i) = text.substr(at, kRow.at(i).second);
  }
  if (text.size() != at) return std::nullopt;
  const auto cell = [&](std::size_t which) { return trimmed(cells.at(which)); };
  const auto uid = whole_number<std::uint32_t>(cell(Cell::user));
  const bool is_row = is_job_id(cell(Cell::id)) && uid && words(cell(Cell::cluster)).size() == 1 &&
                      words(cell(Cell::state)).size() == 1;
  if (!is_row) return std::nullopt;
  OwnJob job{{name_of(cell(Cell::id), cell(Cell::array_id)), std::string(cell(Cell::cluster)),
              std::string(told(cell(Cell::name))), std::string(cell(Cell::state)),
              std::string(told(cell(Cell::reason))), std::string()}};
  job.shown.uid = uid;
  job.shown.submitted = time_told(cell(Cell::submit));
  job.shown.start = time_told(cell(Cell::start));
  job.shown.end = time_told(cell(Cell::end));
  if (stage_of(job.shown.state) != Stage::waits) job.shown.reason.clear();
  job.comment = told(cell(Cell::comment));
  job.nodes = whole_number<std::uint32_t>(cell(Cell::nodes)).value_or(0);
  return job;
}

// What one argument can say; empty: all have to be asked for.
std::string names_in(const std::vector<std::string>& names) {
  if (!std::ranges::all_of(names, is_plain)) return {};
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list.size() + std::string_view("--name=").size() < kLongestWord ? list : std::string();
}

// What it printed, or why that is nothing.
std::optional<SbatchOutput> ask(const RunCommand& run, std::vector<std::string> argv,
                                std::string& failure) {
  const auto output = run({std::move(argv), {}, kAskLimit, kMostOutput});
  if (!output.ok()) {
    failure = output.error().what;
  } else if (output->timed_out) {
    failure = "it took too long";
  } else if (output->truncated) {
    failure = "it printed more than can be read";
  } else if (output->exit_code != 0 || output->err.find("Invalid user") != std::string::npos) {
    // The latter with exit code 0, in 22.05.
    failure = failure_of({output->exit_code, output->out, output->err});
  } else {
    return *output;
  }
  return std::nullopt;
}

// Takes a row in, unless it is somebody else's. False: it is of another cluster.
bool take(OwnJob job, const OwnQuestion& question, OwnJobs& jobs, std::set<std::string>& clusters) {
  clusters.insert(job.shown.cluster);
  if (clusters.size() > 1 || (!question.cluster.empty() && job.shown.cluster != question.cluster))
    return false;
  if (job.shown.uid == question.user) jobs.jobs.push_back(std::move(job));
  return true;
}

OwnJobs of_another_cluster() {
  return {{}, false, "it told of another cluster"};
}

std::string local_time(WallTime time) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  std::tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return "1970-01-02";
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts)};
}

}  // namespace

OwnJobs own_in_queue(const RunCommand& run, const OwnQuestion& question_) {
  std::vector<std::string> options{"--local", "-a", "-t",
                                   "all",     "-u", std::to_string(question_.user)};
  if (const std::string names = names_in(question_.names); !names.empty())
    options.insert(options.end(), {"-n", names});
  options.insert(options.end(), {"-O", row_asked()});
  OwnJobs jobs;
  const auto output = ask(run, question("squeue", std::move(options)), jobs.failure);
  if (!output) return jobs;
  const auto lines = whole_lines(output->out);
  if (lines.empty() || !lines.front().starts_with("JOBID ") ||
      lines.front().find(" COMMENT") == std::string_view::npos)
    return {{}, false, std::string(kOtherAnswer)};
  jobs.whole = output->out.back() == '\n';
  std::set<std::string> clusters;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto job = read_row(lines[i]);
    if (!job) jobs.whole = false;
    if (job && !take(*std::move(job), question_, jobs, clusters)) return of_another_cluster();
  }
  return jobs;
}

// ---- the accounting ----

namespace {

constexpr std::string_view kRowAccounted =
    "JobIDRaw,JobID,Cluster,UID,State,Submit,Start,End,NNodes,JobName,Comment";
// All of them: without a list sacct leaves out what was cancelled before it could have begun (one
// that was held, or depended on another).
constexpr const char* kStatesAsked = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,S,TO";
constexpr std::size_t kPlainFields = 9;  // those before the name, which may hold the bar

// nullopt: no row; it may go on with what a command line of several lines held.
std::optional<OwnJob> read_accounted_row(std::string_view line) {
  std::array<std::string_view, kPlainFields> f;
  for (auto& field : f) {
    const auto bar = line.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    field = line.substr(0, bar);
    line.remove_prefix(bar + 1);
  }
  const auto state = words(f[4]);  // "CANCELLED by 1000"
  const auto uid = whole_number<std::uint32_t>(f[3]);
  if (!is_job_id(f[0]) || f[2].empty() || !uid || state.empty()) return std::nullopt;
  const auto rest = split(line, '|');
  OwnJob job{{name_of(f[0], f[1]),
              std::string(f[2]),
              rest.empty() ? std::string() : std::string(rest[0]),
              std::string(state[0]),
              {},
              {}}};
  job.shown.uid = uid;
  job.shown.submitted = time_told(f[5]);
  job.shown.start = time_told(f[6]);
  job.shown.end = time_told(f[7]);
  const bool says_who = state.size() == 3 && state[1] == "by" && is_job_id(state[2]);
  if (says_who) job.shown.canceled_by = state[2] == "0" ? "root" : "uid " + std::string(state[2]);
  job.nodes = whole_number<std::uint32_t>(f[8]).value_or(0);
  if (rest.size() > 1) job.comment = rest[1];
  if (job.comment.empty() && rest.size() > 2) job.comment = comment_of_line(line);
  return job;
}

}  // namespace

OwnJobs own_in_accounting(const RunCommand& run, const OwnQuestion& question_, WallTime since,
                          bool comments) {
  const std::string user = std::to_string(question_.user);
  // Of midnight in any time zone, the first day is past.
  const WallTime from = std::max<WallTime>(since - kClocksDiffer, 24h);
  std::vector<std::string> options{
      "--local", "-X", "-P", "-S", local_time(from), "-E", "now", "-s", kStatesAsked, "-u", user};
  if (const std::string names = names_in(question_.names); !names.empty())
    options.push_back("--name=" + names);
  const std::string fields = std::string(kRowAccounted) + (comments ? ",SubmitLine" : "");
  options.insert(options.end(), {"-o", fields});
  OwnJobs jobs;
  const auto output = ask(run, question("sacct", std::move(options)), jobs.failure);
  if (!output) return jobs;
  const auto lines = whole_lines(output->out);
  if (lines.empty() || !lines.front().starts_with("JobIDRaw|JobID|"))
    return {{}, false, std::string(kOtherAnswer)};
  jobs.whole = output->out.back() == '\n';
  std::set<std::string> clusters;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto job = read_accounted_row(lines[i]);
    if (!job && !comments) jobs.whole = false;
    if (job && !take(*std::move(job), question_, jobs, clusters)) return of_another_cluster();
  }
  return jobs;
}

std::string cluster_name(const RunProgram& run) {
  const auto answer = run({"env", "-u", "SLURM_CLUSTERS", "scontrol", "show", "config"});
  if (!answer.ok() || answer->exit_code != 0) return {};
  for (const auto line : whole_lines(answer->out)) {
    const auto fields = words(line);
    if (fields.size() == 3 && fields[0] == "ClusterName" && fields[1] == "=" && is_plain(fields[2]))
      return std::string(fields[2]);
  }
  return {};
}

std::string comment_of_line(std::string_view submit_line) {
  constexpr std::string_view kOption = " --comment=";
  const auto at = submit_line.find(kOption);
  if (at == std::string_view::npos) return {};
  submit_line.remove_prefix(at + kOption.size());
  return std::string(submit_line.substr(0, submit_line.find_first_of(" |\n")));
}

}  // namespace torc::slurm
