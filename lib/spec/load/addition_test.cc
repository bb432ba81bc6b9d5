// Additions to a workflow in a store, against one that lives in memory.
#include <gtest/gtest.h>

#include <map>

#include "lib/spec/load/load.h"
#include "lib/spec/sweep/existing_workflow.h"
#include "lib/spec/testing/test_ranges.h"

namespace torc::spec {
namespace {

Result<std::string> no_file(const std::string& name) {
  return Error{ErrorKind::not_found, name, ""};
}

Result<std::string> rows(const std::string& name) {
  if (name == "rows.csv") return std::string("x,y\n1,p\n2,q\n");
  return no_file(name);
}

constexpr const char* kThere = R"(name: wf
env: {ALL: "1"}
variables: {root: /data}
parameters: "@rows.csv"
failure_handlers: [{name: again, rules: [{exit_codes: [3], max_retries: 2, backoff: PT5S}]}]
resource_requirements: [{name: big, num_cpus: 8}]
files:
  - {name: "part_{i}", path: "part_{i}", parameters: {i: "1:3"}}
  - {name: left, path: left}
user_data: [{name: seed, data: 1}]
limits: {"work_{i}": 2}
jobs:
  - {name: "work_{i}", command: "make ${files.output.part_{i}}", parameters: {i: "1:3"}}
  - {name: a, command: x, priority: 3, failure_handler: again, crash_limit: 2, max_parallel: 1}
  - {name: b, command: x, depends_on: [a], depends: {afternotok: work_1}, cancel_on_blocking_job_failure: true}
)";

class InMemory : public ExistingWorkflow {
 public:
  InMemory() {
    Loaded loaded = load(kThere, "wf.yaml", rows);
    EXPECT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
    workflow_ = *std::move(loaded.workflow);
    expansion_ = *std::move(loaded.expansion);
    settings_.name = workflow_.name;
    for (const Definition& d : expansion_.definitions) definitions_[d.key] = d.value;
  }
  std::optional<std::string> definition(std::string_view key) const override {
    const auto found = definitions_.find(key);
    return found == definitions_.end() ? std::nullopt : std::optional(found->second);
  }
  void each_definition(std::string_view prefix,
                       const std::function<bool(const Definition&)>& visit) const override {
    for (auto at = definitions_.lower_bound(prefix);
         at != definitions_.end() && at->first.starts_with(prefix); ++at) {
      if (!visit({at->first, at->second})) return;
    }
  }
  std::optional<Definition> definition_up_to(std::string_view prefix,
                                             std::string_view key) const override {
    auto above = definitions_.upper_bound(key);
    if (above == definitions_.begin()) return {};
    --above;
    if (!above->first.starts_with(prefix)) return {};
    return Definition{above->first, above->second};
  }
  const RunSettings& settings() const override { return settings_; }
  void pack() { settings_.execution.stdio = {StdioMode::packed}; }
  std::uint64_t jobs() const override { return expansion_.jobs; }
  std::optional<std::uint64_t> find_job(std::string_view name) override {
    std::optional<std::uint64_t> found;
    each_entry(Entries::all, [&](std::uint64_t first, const Recipe& recipe) {
      if (const auto k = recipe.find(name)) found = first + *k;
      return !found;
    });
    return found;
  }
  void each_entry(
      Entries which,
      const std::function<bool(std::uint64_t first, const Recipe& recipe)>& visit) override {
    for (const ExpandedEntry& e : expansion_.entries) {
      if (which == Entries::sweeps && e.count == 1) continue;
      if (!visit(e.first, *Recipe::decode(e.recipe))) return;
    }
  }
  Job job(std::uint64_t number) override {
    Job job;
    for (const ExpandedEntry& e : expansion_.entries) {
      if (number < e.first || number >= e.first + e.count) continue;
      const JobEntry& entry = workflow_.jobs[e.source];
      job.texts = Recipe::decode(e.recipe)->render(number - e.first);
      job.resources = e.resources;
      job.priority = e.priority;
      for (const FailureHandler& h : workflow_.failure_handlers) {
        if (h.name == entry.failure_handler) job.failure_handler = h;
      }
      job.crash_limit = entry.crash_limit.value_or(0);
      job.max_parallel = entry.max_parallel.value_or(limit_of(entry.name).value_or(0));
      job.cancels = entry.cancel_on_blocking_job_failure;
    }
    for (const DependencySet& set : expansion_.dependencies) {
      if (contains(set.members, number)) job.upstream = set.upstream;
    }
    for (const ConditionalSet& one : expansion_.conditional) {
      if (contains(one.set.members, number))
        job.conditional.push_back({one.condition, one.set.upstream});
    }
    return job;
  }
  std::optional<std::uint32_t> limit_of(std::string_view entry) override {
    for (const Limit& limit : workflow_.limits) {
      if (limit.name == entry) return limit.most;
    }
    return {};
  }

 private:
  Workflow workflow_;
  Expansion expansion_;
  RunSettings settings_;
  std::map<std::string, std::string, std::less<>> definitions_;
};

class AdditionTo : public ::testing::Test {
 protected:
  Loaded add(const std::string& text) {
    return load_addition(text, "more.yaml", no_file, {existing, 0, {}});
  }
  // The first message, or "" when there is none.
  std::string mistake(const std::string& text) {
    const Loaded loaded = add(text);
    EXPECT_EQ(loaded.expansion.has_value(), loaded.diagnostics.empty());
    return loaded.diagnostics.empty() ? "" : loaded.diagnostics.front().message;
  }
  InMemory existing;
};

TEST_F(AdditionTo, new_jobs_are_numbered_on_and_wait_for_those_that_are_there) {
  const Loaded loaded = add(R"(jobs:
  - {name: "next_{i}", command: "use ${files.input.part_{i}}", depends_on: [b], parameters: {i: "2:3"}}
)");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  ASSERT_EQ(loaded.expansion->entries.size(), 1U);
  EXPECT_EQ(loaded.expansion->entries[0].first, 6U);
  ASSERT_EQ(loaded.expansion->dependencies.size(), 2U);
  EXPECT_EQ(loaded.expansion->dependencies[0].upstream, (std::vector<Range>{{2, 1}, {5, 1}}));
  EXPECT_EQ(loaded.expansion->dependencies[1].upstream, (std::vector<Range>{{3, 1}, {5, 1}}));
}

TEST_F(AdditionTo, a_table_of_the_workflow_keeps_its_rows_together_wherever_its_columns_are_named) {
  const Loaded loaded = add(R"(parameters: {s: "1:2"}
jobs:
  - {name: "n_{x}_{s}_{y}", command: c, use_parameters: [x, s, y]}
)");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  const Recipe recipe = *Recipe::decode(loaded.expansion->entries.at(0).recipe);
  std::string names;
  for (std::uint64_t k = 0; k < recipe.count(); ++k) names += recipe.name(k) + " ";
  EXPECT_EQ(names, "n_1_1_p n_1_2_p n_2_1_q n_2_2_q ");
}

TEST_F(AdditionTo, jobs_that_are_there_are_left_alone) {
  const Loaded loaded = add(R"(jobs:
  - {name: "work_{i}", command: "make ${files.output.part_{i}}", parameters: {i: "1:3"}}
  - {name: a, command: x, priority: 3, failure_handler: again, crash_limit: 2, max_parallel: 1}
  - {name: b, command: x, depends_on: [a], depends: {afternotok: work_1}, cancel_on_blocking_job_failure: true}
)");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  EXPECT_TRUE(loaded.expansion->entries.empty());
  EXPECT_EQ(loaded.expansion->there, (std::vector<Range>{{1, 5}}));
}

TEST_F(AdditionTo, output_goes_where_that_of_the_workflow_does_unless_the_addition_says_where) {
  existing.pack();
  const Loaded loaded = add(R"(jobs:
  - {name: plain, command: c}
  - {name: tidy, command: c, stdio: {delete_on_success: true}}
  - {name: own, command: c, stdio: {mode: separate}}
)");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  const auto mode_of = [&](std::size_t entry) {
    return Recipe::decode(loaded.expansion->entries.at(entry).recipe)->render(0).stdio.mode;
  };
  EXPECT_EQ(mode_of(0), StdioMode::packed);
  EXPECT_EQ(mode_of(1), StdioMode::packed);
  EXPECT_EQ(mode_of(2), StdioMode::separate);
}

TEST_F(AdditionTo, a_mode_that_it_does_not_say_is_not_compared) {
  existing.pack();  // those that are there are not
  constexpr const char* kSame =
      "jobs: [{name: a, command: x, priority: 3, failure_handler: again, crash_limit: 2, "
      "max_parallel: 1, stdio: {delete_on_success: false}}]";
  EXPECT_EQ(mistake(kSame), "");
}

TEST_F(AdditionTo, a_job_that_differs_from_the_one_that_is_there_is_told_with_what_differs) {
  const std::pair<const char*, const char*> cases[] = {
      {"{name: a, command: y, priority: 3, failure_handler: again, crash_limit: 2}",
       "with another command: there 'x', here 'y'"},
      {"{name: a, command: x, priority: 3, failure_handler: again, crash_limit: 2, cpus: 2}",
       "with another resources: there 1 CPU, 1 MiB, here 2 CPUs, 1 MiB"},
      {"{name: a, command: x, failure_handler: again, crash_limit: 2}",
       "with another priority: there 3, here 0"},
      {"{name: a, command: x, priority: 3, crash_limit: 2}",
       "with another failure handler: there one with other rules, here none"},
      {"{name: a, command: x, priority: 3, failure_handler: again}",
       "with another crash_limit: there 2, here none"},
      {"{name: a, command: x, priority: 3, failure_handler: again, crash_limit: 2, label: l}",
       "with another label: there '', here 'l'"},
      {"{name: b, command: x, depends_on: [a], cancel_on_blocking_job_failure: true}",
       "with another list of jobs that it waits for with afternotok: there 'work_1', here none"},
      {"{name: b, command: x, depends_on: [a], depends: {afternotok: work_1}}",
       "with another cancel_on_blocking_job_failure: there true, here false"},
      {"{name: b, command: x, depends: {afternotok: work_1}, depends_on: [a, work_2], "
       "cancel_on_blocking_job_failure: true}",
       "with another list of jobs that it waits for: there 'a', here 'work_2', 'a'"}};
  for (const auto& [job, told] : cases) {
    const std::string message = mistake(std::string("jobs: [") + job + "]\n");
    EXPECT_NE(message.find(told), std::string::npos) << message << "\n" << job;
  }
}

TEST_F(AdditionTo, failure_handlers_may_be_its_own_or_the_same) {
  EXPECT_EQ(mistake(R"(failure_handlers:
  - {name: again, rules: [{exit_codes: [3], max_retries: 2, backoff: PT5S}]}
  - {name: other, rules: [{on: oom}]}
jobs: [{name: n, command: x, failure_handler: other}, {name: m, command: x, failure_handler: again}]
)"),
            "");
  EXPECT_EQ(mistake(R"(failure_handlers: [{name: again, rules: [{exit_codes: [3]}]}]
jobs: [{name: n, command: x, failure_handler: again}]
)"),
            "the failure handler 'again' is in the workflow already with other rules");
}

TEST_F(AdditionTo, what_only_the_workflow_file_says_is_refused) {
  const Loaded loaded = add("slurm_schedulers: [{name: s}]\njobs: [{name: n, command: x}]\n");
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].message,
            "unknown key 'slurm_schedulers' in an addition to a workflow");
  EXPECT_EQ(loaded.diagnostics[0].remedy,
            "the workflow keeps what its own file said of that; remove it here");
}

TEST_F(AdditionTo, the_limit_of_an_entry_counts_for_jobs_that_are_added_to_it) {
  const std::string entry = "jobs: [{name: \"work_{i}\", command: x, parameters: {i: \"4:5\"}";
  const Loaded loaded = add(entry + "}]\n");
  ASSERT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
  ASSERT_EQ(loaded.workflow->limits.size(), 1U);
  EXPECT_EQ(loaded.workflow->limits[0].most, 2U);
  EXPECT_EQ(mistake(entry + ", max_parallel: 3}]\n"),
            "entry 'work_{i}' of the workflow runs at most 2 jobs at a time, and here 3");
}

TEST_F(AdditionTo, user_data_of_the_workflow_gets_its_maker) {
  const Loaded loaded = add(R"(user_data: [{name: new, data: 2}]
jobs: [{name: n, command: x, output_user_data: [seed]}, {name: m, command: x, output_user_data: [new]}]
)");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  ASSERT_EQ(loaded.expansion->user_data.size(), 2U);
  const ExpandedUserData& own = loaded.expansion->user_data[0];
  EXPECT_EQ(own.name + own.data, "new2");
  EXPECT_EQ(own.maker, 7U);
  EXPECT_FALSE(own.is_elsewhere);
  const ExpandedUserData& seed = loaded.expansion->user_data[1];
  EXPECT_EQ(seed.name, "seed");
  EXPECT_EQ(seed.maker, 6U);
  EXPECT_TRUE(seed.is_elsewhere);
}

TEST_F(AdditionTo, a_file_has_one_maker_and_one_path) {
  EXPECT_NE(mistake("jobs: [{name: n, command: x, output_files: [part_2]}]\n").find("work_2"),
            std::string::npos);
  EXPECT_EQ(mistake("jobs: [{name: n, command: x, output_files: [left]}]\n"), "");
  EXPECT_NE(mistake("files: [{name: left, path: right}]\njobs: [{name: n, command: x}]\n")
                .find("with the path 'left', and here 'right'"),
            std::string::npos);
}

TEST_F(AdditionTo, what_a_job_needs_may_stand_in_it) {
  const Loaded loaded = add(
      "jobs: [{name: n, command: x, resource_requirements: big, memory: 2g}, {name: m, command: x, "
      "gpus: 1}]\n");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  EXPECT_EQ(loaded.expansion->entries[0].resources.cpus, 8U);
  EXPECT_EQ(loaded.expansion->entries[0].resources.memory, mebibytes(2048));
  EXPECT_EQ(loaded.expansion->entries[1].resources.gpus, 1U);
  // Of jobs that name no set those of the job that spawns them: all but what they say.
  Loaded spawned = load_addition("jobs: [{name: n, command: x, memory: 2g}]\n", "more.yaml",
                                 no_file, {existing, 0, {Resources{4, 2}, "", {}}});
  ASSERT_TRUE(spawned.expansion) << to_text(spawned.diagnostics);
  EXPECT_EQ(Resources(spawned.expansion->entries[0].resources),
            (Resources{4, 2, 1, mebibytes(2048)}));
}

TEST_F(AdditionTo, names_of_the_workflow_are_at_hand) {
  const Loaded loaded = add(
      "jobs: [{name: n, command: \"cd {root}\", resource_requirements: big, depends_on_regexes: "
      "[^work]}]\n");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  EXPECT_EQ(loaded.expansion->entries[0].resources.cpus, 8U);
  EXPECT_EQ(Recipe::decode(loaded.expansion->entries[0].recipe)->render(0).command, "cd /data");
  EXPECT_EQ(loaded.expansion->dependencies[0].upstream, (std::vector<Range>{{1, 3}}));
  EXPECT_EQ(mistake("jobs: [{name: n, command: x, depends_on: [work_4]}]\n"),
            "no job is named 'work_4'");
}

}  // namespace
}  // namespace torc::spec
