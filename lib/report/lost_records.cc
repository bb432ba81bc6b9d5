#include "lib/report/lost_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/limits.h"
#include "lib/claim/tables/tables.h"

namespace torc::report {
namespace {

using claim::Table;

struct Kind {
  Table table;
  const char* words;
};
constexpr Kind kKinds[] = {
    {Table::addition, "additions to the workflow"},
    {Table::countdown, "countdowns of dependencies"},
    {Table::job_class, "resource classes"},
    {Table::definition, "definitions for additions"},
    {Table::retries, "counts of retries"},
    {Table::set_aside, "the list of failed jobs"},
    {Table::upstream, "dependencies"},
    {Table::host, "the list of hosts"},
    {Table::idle, "the list of idle workers"},
    {Table::inquiry, "what Slurm said"},
    {Table::job, "jobs"},
    {Table::past_attempt, "attempts before the newest ones"},
    {Table::tally, "the counters of jobs"},
    {Table::limit, "limits"},
    {Table::signature, "file fingerprints"},
    {Table::name, "the index of names"},
    {Table::own_rank, "ranks of single jobs"},
    {Table::sweep, "the list of templates"},
    {Table::delayed, "the list of delayed jobs"},
    {Table::ready, "ready queues"},
    {Table::order, "the order of ready queues"},
    {Table::span, "spans of jobs"},
    {Table::job_template, "templates of jobs"},
    {Table::user_data, "user data"},
    {Table::lease, "leases"},
    {Table::worker, "workers"},
    {Table::expense, "the budget"},
    {Table::action, "actions"},
    {Table::barrier, "dependencies of members"},
    {Table::due_action, "the list of due actions"},
    {Table::change, "what people changed, and what was there before"},
    {Table::past_template, "templates of jobs as they were before"},
    {Table::edition, "the edition of recipes"},
    {Table::retired, "results that may count again"},
    {Table::removed, "the list of jobs that the workflow file has no more"},
    {Table::behind, "the list of jobs that go by an earlier workflow file"},
    {Table::handler, "failure handlers"},
    {Table::slots, "slots of limits"},
    {Table::action_run, "runs of actions"},
    {Table::settings, "the settings"},
    {Table::ephemeral, "the list of ephemeral user data"},
    {Table::workflow, "the workflow's name"},
};

// Whether a key that begins with `table` lies in the range.
bool touches(const store::KeyRange& range, Table table) {
  const std::string first(1, static_cast<char>(table));
  const std::string behind(1, static_cast<char>(static_cast<unsigned char>(table) + 1));
  return range.from < behind && (range.to.empty() || range.to > first);
}

// The first job whose key is not less than `key`, which begins with the byte of jobs.
std::uint64_t first_from(std::string_view key) {
  std::uint64_t id = 0;
  for (std::size_t i = 1; i <= 8; ++i)
    id = (id << 8) | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  return key.size() > 9 && id != UINT64_MAX ? id + 1 : id;
}

std::uint64_t number_of_jobs(const claim::Reader& left) {
  const auto value = left.get(claim::Key(Table::tally));
  const auto tally = value ? claim::decode_tally(*value) : std::nullopt;
  return tally && tally->is_possible() ? tally->jobs() : kMaxJobs;
}

}  // namespace

std::string LostRecords::show_kinds() const {
  return fmt::format("{}", fmt::join(kinds, ", "));
}

std::vector<std::string> LostRecords::show_jobs() const {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> out;
  for (const Jobs& range : jobs) {
    if (out.size() == kShown) {
      out.push_back(fmt::format("… {} such ranges in all", jobs.size()));
      break;
    }
    if (range.last == kMaxJobs) {
      out.push_back(fmt::format("jobs from #{} on: a record may be missing", range.first));
    } else if (range.first == range.last) {
      out.push_back(fmt::format("job #{}: its record may be missing", range.first));
    } else {
      out.push_back(
          fmt::format("jobs #{} to #{}: records may be missing", range.first, range.last));
    }
  }
  return out;
}

LostRecords describe_lost(const claim::Reader& left, const std::vector<store::KeyRange>& lost) {
  LostRecords out;
  for (const Kind& kind : kKinds) {
    if (std::any_of(lost.begin(), lost.end(),
                    [&](const store::KeyRange& range) { return touches(range, kind.table); }))
      out.kinds.emplace_back(kind.words);
  }
  const std::uint64_t jobs = number_of_jobs(left);
  const std::string begin{std::string_view(claim::Key(Table::job))};
  for (const store::KeyRange& range : lost) {
    if (!touches(range, Table::job)) continue;
    const std::uint64_t first =
        range.from < begin ? 1 : std::max<std::uint64_t>(1, first_from(range.from));
    const bool ends = !range.to.empty() && range.to[0] == begin[0];
    const std::uint64_t end = ends ? first_from(range.to) : kMaxJobs + 1;
    const std::uint64_t last = end == 0 ? 0 : std::min(jobs, end - 1);
    if (first <= last) out.jobs.push_back({first, last});
  }
  return out;
}

}  // namespace torc::report
