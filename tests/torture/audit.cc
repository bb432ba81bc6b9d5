#include "tests/torture/audit.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tests/integration/harness.h"

namespace torc::torture {
namespace {

using nlohmann::json;

// As bin/lease_keeper.h has it; a job that lost so many workers is not tried again.
constexpr std::uint64_t kCrashLimit = 5;

struct Attempt {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
};
using Attempts = std::map<std::uint64_t, Attempt>;

void read_attempt(const Path& file, Attempts& attempts) {
  for (const std::string& text : itest::lines_of(itest::read_text(file))) {
    std::istringstream line(text);
    std::string what;
    std::uint64_t attempt = 0;
    int pid = 0;
    std::int64_t at = 0;
    line >> what >> attempt >> pid >> at;
    if (!line || (what != "start" && what != "end"))
      throw Violation{fmt::format("{}: a torn line '{}'", file.string(), text)};
    (what == "start" ? attempts[attempt].starts : attempts[attempt].ends).push_back(at);
  }
}

// By job.
std::map<std::string, Attempts> read_record(const Path& record) {
  std::map<std::string, Attempts> all;
  for (const auto& entry : std::filesystem::directory_iterator(record)) {
    const std::string name = entry.path().filename();
    read_attempt(entry.path(), all[name.substr(0, name.rfind('.'))]);
  }
  return all;
}

std::map<std::string, const json*> by_name(const json& jobs) {
  std::map<std::string, const json*> map;
  for (const json& job : jobs) map[job.at("job").get<std::string>()] = &job;
  return map;
}

// The signal that a deadly job ends by is its own; of one that kills its workers there is no end,
// but that so many were lost. A job that was cut off by others may be given up, too.
bool died_as_planned(const PlannedJob& planned, const json& job, bool given_up) {
  if (planned.deadly == Deadly::no || job.at("state") != "failed") return false;
  const bool by_itself = job.at("cause") == "signaled" && job.at("signal") == 9;
  return given_up || (by_itself && planned.deadly != Deadly::worker);
}

// When each attempt said that it starts and ends.
std::string timeline(const Attempts& attempts) {
  std::string all;
  for (const auto& [number, attempt] : attempts) {
    for (const std::int64_t at : attempt.starts) all += fmt::format("  {} start {}\n", number, at);
    for (const std::int64_t at : attempt.ends) all += fmt::format("  {} end   {}\n", number, at);
  }
  return all;
}

// Nothing of an attempt may run on when the next one has begun. Throws Violation.
void audit_order(const std::string& name, const Attempts& attempts, std::int64_t clocks) {
  std::int64_t last = 0;
  std::uint64_t of = 0;
  for (const auto& [number, attempt] : attempts) {
    if (attempt.starts.front() < last - clocks) {
      throw Violation{fmt::format("attempt {} of {} ran on for {:.3f} s beside attempt {}\n{}", of,
                                  name, static_cast<double>(last - attempt.starts.front()) * 1e-9,
                                  number, timeline(attempts))};
    }
    if (attempt.ends.empty() || attempt.ends.front() < last) continue;
    last = attempt.ends.front();
    of = number;
  }
}

// Why a job did not complete, if there is a good reason.
enum class Excuse : std::uint8_t { none, crash_limit, upstream };

}  // namespace

void Accepted::see(const json& jobs) {
  for (const json& job : jobs) {
    if (job.at("state") != "completed") continue;
    const auto name = job.at("job").get<std::string>();
    const std::string result = job.dump();
    const auto [known, fresh] = results_.emplace(name, result);
    if (!fresh && known->second != result) {
      throw Violation{fmt::format("{} has two accepted results:\n  first {}\n  then  {}", name,
                                  known->second, result)};
    }
  }
}

void audit_counts(const json& jobs, const json& status) {
  std::map<std::string, std::uint64_t> recount;
  for (const json& job : jobs) ++recount[job.at("state").get<std::string>()];
  for (const auto& [state, count] : status.at("jobs_by_state").items()) {
    if (recount[state] != count.get<std::uint64_t>()) {
      throw Violation{fmt::format("the counter of {} says {}, a recount {}", state,
                                  count.get<std::uint64_t>(), recount[state])};
    }
  }
}

void audit_files(const Plan& plan, const Path& record, const json& jobs, std::int64_t clocks,
                 Account& account) {
  const std::map<std::string, Attempts> recorded = read_record(record);
  const auto states = by_name(jobs);
  if (states.size() != plan.size())
    throw Violation{fmt::format("{} jobs were planned, {} are there", plan.size(), states.size())};
  std::vector<std::int64_t> accepted_end(plan.size(), 0);
  std::vector<Excuse> excuses(plan.size(), Excuse::none);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const PlannedJob& planned = plan[i];
    const json& job = *states.at(planned.name);
    const auto found = recorded.find(planned.name);
    const Attempts attempts = found == recorded.end() ? Attempts{} : found->second;
    std::uint64_t complete = 0;
    for (const auto& [number, attempt] : attempts) {
      ++account.attempts;
      complete += attempt.ends.empty() ? 0 : 1;
      if (attempt.starts.size() != 1 || attempt.ends.size() > 1) {
        throw Violation{fmt::format("attempt {} of {} was started {} times and ended {} times",
                                    number, planned.name, attempt.starts.size(),
                                    attempt.ends.size())};
      }
      for (const std::size_t need : planned.needs) {
        const std::int64_t early = accepted_end[need] - clocks - attempt.starts.front();
        if (accepted_end[need] != 0 && early <= 0) continue;
        const std::string& before = plan[need].name;
        const auto its = recorded.find(before);
        throw Violation{fmt::format(
            "attempt {} of {} ran before {} was done ({})\n{}{} as recorded:\n{}", number,
            planned.name, before,
            accepted_end[need] == 0 ? std::string("of whose accepted attempt no end is recorded")
                                    : fmt::format("{:.6f} s", static_cast<double>(early) * 1e-9),
            timeline(attempts), before,
            its == recorded.end() ? std::string("  nothing\n") : timeline(its->second))};
      }
    }
    // A machine that was frozen as a whole may end a job in the moment in which it goes on, before
    // its watchdog has stopped that. Only nodes with a clock of their own are frozen so.
    if (clocks == 0) audit_order(planned.name, attempts, clocks);
    if (complete > 1) ++account.ran_twice;
    if (job.at("state") == "completed") {
      if (planned.deadly != Deadly::no)
        throw Violation{"a job completed that was killed each time: " + job.dump()};
      const auto attempt = attempts.find(job.at("attempt").get<std::uint64_t>());
      if (attempt == attempts.end() || attempt->second.ends.empty()) {
        throw Violation{"a result was accepted of an attempt that never ran to its end: " +
                        job.dump()};
      }
      accepted_end[i] = attempt->second.ends.front();
      continue;
    }
    const bool given_up = job.at("state") == "failed" &&
                          (job.at("cause") == "worker_lost" || job.at("cause") == "lease_lost") &&
                          job.at("attempt").get<std::uint64_t>() >= kCrashLimit;
    if (died_as_planned(planned, job, given_up)) {
      ++account.killed;
      continue;
    }
    if (given_up) excuses[i] = Excuse::crash_limit;
    for (const std::size_t need : planned.needs) {
      if (excuses[need] != Excuse::none && job.at("state") == "blocked")
        excuses[i] = Excuse::upstream;
    }
    if (excuses[i] == Excuse::none) throw Violation{"a job has not completed: " + job.dump()};
    ++(given_up ? account.given_up : account.not_reached);
  }
}

}  // namespace torc::torture
