#include "lib/report/allocation_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/workers.h"

namespace torc::report {
namespace {

using claim::Allocation;
using claim::AllocationStage;
using claim::Scheduler;
using nlohmann::ordered_json;

std::string time_or_dash(WallTime time) {
  return time.count() == 0 ? "-" : show_time(time);
}

std::string say_queue(const Allocation& a) {
  if (a.stage == AllocationStage::queued || a.stage == AllocationStage::running) {
    if (a.reason.empty() || a.reason == "None") return printable(a.state);
    return fmt::format("{} ({})", printable(a.state), printable(a.reason));
  }
  if (a.stage == AllocationStage::ended) return printable(a.said.empty() ? a.state : a.said);
  return printable(a.said);
}

ordered_json text_json(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

}  // namespace

Result<AllocationList> list_allocations(const claim::Reader& reader, Which which) {
  AllocationList list;
  TORC_ASSIGN(list.schedulers, claim::read_schedulers(reader));
  TORC_ASSIGN(list.left_nodes, claim::read_left_nodes(reader));
  TORC_ASSIGN(const claim::AllocationBook book, claim::read_allocation_book(reader));
  list.answered_at = book.answered_at;
  TORC_ASSIGN(claim::Allocations all, which == Which::live ? claim::read_live_allocations(reader)
                                                           : claim::read_allocations(reader));
  std::map<std::uint32_t, double> used_ms;
  TORC_TRY(claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
    used_ms[worker.info.ledger_entry] += static_cast<double>(worker.used_core_ms);
    return true;
  }));
  for (auto& [number, allocation] : all) {
    AllocationRow row{number, std::move(allocation), "?"};
    const double gone = static_cast<double>(row.allocation.used_core_ms);
    row.used_core_hours = (gone + used_ms[number]) / 3.6e6;
    const std::uint32_t of = row.allocation.scheduler;
    if (of >= 1 && of <= list.schedulers.size()) row.scheduler = list.schedulers[of - 1].name;
    list.rows.push_back(std::move(row));
  }
  return list;
}

std::uint64_t count_of(const AllocationList& list, AllocationStage stage) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      list.rows, [&](const AllocationRow& row) { return row.allocation.stage == stage; }));
}

std::string say_stage(const Allocation& a) {
  if (a.stage == AllocationStage::ended) return fmt::format("ended ({})", claim::to_string(a.end));
  if (a.is_surplus) return "surplus";
  return std::string(claim::to_string(a.stage));
}

double granted_core_hours(const Allocation& a, WallTime now) {
  if (a.stage == AllocationStage::ended) return static_cast<double>(a.core_seconds) / 3600;
  if (a.stage != AllocationStage::running || a.started_at.count() == 0 || now < a.started_at)
    return 0;
  const auto ran = std::chrono::duration_cast<std::chrono::seconds>(now - a.started_at);
  return static_cast<double>(ran.count()) * a.cpus / 3600;
}

Table allocation_table(const std::vector<AllocationRow>& rows, WallTime now) {
  const bool has_hours = std::ranges::any_of(
      rows, [&](const AllocationRow& row) { return granted_core_hours(row.allocation, now) > 0; });
  std::vector<Table::Column> columns{{"number", Align::right},
                                     {"scheduler", Align::left, Shorten::yes},
                                     {"stage"},
                                     {"id"},
                                     {"nodes", Align::right}};
  if (has_hours) columns.push_back({"core-hours used", Align::right});
  columns.push_back({"start"});
  columns.push_back({"queue", Align::left, Shorten::yes});
  Table table(columns);
  for (const AllocationRow& row : rows) {
    const Allocation& a = row.allocation;
    const WallTime start = a.started_at.count() > 0 ? a.started_at : a.expected_start;
    std::vector<std::string> cells{std::to_string(row.number), printable(row.scheduler),
                                   say_stage(a), a.id.empty() ? "-" : printable(a.id),
                                   std::to_string(a.nodes)};
    if (has_hours) {
      const double hours = granted_core_hours(a, now);
      cells.push_back(hours > 0 ? fmt::format("{:.2f} of {:.2f}", row.used_core_hours, hours)
                                : "-");
    }
    cells.push_back(time_or_dash(start));
    cells.push_back(say_queue(a));
    table.add(std::move(cells));
  }
  return table;
}

ordered_json to_json(const AllocationList& list, WallTime now) {
  ordered_json out;
  out["queue_answered_at"] = json_time(list.answered_at);
  out["slurm_schedulers"] = ordered_json::array();
  for (const Scheduler& s : list.schedulers) {
    ordered_json one;
    one["scheduler"] = s.name;
    one["managed"] = s.is_managed;
    one["nodes"] = s.nodes;
    one["asked_walltime_seconds"] = json_or_null(s.walltime.count());
    one["submitted_from"] = s.from_login || s.not_from_here ? "login" : "anywhere";
    one["stopped_reason"] = text_json(s.stopped);
    one["next_try_at"] = s.failures > 0 ? json_time(s.not_before) : ordered_json(nullptr);
    one["batch_system_said"] = text_json(s.said);
    out["slurm_schedulers"].push_back(std::move(one));
  }
  out["left_nodes"] = ordered_json::array();
  for (const claim::LeftNode& left : list.left_nodes) out["left_nodes"].push_back(left.node);
  out["allocation_records"] = ordered_json::array();
  for (const AllocationRow& row : list.rows) {
    const Allocation& a = row.allocation;
    ordered_json one;
    one["ledger_entry"] = row.number;
    one["scheduler"] = row.scheduler;
    one["allocation_stage"] = claim::to_string(a.stage);
    one["surplus"] = a.is_surplus;
    one["ended_how"] = a.stage == AllocationStage::ended ? ordered_json(claim::to_string(a.end))
                                                         : ordered_json(nullptr);
    one["asked_by"] = claim::to_string(a.by);
    one["asked_by_action"] = a.action == 0 ? ordered_json(nullptr) : ordered_json(a.action);
    one["asked_by_whom"] = text_json(a.who);
    one["ask_reason"] = text_json(a.why);
    one["cluster"] = text_json(a.cluster);
    one["allocation"] = text_json(a.id);
    one["nodes"] = a.nodes;
    one["asked_walltime_seconds"] = json_or_null(a.walltime.count());
    one["slurm_state"] = text_json(a.state);
    one["slurm_reason"] = text_json(a.reason);
    one["wanted_at"] = json_time(a.wanted_at);
    one["submitted_at"] = json_time(a.submitted_at);
    one["starts_at"] = json_time(a.started_at.count() > 0 ? a.started_at : a.expected_start);
    one["ends_at"] = json_time(claim::is_live(a) ? a.ends_at : a.ended_at);
    one["submissions"] = a.tries;
    one["batch_system_said"] = text_json(a.said);
    one["used_core_hours"] = row.used_core_hours;
    one["granted_core_hours"] = json_or_null(granted_core_hours(a, now));
    out["allocation_records"].push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> concerns_of(const AllocationList& list, WallTime now) {
  std::vector<std::string> all;
  if (!list.left_nodes.empty()) {
    std::string nodes;
    for (const claim::LeftNode& left : list.left_nodes)
      nodes += (nodes.empty() ? "" : ", ") + printable(left.node);
    all.push_back(fmt::format(
        "a worker could run no jobs on {}: further allocations are asked for without {}, until "
        "torc allocations readmit NODE",
        nodes, list.left_nodes.size() == 1 ? "it" : "them"));
  }
  std::uint64_t for_login = 0;
  for (const AllocationRow& row : list.rows) {
    if (row.allocation.stage != AllocationStage::wanted) continue;
    const std::uint32_t of = row.allocation.scheduler;
    if (of == 0 || of > list.schedulers.size()) continue;
    const Scheduler& s = list.schedulers[of - 1];
    if (s.from_login || s.not_from_here) ++for_login;
  }
  if (for_login > 0) {
    all.push_back(fmt::format(
        "{} {} for a login node, since compute nodes may not submit: run `torc submit` there",
        show_count(for_login), for_login == 1 ? "allocation waits" : "allocations wait"));
  }
  for (const Scheduler& s : list.schedulers) {
    if (!s.stopped.empty()) {
      all.push_back(fmt::format(
          "no more allocations are asked for of scheduler {}, since the batch system refused one: "
          "{}; mend {} in the store (and the workflow file), then `torc submit` begins anew",
          printable(s.name), printable(s.stopped), printable(s.script)));
    } else if (s.failures > 0 && s.not_before > now) {
      all.push_back(
          fmt::format("an allocation of scheduler {} could not be submitted ({} in a row), it is "
                      "tried again at "
                      "{}: {}",
                      printable(s.name), s.failures, show_time(s.not_before), printable(s.said)));
    }
  }
  return all;
}

}  // namespace torc::report
