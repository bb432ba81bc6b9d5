#include "lib/spec/expand/existing_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/sweep/definitions.h"
#include "lib/spec/sweep/recipe.h"

namespace torc::spec {
namespace {

constexpr std::size_t kShown = 3;

struct Difference {
  std::string what;
  std::string there;
  std::string here;
};

std::string show(const std::vector<std::string>& all) {
  std::string out;
  for (std::size_t i = 0; i < all.size() && i < kShown; ++i)
    out += (i == 0 ? "" : ", ") + torc::quoted(all[i]);
  if (all.size() > kShown) out += fmt::format(" and {} more", all.size() - kShown);
  return out.empty() ? "none" : out;
}

std::string show(const Environment& env) {
  std::vector<std::string> all;
  for (const auto& [name, value] : env) all.push_back(fmt::format("{}={}", name, value));
  return show(all);
}

class Comparison {
 public:
  Comparison(const Workflow& addition, const Expansion& expansion, ExistingJobs& jobs)
      : addition_(addition), jobs_(jobs) {
    for (const DependencySet& set : expansion.dependencies) add(Condition::afterok, set);
    for (const ConditionalSet& one : expansion.conditional) add(one.condition, one.set);
    for (auto& [condition, members] : members_) {
      std::ranges::sort(members, {}, [](const auto& member) { return member.first.first; });
    }
  }

  std::optional<Difference> compare(const ExpandedEntry& entry, const Recipe& recipe,
                                    std::uint64_t k) {
    const ExistingWorkflow::Job there = jobs_.existing().job(jobs_.number_of(entry.first + k));
    const RenderedJob here = recipe.render(k);
    if (there.texts.command != here.command)
      return Difference{"command", torc::quoted(there.texts.command), torc::quoted(here.command)};
    if (there.texts.commands != here.commands)
      return Difference{"commands of its alternatives", show(there.texts.commands),
                        show(here.commands)};
    if (there.texts.env != here.env)
      return Difference{"environment", show(there.texts.env), show(here.env)};
    if (!there.resources.same_needs(entry.resources))
      return Difference{"resources", show_needs(there.resources), show_needs(entry.resources)};
    if (there.scheduler != entry.scheduler)
      return Difference{"scheduler", torc::quoted(there.scheduler), torc::quoted(entry.scheduler)};
    if (there.labels != entry.labels)
      return Difference{"label", torc::quoted(there.labels), torc::quoted(entry.labels)};
    if (auto found = limits(addition_.jobs[entry.source], there)) return found;
    if (there.priority != entry.priority) {
      return Difference{"priority", fmt::to_string(there.priority), fmt::to_string(entry.priority)};
    }
    if (there.texts.input_files != here.input_files) {
      return Difference{"list of input files", show(there.texts.input_files),
                        show(here.input_files)};
    }
    if (there.texts.output_files != here.output_files) {
      return Difference{"list of output files", show(there.texts.output_files),
                        show(here.output_files)};
    }
    const std::optional<Stdio>& said = addition_.jobs[entry.source].stdio;
    const bool says_mode = !said || !said->by_size;
    if ((says_mode && there.texts.stdio.mode != here.stdio.mode) ||
        there.texts.stdio.delete_on_success != here.stdio.delete_on_success)
      return Difference{"stdio", "what it is there", "another one"};
    if (there.texts.checkpoint_exit_code != here.checkpoint_exit_code) {
      return Difference{"checkpoint_exit_code", number(there.texts.checkpoint_exit_code),
                        number(here.checkpoint_exit_code)};
    }
    if (there.texts.allow_missing_outputs != here.allow_missing_outputs) {
      const auto shown = [](bool allows) { return allows ? "true" : "false"; };
      return Difference{"allow_missing_outputs", shown(there.texts.allow_missing_outputs),
                        shown(here.allow_missing_outputs)};
    }
    if (auto found = other_launch(here.launch, there.texts.launch)) return found;
    if (auto found = rules(addition_.jobs[entry.source], there)) return found;
    return upstream(entry, k, there);
  }

 private:
  using Members = std::vector<std::pair<Range, const DependencySet*>>;

  void add(Condition condition, const DependencySet& set) {
    for (const Range& r : set.members) members_[condition].push_back({r, &set});
  }

  static std::optional<Difference> limits(const JobEntry& here,
                                          const ExistingWorkflow::Job& there) {
    std::map<std::string, std::uint32_t> is;
    for (const LimitUse& use : here.limits) is[use.name] = use.amount;
    if (is == there.limits) return {};
    const auto show_uses = [](const std::map<std::string, std::uint32_t>& uses) {
      std::vector<std::string> all;
      all.reserve(uses.size());
      for (const auto& [name, amount] : uses) all.push_back(fmt::format("{}: {}", name, amount));
      return show(all);
    };
    return Difference{"use of limits", show_uses(there.limits), show_uses(is)};
  }

  static std::string number(std::int64_t n) { return n == 0 ? "none" : fmt::to_string(n); }

  static std::optional<Difference> other_launch(const Launch& here, const Launch& there) {
    if (there.on != here.on) {
      return Difference{"launch", std::string(word(there.on)), std::string(word(here.on))};
    }
    if (there.end != here.end) {
      return Difference{"launch_end", std::string(word(there.end)), std::string(word(here.end))};
    }
    if (there.tasks_per_node != here.tasks_per_node) {
      return Difference{"ntasks_per_node", number(there.tasks_per_node),
                        number(here.tasks_per_node)};
    }
    return {};
  }

  // What is to happen when it fails, and how many run at a time. A limit of the workflow file
  // counts for its entry, as which the job may not be written here: who says nothing of a limit
  // means it.
  std::optional<Difference> rules(const JobEntry& here, const ExistingWorkflow::Job& there) const {
    if (!same_handler(here.failure_handler, there.failure_handler)) {
      return Difference{"failure handler", there.failure_handler ? "one with other rules" : "none",
                        here.failure_handler.empty() ? "none" : torc::quoted(here.failure_handler)};
    }
    const std::uint32_t crashes = here.crash_limit.value_or(0);
    if (there.crash_limit != crashes)
      return Difference{"crash_limit", number(there.crash_limit), number(crashes)};
    if (here.max_parallel && there.max_parallel != *here.max_parallel)
      return Difference{"max_parallel", number(there.max_parallel), number(*here.max_parallel)};
    return {};
  }

  [[nodiscard]] bool same_handler(const std::string& here,
                                  const std::optional<FailureHandler>& there) const {
    if (here.empty() || !there) return here.empty() == !there;
    for (FailureHandler one : addition_.failure_handlers) {
      if (one.name != here) continue;
      one.name = there->name;
      return same_rules(one, *there);
    }
    return false;
  }

  std::optional<Difference> conditions(const ExpandedEntry& entry, std::uint64_t k,
                                       const ExistingWorkflow::Job& there) {
    for (const Condition condition :
         {Condition::afternotok, Condition::afterany, Condition::after}) {
      std::vector<Range> was;
      for (const auto& [c, jobs] : there.conditional) {
        if (c == condition) was = jobs;
      }
      const std::vector<Range>& is = upstream_of(condition, entry.first + k);
      if (is != was)
        return Difference{
            fmt::format("list of jobs that it waits for with {}", to_string(condition)), names(was),
            names(is)};
    }
    const bool cancels =
        addition_.jobs[entry.source].cancel_on_blocking_job_failure && !there.upstream.empty();
    if (cancels != there.cancels) {
      return Difference{"cancel_on_blocking_job_failure", there.cancels ? "true" : "false",
                        cancels ? "true" : "false"};
    }
    return {};
  }

  // Expressions mean more as the workflow grows: then it is enough that it still waits for nothing
  // else.
  std::optional<Difference> upstream(const ExpandedEntry& entry, std::uint64_t k,
                                     const ExistingWorkflow::Job& there) {
    if (auto found = conditions(entry, k, there)) return found;
    const std::vector<Range>& here = upstream_of(Condition::afterok, entry.first + k);
    if (here == there.upstream) return {};
    const JobEntry& written = addition_.jobs[entry.source];
    const bool open = !written.depends_on_regexes.empty() || !written.input_file_regexes.empty() ||
                      !written.input_user_data_regexes.empty();
    std::vector<Range> both = here;
    both.insert(both.end(), there.upstream.begin(), there.upstream.end());
    normalise(both);
    if (open && both == here) return {};
    return Difference{"list of jobs that it waits for", names(there.upstream), names(here)};
  }

  const std::vector<Range>& upstream_of(Condition condition, std::uint64_t job) {
    static const std::vector<Range> kNone;
    const Members& members = members_[condition];
    const auto above = std::ranges::upper_bound(
        members, job, {}, [](const auto& member) { return member.first.first; });
    if (above == members.begin() || std::prev(above)->first.end() <= job) return kNone;
    const DependencySet* set = std::prev(above)->second;
    const auto [at, fresh] = numbered_.try_emplace(set);
    if (fresh) at->second = jobs_.numbers_of(set->upstream);
    return at->second;
  }

  std::string names(const std::vector<Range>& jobs) {
    std::vector<std::string> all;
    for (const Range& r : jobs) {
      for (std::uint64_t id = r.first; id < r.end(); ++id) {
        if (all.size() == kShown)
          return show(all) + fmt::format(" and {} more", total(jobs) - kShown);
        all.push_back(id <= jobs_.existing().jobs() ? jobs_.existing().job(id).texts.name
                                                    : "one that is added");
      }
    }
    return show(all);
  }

  const Workflow& addition_;
  ExistingJobs& jobs_;
  std::map<Condition, Members> members_;
  std::unordered_map<const DependencySet*, std::vector<Range>> numbered_;
};

DependencySet renumbered(const DependencySet& set, const ExistingJobs& jobs) {
  std::vector<Range> members;
  for (const Range& r : set.members) {
    for (std::uint64_t id = r.first; id < r.end(); ++id) {
      if (!jobs.is_there(id) || jobs.is_said_anew(id)) append(members, id);
    }
  }
  return {jobs.numbers_of(set.upstream), jobs.numbers_of(members)};
}

// The jobs of an entry that are there: parts of it for those that are said anew, each with numbers
// that follow each other; the others are `left`.
void take_those_anew(const ExpandedEntry& entry, const ExistingJobs& jobs,
                     std::vector<ExpandedEntry>& anew, std::vector<Range>& left) {
  for (std::uint64_t k = 0; k < entry.count;) {
    if (!jobs.is_said_anew(entry.first + k)) {
      append(left, entry.first + k++);
      continue;
    }
    ExpandedEntry part = entry;
    part.there = false;
    part.first = jobs.number_of(entry.first + k);
    const std::uint64_t from = k++;
    while (k < entry.count && jobs.is_said_anew(entry.first + k) &&
           jobs.number_of(entry.first + k) == part.first + (k - from))
      ++k;
    part.count = k - from;
    if (part.count < entry.count) {
      auto recipe = part_of_recipe(entry.recipe, from, part.count);
      if (!recipe) continue;  // it was written here
      part.recipe = *std::move(recipe);
    }
    anew.push_back(std::move(part));
  }
}

}  // namespace

void compare_known(const Workflow& addition, const Expansion& expansion, ExistingJobs& jobs,
                   Report& report) {
  Comparison comparison(addition, expansion, jobs);
  for (const ExpandedEntry& entry : expansion.entries) {
    if (!entry.there) continue;
    const auto recipe = Recipe::decode(entry.recipe);
    if (!recipe) continue;
    for (std::uint64_t k = 0; k < entry.count; ++k) {
      using Naming = ExistingWorkflow::Naming;
      const std::uint64_t job = entry.first + k;
      const std::uint64_t number = jobs.number_of(job);
      const Naming naming = jobs.existing().naming(number);
      const auto found =
          naming == Naming::anew_also ? std::nullopt : comparison.compare(entry, *recipe, k);
      if (naming == Naming::anew_also || (found && naming == Naming::anew)) jobs.say_anew(job);
      if (!found || naming == Naming::anew) continue;
      if (jobs.existing().is_removed(number)) {
        report.error(
            addition.jobs[entry.source].place,
            fmt::format("the job {} was taken out of the workflow, where it had another {}: there "
                        "{}, here {}",
                        torc::quoted(recipe->name(k)), found->what, found->there, found->here),
            fmt::format("give it another name; `torc rm --undo {}` brings it back as it was",
                        shell_word(recipe->name(k))));
        break;
      }
      report.error(
          addition.jobs[entry.source].place,
          fmt::format("the job {} is in the workflow already with another {}: there {}, "
                      "here {}",
                      torc::quoted(recipe->name(k)), found->what, found->there, found->here),
          "give it another name; a job that is there is left alone when it is the same");
      break;
    }
  }
}

void leave_known_out(Expansion& expansion, const ExistingJobs& jobs) {
  std::vector<ExpandedEntry> entries;
  for (const ExpandedEntry& entry : expansion.entries) {
    if (entry.there) {
      take_those_anew(entry, jobs, entries, expansion.there);
    } else {
      entries.push_back(entry);
      entries.back().first = jobs.number_of(entry.first);
    }
  }
  expansion.entries = std::move(entries);
  std::ranges::stable_sort(expansion.entries, {}, &ExpandedEntry::first);
  expansion.there = jobs.numbers_of(expansion.there);
  for (DependencySet& set : expansion.dependencies) set = renumbered(set, jobs);
  for (ConditionalSet& one : expansion.conditional) one.set = renumbered(one.set, jobs);
  std::erase_if(expansion.dependencies,
                [](const DependencySet& set) { return set.members.empty(); });
  std::erase_if(expansion.conditional,
                [](const ConditionalSet& one) { return one.set.members.empty(); });
}

}  // namespace torc::spec
