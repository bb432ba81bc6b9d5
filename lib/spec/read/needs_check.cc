// What the needs of jobs say that no worker, or not this mode, can make anything of.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/read/readers.h"

namespace torc::spec {
namespace {

// What all jobs have of one name, whatever its type.
struct Users {
  std::size_t entries = 0;
  const JobEntry* first = nullptr;
};

bool has_several(const Resources& needs, bool gpus_only) {
  return needs.gpus > 1 || std::ranges::any_of(needs.named, [&](const Amount& a) {
           return (!gpus_only || is_gpu(a.name)) && a.thousandths > kWhole &&
                  a.thousandths != kAllThereIs;
         });
}

bool has_any(const Resources& needs) {
  return needs.gpus > 0 || !needs.named.empty();
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return is_digit(c); });
  return text;
}

class NeedsCheck {
 public:
  NeedsCheck(const Session& session, const Workflow& workflow)
      : session_(session), workflow_(workflow) {
    for (const ResourceRequirements& r : workflow.resource_requirements) sets_.emplace(r.name, &r);
  }

  void run() {
    for (const JobEntry& job : workflow_.jobs) {
      const auto found = sets_.find(job.resource_requirements);
      const bool known = job.resource_requirements.empty() || found != sets_.end();
      if (!job.sound || !known) continue;
      const auto* set = job.resource_requirements.empty() ? nullptr : found->second;
      const std::vector<Resources> choices = choices_of(job.needs_with(set));
      const bool by_set = set != nullptr && !job.places.contains("locality") && job.one_of.empty();
      locality(job, choices, by_set ? set->place : job.place_of_need({"locality", "one_of"}));
      count_names(job, choices);
    }
    names();
  }

 private:
  void tell(Severity severity, Place place, std::string message, std::string remedy) {
    session_.report.add(severity, place, std::move(message), std::move(remedy));
  }

  // Each place is told once, with the first job that it is for.
  void locality(const JobEntry& job, const std::vector<Resources>& choices, Place place) {
    bool says = false;
    bool counts = false;
    for (const Resources& one : choices) {
      if (one.locality == Locality::preferred) continue;
      says = true;
      const bool strict = one.locality == Locality::strict;
      counts = counts || (strict ? has_several(one, false) : has_any(one));
      if (workflow_.execution.mode == ExecutionMode::slurm && has_several(one, true))
        return in_steps(job, one.locality, place);
    }
    if (!says || !told_.insert(place.line).second) return;
    const std::string name = torc::quoted(job.name);
    if (!counts) {
      tell(Severity::warning, place,
           fmt::format("'locality' changes nothing for job {}: it does not need several GPUs, or "
                       "pieces of another resource",
                       name),
           "remove it, or let the job need several of them");
    } else if (choices.front().nodes > 1 && choices.front().locality == Locality::strict) {
      tell(Severity::warning, place,
           fmt::format(
               "'locality: strict' changes nothing for job {}: it has whole nodes to itself", name),
           "remove it: of nodes that are free its pieces are of as few groups as they can be");
    }
  }

  // Slurm picks the GPUs of a step by itself.
  void in_steps(const JobEntry& job, Locality locality, Place place) {
    const bool strict = locality == Locality::strict;
    if (!told_.insert(place.line).second) return;
    tell(strict ? Severity::error : Severity::warning, place,
         fmt::format("in mode slurm Slurm picks the GPUs of a step, so 'locality: {}' of job {} {}",
                     word(locality), torc::quoted(job.name),
                     strict ? "cannot be kept" : "has no effect on them"),
         "remove it, or use mode: direct or auto, where torc picks them");
  }

  void count_names(const JobEntry& job, const std::vector<Resources>& choices) {
    std::set<std::string> own;
    for (const Resources& one : choices) {
      for (const Amount& a : one.named) own.emplace(base_name(a.name));
    }
    for (const std::string& name : own) {
      Users& users = users_[name];
      ++users.entries;
      if (users.first == nullptr) users.first = &job;
    }
  }

  // Names that look like slips: of what workers have nothing is known here.
  void names() {
    for (const auto& named : users_) {
      const auto& name = named.first;
      const auto& users = named.second;
      if (name == kGpus || is_reserved_resource(name)) continue;  // told where it stands
      const Place place = users.first->place_of_need({"resources", "one_of"});
      const auto is_it = [&](const Limit& limit) { return limit.name == name; };
      if (std::ranges::any_of(workflow_.limits, is_it)) {
        tell(Severity::warning, place,
             fmt::format("{} is one of the workflow's limits, and here a resource that each worker "
                         "has by itself",
                         torc::quoted(name)),
             fmt::format("write limits: {{{}: …}} in the job for what all nodes share, or give one "
                         "of them another name",
                         name));
        continue;
      }
      const std::string own = nearest(name, reserved_);
      if (!own.empty() && own.size() + name.size() / 3 >= name.size()) {
        tell(Severity::warning, place,
             fmt::format("no worker has a resource {} unless it is told so", torc::quoted(name)),
             own == kGpus ? "did you mean 'gpus/TYPE'?"
                          : fmt::format("did you mean the key '{}'?", own));
        continue;
      }
      if (users.entries > 1) continue;
      std::vector<std::string> commoner;
      for (const auto& [other, others] : users_) {
        if (others.entries > 1 && without_digits(other) != without_digits(name))
          commoner.push_back(other);
      }
      const std::string guess = nearest(name, commoner);
      if (guess.empty()) continue;
      tell(Severity::warning, place,
           fmt::format("only job {} needs a resource {}", torc::quoted(users.first->name),
                       torc::quoted(name)),
           fmt::format("did you mean {}, as {} others have?", torc::quoted(guess),
                       users_.at(guess).entries));
    }
  }

  const Session& session_;
  const Workflow& workflow_;
  const std::vector<std::string> reserved_ = {"cpus", "gpus", "memory", "nodes", "runtime"};
  std::map<std::string, const ResourceRequirements*> sets_;
  std::map<std::string, Users> users_;  // by name, without type
  std::set<std::size_t> told_;          // lines
};

}  // namespace

void check_needs(const Session& session, const Workflow& workflow) {
  NeedsCheck(session, workflow).run();
}

}  // namespace torc::spec
