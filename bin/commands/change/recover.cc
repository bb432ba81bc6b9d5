// torc recover: what failed, why, and what helps; then it does that.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/change/recovery_plan.h"
#include "bin/commands/commands.h"
#include "bin/commands/multiplier.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/table.h"
#include "lib/report/job_view.h"
#include "lib/report/situation.h"
#include "lib/report/situation_text.h"

namespace torc::cli {
namespace {

using nlohmann::ordered_json;
using report::FailedGroup;
using report::Proposal;
using report::Remedy;
using report::Trouble;

struct RecoverOptions {
  std::string store;
  report::RecoveryTerms terms;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
};

constexpr std::array kTroubles{Trouble::memory, Trouble::runtime, Trouble::transient, Trouble::mend,
                               Trouble::unknown};

std::string_view title_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::memory:
      return "too little memory";
    case Trouble::runtime:
      return "too little time";
    case Trouble::transient:
      return "a node or the network";
    case Trouble::mend:
      return "something to fix";
    case Trouble::unknown:
      break;
  }
  return "not known";
}

// What failed, with a proposal for each group.
struct Plan {
  FailedGroups failed;
  std::vector<Proposal> proposals;
  void propose(std::size_t i, const report::RecoveryTerms& terms) {
    proposals[i] = report::proposal_for(failed.groups[i], failed.most[i], terms);
  }
};

std::string why_of(const FailedGroup& group) {
  std::string why =
      group.cause ? std::string(report::row_of(*group.cause).title) : printable(group.how);
  if (group.recoveries > 0)
    why += fmt::format(", recovered {} of {}", group.recoveries,
                       plural(group.most_recoveries, "time"));
  return why;
}

std::string peak_of(const FailedGroup& group) {
  const bool declared = group.had.memory > claim::Requirement{}.memory;
  return fmt::format("{} of {}", group.peak.value > 0 ? show_bytes(group.peak) : "?",
                     declared ? show_bytes(group.had.memory) : "-");
}

std::string ran_of(const FailedGroup& group) {
  const auto limit = longest_time(group.had);
  return fmt::format("{} of {}", show_duration(group.longest),
                     limit.count() > 0 ? show_exactly(limit) : "-");
}

std::string names_of(const FailedGroup& group) {
  if (group.jobs.size() == 1) return printable(group.first.front());
  return fmt::format("{} ({})", printable(group.entry), printable(group.first.front()) + ", …");
}

void print_table(const App& app, const Plan& plan) {
  Table table({{"jobs", Align::right},
               {"which", Align::left, Shorten::yes},
               {"why", Align::left, Shorten::yes},
               {"memory"},
               {"time"},
               {"proposed"}});
  for (std::size_t i = 0; i < plan.proposals.size(); ++i) {
    const FailedGroup& group = plan.failed.groups[i];
    table.add({show_count(group.jobs.size()), names_of(group), why_of(group), peak_of(group),
               ran_of(group), report::say(plan.proposals[i])});
  }
  say_table(app, table);
  const auto recovers = std::ranges::max(plan.failed.groups, {}, &FailedGroup::most_recoveries);
  if (recovers.most_recoveries > 0)
    say(app.out,
        "on_failure: recover has left these: it runs again what ran out of memory or time, or "
        "failed "
        "for a node or a\nnetwork, each job at most {}\n",
        plural(recovers.most_recoveries, "time"));
  if (plan.failed.not_read > 0)
    say(app.out, "the output of {} of these jobs was not read: there are too many\n",
        show_count(plan.failed.not_read));
  if (plan.failed.unreadable > 0)
    say(app.out,
        "some output of {} of these jobs cannot be read: `torc logs --diagnose` says which\n",
        show_count(plan.failed.unreadable));
}

ordered_json to_json(const FailedGroup& group, const Proposal& p, std::uint64_t retried) {
  auto names = ordered_json::array();
  for (const std::string& name : group.first) names.push_back(name);
  const bool declared = group.had.memory > claim::Requirement{}.memory;
  const auto limit = longest_time(group.had);
  return {{"entry", group.entry},
          {"jobs", group.jobs.size()},
          {"first_names", std::move(names)},
          {"trouble", to_string(group.trouble)},
          {"diagnosis",
           json_if(group.cause.has_value(), group.cause ? report::row_of(*group.cause).word : "")},
          {"output_line", json_or_null(group.line)},
          {"memory_bytes", json_if(declared, group.had.memory.value)},
          {"max_peak_memory_bytes", json_or_null(group.peak.value)},
          {"time_limit_seconds", json_if(limit.count() > 0, limit.count())},
          {"max_elapsed_seconds", json_seconds(group.longest)},
          {"proposal", to_string(p.remedy)},
          {"new_needs",
           {{"memory_bytes", json_or_null(p.memory.value)},
            {"runtime_seconds", json_or_null(p.runtime.count())},
            {"time_limit_seconds", json_or_null(p.time_limit.count())}}},
          {"reason_to_skip", json_or_null(p.why)},
          {"recoveries", group.recoveries},
          {"max_recoveries", json_or_null(group.most_recoveries)},
          {"retried_jobs", retried}};
}

// The next line of standard input, without its end; nullopt: there is none.
std::optional<std::string> answer_to(const App& app, const std::string& question) {
  say(app.out, "{}", question);
  (void)std::fflush(app.out);
  std::string line;
  for (int c = std::fgetc(stdin); c != EOF; c = std::fgetc(stdin)) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

enum class Chosen : std::uint8_t { go_on, stop };

// Of all groups of one trouble. What is not answered is skipped.
Chosen ask(const App& app, Plan& plan, Trouble trouble, report::RecoveryTerms terms) {
  std::vector<std::size_t> of;
  std::uint64_t jobs = 0;
  for (std::size_t i = 0; i < plan.proposals.size(); ++i) {
    if (plan.failed.groups[i].trouble != trouble) continue;
    of.push_back(i);
    jobs += plan.failed.groups[i].jobs.size();
  }
  if (of.empty()) return Chosen::go_on;
  const bool grows = trouble == Trouble::memory || trouble == Trouble::runtime;
  const bool open = trouble == Trouble::mend || trouble == Trouble::unknown;
  double& by = trouble == Trouble::memory ? terms.memory_multiplier : terms.runtime_multiplier;
  for (;;) {
    for (const std::size_t i : of)
      say(app.out, "  {}: {}\n", names_of(plan.failed.groups[i]), report::say(plan.proposals[i]));
    const auto answer =
        answer_to(app, fmt::format("{}, {}: {}, {}[q]uit? ", title_of(trouble), plural(jobs, "job"),
                                   open ? "[t]ry again as they are, [s]kip (usual)"
                                        : "[r]etry as proposed (usual), [s]kip",
                                   grows ? fmt::format("a number to multiply by ({}), ", by) : ""));
    if (!answer || *answer == "q") return Chosen::stop;
    const bool usual = answer->empty();
    if (*answer == "s" || (usual && open)) {
      for (const std::size_t i : of) plan.proposals[i] = {Remedy::skip, {}, {}, {}, "you said so"};
      return Chosen::go_on;
    }
    if (open && *answer == "t") {
      terms.retries_unknown = true;
      for (const std::size_t i : of) plan.propose(i, terms);
      return Chosen::go_on;
    }
    if (!open && (usual || *answer == "r")) return Chosen::go_on;
    const auto number = grows ? parse_multiplier(*answer) : Result<double>(1.0);
    if (!grows || !number.ok()) {
      say(app.out, "please answer with one of these\n");
      continue;
    }
    by = *number;
    for (const std::size_t i : of) plan.propose(i, terms);
  }
}

void say_next(const App& app, store::Store& store) {
  const auto around = report::look_around(app, store, report::AskSlurm::no);
  if (!around.ok()) return;
  const std::string nobody =
      report::say_nobody(app, *around, workflow::shown_path(app, store.directory()));
  if (nobody.empty()) {
    say(app.out, "workers are running, and take them when they can\n");
  } else {
    say(app.out, "{}", nobody);
  }
}

Result<Exit> carry_out(const App& app, store::Store& store, const Plan& plan,
                       const RecoverOptions& options) {
  auto rows = ordered_json::array();
  std::uint64_t retried = 0;
  std::uint64_t left = 0;
  for (std::size_t i = 0; i < plan.proposals.size(); ++i) {
    const FailedGroup& group = plan.failed.groups[i];
    const Proposal& proposal = plan.proposals[i];
    std::uint64_t again = 0;
    if (proposal.remedy == Remedy::skip) {
      left += group.jobs.size();
    } else if (!options.dry_run) {
      TORC_ASSIGN(again, recover(app, store, group, proposal));
    }
    retried += again;
    rows.push_back(to_json(group, proposal, again));
  }
  if (options.json) {
    const ordered_json json{{"store", store.directory().string()},
                            {"dry_run", options.dry_run},
                            {"failed_jobs", plan.failed.jobs},
                            {"retried_jobs", retried},
                            {"skipped_jobs", left},
                            {"failure_groups", std::move(rows)}};
    say(app.out, "{}\n", report::json_text(json));
  } else if (options.dry_run) {
    say(app.out, "nothing was changed (--dry-run)\n");
  } else {
    say(app.out, "{} {} again{}\n", plural(retried, "job"), retried == 1 ? "runs" : "run",
        left == 0 ? "" : fmt::format(", {} left as before", show_count(left)));
    if (retried > 0) say_next(app, store);
  }
  return left == 0 || options.dry_run ? Exit::ok : Exit::failed;
}

Result<Exit> run(const App& app, const RecoverOptions& options) {
  TORC_ASSIGN(const auto store, open_store(app, options.store));
  Plan plan;
  TORC_ASSIGN(plan.failed, failed_groups(app, *store));
  plan.proposals.resize(plan.failed.groups.size());
  for (std::size_t i = 0; i < plan.proposals.size(); ++i) plan.propose(i, options.terms);
  const bool asks = !options.yes && !options.dry_run && !options.json;
  if (options.json && !options.yes && !options.dry_run)
    return Error{ErrorKind::invalid, "--json cannot ask",
                 "say --yes to do what is proposed, or --dry-run to see it"};
  if (plan.proposals.empty() && !options.json) {
    say(app.out, "no job has failed\n");
    return Exit::ok;
  }
  if (!options.json) print_table(app, plan);
  if (asks && (isatty(STDIN_FILENO) != 1 || !app.out_is_terminal)) {
    say(app.err, "torc: not confirmed: nothing was done; --yes does what is proposed\n");
    return Exit::failed;
  }
  if (asks) {
    for (const Trouble trouble : kTroubles) {
      if (ask(app, plan, trouble, options.terms) == Chosen::go_on) continue;
      say(app.out, "\nnothing was done\n");
      return Exit::failed;
    }
  }
  return carry_out(app, *store, plan, options);
}

}  // namespace

void add_recover(Command& c) {
  auto& o = c.options<RecoverOptions>();
  c.about("Let what failed run again, with more memory or time where that was the cause");
  c.argument("STORE", o.store, "store");
  c.flag("-n,--dry-run", o.dry_run,
         "say what failed, why and what is proposed, and change nothing");
  c.flag("--yes", o.yes, "do what is proposed without asking");
  c.flag("--retry-unknown", o.terms.retries_unknown,
         "also run again, as they are, jobs that failed for an unknown reason or for one that "
         "somebody has to fix");
  c.option("--memory-multiplier", o.terms.memory_multiplier, parse_multiplier,
           "multiply memory by this (default 1.5)")
      .value("X");
  c.option("--runtime-multiplier", o.terms.runtime_multiplier, parse_multiplier,
           "multiply runtime by this (default 1.5)")
      .value("X");
  c.flag("--json", o.json, "machine-readable output; with --yes or --dry-run");
  c.shows_tables();
  c.footer(
      "\nOn a terminal it asks for each kind of failure. Workers may be at work. "
      "With\n'on_failure: recover' in the workflow file, what is safe is done without "
      "asking.\n\nExit codes: 0 all that failed runs again, nothing has failed, or --dry-run; 1 "
      "some failed jobs are left as they\nare, or it was not confirmed; 2 wrong flags; 4 the store "
      "cannot be used.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
