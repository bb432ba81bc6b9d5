// torc node: which workers hold what of this node, and what is free.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/exec/node/node_ledger.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

struct NodeOptions {
  bool json = false;
};

using nlohmann::ordered_json;

constexpr std::uint64_t kAllPieces = ~std::uint64_t{0};

std::vector<std::string> pieces_in(const exec::NodeMember& member, std::uint64_t held, bool gpus) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < member.gpus.size(); ++i) {
    if ((held >> i & 1) != 0 && member.gpus[i].is_gpu() == gpus)
      names.push_back(member.gpus[i].name);
  }
  return names;
}
std::vector<std::string> gpus_in(const exec::NodeMember& member, std::uint64_t held) {
  return pieces_in(member, held, true);
}

std::string joined(const std::vector<std::string>& names) {
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, ","));
}

ordered_json amounts(std::uint64_t cpus, ByteCount memory, const std::vector<std::string>& gpus) {
  return {{"cpus", cpus},
          {"memory_bytes", memory.value},
          {"gpus", gpus.size()},
          {"gpu_list", json_if(!gpus.empty(), fmt::format("{}", fmt::join(gpus, ",")))}};
}

// Part of what a worker holds that other workers are kept from.
ordered_json amounts(const exec::NodeMember& member, const exec::NodeHolding& h) {
  ordered_json out = amounts(h.cpu_count(), h.memory + h.own_memory, gpus_in(member, h.gpus));
  out["cpu_list"] = json_or_null(exec::show(h.cpus));
  out["piece_list"] =
      json_or_null(fmt::format("{}", fmt::join(pieces_in(member, h.gpus, false), ",")));
  return out;
}

ordered_json record_of(const exec::NodeEntry& e, BootTime now) {
  const exec::NodeMember& m = e.member;
  const BootTime since = e.holding.waiting_since;
  const std::vector<std::string> gpus = gpus_in(m, kAllPieces);
  return {{"pid", m.watchdog.pid},
          {"store", m.store},
          {"joined_at", json_seconds(m.since)},
          {"holds", amounts(m, e.holding)},
          {"may_use", amounts(m.most_cpus, m.most_memory, gpus)},
          {"waited_seconds", json_if(since != BootTime{}, json_seconds(now - since))},
          {"overcommits", m.overcommits}};
}

void print_table(const App& app, const std::vector<exec::NodeEntry>& workers) {
  const bool named = std::ranges::any_of(workers, [](const exec::NodeEntry& e) {
    return !pieces_in(e.member, kAllPieces, false).empty();
  });
  std::vector<Table::Column> columns = {
      {"pid", Align::right}, {"CPUs", Align::right}, {"memory", Align::right}, {"GPUs"}};
  if (named) columns.push_back({"pieces", Align::left, Shorten::yes});
  columns.insert(columns.end(), {{"since"}, {"state"}, {"store", Align::left, Shorten::yes}});
  Table table(std::move(columns));
  for (const exec::NodeEntry& e : workers) {
    const exec::NodeMember& m = e.member;
    const exec::NodeHolding& h = e.holding;
    std::vector<std::string> cells = {
        std::to_string(m.watchdog.pid), fmt::format("{}/{}", h.cpu_count(), m.most_cpus),
        show_bytes(h.memory + h.own_memory), joined(gpus_in(m, h.gpus))};
    if (named) cells.push_back(printable(joined(pieces_in(m, h.gpus, false))));
    cells.insert(cells.end(), {show_time(m.since),
                               m.overcommits                   ? "overcommits"
                               : h.waiting_since != BootTime{} ? "waits"
                                                               : "works",
                               workflow::shown_path(app, m.store)});
    table.add(std::move(cells));
  }
  say_table(app, table);
}

Result<Exit> run(const App& app, const NodeOptions& options) {
  const exec::Machine machine = exec::detect(app.env);
  TORC_ASSIGN(auto workers, exec::NodeLedger::look(exec::node_place(app.env, machine.host)));
  // What a worker that was started here would get.
  const exec::NodeMember fresh = exec::describe_member(machine, app.env);
  const auto gpus = static_cast<std::uint32_t>(fresh.gpus.size());
  const exec::NodeHolding free =
      exec::add_free(fresh, {}, {machine.cpus, machine.memory, gpus}, workers);
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const exec::NodeEntry& e : workers) list.push_back(record_of(e, app.clock.boot_now()));
    const ordered_json all = {{"host", machine.host},
                              {"workers", list},
                              {"free", amounts(fresh, free)},
                              {"total", amounts(machine.cpus, machine.memory, machine.gpus)}};
    say(app.out, "{}\n", report::json_text(all));
    return Exit::ok;
  }
  if (workers.empty()) {
    say(app.out, "you have no worker on {}\n", machine.host);
  } else {
    print_table(app, workers);
  }
  say(app.out, "free here: {} of {}, {} of {}, {} of {}{}\n", free.cpu_count(),
      plural(machine.cpus, "CPU"), show_bytes(free.memory + free.own_memory),
      show_bytes(machine.memory), gpus_in(fresh, free.gpus).size(), plural(gpus, "GPU"),
      free.gpus == 0 ? "" : ": " + joined(gpus_in(fresh, free.gpus)));
  return Exit::ok;
}

}  // namespace

void add_node(Command& c) {
  auto& o = c.options<NodeOptions>();
  c.about("Show what of this node each of your workers holds");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
