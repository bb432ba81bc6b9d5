#include "lib/report/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/claim/queries/workers.h"
#include "lib/worker/text/outcome_text.h"

namespace torc::report {
namespace {

using claim::JobState;
using nlohmann::ordered_json;

}  // namespace

void add_end(ordered_json& out, const claim::Outcome& o, bool ended) {
  out["cause"] = json_if(ended, claim::to_string(o.cause));
  out["exit_code"] = json_if(ended && o.exit_code >= 0, o.exit_code);
  out["signal"] = json_if(ended && o.signal > 0, o.signal);
}

void add_use(ordered_json& out, const claim::Outcome& o, bool ended) {
  out["cpu_seconds"] = json_if(ended && is_measured(o), json_seconds(o.cpu_time));
  out["peak_memory_bytes"] = json_if(ended && o.max_rss.value > 0, o.max_rss.value);
}

void add_worker(ordered_json& out, claim::WorkerEpoch worker, const std::string& host) {
  out["worker"] = json_or_null(claim::raw(worker));
  out["host"] = json_or_null(host);
}

ordered_json job_name_json(const claim::Reader& reader, workflow::RecipeBook& book, JobId id) {
  return raw(id) == 0 ? ordered_json(nullptr) : ordered_json(workflow::job_name(book, reader, id));
}

std::uint32_t shown_alternative(const claim::Reader& reader, workflow::RecipeBook& book, JobId id,
                                claim::WorkerEpoch worker, std::uint32_t alternative) {
  if (alternative != 0) return alternative + 1;
  if (claim::raw(worker) == 0) return 0;
  const auto page = book.find(reader, id);
  return page && page->has_alternatives ? 1 : 0;
}

ordered_json job_json(const claim::Reader& reader, workflow::RecipeBook& book, JobId id,
                      const claim::Job& job) {
  const claim::Outcome& o = job.outcome;
  const bool ended = o.cause != claim::EndCause::none && !claim::is_live(job.state);
  std::string host;
  if (claim::raw(job.worker) != 0) {
    if (const auto worker = claim::read_worker(reader, job.worker)) host = worker->info.host;
  }
  ordered_json out;
  out["job_id"] = raw(id);
  out["job"] = workflow::job_name(book, reader, id);
  out["state"] = claim::to_string(job.state);
  out["attempt"] = json_or_null(job.attempt);
  out["alternative"] =
      json_or_null(shown_alternative(reader, book, id, job.worker, job.alternative));
  out["suspect"] = claim::is_suspect(job);
  out["removed"] = claim::is_removed(reader, id);
  add_end(out, o, ended);
  out["missing_output"] = json_or_null(worker::missing_output(reader, book, id, o));
  out["canceled_for"] =
      job_name_json(reader, book, claim::is_passed_over(job) ? o.because : JobId{});
  add_worker(out, job.worker, host);
  out["claimed_at"] = json_time(job.claimed_at);
  out["started_at"] = json_time(o.started_at);
  out["ended_at"] = json_time(o.ended_at);
  out["retry_at"] = json_time(job.not_before);
  add_use(out, o, ended);
  return out;
}

namespace {

// The library writes these as they are, and a terminal obeys some of them.
std::string with_controls_escaped(std::string json) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto c = static_cast<unsigned char>(json[i]);
    const auto next = i + 1 < json.size() ? static_cast<unsigned char>(json[i + 1]) : 0U;
    const bool c1 = c == 0xc2 && next < 0xa0;
    if (c != 0x7f && !c1) continue;
    out.append(json, done, i - done);
    out += fmt::format("\\u{:04x}", c1 ? next : c);
    i += c1 ? 1 : 0;
    done = i + 1;
  }
  if (done == 0) return json;
  return out.append(json, done);
}

}  // namespace

std::string show_counts(const claim::Counts& counts) {
  std::string text;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (counts[s] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", show_count(counts[s]),
                        claim::kStates[s].name);
  }
  return text;
}

std::uint64_t jobs_with(const claim::WorkflowState& workflow, unsigned traits) {
  std::uint64_t jobs = 0;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if ((claim::kStates[s].traits & traits) == traits) jobs += workflow.counts[s];
  }
  return jobs;
}

std::uint64_t failures(const claim::WorkflowState& workflow) {
  return jobs_with(workflow, claim::trait::kTerminal | claim::trait::kTroubled);
}

ordered_json counts_json(const claim::Counts& counts) {
  ordered_json out;
  for (std::size_t s = 0; s < claim::kJobStates; ++s)
    out[std::string(claim::kStates[s].name)] = counts[s];
  return out;
}

namespace {

// Amounts as a file writes them; null: nothing has a name.
ordered_json named_json(const Amounts& named) {
  if (named.empty()) return nullptr;
  ordered_json out = ordered_json::object();
  for (const Amount& a : named) {
    if (a.thousandths == kAllThereIs) {
      out[a.name] = "all";
    } else if (a.thousandths % kWhole == 0) {
      out[a.name] = a.thousandths / kWhole;
    } else {
      out[a.name] = static_cast<double>(a.thousandths) / kWhole;
    }
  }
  return out;
}

}  // namespace

void add_needs(ordered_json& out, const Resources& needs) {
  for (const ResourceKind& kind : kResourceKinds) {
    const std::uint64_t need = kind.get(needs);
    if (kind.measure == Measure::locality) continue;
    out[json_name(kind)] = json_if(kind.measure != Measure::seconds || need > 0, need);
  }
  out["resources"] = named_json(needs.named);
  out["locality"] = word(needs.locality);
}

void add_shared(ordered_json& out, const Resources& has, std::string_view prefix) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.shared) out[std::string(prefix) + json_name(kind)] = kind.get(has);
  }
  out[std::string(prefix) + "resources"] = named_json(has.named);
}

std::string json_text(const ordered_json& json) {
  return with_controls_escaped(json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

std::string json_line(const ordered_json& json) {
  return with_controls_escaped(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

std::string show_exit(const claim::Job& job) {
  const bool ended = job.outcome.cause != claim::EndCause::none && !claim::is_live(job.state);
  return ended ? show_exit(job.outcome) : "-";
}

std::string show_exit(const claim::Outcome& ended) {
  if (ended.signal > 0) return fmt::format("{}:{}", std::max(ended.exit_code, 0), ended.signal);
  return ended.exit_code >= 0 ? std::to_string(ended.exit_code) : "-";
}

std::string show_peak(const claim::Outcome& ended) {
  return ended.max_rss.value == 0 ? "-" : show_bytes(ended.max_rss);
}

std::string show_read(const claim::Outcome& ended) {
  return ended.activity.io ? show_bytes(ended.activity.io->read) : "-";
}

std::string show_written(const claim::Outcome& ended) {
  return ended.activity.io ? show_bytes(ended.activity.io->written) : "-";
}

void add_io(ordered_json& out, const std::optional<Traffic>& io) {
  out["read_bytes"] = json_if(io.has_value(), io.value_or(Traffic{}).read.value);
  out["written_bytes"] = json_if(io.has_value(), io.value_or(Traffic{}).written.value);
}

void add_activity(ordered_json& out, const claim::Outcome& ended) {
  const Activity& a = ended.activity;
  add_io(out, a.io);
  const bool measured = is_measured(ended);
  const auto put = [&](const char* key, std::uint64_t value) {
    out[key] = json_if(measured, value);
  };
  put("storage_read_bytes", a.storage.read.value);
  put("storage_written_bytes", a.storage.written.value);
  put("voluntary_switches", a.voluntary_switches);
  put("involuntary_switches", a.involuntary_switches);
}

bool is_measured(const claim::Outcome& ended) {
  if (ended.started_at.count() == 0 || ended.cause == claim::EndCause::not_started) return false;
  return ended.cpu_time.count() > 0 || ended.max_rss.value > 0 || ended.activity != Activity{};
}

std::string show_time_taken(const claim::Job& job, WallTime now) {
  const claim::Outcome& o = job.outcome;
  if (o.started_at.count() == 0) return "-";
  if (job.state == JobState::running)
    return show_duration(std::max<WallTime>(now - o.started_at, WallTime{0}));
  return claim::is_over(job.state) ? show_duration(o.ended_at - o.started_at) : "-";
}

bool never_reached(const claim::WorkflowState& workflow) {
  return workflow.of(JobState::pending_failed) + workflow.of(JobState::held) +
             workflow.of(JobState::ready) ==
         0;
}

std::string show_outdated(const claim::WorkflowState& workflow) {
  if (workflow.outdated == 0) return {};
  const auto settings = workflow::decode_workflow_settings(workflow.settings);
  const std::string file = settings && !settings->directory.file.empty()
                               ? shell_word(settings->directory.file)
                               : std::string("FILE");
  const bool one = workflow.outdated == 1;
  return fmt::format(
      "{} that {} at work when the workflow file was applied {} by what it said before; when {} "
      "ended, `torc run {}` runs {} again",
      plural(workflow.outdated, "job"), one ? "was" : "were", one ? "goes" : "go",
      one ? "it has" : "they have", file, one ? "it" : "them");
}

std::string show_blocked(const claim::WorkflowState& workflow) {
  const claim::WorkflowState& w = workflow;
  const std::uint64_t blocked = w.of(JobState::blocked);
  const std::string jobs = plural(blocked, "job");
  if (never_reached(w)) {
    return fmt::format("{} {} never reached: a job that {} on did not complete", jobs,
                       blocked == 1 ? "was" : "were", blocked == 1 ? "it depends" : "they depend");
  }
  std::string causes;
  const auto add = [&](bool there, std::string_view cause) {
    if (there) causes += fmt::format("{}{}", causes.empty() ? "" : ", or ", cause);
  };
  add(w.of(JobState::pending_failed) > 0, "for the decision about what failed (pending_failed)");
  add(w.of(JobState::held) > 0, "for what is held");
  add(w.of(JobState::ready) > 0, "for what is not started any more");
  add(failures(w) + w.of(JobState::canceled) > w.unmet, "in vain for what did not complete");
  return fmt::format("{} {} {}", jobs, blocked == 1 ? "waits" : "wait", causes);
}

std::string show_left(const claim::WorkflowState& workflow) {
  std::string left;
  const auto add = [&](std::uint64_t n, std::string_view thing, std::string_view what) {
    if (n > 0)
      left += fmt::format("{}{} {}", left.empty() ? "left: " : ", ", plural(n, thing), what);
  };
  add(workflow.ending, "canceled job", "that a worker, perhaps a dead one, still has to end");
  add(workflow.actions.running, "action", "that a worker, perhaps a dead one, has");
  add(workflow.actions.due, "action", "that nobody has run");
  if (!left.empty()) left += "; a worker that stays until that lease has run out goes on with it";
  return left;
}

std::string_view workflow_verdict(const claim::WorkflowState& workflow, bool anybody_at_work) {
  if (workflow.all_completed() && workflow.finished()) return "completed";
  if (workflow.finished()) {
    const bool waits = workflow.of(JobState::held) + workflow.of(JobState::pending_failed) > 0;
    return waits ? "waiting" : "failed";
  }
  return anybody_at_work ? "running" : "waiting";
}

}  // namespace torc::report
