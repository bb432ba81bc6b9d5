#include "lib/workflow/change/same_work.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/workflow/change/limit_terms.h"
#include "lib/workflow/change/new_dependencies.h"
#include "lib/workflow/change/parted.h"
#include "lib/workflow/plan/plan_actions.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using Fact = std::optional<std::string>;

std::string of_job(const std::string& name, const std::string& what) {
  return fmt::format("job '{}' {}", printable(name), what);
}

// "X in the store, and Y in the file".
std::string both(std::string_view before, std::string_view now) {
  const Parted shown = where_they_part(before, now);
  return fmt::format("'{}' in the store, and '{}' in the file", shown.before, shown.now);
}

Fact other_environment(const spec::Environment& before, const spec::Environment& now) {
  if (before == now) return {};
  const std::map<std::string, std::string> there(before.begin(), before.end());
  const std::map<std::string, std::string> here(now.begin(), now.end());
  for (const auto& [name, value] : there) {
    const auto at = here.find(name);
    if (at == here.end())
      return fmt::format("{} is set in the store, and not in the file", printable(name));
    if (at->second != value)
      return fmt::format("{} is {}", printable(name), both(value, at->second));
  }
  for (const auto& [name, value] : here) {
    if (!there.contains(name))
      return fmt::format("{} is set in the file, and not in the store", printable(name));
  }
  return "its variables stand in another order";
}

Fact other_job(const spec::RenderedJob& before, const spec::RenderedJob& now) {
  if (before.name != now.name) {
    return fmt::format("job '{}' of the file is called '{}' in the store", printable(now.name),
                       printable(before.name));
  }
  if (before.command != now.command)
    return of_job(now.name, "runs " + both(before.command, now.command));
  if (before.commands != now.commands)
    return of_job(now.name, "runs another command by an alternative in the store");
  if (const Fact fact = other_environment(before.env, now.env))
    return of_job(now.name, "has another environment: " + *fact);
  if (before.input_files != now.input_files || before.output_files != now.output_files ||
      before.input_user_data != now.input_user_data ||
      before.output_user_data != now.output_user_data)
    return of_job(now.name, "has other files or user data in the store");
  if (before.stdio.mode != now.stdio.mode ||
      before.stdio.delete_on_success != now.stdio.delete_on_success)
    return of_job(now.name, "keeps its output otherwise in the store (stdio)");
  if (before.checkpoint_exit_code != now.checkpoint_exit_code)
    return of_job(now.name, "has another checkpoint_exit_code in the store");
  if (before.allow_missing_outputs != now.allow_missing_outputs)
    return of_job(now.name, "has another allow_missing_outputs in the store");
  if (before.launch != now.launch)
    return of_job(now.name, "is started otherwise on its nodes in the store");
  return {};
}

// The key of the language for what differs; nullptr: nothing does.
const char* other_need(const claim::JobClass& before, const claim::JobClass& now) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.get(before.need) != kind.get(now.need)) return kind.key.data();
  }
  if (before.need.named != now.need.named) return "resources";
  if (before.others != now.others || before.weight != now.weight) return "one_of";
  if (before.scheduler != now.scheduler) return "scheduler";
  return before.labels != now.labels ? "label" : nullptr;
}

Fact other_handler(const claim::Handler& before, const claim::Handler& now) {
  if (before == now) return {};
  if (before.recoveries != now.recoveries)
    return fmt::format(
        "is recovered at most {} time(s) in the store, and {} in the file (on_failure)",
        before.recoveries, now.recoveries);
  for (std::size_t i = 0; i < before.rules.size() && i < now.rules.size(); ++i) {
    const std::string& script = before.rules[i].script;
    if (script != now.rules[i].script)
      return "has a failure handler whose recovery script is " + both(script, now.rules[i].script);
  }
  return "has another failure handler in the store";
}

Error damaged_action(std::uint32_t number) {
  return Error{ErrorKind::corrupt, fmt::format("action {} cannot be read", number),
               "run `torc verify` on the store"};
}

Fact other_action(const claim::Action& before, const claim::Action& now) {
  const auto commands = [](const claim::Action& a) {
    return fmt::format(
        "{}", fmt::join(decode_commands(a.recipe).value_or(std::vector<std::string>{"?"}), "\n"));
  };
  if (before.recipe != now.recipe) {
    return fmt::format("an action ({}) runs {}", claim::to_string(now.trigger),
                       both(commands(before), commands(now)));
  }
  if (before.schedule != now.schedule) {
    return fmt::format("an action ({}) asks for other allocations in the store",
                       claim::to_string(now.trigger));
  }
  if (before.trigger == now.trigger && before.persistent == now.persistent) return {};
  if (now.schedule) return "an action that asks for allocations has another trigger in the store";
  return fmt::format("the action that runs '{}' has another trigger in the store",
                     beginning_of(commands(now)));
}

class WorkComparison {
 public:
  WorkComparison(const claim::Reader& reader, const claim::Plan& plan,
                 const std::vector<claim::UserDatum>& user_data, const Path& runs_in)
      : reader_(reader), plan_(plan), user_data_(user_data), runs_in_(runs_in), state_(reader) {}

  Result<Fact> run() {
    for (const auto look :
         {&WorkComparison::entries_in_place, &WorkComparison::entries_by_name,
          &WorkComparison::store_alone, &WorkComparison::file_alone, &WorkComparison::dependencies,
          &WorkComparison::settings, &WorkComparison::actions, &WorkComparison::bounds,
          &WorkComparison::user_data}) {
      TORC_ASSIGN(const Fact fact, (this->*look)());
      if (fact) return fact;
    }
    return Fact{};
  }

 private:
  // All of them, unless something was added or taken over by `torc reinit`.
  Result<Fact> entries_in_place() {
    there_.resize(plan_.templates.size());
    std::size_t next = 0;
    Result<Fact> fact = Fact{};
    TORC_TRY(claim::scan_templates(reader_, [&](const claim::Template& t) {
      const std::size_t i = next++;
      const bool same = i < plan_.templates.size() && plan_.templates[i].count == t.count &&
                        plan_.templates[i].recipe == t.recipe;
      if (!same) {
        left_.push_back(t);
        return true;
      }
      there_[i] = raw(t.first);
      fact = other_terms(t, i);
      return fact.ok() && !*fact;
    }));
    return fact;
  }

  Result<Fact> entries_by_name() {
    std::unordered_map<std::string, std::size_t> by_name;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      TORC_ASSIGN(const spec::Recipe recipe, recipe_of(left_[k]));
      by_name.emplace(recipe.name(0), k);
    }
    std::set<JobId> taken;
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      if (there_[i] != 0) continue;
      TORC_ASSIGN(const spec::Recipe now, spec::Recipe::decode(plan_.templates[i].recipe));
      const auto at = by_name.find(now.name(0));
      if (at == by_name.end() || taken.contains(left_[at->second].first)) continue;
      const claim::Template& t = left_[at->second];
      TORC_ASSIGN(const Fact fact, other_entry(t, i, now));
      if (fact) return fact;
      taken.insert(t.first);
      there_[i] = raw(t.first);
    }
    std::erase_if(left_, [&](const claim::Template& t) { return taken.contains(t.first); });
    return Fact{};
  }

  Result<Fact> other_entry(const claim::Template& t, std::size_t i, const spec::Recipe& now) {
    if (t.count != plan_.templates[i].count) {
      return Fact(
          fmt::format("the entry of job '{}' has {} job(s) in the store, and {} in the file",
                      printable(now.name(0)), t.count, plan_.templates[i].count));
    }
    TORC_ASSIGN(const spec::Recipe before, recipe_of(t));
    for (std::uint64_t k = 0; k < t.count; ++k) {
      if (Fact fact = other_job(before.render(k), now.render(k))) return fact;
    }
    return other_terms(t, i);
  }

  // What is not of the recipe. `t` of the store is entry `i` of the file.
  Result<Fact> other_terms(const claim::Template& t, std::size_t i) {
    const claim::Template& now = plan_.templates[i];
    Fact fact;
    const claim::JobClass& is = plan_.classes[now.job_class];
    const claim::JobClass was = state_.job_class(t.job_class);
    if (const char* need = other_need(was, is)) {
      fact = fmt::format("has another {} in the store", need);
    } else if (limit_terms(reader_, was) != limit_terms(plan_, is)) {
      fact = "has another limit on how many run at a time in the store";
    } else if (t.priority != now.priority) {
      fact = "has another priority in the store";
    } else if (t.crash_limit != now.crash_limit) {
      fact = "has another crash_limit in the store";
    } else {
      const auto before = t.handler == 0 ? claim::Handler{} : claim::read_handler(reader_, t);
      if (!before) return damaged_job(name_of(now));
      fact = other_handler(*before,
                           now.handler == 0 ? claim::Handler{} : plan_.handlers[now.handler - 1]);
    }
    TORC_TRY(state_.sound());
    if (fact) fact = of_job(name_of(now), *fact);
    return fact;
  }

  static std::string name_of(const claim::Template& t) {
    const auto recipe = spec::Recipe::decode(t.recipe);
    return recipe ? recipe->name(0) : "?";
  }

  // Of these nothing runs any more once all their jobs are over. One that was passed over is not:
  // it runs as soon as what it waits for can be met again.
  Result<Fact> store_alone() {
    for (const claim::Template& t : left_) {
      TORC_ASSIGN(const spec::Recipe recipe, recipe_of(t));
      for (std::uint64_t k = 0; k < t.count; ++k) {
        const auto job = state_.job(raw(t.first) + k);
        TORC_TRY(state_.sound());
        if (job && claim::is_terminal(job->state) && job->revoked == claim::Revoked::no &&
            !claim::is_passed_over(*job)) {
          continue;
        }
        const spec::RenderedJob shown = recipe.render(k);
        return Fact(of_job(shown.name, fmt::format("is not in the file; it runs '{}'",
                                                   beginning_of(shown.command))));
      }
    }
    return Fact{};
  }

  Result<Fact> file_alone() {
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      const claim::Template& t = plan_.templates[i];
      if (there_[i] == 0) return Fact(of_job(name_of(t), "of the file is not in the store"));
      numbers_.add({raw(t.first), t.count, there_[i], false});
    }
    return Fact{};
  }

  Result<Fact> dependencies() {
    TORC_ASSIGN(const std::vector<claim::JobRange> all,
                differing_dependencies(reader_, plan_, numbers_));
    if (all.empty()) return Fact{};
    RecipeBook book;
    return Fact(of_job(job_name(book, reader_, all.front().first),
                       "waits for other jobs in the store, or on other conditions"));
  }

  Result<Fact> settings() {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader_));
    TORC_ASSIGN(const WorkflowSettings before, decode_workflow_settings(workflow.settings));
    TORC_ASSIGN(const WorkflowSettings now, decode_workflow_settings(plan_.settings));
    if (!runs_in_.empty() && runs_in_ != now.directory.path) {
      return Fact(fmt::format("the jobs of the store run in {}, and not here",
                              printable(runs_in_.string())));
    }
    if (const Fact fact = other_environment(before.run.env, now.run.env))
      return Fact("the environment of all jobs is another one: " + *fact);
    if (spec::encode(before.run) != spec::encode(now.run))
      return Fact(
          "the name of the workflow or settings of all its jobs (execution_config, …) are "
          "others in the store");
    return Fact{};
  }

  Result<Fact> actions() { return other_actions(reader_, plan_, numbers_); }

  Result<Fact> bounds() {
    const auto value = reader_.get(claim::Key(claim::Table::workflow));
    const auto record = value ? claim::decode_workflow(*value) : std::nullopt;
    if (!record || record->max_failures != plan_.max_failures)
      return Fact("max_failures is another one in the store");
    if (record->sort != plan_.sort) return Fact("jobs are sorted by another method in the store");
    const auto expense = claim::read_expense(reader_);
    if ((expense ? expense->most : claim::Usage{}) != plan_.budget)
      return Fact("the budget is another one in the store");
    return Fact{};
  }

  // Their values change while the workflow runs; what the file says of them does not.
  Result<Fact> user_data() {
    for (const claim::UserDatum& now : user_data_) {
      TORC_ASSIGN(const auto before, claim::read_user_datum(reader_, now.name));
      const std::string name = fmt::format("the user data '{}'", printable(now.name));
      if (!before || !before->is_declared)
        return Fact(fmt::format("{} of the file are not declared in the store", name));
      if (before->initial != now.initial)
        return Fact(fmt::format("{} begin as {}", name, both(before->initial, now.initial)));
      if (before->is_ephemeral != now.is_ephemeral)
        return Fact(fmt::format("{} are {}ephemeral in the store", name,
                                before->is_ephemeral ? "" : "not "));
    }
    return Fact{};
  }

  const claim::Reader& reader_;
  const claim::Plan& plan_;
  const std::vector<claim::UserDatum>& user_data_;
  const Path& runs_in_;
  claim::State state_;
  std::vector<std::uint64_t> there_;   // by entry of the file: its first job in the store; 0: none
  std::vector<claim::Template> left_;  // of the store, not in the file
  JobNumberMap numbers_;
};

}  // namespace

// All records, also those that no counter knows of: one that is due runs.
Result<std::optional<std::string>> other_actions(const claim::Reader& reader,
                                                 const claim::Plan& plan,
                                                 const JobNumberMap& numbers) {
  std::size_t known = 0;
  for (std::size_t i = 0; i < plan.actions.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i + 1);
    const auto value = reader.get(claim::action_key(number));
    if (!value) continue;
    ++known;
    const auto before = claim::decode_action(*value);
    if (!before) return damaged_action(number);
    if (Fact fact = other_action(*before, plan.actions[i])) return fact;
  }
  std::size_t records = 0;
  reader.scan_prefix(claim::Key(claim::Table::action), [&](const store::Entry& e) {
    records += e.key != std::string_view(claim::Key(claim::Table::action)) ? 1U : 0U;
    return true;
  });
  if (records != plan.actions.size() || known != plan.actions.size()) {
    return Fact(
        fmt::format("the store has {} action(s), and the file {}", records, plan.actions.size()));
  }
  if (known == 0) return Fact{};
  TORC_ASSIGN(const auto number, differing_action(reader, plan, numbers));
  if (!number) return Fact{};
  return Fact(fmt::format("action {} waits for other jobs in the store", *number));
}

Result<std::optional<std::string>> other_work(const claim::Reader& reader, const claim::Plan& plan,
                                              const std::vector<claim::UserDatum>& user_data,
                                              const Path& runs_in) {
  return WorkComparison(reader, plan, user_data, runs_in).run();
}

}  // namespace torc::workflow
