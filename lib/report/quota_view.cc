#include "lib/report/quota_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
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

bool is_among(const std::vector<claim::LimitState>& all, const std::string& entry) {
  return std::any_of(all.begin(), all.end(),
                     [&](const claim::LimitState& one) { return one.limit.entry == entry; });
}

}  // namespace

Result<QuotaView> look_at_quota(const claim::Reader& reader, workflow::RecipeBook& book) {
  QuotaView view;
  view.budget = claim::read_expense(reader);
  TORC_TRY(claim::scan_limits(reader, [&](const claim::LimitState& one) {
    view.limits.push_back(one);
    return true;
  }));
  if (!view.budget && view.limits.empty()) return view;
  Result<void> counted;
  TORC_TRY(claim::scan_ready_classes(
      reader, [&](const claim::JobClass& c, const claim::ReadyRange& head) {
        if (view.budget && claim::is_beyond(*view.budget, c.need) &&
            view.beyond_budget.size() < kShown) {
          const auto jobs = claim::count_ready(reader, head.job_class);
          if (!jobs) counted = jobs.error();
          if (!jobs) return false;
          view.beyond_budget.push_back(
              {workflow::job_name(book, reader, JobId{head.first}), c.need, *jobs});
        }
        if (c.limit == 0 || c.limit > view.limits.size()) return true;
        const claim::LimitState& limit = view.limits[c.limit - 1];
        if (limit.is_full() && !is_among(view.full, limit.limit.entry)) view.full.push_back(limit);
        return true;
      }));
  TORC_TRY(counted);
  return view;
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

std::string quota_text(const QuotaView& view) {
  std::string text;
  if (view.budget) text += fmt::format("\nbudget: {}\n", show_budget(*view.budget));
  if (!view.beyond_budget.empty()) {
    text += "ready, but the budget keeps them from starting:\n";
    torc::Table table({{"jobs", Align::right},
                       {"first"},
                       {"cpus", Align::right},
                       {"nodes", Align::right},
                       {"runtime"}});
    for (const QuotaView::Held& held : view.beyond_budget) {
      table.add({show_count(held.jobs), printable(held.name), std::to_string(held.need.cpus),
                 std::to_string(held.need.nodes),
                 held.need.runtime.count() > 0 ? show_duration(held.need.runtime) : "-"});
    }
    text += table.text();
  }
  if (view.full.empty()) return text;
  text += "\nready, but as many of their entry run as may:\n";
  torc::Table table({{"entry"}, {"running", Align::right}, {"limit", Align::right}});
  for (const claim::LimitState& one : view.full) {
    table.add({printable(one.limit.entry), show_count(one.used), show_count(one.limit.most)});
  }
  return text + table.text();
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
  if (found.limit) {
    lines.push_back({"waits for",
                     fmt::format("a slot: {} of {} of its entry run", show_count(found.limit->used),
                                 show_count(found.limit->limit.most))});
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
  for (const claim::LimitState& one : view.limits) {
    out.push_back({{"entry", one.limit.entry},
                   {"limit", one.limit.most},
                   {"running_jobs", one.used},
                   {"ready_jobs_wait", is_among(view.full, one.limit.entry)}});
  }
  return out;
}

}  // namespace torc::report
