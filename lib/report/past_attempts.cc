#include "lib/report/past_attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/past_attempts.h"
#include "lib/claim/tables/past_templates.h"
#include "lib/report/job_view.h"
#include "lib/worker/text/outcome_text.h"

namespace torc::report {
namespace {

using nlohmann::ordered_json;

// What an attempt ran.
struct Ran {
  std::optional<std::string> command;  // nullopt: nobody knows any more
  bool is_as_now = true;
};

Ran what_ran(const JobInStore& in, const claim::Job& attempt) {
  const std::string now = in.rendered().command_by(attempt.alternative);
  const auto then = claim::past_template_of(in.reader, in.id, attempt.claim);
  if (!then || !then->is_known) return {{}, false};
  if (!then->template_then) return {now, true};
  const auto recipe = workflow::recipe_of(*then->template_then);
  if (!recipe) return {{}, false};
  std::string command =
      recipe->render(raw(in.id) - raw(then->template_then->first)).command_by(attempt.alternative);
  const bool is_as_now = command == now;
  return {std::move(command), is_as_now};
}

// Those that concern the job, in their order.
Result<std::vector<claim::KeptChange>> changes_of(const JobInStore& in) {
  std::vector<claim::KeptChange> changes;
  TORC_TRY(claim::scan_changes(in.reader, [&](const claim::KeptChange& change) {
    if (change.undone_at == WallTime{} && claim::has_job(change.ranges, raw(in.id)))
      changes.push_back(change);
    return true;
  }));
  std::ranges::reverse(changes);
  return changes;
}

// "2 on node1: exit code 3 after 1m; ran: echo 1; then: torc reset a_2"
std::string line_of(const JobInStore& in, const ToldAttempt& told) {
  const auto worker = claim::read_worker(in.reader, told.attempt.worker);
  const claim::Outcome& o = told.attempt.outcome;
  const bool ran = o.started_at.count() != 0 && o.ended_at > o.started_at;
  std::string line =
      fmt::format("{} on {}: {}{}", told.attempt.attempt, worker ? worker->info.host : "?",
                  worker::show_end(in.reader, in.book, in.id, o),
                  ran ? " after " + show_duration(o.ended_at - o.started_at) : "");
  if (told.command && !told.is_as_now) line += "; it ran: " + printable(*told.command);
  if (told.then) line += "; then: " + printable(told.then->words);
  return line;
}

}  // namespace

Result<std::vector<ToldAttempt>> past_attempts_of(const JobInStore& in) {
  const bool newest_is_told =
      claim::is_live(in.job.state) || in.job.outcome.cause != claim::EndCause::none;
  std::vector<ToldAttempt> all;
  TORC_TRY(claim::scan_past_attempts(in.reader, in.id, [&](JobId, const claim::Job& attempt) {
    if (attempt.attempt < in.job.attempt || !newest_is_told) all.push_back({attempt, {}, true, {}});
    return true;
  }));
  TORC_ASSIGN(const auto changes, changes_of(in));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ToldAttempt& told = all[i];
    Ran ran = what_ran(in, told.attempt);
    told.is_as_now = ran.is_as_now;
    told.command = std::move(ran.command);
    const std::uint64_t next = i + 1 < all.size()                    ? all[i + 1].attempt.claim
                               : newest_is_told && in.job.claim != 0 ? in.job.claim
                                                                     : UINT64_MAX;
    for (const claim::KeptChange& change : changes) {
      if (change.sequence <= told.attempt.claim || change.sequence >= next) continue;
      told.then = change;  // the last one is why there was another attempt
    }
  }
  return all;
}

std::optional<std::string> command_of_newest(const JobInStore& in) {
  return in.job.claim == 0 ? std::nullopt : what_ran(in, in.job).command;
}

std::optional<claim::KeptChange> change_after_newest(const JobInStore& in) {
  const bool has_ended = claim::is_over(in.job.state) && in.job.state != claim::JobState::canceled;
  if (claim::is_live(in.job.state) || has_ended) return {};
  const auto changes = changes_of(in);
  if (!changes || changes->empty()) return {};  // verify tells what cannot be read
  return changes->back().sequence > in.job.claim ? std::optional(changes->back()) : std::nullopt;
}

std::vector<std::string> past_attempt_lines(const JobInStore& in, const std::string& store,
                                            const std::string& word) {
  constexpr std::size_t kMostShown = 5;
  std::vector<std::string> lines;
  auto past = past_attempts_of(in);
  if (!past) return lines;  // verify tells
  std::ranges::reverse(*past);
  for (const ToldAttempt& told : *past) {
    if (lines.size() == kMostShown) break;
    lines.push_back(line_of(in, told));
  }
  if (past->size() > kMostShown) {
    lines.push_back(fmt::format("and {} more: torc results {} {} --all-attempts",
                                past->size() - kMostShown, store, word));
  }
  return lines;
}

ordered_json past_attempts_json(const JobInStore& in) {
  ordered_json all = ordered_json::array();
  const auto past = past_attempts_of(in);
  if (!past) return all;
  for (const ToldAttempt& told : *past) {
    ordered_json one;
    const auto worker = claim::read_worker(in.reader, told.attempt.worker);
    one["attempt"] = told.attempt.attempt;
    one["command"] = json_if(told.command.has_value(), told.command.value_or(""));
    one["same_command"] = told.is_as_now;
    add_end(one, told.attempt.outcome, true);
    add_worker(one, told.attempt.worker, worker ? worker->info.host : "");
    one["started_at"] = json_time(told.attempt.outcome.started_at);
    one["ended_at"] = json_time(told.attempt.outcome.ended_at);
    one["change"] = nullptr;
    if (told.then)
      one["change"] = {{"command_line", told.then->words},
                       {"changed_by", told.then->by},
                       {"changed_jobs", told.then->jobs}};
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace torc::report
