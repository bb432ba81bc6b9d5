#include "lib/spec/read/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/text/quote.h"
#include "lib/spec/text/command_line.h"
#include "lib/spec/text/placeholder.h"

namespace torc::spec {
namespace {

bool is_for(const FailureRule& rule, FailureCause cause) {
  return std::ranges::find(rule.on, cause) != rule.on.end();
}

bool is_only_for_node_death(const FailureRule& rule) {
  return !rule.all_exit_codes && rule.exit_codes.empty() && !rule.on.empty() &&
         std::ranges::all_of(rule.on, [](FailureCause c) { return c == FailureCause::node_death; });
}

class Finder {
 public:
  Finder(const Session& session, const Workflow& workflow)
      : session_(session), workflow_(workflow) {}

  void run() {
    for (const FailureHandler& handler : workflow_.failure_handlers) rules(handler);
    std::set<std::string_view> used;
    for (const JobEntry& job : workflow_.jobs) {
      used.insert(job.failure_handler);
      if (!placeholders(job.failure_handler).empty()) any_handler_ = true;
      multipliers(job);
      wrapper(job);
    }
    for (const FailureHandler& handler : workflow_.failure_handlers) {
      if (any_handler_ || used.contains(handler.name) || handler.name.empty()) continue;
      warn(handler.place,
           fmt::format("no job has the failure handler {}", torc::quoted(handler.name)),
           "name it in the jobs that it is for (failure_handler), or remove it");
    }
    for (const Action& action : workflow_.actions) persistent(action);
  }

 private:
  void warn(Place place, std::string message, std::string remedy) {
    session_.report.add(Severity::warning, place, std::move(message), std::move(remedy));
  }

  void rules(const FailureHandler& handler) {
    bool all_codes = false;  // a rule before is for every exit code
    for (const FailureRule& rule : handler.rules) {
      if (all_codes && !is_for(rule, FailureCause::node_death)) {
        warn(rule.place, "a rule that is never reached: one before it matches all exit codes",
             "write it before that one; the first rule that is for an end counts");
      }
      if (is_only_for_node_death(rule) && !rule.script.empty()) {
        warn(rule.place, "the recovery script of a rule for node_death is never run",
             "the worker that would run it is gone; let the job's own command look for what was "
             "left");
      }
      all_codes = all_codes || rule.all_exit_codes;
    }
  }

  template <class T>
  static const T* named(const std::vector<T>& all, const std::string& name) {
    const auto found = std::ranges::find(all, name, &T::name);
    return found == all.end() ? nullptr : &*found;
  }

  // Each is told once, at the first job for which it does nothing.
  void multipliers(const JobEntry& job) {
    if (!job.sound) return;
    const FailureHandler* handler = named(workflow_.failure_handlers, job.failure_handler);
    const ResourceRequirements* set =
        named(workflow_.resource_requirements, job.resource_requirements);
    if (handler == nullptr || (set == nullptr && !job.resource_requirements.empty())) return;
    const Resources defaults;
    const std::vector<Resources> choices = choices_of(job.needs_with(set));
    const Place place = job.place_of("failure_handler");
    const auto any = [&](double FailureRule::*multiplier) {
      return std::ranges::any_of(handler->rules,
                                 [&](const FailureRule& r) { return r.*multiplier != 1; });
    };
    const auto none = [&](auto says) { return std::ranges::none_of(choices, says); };
    if (none([](const Resources& r) { return r.runtime.count() > 0; }) &&
        any(&FailureRule::runtime_multiplier) && told_runtime_.insert(handler->name).second) {
      warn(place,
           fmt::format("{} declares no runtime, so the runtime_multiplier of {} changes nothing",
                       torc::quoted(job.name), torc::quoted(handler->name)),
           "give it a runtime");
    }
    if (none([&](const Resources& r) { return r.memory > defaults.memory; }) &&
        any(&FailureRule::memory_multiplier) && told_memory_.insert(handler->name).second) {
      warn(place,
           fmt::format("{} declares no memory, so the memory_multiplier of {} changes nothing",
                       torc::quoted(job.name), torc::quoted(handler->name)),
           "give it a memory: without one a job may use any");
    }
  }

  void wrapper(const JobEntry& job) {
    const std::string& script = job.invocation_script;
    if (script.empty()) return;
    if (script.starts_with('#') && !script.ends_with('\n')) {
      return warn(job.place_of("invocation_script"),
                  "the invocation_script makes the whole command a comment, which succeeds at once",
                  "write its lines as lines, below 'invocation_script: |'");
    }
    if (script.ends_with('\n')) return;  // lines of their own
    const std::string_view separator = command_separator(job.command);
    if (separator.empty()) return;
    warn(job.place_of("invocation_script"),
         fmt::format("the invocation_script stands before the first of several commands only ({})",
                     separator == "\n" ? "the command has several lines"
                                       : fmt::format("the command has a '{}'", separator)),
         "write the commands as one, such as sh -c '…' or a script of their own");
  }

  void persistent(const Action& action) {
    if (!action.persistent) return;
    const Place place = action.place_of("persistent");
    switch (action.trigger) {
      case Trigger::on_workflow_start:
        return warn(place, "'persistent: true' changes nothing for on_workflow_start",
                    "a workflow starts once, also after a reset: remove it");
      case Trigger::on_worker_start:
      case Trigger::on_worker_complete:
        return warn(place, "'persistent: true' changes nothing for actions of workers",
                    "each worker runs them once as it is: remove it");
      default:
        return;
    }
  }

  const Session& session_;
  const Workflow& workflow_;
  bool any_handler_ = false;  // a job's handler differs between the jobs of an entry
  std::set<std::string> told_runtime_;
  std::set<std::string> told_memory_;
};

}  // namespace

void warn_of_idle_keys(const Session& session, const Workflow& workflow) {
  Finder(session, workflow).run();
}

}  // namespace torc::spec
