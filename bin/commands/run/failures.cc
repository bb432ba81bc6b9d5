#include "bin/commands/run/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_output.h"
#include "lib/report/job_view.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

constexpr std::size_t kMostNamed = 5;
constexpr std::size_t kMostLines = 3;
constexpr std::size_t kLongestLine = 160;  // bytes
constexpr std::size_t kEnoughOutput = 4096;

using Found = std::vector<std::pair<JobId, claim::Job>>;

// The first of all that failed, and how many did.
Found find(const claim::Reader& reader, std::uint64_t& jobs) {
  Found found;
  for (const claim::JobState state : claim::states_with(claim::trait::kTroubled)) {
    std::size_t seen = 0;
    const auto scanned = claim::scan_jobs(reader, state, [&](JobId id, const claim::Job& job) {
      if (seen++ < kMostNamed) found.emplace_back(id, job);
      return seen < kMostNamed;
    });
    const auto workflow = claim::read_workflow(reader);
    if (!scanned || !workflow) continue;
    jobs += workflow->of(state);
  }
  std::ranges::sort(found, {}, [](const auto& f) { return f.first; });
  if (found.size() > kMostNamed) found.resize(kMostNamed);
  return found;
}

Found find_among(const claim::Reader& reader, const std::vector<claim::JobRange>& chosen,
                 std::uint64_t& jobs) {
  Found found;
  (void)claim::scan_jobs_of(reader, chosen, [&](JobId id, const claim::Job& job) {
    if (!claim::has(job.state, claim::trait::kTroubled)) return true;
    if (jobs++ < kMostNamed) found.emplace_back(id, job);
    return true;
  });
  return found;
}

std::vector<report::JobNow> named(const claim::Reader& reader, const Path& store,
                                  const ChosenJobs& chosen, std::uint64_t& jobs) {
  workflow::RecipeBook book;
  jobs = 0;
  std::vector<report::JobNow> all;
  for (const auto& [id, job] : chosen ? find_among(reader, *chosen, jobs) : find(reader, jobs)) {
    auto now = report::look_at_job(reader, book, store, id, job);
    if (now) all.push_back(*std::move(now));
  }
  return all;
}

// Whether there was anything.
bool read_lines(report::OutputReader& reader, const report::AttemptOutput& output,
                exec::Stream stream, ShownFailure& failure) {
  const auto piece = reader.read(output, stream, 0, kEnoughOutput);
  if (!piece || !*piece) return false;
  std::string_view text = (*piece)->bytes;
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return false;
  const bool is_whole = (*piece)->size == text.size();
  if (is_whole) text = text.substr(0, end + 1);
  const auto lines = torc::split(text, '\n');
  failure.has_more = !is_whole || lines.size() > kMostLines;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    std::string line = printable(lines[i].substr(0, kLongestLine));
    if (lines[i].size() > kLongestLine) line += " …";
    failure.lines.push_back(std::move(line));
  }
  return true;
}

ShownFailure shown(report::OutputReader& reader, report::JobNow now) {
  ShownFailure failure{now.name, now.how, {}};
  report::choose_rank(now.output, now.job.outcome.rank);
  failure.is_stderr = read_lines(reader, now.output, exec::Stream::err, failure);
  if (!failure.is_stderr) (void)read_lines(reader, now.output, exec::Stream::out, failure);
  return failure;
}

}  // namespace

ShownFailures first_failures(const App& app, const Path& directory, const claim::WorkflowState& w,
                             const ChosenJobs& chosen) {
  ShownFailures failures;
  if (report::failures(w) == 0) return failures;
  const auto store = store::Store::open(app.world, directory, workflow::worker_tuning());
  if (!store) return failures;
  std::vector<report::JobNow> jobs;
  const auto read =
      (*store)->view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
        jobs = named(reader, directory, chosen, failures.jobs);
        return {};
      });
  // As its worker has done.
  if (w.finished()) (*store)->forget_copy();
  if (!read) return ShownFailures{};
  report::OutputReader reader;
  for (report::JobNow& now : jobs) failures.first.push_back(shown(reader, std::move(now)));
  return failures;
}

void print(std::FILE* to, const ShownFailures& failures, const std::string& shown,
           const std::string& again) {
  if (failures.jobs == 0) return;
  for (const ShownFailure& f : failures.first) {
    say(to, "failed: {}: {}\n", printable(f.name), f.how);
    for (const std::string& line : f.lines) say(to, "    {}\n", line);
    if (f.has_more)
      say(to, "    … torc logs {} {}{}\n", shown, shell_word(f.name),
          f.is_stderr ? " --stderr" : "");
  }
  if (const std::uint64_t more = failures.jobs - failures.first.size(); more > 0)
    say(to, "and {} more: torc results {} --failed\n", show_count(more), shown);
  say(to, "once that is fixed: torc retry {} --failed, then {}\n", shown, again);
}

nlohmann::ordered_json to_json(const ShownFailures& failures) {
  auto all = nlohmann::ordered_json::array();
  for (const ShownFailure& f : failures.first) {
    all.push_back({{"job", f.name},
                   {"reason", f.how},
                   {"stream", f.is_stderr ? "stderr" : "stdout"},
                   {"first_lines", f.lines}});
  }
  return all;
}

}  // namespace torc::cli
