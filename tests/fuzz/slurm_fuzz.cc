// What squeue prints, and time limits. The input: job ids on the first line, the exit code of
// squeue on the second, then what squeue prints, a line "--", and what it prints as errors. The ids
// are those of a cluster "alpha", of allocations that began in second 1795342086.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/slurm/own_jobs.h"
#include "lib/slurm/query.h"
#include "lib/slurm/shown.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc::slurm;

std::string_view cut(std::string_view& text, std::string_view end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return front;
}

bool names_an_end(const std::string& text) {
  constexpr std::array<std::string_view, 7> kEnds{"CANCELLED", "COMPLETED", "DEADLINE", "FAILED",
                                                  "OUT_OF_M",  "PREEMPTED", "TIMEOUT"};
  return text.find("alpha") != std::string::npos &&
         std::any_of(kEnds.begin(), kEnds.end(),
                     [&](std::string_view end) { return text.find(end) != std::string::npos; });
}

void check_time_limit(std::string_view text) {
  const auto limit = torc::parse_time_limit(text);
  if (!limit.ok() || !limit->has_value()) return;
  const std::int64_t all = (*limit)->count();
  TORC_MUST(all > 0 && all <= std::int64_t{100} * 366 * 86'400);
  const std::string canonical = std::to_string(all / 86'400) + "-" +
                                std::to_string(all / 3'600 % 24) + ":" +
                                std::to_string(all / 60 % 60) + ":" + std::to_string(all % 60);
  const auto again = torc::parse_time_limit(canonical);
  TORC_MUST(again.ok() && *again == *limit);
}

}  // namespace

TORC_FUZZ_TARGET(slurm) {
  std::string_view rest = input;
  std::vector<std::string> ids;
  std::vector<Allocation> allocations;
  std::istringstream first{std::string(cut(rest, "\n"))};
  for (std::string id; first >> id;) {
    ids.push_back(id);
    allocations.push_back({"alpha", id, std::chrono::seconds(1795342086)});
  }
  const std::string_view codes = cut(rest, "\n");
  const std::string_view out = cut(rest, "\n--\n");
  const CommandOutput squeue{codes.starts_with("0") || codes.empty() ? 0 : 1, std::string(out),
                             std::string(rest)};

  const RunProgram run = [&](const std::vector<std::string>& argv) -> torc::Result<CommandOutput> {
    // What comes from ids is numbers, and never an option.
    const auto list = std::find(argv.begin(), argv.end(), "-j");
    TORC_MUST(list != argv.end() && list + 1 != argv.end());
    for (const char c : *(list + 1)) TORC_MUST((c >= '0' && c <= '9') || c == '_' || c == ',');
    return squeue;
  };
  const auto answer = ask_about(run, allocations);
  const bool may_end = squeue.exit_code == 0 && names_an_end(squeue.out);
  for (const Allocation& a : allocations) TORC_MUST(answer.count(a) == 1);
  for (const auto& [a, now] : answer) {
    TORC_MUST(std::find(allocations.begin(), allocations.end(), a) != allocations.end());
    const bool over = now.state == AllocationState::ended || now.state == AllocationState::cut_off;
    TORC_MUST(!over || may_end);
    const bool is_active = now.state == AllocationState::active;
    TORC_MUST(is_active == !now.nodes.empty());
    TORC_MUST(!is_active || squeue.out.find('\n') != std::string::npos);
    for (const std::string& node : now.nodes) TORC_MUST(state_on(now, node) == now.state);
    TORC_MUST(now.state == AllocationState::unknown || squeue.exit_code == 0);
  }
  const RunProgram any = [&](const std::vector<std::string>&) { return squeue; };
  const Shown shown = show_named(any, {"wf-one"});
  TORC_MUST(!shown.whole || (squeue.exit_code == 0 && squeue.out.ends_with('\n')));
  TORC_MUST(shown.failure.empty() || shown.allocations.empty());
  TORC_MUST(squeue.exit_code == 0 || !shown.failure.empty());
  for (const ShownAllocation& a : show_ended(any, {"wf-one"}, {}).allocations)
    TORC_MUST(squeue.exit_code == 0 && stage_of(a.state) == Stage::over);
  for (const ShownNode& n : show_nodes(any, {"n1"}))
    TORC_MUST(squeue.exit_code == 0 && !n.node.empty() && !n.state.empty());
  const auto own = [&](const Command&) {
    return torc::Result<SbatchOutput>(
        SbatchOutput{.exit_code = squeue.exit_code, .out = squeue.out, .err = squeue.err});
  };
  for (const OwnJobs& jobs : {own_in_queue(own, {1000, "alpha", {"wf-one"}}),
                              own_in_accounting(own, {1000, "alpha", {"wf-one"}}, {}, true)}) {
    TORC_MUST(!jobs.whole || (squeue.exit_code == 0 && squeue.out.ends_with('\n')));
    TORC_MUST(jobs.failure.empty() || (jobs.jobs.empty() && !jobs.whole));
    for (const OwnJob& job : jobs.jobs)
      TORC_MUST(job.shown.cluster == "alpha" && job.shown.uid == 1000U && !job.shown.id.empty());
  }
  const std::optional<std::string> variable =
      ids.size() > 1 ? std::optional(ids.back()) : std::nullopt;
  const auto times = allocation_times(run, "alpha", ids.empty() ? "" : ids.front(),
                                      {variable, variable}, std::chrono::seconds(1'795'239'000));
  TORC_MUST(!times.end || times.end->count() > 0);
  TORC_MUST(!times.start || times.start->count() > 0);
  for (const std::string& id : ids) check_time_limit(id);
}
