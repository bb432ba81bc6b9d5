#include "lib/report/failure_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"

namespace torc::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kNamed = 5;  // jobs of a cause that are named

std::string named(const std::vector<std::string>& names, std::uint64_t all) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return all > names.size() ? fmt::format("{} and {} more", text, show_count(all - names.size()))
                            : text;
}

struct Group {
  std::uint64_t jobs = 0;
  std::uint64_t by_torc = 0;
  std::vector<std::string> first;
  const DiagnosedJob* example = nullptr;  // the first with a line
  const Finding* finding = nullptr;
  void add(const DiagnosedJob& job, const Finding* found) {
    ++jobs;
    if (first.size() < kNamed) first.push_back(job.now.name);
    if (found == nullptr) return;
    if (found->by_torc) ++by_torc;
    if (example == nullptr && !found->line.empty()) {
      example = &job;
      finding = found;
    }
  }
};

struct Groups {
  std::map<Cause, Group> by_cause;
  Group unknown;
};

Groups grouped(const Diagnosis& diagnosis) {
  Groups groups;
  for (const DiagnosedJob& job : diagnosis.jobs) {
    for (const Finding& f : job.findings) groups.by_cause[f.cause].add(job, &f);
    if (job.findings.empty()) groups.unknown.add(job, nullptr);
  }
  return groups;
}

std::string_view name_of(exec::Stream stream) {
  return stream == exec::Stream::err ? "stderr" : "stdout";
}

}  // namespace

void Diagnostician::scan(DiagnosedJob& job, const AttemptOutput& output, exec::Stream stream) {
  const auto take = [&](std::string_view text) {
    for (Sign& sign : scan_.signs_in(text))
      job.findings.push_back({sign.cause, false, std::move(sign.line), stream});
  };
  const auto read = [&](std::uint64_t from,
                        std::size_t most) -> std::optional<OutputReader::Piece> {
    auto piece = reader_.read(output, stream, from, most);
    if (piece.ok()) return *std::move(piece);
    job.unread = piece.error().what;
    return std::nullopt;
  };
  const auto whole = read(0, 2 * kMostScanned);
  if (!whole) return;
  if (whole->size <= 2 * kMostScanned) return take(whole->bytes);
  job.in_part = true;
  take(std::string_view(whole->bytes).substr(0, kMostScanned));
  const auto end = read(whole->size - kMostScanned, kMostScanned);
  if (!end) return;
  // What it begins with is the rest of a line, unless it is all of one.
  std::string_view text = end->bytes;
  const auto first = text.find('\n');
  if (first != std::string_view::npos && first + 1 < text.size()) text.remove_prefix(first);
  take(text);
}

DiagnosedJob Diagnostician::look_at(JobNow now, bool reads) {
  DiagnosedJob job;
  job.now = std::move(now);
  const AttemptOutput output = job.now.output;
  const std::uint32_t ranks = std::min(std::max(1U, output.nodes), kMostRanks);
  job.in_part = reads && output.nodes > kMostRanks;
  for (std::uint32_t rank = 0; reads && output.attempt > 0 && rank < ranks; ++rank) {
    AttemptOutput one = output;
    if (output.nodes > 1) choose_rank(one, rank);
    // Errors are told on the standard error first of all.
    if (one.stdio.mode != spec::StdioMode::combined && is_kept(one.stdio.mode, exec::Stream::err))
      scan(job, one, exec::Stream::err);
    if (is_kept(one.stdio.mode, exec::Stream::out)) scan(job, one, exec::Stream::out);
  }
  const bool ended = !claim::is_live(job.now.job.state);
  job.findings = weighed(std::move(job.findings), ended ? &job.now.job.outcome : nullptr);
  return job;
}

Result<std::vector<JobNow>> troubled_jobs(const claim::Reader& reader, const Path& store) {
  std::vector<JobNow> found;
  workflow::RecipeBook book;
  for (const auto state : claim::states_with(claim::trait::kTroubled)) {
    Result<void> sound;
    TORC_TRY(claim::scan_jobs(reader, state, [&](JobId id, const claim::Job& job) {
      auto now = look_at_job(reader, book, store, id, job);
      if (!now) sound = workflow::damaged_job(fmt::format("#{}", raw(id)));
      if (now) found.push_back(*std::move(now));
      return sound.ok();
    }));
    TORC_TRY(sound);
  }
  std::sort(found.begin(), found.end(),
            [](const JobNow& a, const JobNow& b) { return raw(a.output.job) < raw(b.output.job); });
  return found;
}

Result<std::vector<JobNow>> jobs_now(const claim::Reader& reader, const Path& store,
                                     const std::vector<claim::JobRange>& jobs) {
  std::vector<JobNow> found;
  workflow::RecipeBook book;
  for (const claim::JobRange& range : jobs) {
    for (std::uint64_t i = 0; i < range.count; ++i) {
      const JobId id{raw(range.first) + i};
      const auto job = claim::read_job(reader, id);
      auto now = job ? look_at_job(reader, book, store, id, *job) : std::nullopt;
      if (!now) return workflow::damaged_job(fmt::format("#{}", raw(id)));
      found.push_back(*std::move(now));
    }
  }
  return found;
}

Diagnosis diagnose(std::vector<JobNow> jobs) {
  Diagnosis diagnosis;
  Diagnostician doctor;
  for (JobNow& now : jobs) {
    const bool reads = diagnosis.jobs.size() < kMostDiagnosed;
    if (!reads) ++diagnosis.not_read;
    diagnosis.jobs.push_back(doctor.look_at(std::move(now), reads));
  }
  return diagnosis;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  const Groups groups = grouped(diagnosis);
  std::string text;
  for (const auto& [cause, group] : groups.by_cause) {
    const CauseRow& row = row_of(cause);
    text += fmt::format("{}: {}: {}\n", row.title, plural(group.jobs, "job"),
                        named(group.first, group.jobs));
    if (group.by_torc > 0)
      text += fmt::format("  torc saw it of {}\n",
                          group.by_torc == group.jobs ? "each" : show_count(group.by_torc));
    if (group.finding != nullptr)
      text += fmt::format("  {}, {}: {}\n", printable(group.example->now.name),
                          name_of(group.finding->stream), printable(group.finding->line));
    text += fmt::format("  {}\n", row.remedy);
  }
  if (groups.unknown.jobs > 0) {
    text += fmt::format(
        "not known: {}: {}\n  no known pattern is in their output; "
        "`torc logs --failed` prints its end\n",
        plural(groups.unknown.jobs, "job"), named(groups.unknown.first, groups.unknown.jobs));
  }
  Group part;
  Group unread;
  for (const DiagnosedJob& job : diagnosis.jobs) {
    if (job.in_part) part.add(job, nullptr);
    if (!job.unread.empty()) unread.add(job, nullptr);
  }
  if (part.jobs > 0)
    text += fmt::format(
        "of long output only the first and last {} of each stream were read, on the first {} "
        "nodes: {}\n",
        show_bytes({kMostScanned}), kMostRanks, named(part.first, part.jobs));
  if (unread.jobs > 0)
    text += fmt::format("output that cannot be read here: {}\n", named(unread.first, unread.jobs));
  if (diagnosis.not_read > 0)
    text += fmt::format(
        "the output of the first {} jobs was read; of {} more only how they ended "
        "is known: name them to have theirs read\n",
        show_count(kMostDiagnosed), show_count(diagnosis.not_read));
  return text;
}

ordered_json diagnosis_json(const Diagnosis& diagnosis) {
  ordered_json json;
  auto causes = ordered_json::array();
  const Groups groups = grouped(diagnosis);
  for (const auto& [cause, group] : groups.by_cause) {
    const CauseRow& row = row_of(cause);
    causes.push_back({{"diagnosis", row.word}, {"jobs", group.jobs}, {"remedy", row.remedy}});
  }
  json["diagnoses"] = std::move(causes);
  json["undiagnosed_jobs"] = groups.unknown.jobs;
  json["unread_jobs"] = diagnosis.not_read;
  auto jobs = ordered_json::array();
  for (const DiagnosedJob& job : diagnosis.jobs) {
    ordered_json one{{"job_id", raw(job.now.output.job)},
                     {"job", job.now.name},
                     {"state", claim::to_string(job.now.job.state)},
                     {"attempt", job.now.output.attempt}};
    add_end(one, job.now.job.outcome, !claim::is_live(job.now.job.state));
    auto findings = ordered_json::array();
    for (const Finding& f : job.findings)
      findings.push_back({{"diagnosis", row_of(f.cause).word},
                          {"from_torc", f.by_torc},
                          {"stream", json_if(!f.line.empty(), name_of(f.stream))},
                          {"output_line", json_or_null(f.line)}});
    one["signs"] = std::move(findings);
    one["output_cut"] = job.in_part;
    one["output_error"] = json_or_null(job.unread);
    jobs.push_back(std::move(one));
  }
  json["diagnosed"] = std::move(jobs);
  return json;
}

}  // namespace torc::report
