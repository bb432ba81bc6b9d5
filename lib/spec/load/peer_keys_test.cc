// Keys and forms that workflow files of Torc 1.0 have: what each means here, and what is said of
// those that have no effect.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

Loaded load_keys(std::string_view text) {
  ReadFile read = [](const std::string& path) -> Result<std::string> {
    const std::map<std::string, std::string> files = {
        {"t.csv", "model,lr\nresnet,0.1\nvgg,0.01\n"},
        {"t.json", R"([{"model": "resnet", "lr": 0.1}, {"model": "vgg", "lr": 0.01}])"},
        {"T.JSONL",
         "{\"model\": \"resnet\", \"lr\": 0.1}\n\n {\"model\": \"vgg\", \"lr\": 0.01}\r\n"},
        {"t.ndjson", "{\"model\": \"resnet\", \"lr\": 0.1}\n{\"model\": \"vgg\", \"lr\": 0.01}"},
        {"bad.jsonl", "{\"model\": 1}\n{\"model\": 1}, {\"model\": 2}\n"},
        {"worse.jsonl", "{\"model\": 1}\n{model: 1}\n"},
        {"list.jsonl", "[1]\n"},
    };
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
  };
  read.find = [](const std::string& pattern) -> Result<std::vector<std::string>> {
    if (pattern == "in/*.nc") return std::vector<std::string>{"in/b.nc", "in/a.nc", "in/10.nc"};
    if (pattern == "odd/*") return std::vector<std::string>{"odd/a\nb"};
    return std::vector<std::string>{};
  };
  return load(text, "wf.yaml", read);
}

// "name: command" of each job, and every message.
std::vector<std::string> told_of(std::string_view text) {
  const Loaded loaded = load_keys(text);
  std::vector<std::string> out;
  if (loaded.expansion) {
    for (const RenderedJob& job : render_all(*loaded.expansion).rendered)
      out.push_back(job.name + ": " + job.command);
  }
  for (const Diagnostic& d : loaded.diagnostics) out.push_back(d.message + " | " + d.remedy);
  return out;
}

using Lines = std::vector<std::string>;

TEST(PeerTables, a_job_is_made_for_each_row_of_its_table) {
  for (const std::string_view file : {"t.csv", "t.json", "T.JSONL", "t.ndjson"}) {
    EXPECT_EQ(told_of("name: w\njobs: [{name: \"{model}_{lr}\", command: \"run {lr}\", "
                      "parameters_file: " +
                      std::string(file) + "}]"),
              (Lines{"resnet_0.1: run 0.1", "vgg_0.01: run 0.01"}))
        << file;
  }
}

TEST(PeerTables, the_rows_are_multiplied_with_other_parameters_as_one) {
  EXPECT_EQ(told_of(R"(
name: w
jobs: [{name: "{model}_{i}", command: "{lr}", parameters_file: t.csv, parameters: {i: "1:2"}}]
)"),
            (Lines{"resnet_1: 0.1", "vgg_1: 0.01", "resnet_2: 0.1", "vgg_2: 0.01"}));
}

TEST(PeerTables, one_table_of_the_workflow_is_for_whoever_asks_for_it) {
  EXPECT_EQ(told_of(R"(
name: w
parameters_file: t.csv
files: [{name: "f_{model}", path: "{model}.pt", use_parameters_file: true}]
user_data: [{name: "d_{model}", data: {lr: "{lr}"}, use_parameters_file: true}]
jobs:
  - {name: "train_{model}", command: "{lr} ${files.output.f_{model}}", use_parameters_file: true,
     input_user_data: ["d_{model}"]}
  - {name: "eval_{model}", command: "${files.input.f_{model}}", use_parameters: [model]}
  - {name: all, command: "true", depends_on_regexes: [^eval_], use_parameters_file: false}
)"),
            (Lines{"train_resnet: 0.1 resnet.pt", "train_vgg: 0.01 vgg.pt",
                   "eval_resnet: resnet.pt", "eval_vgg: vgg.pt", "all: true"}));
}

TEST(PeerTables, what_does_not_go_together_is_told) {
  EXPECT_EQ(told_of("name: w\njobs: [{name: a, command: b, use_parameters_file: true}]"),
            (Lines{"the workflow has no table of parameters | add 'parameters_file: …' to the "
                   "workflow"}));
  EXPECT_EQ(told_of("name: w\nparameters_file: t.csv\njobs: [{name: '{model}', command: b, "
                    "use_parameters_file: true, parameters_file: t.csv}]"),
            (Lines{"'use_parameters_file' beside a 'parameters_file' of its own | keep one of the "
                   "two"}));
  EXPECT_EQ(told_of("name: w\njobs: [{name: '{model}', command: b, parameters: {lr: [1]}, "
                    "parameters_file: t.csv}]"),
            (Lines{"the table has a column 'lr', and a parameter is called so, too | rename one of "
                   "the two"}));
  EXPECT_EQ(told_of("name: w\nvariables: {lr: 1}\njobs: [{name: '{model}', command: b, "
                    "parameters_file: t.csv}]"),
            (Lines{"'lr' is a variable and a column of the table | rename one of the two"}));
  EXPECT_EQ(
      told_of("name: w\nparameters: '@t.csv'\nparameters_file: t.csv\njobs: [{name: a, "
              "command: b}]"),
      (Lines{"'parameters_file' beside 'parameters' that are a table | keep one of the two"}));
  // One mistake: what needs the table is not told again that it is missing.
  EXPECT_EQ(told_of("name: w\nparameters_file: none.csv\njobs: [{name: '{model}', command: b, "
                    "use_parameters_file: true}]"),
            (Lines{"the values cannot be read: there is no 'none.csv' | a path is relative to the "
                   "spec's directory"}));
}

TEST(PeerTables, a_line_that_is_no_object_is_told_by_its_number) {
  const auto of = [](std::string_view file) {
    return told_of("name: w\njobs: [{name: '{model}', command: b, parameters_file: " +
                   std::string(file) + "}]");
  };
  const std::string remedy = " | write one object of names and values on each line";
  EXPECT_EQ(of("bad.jsonl"), (Lines{"bad.jsonl: line 2 is not a JSON object" + remedy}));
  EXPECT_EQ(of("worse.jsonl"), (Lines{"worse.jsonl: line 2 is not a JSON object" + remedy}));
  EXPECT_EQ(of("list.jsonl"), (Lines{"list.jsonl: line 1 is not a JSON object" + remedy}));
}

TEST(PeerUserData, has_parameters_which_stand_in_its_name_and_in_its_texts) {
  const Loaded loaded = load_keys(R"(
name: w
variables: {root: /r}
user_data:
  - name: "c_{e}"
    data: {e: "{e}", "{e}": 1, list: ["{root}/{e}", 0.50, true], fmt: "{n:03d}"}
    is_ephemeral: true
    parameters: {e: [a, 'b"\'], n: "7"}
jobs:
  - {name: "make_{i}", command: "true", parameters: {i: [a]}, output_user_data: ["c_{i}"]}
)");
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  const std::vector<ExpandedUserData>& all = loaded.expansion->user_data;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "c_a");
  EXPECT_EQ(all[0].data, R"({"e":"a","{e}":1,"list":["/r/a",0.50,true],"fmt":"007"})");
  EXPECT_EQ(all[0].maker, 1U);
  EXPECT_EQ(all[1].name, "c_b\"\\");
  EXPECT_EQ(all[1].data, R"({"e":"b\"\\","{e}":1,"list":["/r/b\"\\",0.50,true],"fmt":"007"})");
  EXPECT_EQ(all[1].maker, 0U);
  EXPECT_TRUE(all[1].is_ephemeral);
}

TEST(PeerUserData, without_parameters_braces_are_its_own) {
  const Loaded loaded =
      load_keys("name: w\nuser_data: [{name: d, data: '{x}'}]\njobs: [{name: a, command: b}]");
  ASSERT_TRUE(loaded.expansion);
  EXPECT_EQ(loaded.expansion->user_data[0].data, "\"{x}\"");
  EXPECT_TRUE(loaded.diagnostics.empty());
}

TEST(PeerUserData, is_within_the_limits_after_its_values_are_put_in) {
  const std::string twelve(12, 'x');
  const auto of = [](const std::string& name, const std::string& data, const std::string& value) {
    return told_of("name: w\nuser_data: [{name: '" + name + "', data: '" + data +
                   "', parameters: {v: ['" + value + "'], n: '1:3'}}]\n" +
                   "jobs: [{name: a, command: b}]");
  };
  EXPECT_EQ(of("d{n}{v}", "x", std::string(398, 'x'))[0].substr(0, 38), "a: b");
  EXPECT_EQ(of("d{n}{v}", "x", std::string(399, 'x'))[0].substr(0, 38),
            "a name of 'd{n}{v}' has 401 bytes; nam");
  EXPECT_EQ(
      of("d{n}", "{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}{v}", std::string(4000, 'x'))[0],
      "the data of 'd1' is more than 64 KiB | keep it in a file");
  EXPECT_EQ(of("d{n}", "{v:03d}", "x")[0].substr(0, 20), "the format of '{v:03");
}

TEST(PeerScripts, one_line_stands_before_the_command_and_several_are_run_before_it) {
  EXPECT_EQ(told_of(R"(
name: w
jobs:
  - {name: a, command: run, invocation_script: " nice -n 5 "}
  - name: b
    command: run; more
    invocation_script: |
      #!/bin/bash
      set -e
      cd {root}

  - {name: c, command: run, invocation_script: "  "}
variables: {root: /r}
)"),
            (Lines{"a: nice -n 5 run", "b: #!/bin/bash\nset -e\ncd /r\nrun; more", "c: run"}));
}

TEST(PeerScripts, one_that_makes_the_command_a_comment_is_warned_of) {
  EXPECT_EQ(
      told_of("name: w\njobs: [{name: a, command: run, invocation_script: '#!/bin/bash'}]")[1],
      "the invocation_script makes the whole command a comment, which succeeds at once | write "
      "its lines as lines, below 'invocation_script: |'");
}

TEST(PeerRanges, may_stand_in_braces) {
  EXPECT_EQ(told_of("name: w\njobs: [{name: 'a{i}', command: b, parameters: {i: \"{1:3}\"}}]"),
            (Lines{"a1: b", "a2: b", "a3: b"}));
  EXPECT_EQ(told_of("name: w\njobs: [{name: 'a{i}', command: b, parameters: {i: \"{ 0:4:2 }\"}}]"),
            (Lines{"a0: b", "a2: b", "a4: b"}));
}

TEST(Globs, are_parameters_with_the_paths_of_files_in_order) {
  EXPECT_EQ(
      told_of(R"(
name: w
jobs: [{name: "{f}", command: "read {f} {i}", parameters: {i: [1], f: {glob: "in/*.nc"}}}]
)"),
      (Lines{"in/10.nc: read in/10.nc 1", "in/a.nc: read in/a.nc 1", "in/b.nc: read in/b.nc 1"}));
}

TEST(Globs, that_find_nothing_or_what_is_no_line_are_mistakes) {
  const auto of = [](const std::string& pattern) {
    return told_of("name: w\njobs: [{name: '{f}', command: b, parameters: {f: {glob: '" + pattern +
                   "'}}}]");
  };
  EXPECT_EQ(
      of("none/*"),
      (Lines{"no file matches 'none/*' | a pattern is relative to the directory in which torc "
             "is called, where jobs run"}));
  EXPECT_EQ(of("odd/*")[0].substr(0, 29), "a file that matches is named ");
  EXPECT_EQ(
      told_of("name: w\njobs: [{name: '{f}', command: b, parameters: {f: {glob: a, b: c}}}]")[0]
          .substr(0, 60),
      "the value of a parameter must be a range or a list, not a ma");
}

TEST(PeerStdio, of_an_entry_may_stand_in_the_overrides_of_the_workflow) {
  const Loaded loaded = load_keys(R"(
name: w
execution_config:
  stdio: {mode: combined}
  job_stdio_overrides: {"a{i}": {mode: none}, b: {mode: none, delete_on_success: true}}
jobs:
  - {name: "a{i}", command: x, parameters: {i: "1:2"}}
  - {name: b, command: x, stdio: {mode: no_stderr}}
  - {name: c, command: x}
)");
  ASSERT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
  ASSERT_TRUE(loaded.workflow->jobs[0].stdio);
  EXPECT_EQ(loaded.workflow->jobs[0].stdio->mode, StdioMode::none);
  EXPECT_EQ(loaded.workflow->jobs[1].stdio->mode, StdioMode::no_stderr);  // its own
  EXPECT_FALSE(loaded.workflow->jobs[2].stdio);
}

TEST(PeerStdio, overrides_of_nobody_are_mistakes) {
  EXPECT_EQ(told_of("name: w\nexecution_config: {job_stdio_overrides: {bbbb: {mode: none}, x: 1}}\n"
                    "jobs: [{name: b, command: x}, {name: bbbbc, command: x}]"),
            (Lines{"no entry of 'jobs' is named 'bbbb' | did you mean 'bbbbc'?",
                   "the stdio of 'x' must be a map | write {mode: …} behind it"}));
}

TEST(PeerDurations, have_every_form_whose_unit_is_not_left_to_guess) {
  const auto runtime = [](const std::string& text) -> std::int64_t {
    const Loaded loaded = load_keys("name: w\nresource_requirements: [{name: r, runtime: '" + text +
                                    "'}]\njobs: [{name: a, command: b}]");
    return loaded.workflow ? loaded.workflow->resource_requirements[0].runtime.count() : -1;
  };
  for (const char* hour : {"PT1H", "pt60m", "1h", "60m", "3600s", "0h60m", "1:00:00", "0-01:00:00"})
    EXPECT_EQ(runtime(hour), 3600) << hour;
  for (const char* day : {"P1D", "1d", "24h", "1-00:00:00", "1-00:00", "23h60m"})
    EXPECT_EQ(runtime(day), 86400) << day;
  EXPECT_EQ(runtime("1h30m"), 5400);
  EXPECT_EQ(runtime("P2W"), 1209600);
  for (const char* none : {"60", "1.5", "30:00", "0m", "PT0S", "P1M", "P1Y", "soon", "1x", "-1h",
                           "99999d", "1:2:3:4", ""})
    EXPECT_EQ(runtime(none), -1) << none;
}

TEST(PeerModes, limit_resources_is_what_slurm_does) {
  const auto of = [](const std::string& keys) {
    return told_of("name: w\nexecution_config: {" + keys + "}\njobs: [{name: a, command: b}]");
  };
  EXPECT_TRUE(of("mode: slurm, limit_resources: true").front() == "a: b");
  EXPECT_EQ(
      of("mode: slurm, limit_resources: false").back(),
      "'limit_resources' belongs to mode direct, not to slurm | remove it, or change the mode");
  EXPECT_TRUE(of("mode: direct, srun_mpi: pmix").front() == "a: b");
}

TEST(PeerKeys, without_effect_are_told_of) {
  const Lines lines = told_of(R"(
name: w
project: p
metadata: '{"a": 1}'
enable_ro_crate: true
access_groups: [g]
files: [{name: f, path: f.txt, identifier: "doi:1", st_mtime: 1640995200.0}]
resource_monitor: {granularity: TimeSeries, metrics: [cpu_percent], flush_interval_seconds: 5}
jobs: [{name: a, command: b}]
)");
  ASSERT_EQ(lines.size(), 7U);
  const std::string_view names[] = {"enable_ro_crate", "access_groups", "identifier",
                                    "st_mtime",        "metrics",       "flush_interval_seconds"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    EXPECT_EQ(lines[i + 1].find("'" + std::string(names[i]) + "' has no effect here | "), 0U)
        << lines[i + 1];
}

TEST(PeerKeys, granularity_has_the_words_of_the_documents_too) {
  for (const auto& [word, series] : {std::pair("time_series", true),
                                     {"TimeSeries", true},
                                     {"summary", false},
                                     {"Summary", false}}) {
    const Loaded loaded =
        load_keys("name: w\nresource_monitor: {granularity: " + std::string(word) +
                  "}\njobs: [{name: a, command: b}]");
    ASSERT_TRUE(loaded.workflow) << word;
    EXPECT_EQ(loaded.workflow->monitor.time_series, series) << word;
  }
}

TEST(PeerKeys, nodes_of_a_scheduler_may_be_called_num_nodes) {
  const Loaded loaded = load_keys(
      "name: w\nslurm_schedulers: [{name: s, account: x, num_nodes: 3}]\njobs: [{name: a, command: "
      "b}]");
  ASSERT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
  EXPECT_EQ(loaded.workflow->slurm_schedulers[0].nodes, 3U);
}

TEST(PeerKeys, gres_among_other_options_is_gres) {
  const auto of = [](const std::string& keys) {
    const Loaded loaded = load_keys("name: w\nslurm_schedulers: [{name: s, account: x, " + keys +
                                    "}]\njobs: [{name: a, command: b}]");
    if (!loaded.workflow) return to_text(loaded.diagnostics);
    const SlurmScheduler& s = loaded.workflow->slurm_schedulers[0];
    return s.gres + "|" + s.extra;
  };
  EXPECT_EQ(of("extra: '--gres=gpu:1'"), "gpu:1|");
  EXPECT_EQ(of("extra: '--a --gres=gpu:a100:2 --b'"), "gpu:a100:2|--a  --b");
  EXPECT_EQ(of("gres: 'gpu:2', extra: '--a'"), "gpu:2|--a");
  EXPECT_EQ(of("gres: 'gpu:2', extra: '--gres=gpu:1'"), "gpu:2|--gres=gpu:1");
  EXPECT_EQ(of("extra: '--gres=$(x)'"), "|--gres=$(x)");
  EXPECT_EQ(of("extra: '--x--gres=gpu:1'"), "|--x--gres=gpu:1");
}

TEST(PeerKeys, schedulers_of_other_kinds_are_part_of_the_language_only) {
  const Lines lines = told_of(
      "name: w\nslurm_schedulers: [{name: s, account: x}]\njobs: [{name: a, command: b}]\n"
      "actions: [{trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, "
      "scheduler_type: local}]");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1],
            "scheduler_type 'local' is part of the language, but this version cannot run it yet | "
            "'torc init' refuses it; start workers yourself, with `torc worker`");
}

}  // namespace
}  // namespace torc::spec
