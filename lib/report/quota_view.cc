#include "lib/report/quota_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/why.h"

namespace torc::report {
namespace {

using nlohmann::ordered_json;
using std::chrono::milliseconds;

constexpr std::size_t kShown = 10;

double hours(milliseconds t) {
  return static_cast<double>(t.count()) / 3.6e6;
}

// Two decimals, and four of what is less than one.
std::string show_hours(milliseconds t) {
  const double h = hours(t);
  return h == 0 || h >= 1 ? fmt::format("{:.2f}", h) : fmt::format("{:.4f}", h);
}

struct Axis {
  std::string_view name;
  const char* key;
  milliseconds most, spent, promised, left;
};

std::vector<Axis> axes_of(const claim::Expense& e) {
  const claim::Usage rest = claim::left(e);
  std::vector<Axis> axes;
  if (e.most.core.count() > 0)
    axes.push_back({"core hours", "core", e.most.core, e.spent.core, e.promised.core, rest.core});
  if (e.most.node.count() > 0)
    axes.push_back({"node hours", "node", e.most.node, e.spent.node, e.promised.node, rest.node});
  return axes;
}

bool is_of_entry(const QuotaView::Limit& one) {
  return one.state.limit.kind == claim::LimitKind::entry;
}

std::string in_use(const claim::LimitState& one) {
  return fmt::format("{} of {} in use{}", show_count(one.used), show_count(one.limit.most),
                     one.limit.before_set ? fmt::format(" (the workflow file says {})",
                                                        show_count(*one.limit.before_set))
                                          : "");
}

std::string jobs_waiting(std::uint64_t n) {
  return n == 1 ? "one ready job waits" : fmt::format("{} ready jobs wait", show_count(n));
}

}  // namespace

Result<QuotaView> look_at_quota(const claim::Reader& reader, workflow::RecipeBook& book) {
  QuotaView view;
  view.budget = claim::read_expense(reader);
  TORC_TRY(claim::scan_limits(reader, [&](const claim::LimitState& one) {
    view.limits.push_back({one, 0});
    return true;
  }));
  if (!view.budget && view.limits.empty()) return view;
  Result<void> counted;
  TORC_TRY(claim::scan_ready_classes(reader, [&](const claim::JobClass& c,
                                                 const claim::ReadyRange& head) {
    if (view.budget && claim::is_beyond(*view.budget, c) && view.beyond_budget.size() < kShown) {
      const auto jobs = claim::count_ready(reader, head.job_class);
      if (!jobs) counted = jobs.error();
      if (!jobs) return false;
      view.beyond_budget.push_back(
          {workflow::job_name(book, reader, JobId{head.first}), c.need, *jobs});
    }
    std::optional<std::uint64_t> ready;
    for (const claim::LimitShare& share : c.limits) {
      if (share.number > view.limits.size()) continue;
      QuotaView::Limit& limit = view.limits[share.number - 1];
      if (!limit.state.is_full(share.amount)) continue;
      if (!ready) {
        const auto jobs = claim::count_ready(reader, head.job_class);
        if (!jobs) counted = jobs.error();
        if (!jobs) return false;
        ready = *jobs;
      }
      limit.waiting += *ready;
    }
    return true;
  }));
  TORC_TRY(counted);
  return view;
}

std::string show_limit(const claim::Limit& limit) {
  switch (limit.kind) {
    case claim::LimitKind::entry:
      return fmt::format("max_parallel of '{}'", printable(limit.name));
    case claim::LimitKind::named:
      return printable(limit.name);
    case claim::LimitKind::workflow:
      return "max_parallel of the workflow";
  }
  return "?";
}

std::string show_shares(const claim::Reader& reader, const claim::JobClass& job_class) {
  std::string text;
  for (const claim::LimitShare& share : job_class.limits) {
    const auto one = claim::read_limit(reader, share.number);
    if (!one) continue;
    text += (text.empty() ? "" : ", ") + show_limit(one->limit);
    if (one->limit.kind == claim::LimitKind::named) text += fmt::format(": {}", share.amount);
  }
  return text;
}

std::string show_learned(const claim::Reader& reader, const claim::JobClass& job_class,
                         std::uint32_t alternative) {
  if (job_class.learns_from == 0) return {};
  const auto time = claim::read_learned_time(reader, job_class.learns_from, alternative);
  const std::uint64_t jobs = time ? time->count() : 0;
  if (!time || !time->expectation()) {
    return fmt::format("not known yet: {} of the {} jobs that it takes to learn it have completed",
                       jobs, claim::kEnoughTimes);
  }
  return fmt::format("{}, or less, in 19 of 20 of the {} jobs of its entry that have completed",
                     show_exactly(*time->expectation()), show_count(jobs));
}

std::string show_budget(const claim::Expense& expense) {
  std::string text;
  for (const Axis& a : axes_of(expense)) {
    text += fmt::format("{}{} of {} {} used, {} promised to what runs, {} left",
                        text.empty() ? "" : "; ", show_hours(a.spent), show_hours(a.most), a.name,
                        show_hours(a.promised), show_hours(a.left));
  }
  return text;
}

std::string quota_text(const QuotaView& view, std::optional<std::size_t> most) {
  std::string text;
  if (view.budget) text += fmt::format("\nbudget: {}\n", show_budget(*view.budget));
  if (!view.beyond_budget.empty()) {
    text += "ready, but the budget keeps them from starting:\n";
    torc::Table table({{"jobs", Align::right},
                       {"first", Align::left, Shorten::yes},
                       {"cpus", Align::right},
                       {"nodes", Align::right},
                       {"runtime"}});
    for (const QuotaView::Held& held : view.beyond_budget) {
      table.add(
          {show_count(held.jobs), printable(held.name), std::to_string(held.need.cpus),
           std::to_string(held.need.nodes),
           expected_time(held.need).count() > 0 ? show_duration(expected_time(held.need)) : "-"});
    }
    text += table.text(most);
  }
  torc::Table table(
      {{"entry", Align::left, Shorten::yes}, {"running", Align::right}, {"limit", Align::right}});
  std::string others;
  for (const QuotaView::Limit& one : view.limits) {
    const claim::LimitState& state = one.state;
    if (!is_of_entry(one) || state.limit.before_set) {
      others += fmt::format("{}: {}{}\n", show_limit(state.limit), in_use(state),
                            one.waiting == 0 ? "" : "; " + jobs_waiting(one.waiting));
    } else if (one.waiting > 0) {
      table.add(
          {printable(state.limit.name), show_count(state.used), show_count(state.limit.most)});
    }
  }
  if (!others.empty()) text += "\n" + others;
  if (table.rows() == 0) return text;
  return text + "\nready, but as many jobs of their entry run as its limit allows:\n" +
         table.text(most);
}

std::vector<ObstacleLine> obstacle_lines(const claim::Reader& reader, workflow::RecipeBook& book,
                                         JobId id) {
  constexpr std::size_t kNames = 5;
  std::vector<ObstacleLine> lines;
  const claim::Obstacles found = claim::obstacles_of(reader, id, kNames + 1);
  const auto name = [&](const claim::Awaited& a) {
    const std::string text = printable(workflow::job_name(book, reader, a.job));
    return a.condition == claim::Condition::afterok
               ? text
               : fmt::format("{} ({})", text, to_string(a.condition));
  };
  std::string names;
  for (std::size_t i = 0; i < found.awaited.size() && i < kNames; ++i)
    names += (i == 0 ? "" : ", ") + name(found.awaited[i]);
  if (found.awaited.size() > kNames) names += ", …";
  if (!names.empty()) lines.push_back({"waits for", names});
  if (found.cause) {
    lines.push_back({"because of", fmt::format("{}, which is {}", name(*found.cause),
                                               claim::to_string(found.cause->state))});
  }
  for (const claim::HeldBack& held : found.limits) {
    const claim::LimitState& by = held.by;
    lines.push_back({"waits for", by.limit.kind == claim::LimitKind::entry
                                      ? fmt::format("a slot: {} of {} of its entry run",
                                                    show_count(by.used), show_count(by.limit.most))
                                      : fmt::format("{} of {}: {}", held.amount,
                                                    show_limit(by.limit), in_use(by))});
  }
  if (found.budget) lines.push_back({"held by", "the budget: " + show_budget(*found.budget)});
  return lines;
}

ordered_json budget_json(const QuotaView& view) {
  if (!view.budget) return nullptr;
  ordered_json out = {
      {"core", nullptr}, {"node", nullptr}, {"ready_jobs_wait", !view.beyond_budget.empty()}};
  for (const Axis& a : axes_of(*view.budget)) {
    out[a.key] = {{"limit_hours", hours(a.most)},
                  {"used_hours", hours(a.spent)},
                  {"promised_hours", hours(a.promised)},
                  {"left_hours", hours(a.left)}};
  }
  return out;
}

ordered_json limits_json(const QuotaView& view) {
  ordered_json out = ordered_json::array();
  for (const QuotaView::Limit& one : view.limits) {
    const claim::Limit& limit = one.state.limit;
    const bool named = limit.kind == claim::LimitKind::named;
    out.push_back({{"entry", json_if(is_of_entry(one), limit.name)},
                   {"resource", json_if(named, limit.name)},
                   {"limit", limit.most},
                   {"limit_of_file", limit.of_file()},
                   {"in_use", one.state.used},
                   {"running_jobs", json_if(!named, one.state.used)},
                   {"waiting_jobs", one.waiting},
                   {"ready_jobs_wait", one.waiting > 0}});
  }
  return out;
}

}  // namespace torc::report
