#include "lib/report/job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/why.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/origin.h"
#include "lib/report/job_view.h"
#include "lib/report/past_attempts.h"
#include "lib/report/quota_view.h"
#include "lib/worker/text/outcome_text.h"

namespace torc::report {
namespace {

using claim::JobState;
using nlohmann::ordered_json;

constexpr std::size_t kMostAwaited = 100;  // that are named

// As far as it can be shown.
std::optional<claim::Origin> origin_of(const claim::Reader& reader, JobId id) {
  const auto origin = claim::read_origin(reader, id);
  return origin.ok() ? *origin : std::nullopt;
}

// By the rules of its failure handler, in their order, and without a rule: "1 of 3, 0 of 5", "1 of
// 3, recovered 0 of 3 times".
std::string show_retries(const claim::Reader& reader, const claim::Handler& handler, JobId id,
                         const claim::Job& job) {
  const claim::RetryCounts counts = claim::read_retries(reader, id, job);
  std::string text;
  for (std::size_t i = 0; i < handler.rules.size(); ++i) {
    text +=
        fmt::format("{}{} of {}", i == 0 ? "" : ", ", counts.of(i), handler.rules[i].max_retries);
  }
  if (handler.recoveries > 0)
    text += fmt::format("{}recovered {} of {}", text.empty() ? "" : ", ", counts.recoveries,
                        plural(handler.recoveries, "time"));
  return text;
}

// Nothing of an attempt that never ran, or of which nobody can tell any more what it used.
std::string use_text(const claim::Outcome& o) {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{:<12} {}\n", name, value);
  };
  if (o.started_at.count() == 0 || o.cause == claim::EndCause::not_started) return out;
  const bool measured = is_measured(o);
  line("used", show_duration(std::max<WallTime>(o.ended_at - o.started_at, WallTime{})) +
                   (measured ? fmt::format(", {} CPU time, {} peak memory",
                                           show_duration(o.cpu_time), show_peak(o))
                             : ", not known what"));
  if (!measured) return out;
  const Activity& a = o.activity;
  line("did", fmt::format("{} read, {} written ({} and {} of storage); its processes "
                          "waited for something {}, and for a CPU {}",
                          show_read(o), show_written(o), show_bytes(a.storage.read),
                          show_bytes(a.storage.written), plural(a.voluntary_switches, "time"),
                          plural(a.involuntary_switches, "time")));
  return out;
}

// The first jobs that it waits for, how each has to be and is, and how many there are.
void add_upstream(ordered_json& out, const claim::Reader& reader, workflow::RecipeBook& book,
                  JobId id) {
  const claim::Obstacles found = claim::obstacles_of(reader, id, kMostAwaited);
  ordered_json awaited = ordered_json::array();
  for (const claim::Awaited& a : found.awaited) {
    awaited.push_back({{"job", workflow::job_name(book, reader, a.job)},
                       {"condition", to_string(a.condition)},
                       {"state", claim::to_string(a.state)}});
  }
  out["waits_for"] = std::move(awaited);
  out["unmet_conditions"] = std::max<std::uint64_t>(found.awaiting, found.awaited.size());
}

// null: it was there from the beginning.
ordered_json origin_json(const claim::Reader& reader, workflow::RecipeBook& book, JobId id) {
  const auto origin = origin_of(reader, id);
  if (!origin) return nullptr;
  const auto state = ordered_json::parse(origin->state, nullptr, false);
  return {{"added_at", json_seconds(origin->at)},
          {"added_by", origin->by},
          {"parent", job_name_json(reader, book, origin->parent)},
          {"parent_attempt", json_if(raw(origin->parent) != 0, origin->attempt)},
          {"iteration", origin->depth + 1},
          {"spawn_state", json_if(!state.is_discarded(), state)}};
}

}  // namespace

namespace {

// "2: 32 CPUs, 1 MiB, weight 5, by its own command"
std::string show_alternative(const claim::JobClass& c, const spec::RenderedJob& texts,
                             std::uint32_t alternative) {
  const std::uint32_t weight = alternative == 0 ? c.weight : c.others[alternative - 1].weight;
  std::string text = fmt::format("{}: {}", alternative + 1, show(c.need_of(alternative)));
  if (weight != spec::kUsualWeight) text += fmt::format(", weight {}", weight);
  if (&texts.command_by(alternative) != &texts.command)
    text += ": " + printable(texts.command_by(alternative));
  return text;
}

// null: it has none.
ordered_json alternatives_json(const claim::JobClass& c, const spec::RenderedJob& texts) {
  if (c.others.empty()) return nullptr;
  ordered_json all = ordered_json::array();
  for (std::uint32_t a = 0; a < c.alternatives(); ++a) {
    ordered_json one;
    add_needs(one, c.need_of(a));
    one["weight"] = a == 0 ? c.weight : c.others[a - 1].weight;
    one["command"] = texts.command_by(a);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

spec::RenderedJob JobInStore::rendered() const {
  return page.recipe.render(raw(id) - raw(page.job_template.first));
}

claim::Rank JobInStore::rank() const {
  return claim::read_rank(reader, id)
      .value_or(claim::Rank{page.job_template.job_class, page.job_template.priority});
}

std::string to_text(const JobInStore& in, const std::string& store) {
  const auto& [reader, book, page, id, job, now] = in;
  const spec::RenderedJob rendered = in.rendered();
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{:<12} {}\n", name, value);
  };
  const claim::Outcome& o = job.outcome;
  line("job", fmt::format("{} (#{})", printable(rendered.name), raw(id)));
  line("state", fmt::format("{}{}", claim::to_string(job.state),
                            claim::is_removed(reader, id) ? ", removed from the workflow" : ""));
  line("command", printable_lines(rendered.command_by(job.alternative), 13));
  const claim::Rank rank = in.rank();
  line("priority", std::to_string(rank.priority));
  const claim::JobClass job_class = claim::read_class(reader, rank.job_class);
  if (job_class.others.empty()) {
    line("needs", show(job_class.need));
  } else {
    for (std::uint32_t a = 0; a < job_class.alternatives(); ++a)
      line(a == 0 ? "needs one of" : "", show_alternative(job_class, rendered, a));
  }
  if (!job_class.scheduler.empty()) line("scheduler", job_class.scheduler);
  if (!job_class.labels.empty()) line("labels", printable(job_class.labels));
  if (const std::string limits = show_shares(reader, job_class); !limits.empty())
    line("limits", limits);
  if (const std::string taken = show_learned(reader, job_class, job.alternative); !taken.empty())
    line("takes", taken);
  const std::uint32_t chosen = shown_alternative(reader, book, id, job.worker, job.alternative);
  line("attempts", std::to_string(job.attempt));
  if (chosen != 0) line("alternative", std::to_string(chosen));
  if (claim::is_suspect(job)) {
    line("suspect", fmt::format("{} of its attempts took a worker with them, or may have; it is "
                                "started alone on a worker",
                                job.lost == 0 ? "one" : std::to_string(job.lost)));
  }
  if (claim::raw(job.worker) != 0) {
    const auto worker = claim::read_worker(reader, job.worker);
    line("worker",
         fmt::format("{} on {}{}", claim::raw(job.worker), worker ? worker->info.host : "?",
                     worker && !worker->info.allocation.empty()
                         ? ", allocation " + worker->info.allocation
                         : ""));
    line("claimed", show_time(job.claimed_at));
  }
  if (o.started_at.count() != 0) {
    const bool runs = job.state == JobState::running;
    line("started", show_time(o.started_at) +
                        (runs ? fmt::format(" ({} ago)", show_time_taken(job, now)) : ""));
  }
  if (o.cause != claim::EndCause::none && !claim::is_live(job.state)) {
    line("ended",
         fmt::format("{}: {}", show_time(o.ended_at), worker::show_end(reader, book, id, o)));
    out += use_text(o);
  }
  if (const auto ran = command_of_newest(in); ran && *ran != rendered.command_by(job.alternative))
    line("it ran", printable_lines(*ran, 13));
  if (const auto then = change_after_newest(in))
    line("then", fmt::format("{}: {} ({})", show_time(then->at), printable(then->words),
                             printable(then->by)));
  const std::string word = workflow::job_word(rendered.name, id);
  std::string_view title = "before";
  for (const std::string& past : past_attempt_lines(in, store, word))
    line(std::exchange(title, ""), past);
  if (const auto origin = origin_of(reader, id)) {
    const std::string parent =
        raw(origin->parent) == 0
            ? std::string()
            : fmt::format("by {}, attempt {}, as iteration {}, ",
                          printable(workflow::job_name(book, reader, origin->parent)),
                          origin->attempt, origin->depth + 1);
    line("added", fmt::format("{}: {}{}", show_time(origin->at), parent, printable(origin->by)));
    if (!origin->state.empty()) line("state given", printable(origin->state));
  }
  if (job.state == JobState::pending_failed) {
    line("decide", fmt::format("torc retry {} {}: it runs again; torc cancel {} {}: it has failed",
                               store, word, store, word));
  }
  if (job.state == JobState::delayed) line("tried again", show_time(job.not_before));
  if (job.state == JobState::ready && job.outcome.cause == claim::EndCause::exited &&
      rendered.checkpoint_exit_code != 0 && job.outcome.exit_code == rendered.checkpoint_exit_code)
    line("checkpoint", "it was told to end, saved its state and goes on from there");
  if (page.handler != nullptr) line("retries", show_retries(reader, *page.handler, id, job));
  for (const ObstacleLine& l : obstacle_lines(reader, book, id)) line(l.name, l.text);
  if (job.attempt > 0) {
    line("output",
         fmt::format("torc logs {} {} [--stderr]", store, workflow::job_word(rendered.name, id)));
  }
  return out;
}

ordered_json to_json(const JobInStore& in) {
  const auto& [reader, book, page, id, job, now] = in;
  ordered_json out = job_json(reader, book, id, job);
  add_activity(out, job.outcome);
  out["command"] = in.rendered().command_by(job.alternative);
  const claim::Rank rank = in.rank();
  const claim::JobClass c = claim::read_class(reader, rank.job_class);
  out["priority"] = rank.priority;
  add_needs(out, c.need_of(job.alternative));
  out["one_of"] = alternatives_json(c, in.rendered());
  const auto ran = command_of_newest(in);
  out["command_of_attempt"] = json_if(ran.has_value(), ran.value_or(""));
  out["past_attempts"] = past_attempts_json(in);
  const auto learned = claim::learned_time(reader, c, job.alternative);
  out["learned_runtime_seconds"] =
      json_if(learned.has_value(), learned.value_or(std::chrono::seconds(0)).count());
  out["scheduler"] = json_or_null(c.scheduler);
  out["label"] = json_or_null(c.labels);
  add_upstream(out, reader, book, id);
  out["origin"] = origin_json(reader, book, id);
  return out;
}

}  // namespace torc::report
