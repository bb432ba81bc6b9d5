#include "lib/report/situation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/rules/lease.h"
#include "lib/report/prospect.h"
#include "lib/report/start_by_hand.h"
#include "lib/report/why_remedy.h"
#include "lib/workflow/plan/batch_scripts.h"
#include "lib/workflow/plan/slurm_question.h"

namespace torc::report {
namespace {

using slurm::ShownAllocation;
using slurm::Stage;

constexpr std::size_t kMostSaid = 3;  // allocations, and scripts
// From the start of an allocation until its workers have registered.
constexpr std::chrono::minutes kRegistering{2};
constexpr std::size_t kMostAbsent = 10;  // workers

// Rounded up, as a time that something takes at most.
std::string show_left(WallTime left) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(left);
  return seconds < std::chrono::seconds(100) ? fmt::format("{} s", seconds.count())
                                             : show_duration(seconds);
}

const slurm::ShownNode* node_of(const Situation& situation, const WorkerNow& worker) {
  if (!situation.slurm || worker.worker.info.node.empty()) return nullptr;
  const auto& nodes = situation.slurm->nodes;
  const auto found = std::ranges::find(nodes, worker.worker.info.node, &slurm::ShownNode::node);
  return found == nodes.end() ? nullptr : &*found;
}

// What Slurm says of its node, and of its allocation where that does not run.
std::string say_slurm_of(const Situation& situation, const WorkerNow& worker) {
  std::string text;
  if (const slurm::ShownNode* node = node_of(situation, worker)) {
    const bool unheard = node->state.ends_with('*');
    text += fmt::format(", Slurm says {} is {}{}", printable(node->node),
                        printable(node->state.substr(0, node->state.size() - (unheard ? 1 : 0))),
                        unheard ? " and does not answer" : "");
  }
  const claim::WorkerInfo& info = worker.worker.info;
  if (!situation.slurm || info.allocation.empty()) return text;
  for (const ShownAllocation& a : situation.slurm->allocations) {
    if (a.id == info.allocation && a.cluster == info.cluster && prospect_of(a) != Prospect::runs)
      text += fmt::format("{} its allocation is {}", text.empty() ? ", Slurm says" : " and",
                          printable(a.state));
  }
  return text;
}

// When others go on with what it had.
std::string say_takeover(const Situation& situation, const WorkerNow& w, WallTime now) {
  const bool held = w.worker.held > 0;
  if (!held && w.worker.ending == 0) return "; it has no jobs";
  const std::string_view then = held ? "its jobs run again" : "its canceled jobs count as ended";
  // Two rounds of looks behind the end of the lease: it is found in one of them.
  const WallTime found =
      w.lease + std::chrono::ceil<std::chrono::seconds>(
                    2 * claim::heartbeat_interval(
                            w.lease, std::max<std::size_t>(1, situation.workers.size())));
  if (w.is_gone) {
    return fmt::format("; {} at once with a worker on this machine, within {} with one elsewhere",
                       then, show_left(found));
  }
  // Who watches it counts from his own first look.
  std::optional<WallTime> watched;
  for (const WorkerNow& other : situation.workers) {
    const WallTime came = other.worker.info.registered_at;
    if (other.is_at_work() && (!watched || came < *watched)) watched = came;
  }
  const WallTime left = watched ? std::max(w.heard_at, *watched) + found - now : WallTime{};
  if (left.count() > 0) return fmt::format("; {} at the latest in {}", then, show_left(left));
  if (watched) return fmt::format("; {} when another worker has found its lease to be over", then);
  const WallTime lease = w.lease_ends_at() - now;
  return fmt::format("; its lease {}, and {} within {} of a worker's start",
                     lease.count() > 0 ? "ends in " + show_left(lease) : "is over", then,
                     show_left(found));
}

// Of whose allocation Slurm shows nothing any more.
std::string say_newest(const Situation& situation) {
  if (!situation.newest || situation.newest->info.allocation.empty()) return {};
  const claim::Worker& w = *situation.newest;
  const std::string left = w.gone_at.count() > 0 ? ", gone since " + show_time(w.gone_at) : "";
  return fmt::format(", nor that of the newest worker ({}{})", say_place(w), left);
}

bool is_of(const ShownAllocation& a, const std::string& scheduler) {
  return scheduler.empty() || a.script.empty() || a.script == workflow::file_name_of(scheduler);
}

// Where people start workers by hand: why one that is started here would have nothing to do, and
// who knows more. Empty: it would have.
std::string say_unfit(const workflow::Context& context, const Situation& situation,
                      const Start& start, const std::string& store) {
  if (start.by != Start::By::run) return {};
  const std::string lacks = lacks_here(context, situation.ready);
  if (lacks.empty()) return {};
  return fmt::format("this machine could not take what is ready: {}; see: torc why {} '#{}'", lacks,
                     store, raw(situation.first_ready));
}

}  // namespace

Start how_to_start(const workflow::Context& context, const Situation& situation,
                   const std::string& store, const std::vector<claim::JobClass>& classes) {
  if (situation.has_launcher) return {Start::By::sbatch, "torc submit " + store};
  if (situation.scripts.empty() || !workflow::can_ask_slurm(context))
    return {Start::By::run, say(hand_starts(store, classes))};
  const auto is_managed = [](const claim::Scheduler& s) { return s.is_managed; };
  if (std::ranges::any_of(situation.ledger.schedulers, is_managed) ||
      !situation.ledger.rows.empty())
    return {Start::By::sbatch, "torc submit " + store};
  for (const SubmitScript& one : situation.scripts) {
    if (one.other_store.empty()) continue;
    return {Start::By::nothing,
            fmt::format("{} starts workers for {}: this store was moved or copied. `torc set {} "
                        "--workdir DIR`, with the directory of its jobs, mends that",
                        workflow::shown_path(context, one.file),
                        printable(one.other_store.string()), store)};
  }
  std::vector<std::pair<int, const SubmitScript*>> fitting;  // doubts
  std::string lacks;
  for (const SubmitScript& one : situation.scripts) {
    std::optional<int> doubts;
    if (classes.empty()) doubts = doubts_of(one, {});
    std::string why;  // that of jobs which are for this scheduler, where there are some
    for (const claim::JobClass& c : classes) {
      const std::string lack = lack_of(one, c, situation.kept);
      if (lack.empty()) doubts = std::min(doubts_of(one, c), doubts.value_or(INT_MAX));
      const bool is_for_it =
          c.scheduler.empty() || workflow::file_name_of(c.scheduler) == one.scheduler;
      if (why.empty() || is_for_it) why = lack;
    }
    if (doubts) fitting.emplace_back(*doubts, &one);
    lacks += fmt::format("{}{} ({})", lacks.empty() ? "" : ", ",
                         workflow::shown_path(context, one.file), why);
  }
  if (fitting.empty()) {
    return {
        Start::By::nothing,
        fmt::format(
            "no batch script brings workers that could run {}: {}. Edit a script, or let it need "
            "less with torc set",
            classes.size() == 1 ? "it" : "what is ready", lacks)};
  }
  std::ranges::stable_sort(fitting, {}, &std::pair<int, const SubmitScript*>::first);
  std::string text;
  for (std::size_t i = 0; i < fitting.size() && i < kMostSaid; ++i)
    text += fmt::format("{}sbatch {}", i == 0 ? "" : ", or ",
                        workflow::shown_path(context, fitting[i].second->file));
  return {Start::By::sbatch, text};
}

std::string say_place(const claim::Worker& worker) {
  const claim::WorkerInfo& i = worker.info;
  const bool is_named = i.allocation.empty() && !i.node_name.empty() && i.node_name != i.host;
  return fmt::format("worker {} on {}{}{}", claim::raw(worker.epoch), printable(i.host),
                     is_named ? fmt::format(" (node {})", printable(i.node_name)) : "",
                     i.allocation.empty() ? "" : ", allocation " + printable(i.allocation));
}

std::string say_absence(const Situation& situation, const WorkerNow& w, WallTime now) {
  const char* const comma = w.worker.info.allocation.empty() ? "" : ",";
  const std::string how = w.is_gone
                              ? fmt::format("{} is gone: its process has ended", comma)
                              : fmt::format("{} has been silent for {}{}", comma,
                                            show_left(w.silent.value_or(std::chrono::seconds(0))),
                                            say_slurm_of(situation, w));
  return say_place(w.worker) + how + say_takeover(situation, w, now);
}

std::string say_asked(const SlurmAnswer& said, WallTime now) {
  const auto age = std::chrono::floor<std::chrono::seconds>(now - said.answered_at);
  const bool known = said.answered_at.count() > 0;
  return known && age >= kDoubtInterval ? fmt::format(" (asked {})", show_age(now - age, now)) : "";
}

std::string say_state(const ShownAllocation& a, WallTime now) {
  std::string text = printable(a.state);
  if (!a.canceled_by.empty()) text += " by " + printable(a.canceled_by);
  if (!a.reason.empty()) text += fmt::format(" ({})", printable(a.reason));
  switch (slurm::stage_of(a.state)) {
    case Stage::waits:
      if (a.start > now) text += ", expected to start " + show_time(a.start);
      break;
    case Stage::runs:
      if (a.end > now) text += fmt::format(", {} left", show_left(a.end - now));
      break;
    case Stage::over:
      if (a.end.count() > 0) text += ", ended " + show_time(a.end);
      break;
    case Stage::other:
      break;
  }
  return text;
}

std::string say_allocation(const ShownAllocation& a, WallTime now) {
  return fmt::format("allocation {}{} is {}", printable(a.id),
                     a.name.empty() ? "" : fmt::format(" ({})", printable(a.name)),
                     say_state(a, now));
}

std::vector<const ShownAllocation*> waiting(const Situation& situation,
                                            const std::string& scheduler) {
  std::vector<const ShownAllocation*> found;
  if (!situation.slurm) return found;
  for (const ShownAllocation& a : situation.slurm->allocations) {
    const Stage stage = slurm::stage_of(a.state);
    const bool begins =
        stage == Stage::runs && situation.slurm->answered_at - a.start < kRegistering &&
        std::ranges::none_of(situation.workers,
                             [&](const WorkerNow& w) { return w.worker.info.allocation == a.id; });
    const bool waits = stage == Stage::waits || prospect_of(a) == Prospect::suspended;
    if ((waits || begins) && is_of(a, scheduler)) found.push_back(&a);
  }
  return found;
}

std::string remedy_for_waiting(const std::vector<const ShownAllocation*>& allocations) {
  std::vector<std::string> remedies;
  for (const ShownAllocation* a : allocations) {
    std::string one = remedy_for(*a);
    if (std::ranges::find(remedies, one) == remedies.end()) remedies.push_back(std::move(one));
  }
  std::string text;
  for (std::size_t i = 0; i < remedies.size() && i < kMostSaid; ++i)
    text += (i == 0 ? "" : "; ") + remedies[i];
  return text;
}

const ShownAllocation* suspended_of(const Situation& situation, const claim::WorkerInfo& worker) {
  if (!situation.slurm || worker.allocation.empty()) return nullptr;
  for (const ShownAllocation& a : situation.slurm->allocations) {
    if (a.id == worker.allocation && a.cluster == worker.cluster &&
        prospect_of(a) == Prospect::suspended)
      return &a;
  }
  return nullptr;
}

std::string say_slurm(const Situation& situation, WallTime now, const std::string& scheduler) {
  if (!situation.slurm) return {};
  const SlurmAnswer& said = *situation.slurm;
  if (!said.failure.empty()) {
    return fmt::format(
        "Slurm did not answer ({}): what it has of this workflow's allocations is not known.",
        printable(said.failure));
  }
  std::string text;
  std::size_t shown = 0;
  std::size_t more = 0;
  const ShownAllocation* last = nullptr;
  for (const ShownAllocation& a : said.allocations) {
    if (!is_of(a, scheduler)) continue;
    const Stage stage = slurm::stage_of(a.state);
    if (stage == Stage::over) {
      last = &a;
    } else if (++shown > kMostSaid) {
      ++more;
    } else {
      text += (text.empty() ? "Slurm says: " : "; ") + say_allocation(a, now);
    }
  }
  if (more > 0) text += fmt::format("; and {} more", more);
  if (text.empty() && last != nullptr)
    text = "The newest that Slurm shows: " + say_allocation(*last, now);
  if (text.empty() && said.whole && !said.allocations.empty())
    text = fmt::format("Slurm shows no allocation of the batch script for scheduler '{}'",
                       printable(scheduler));
  if (text.empty() && said.whole)
    text = "Slurm shows no allocation that is called as the batch scripts here call it" +
           say_newest(situation);
  if (text.empty()) return {};
  if (!said.whole) text += "; there may be more, its answer was cut";
  return text + say_asked(said, now) + ".";
}

std::string say_absences(const Situation& situation, WallTime now) {
  std::string text;
  std::size_t told = 0;
  for (const WorkerNow& w : situation.workers) {
    if (w.is_at_work() || ++told > kMostAbsent) continue;
    text += say_absence(situation, w, now) + '\n';
  }
  if (told > kMostAbsent) text += fmt::format("… and {} more\n", told - kMostAbsent);
  return text;
}

std::optional<std::string> remedy_for_nobody(const workflow::Context& context,
                                             const Situation& situation, const std::string& store) {
  if (situation.workflow.finished() || situation.anybody_at_work()) return std::nullopt;
  const auto allocations = waiting(situation);
  if (allocations.empty()) {
    const Start start = how_to_start(context, situation, store, situation.ready);
    const std::string unfit = say_unfit(context, situation, start, store);
    return unfit.empty() ? start.how : unfit;
  }
  if (std::ranges::any_of(allocations, [](const auto* a) { return goes_on(*a); }))
    return std::nullopt;
  return remedy_for_waiting(allocations);
}

std::string say_nobody(const workflow::Context& context, const Situation& situation,
                       const std::string& store) {
  if (situation.workflow.finished() || situation.anybody_at_work()) return {};
  const auto allocations = waiting(situation);
  if (allocations.empty()) {
    const Start start = how_to_start(context, situation, store, situation.ready);
    if (start.by == Start::By::nothing)
      return fmt::format("no worker is at work, and {}\n", start.how);
    if (const std::string unfit = say_unfit(context, situation, start, store); !unfit.empty())
      return fmt::format("no worker is at work, and {}\n", unfit);
    return fmt::format("no worker is at work; start one: {}\n", start.how);
  }
  if (std::ranges::any_of(allocations, [](const auto* a) { return goes_on(*a); }))
    return "no worker is at work: the workflow waits for an allocation\n";
  return "no worker is at work, and no allocation brings one by itself\n";
}

std::string say_stuck(const Situation& situation) {
  if (situation.workflow.finished() || !situation.slurm) return {};
  std::string text;
  std::size_t told = 0;
  for (const ShownAllocation& a : situation.slurm->allocations) {
    const std::string one = say_stuck(a);
    if (!one.empty() && ++told <= kMostSaid) text += one + '\n';
  }
  if (told > kMostSaid) text += fmt::format("… and {} more\n", told - kMostSaid);
  return text;
}

void add_situation(nlohmann::ordered_json& out, const workflow::Context& context,
                   const Situation& situation, const std::string& store) {
  const SlurmAnswer said = situation.slurm.value_or(SlurmAnswer{});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ShownAllocation& a : said.allocations) {
    list.push_back({{"allocation", a.id},
                    {"slurm_job", json_or_null(a.name)},
                    {"scheduler", json_or_null(a.script)},
                    {"slurm_state", a.state},
                    {"slurm_reason", json_or_null(a.reason)},
                    {"starts_at", json_time(a.start)},
                    {"ends_at", json_time(a.end)},
                    {"canceled_by", json_or_null(a.canceled_by)}});
  }
  out["allocations"] = std::move(list);
  out["slurm_answered_at"] = json_time(said.answered_at);
  out["slurm_error"] = json_or_null(said.failure);
  const auto remedy = remedy_for_nobody(context, situation, store);
  out["remedy"] = json_if(remedy.has_value(), remedy.value_or(""));
}

void add_presence(nlohmann::ordered_json& out, const Situation& situation, const WorkerNow& w) {
  const slurm::ShownNode* node = node_of(situation, w);
  out["heard_at"] = json_time(w.heard_at);
  out["lease_ends_at"] = json_time(w.lease_ends_at());
  out["silent_seconds"] = json_if(w.silent.has_value(), w.silent ? w.silent->count() : 0);
  out["gone"] = w.is_gone;
  out["slurm_node_state"] = json_if(node != nullptr, node != nullptr ? node->state : "");
}

}  // namespace torc::report
