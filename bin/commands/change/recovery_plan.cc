#include "bin/commands/change/recovery_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "bin/commands/ringing.h"
#include "bin/commands/selection.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/override.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::cli {
namespace {

using report::FailedGroup;

constexpr std::size_t kRecoveredACommit = 10'000;
constexpr std::size_t kNamed = 3;

// What the schedulers of the workflow offer, as its file says; of a job that is bound to one, that.
class Offers {
 public:
  Offers(const App& app, store::Store& store, const Path& directory) {
    auto loaded = workflow::load_spec(app, workflow::spec_copy_in(app, store.directory()).string(),
                                      workflow::Purpose::look, directory);
    if (loaded.ok() && loaded->workflow) workflow_ = std::move(loaded->workflow);
    if (!workflow_)
      say(app.err,
          "torc: note: the store's copy of the workflow file cannot be read: what its "
          "schedulers offer at most is not known\n");
  }

  // Where nobody says, memory ends at the largest worker that was ever registered.
  [[nodiscard]] claim::Ceilings of(const std::string& scheduler, ByteCount largest_worker) const {
    claim::Ceilings most;
    if (workflow_) most = workflow::ceilings_of(*workflow_, scheduler);
    if (most.memory.value == 0) most.memory = largest_worker;
    return most;
  }

 private:
  std::optional<spec::Workflow> workflow_;
};

// Which job's needs are those of the attempt that failed.
struct Had {
  claim::JobClass job_class;
  std::uint32_t number = 0;
  claim::Requirement need;
  std::uint32_t recoveries = 0;  // that the job has had without anybody, of so many
  std::uint32_t most_recoveries = 0;
};

Had had_by(const claim::Reader& reader, const report::JobNow& now) {
  Had had;
  const auto rank = claim::read_rank(reader, now.output.job);
  if (!rank) return had;
  had.number = rank->job_class;
  had.job_class = claim::read_class(reader, rank->job_class);
  had.need = had.job_class.need_of(now.job.alternative);
  const auto of = claim::read_template(reader, now.output.job);
  const auto handler = of ? claim::read_handler(reader, *of) : std::nullopt;
  if (!handler || handler->recoveries == 0) return had;
  had.recoveries = claim::read_retries(reader, now.output.job, now.job).recoveries;
  had.most_recoveries = handler->recoveries;
  return had;
}

void add(FailedGroup& group, const report::DiagnosedJob& job, const Had& had) {
  group.jobs.push_back({job.now.output.job, job.now.job.attempt});
  if (group.first.size() < kNamed) group.first.push_back(job.now.name);
  if (group.jobs.size() == 1) {
    group.how = job.now.how;
    group.had = had.need;
    group.has_alternatives = had.job_class.alternatives() > 1;
  }
  for (const report::Finding& f : job.findings) {
    if (group.line.empty()) group.line = f.line;
  }
  group.add(job.now.job.outcome);
  group.recoveries = std::max(group.recoveries, had.recoveries);
  group.most_recoveries = std::max(group.most_recoveries, had.most_recoveries);
}

}  // namespace

Result<FailedGroups> failed_groups(const App& app, store::Store& store) {
  std::vector<report::JobNow> jobs;
  std::vector<Had> needs;
  std::vector<std::pair<std::uint64_t, std::string>> entries;  // first job, name
  ByteCount largest;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(jobs, report::troubled_jobs(reader, store.directory()));
    needs.clear();
    entries.clear();
    workflow::RecipeBook book;
    for (const report::JobNow& now : jobs) {
      needs.push_back(had_by(reader, now));
      const auto page = book.find(reader, now.output.job);
      if (!page) return workflow::damaged_job(now.name);
      const bool one = page->job_template.count == 1;
      entries.emplace_back(raw(page->job_template.first),
                           one ? page->recipe.name(0) : page->recipe.entry_name());
    }
    return claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
      largest = std::max(largest, worker.info.memory);
      return true;
    });
  }));
  FailedGroups found;
  if (jobs.empty()) return found;
  TORC_ASSIGN(const auto settings, workflow::read_settings(store));
  const Offers offers(app, store,
                      workflow::likely_working_directory(settings.directory, store.directory()));
  found.jobs = jobs.size();
  report::Diagnosis diagnosis = report::diagnose(std::move(jobs));
  found.not_read = diagnosis.not_read;
  found.unreadable = static_cast<std::uint64_t>(std::ranges::count_if(
      diagnosis.jobs, [](const report::DiagnosedJob& job) { return !job.unread.empty(); }));
  using Key = std::tuple<report::Trouble, std::uint64_t, int, std::uint32_t>;
  std::map<Key, std::pair<FailedGroup, claim::Ceilings>> groups;
  for (std::size_t i = 0; i < diagnosis.jobs.size(); ++i) {
    const report::DiagnosedJob& job = diagnosis.jobs[i];
    const auto trouble =
        claim::trouble_of(job.now.job.outcome, report::said_by(job.findings), needs[i].need);
    const int cause = job.findings.empty() ? -1 : static_cast<int>(job.findings.front().cause);
    auto& [group, most] = groups[{trouble, entries[i].first, cause, needs[i].number}];
    if (group.jobs.empty()) {
      group.entry = entries[i].second;
      group.trouble = trouble;
      if (cause >= 0) group.cause = job.findings.front().cause;
      most = offers.of(needs[i].job_class.scheduler, largest);
    }
    add(group, job, needs[i]);
  }
  for (auto& [key, group] : groups) {
    found.groups.push_back(std::move(group.first));
    found.most.push_back(group.second);
  }
  return found;
}

Result<std::uint64_t> recover(const App& app, store::Store& store, const FailedGroup& group,
                              const report::Proposal& proposal) {
  const claim::Setting setting = report::setting_of(proposal);
  std::uint64_t done = 0;
  for (std::size_t at = 0; at < group.jobs.size(); at += kRecoveredACommit) {
    const std::size_t end = std::min(group.jobs.size(), at + kRecoveredACommit);
    claim::Change retried;
    const auto body = [&](store::Transaction& tx) -> Result<void> {
      retried = {};
      JobSet still;
      for (std::size_t i = at; i < end; ++i) {
        const auto job = claim::read_job(tx, group.jobs[i].job);
        if (job && claim::has(job->state, claim::trait::kTroubled) &&
            job->attempt == group.jobs[i].attempt)
          still.add(group.jobs[i].job);
      }
      const std::vector<claim::JobRange> jobs = std::move(still).ranges();
      if (jobs.empty()) return {};
      if (!setting.needs.empty()) {
        const auto set = claim::set_jobs(tx, jobs, setting);
        if (!set.ok()) return set.error();
      }
      TORC_ASSIGN(retried, claim::retry_jobs(tx, jobs));
      return {};
    };
    TORC_TRY(change_and_ring(app, store, false, body));
    done += retried.total();
  }
  return done;
}

}  // namespace torc::cli
