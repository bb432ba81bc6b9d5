// What YAML and shells do behind people's backs, and what becomes of it in a spec.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/load/outline.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/spec/testing/test_expansion.h"
#include "lib/spec/testing/test_jobs.h"

namespace torc::spec {
namespace {

using Names = std::vector<std::string>;

std::string command_of(const std::string& yaml) {
  const Jobs jobs = jobs_of(
      "name: w\njobs:\n  - name: a_{i}\n    parameters: {i: [7]}\n    command: " + yaml + "\n");
  return jobs.rendered.empty() ? "" : jobs.rendered[0].command;
}

Names values_of(const std::string& list) {
  Names names =
      jobs_of("name: w\njobs:\n  - {name: \"{v}\", command: b, parameters: {v: " + list + "}}\n")
          .names;
  return names;
}

TEST(Habits, braces_of_shells_and_templates_stay_as_they_are) {
  for (const std::string text :
       {"awk '{print $1}' f", "echo ${VAR} ${i}", "sed s/{{i}}/x/", "echo {a,b} {1..3} {}",
        "find . -exec rm {} +", "jq '{i: 1}'", "python -c \"f'{x!r}'\"", "echo ${#i[@]} $(i)"}) {
    EXPECT_EQ(command_of("|-\n      " + text), text);
  }
  EXPECT_EQ(command_of("echo {i} {i:03d} '{i}'"), "echo 7 007 '7'");
}

TEST(Habits, numbers_stay_what_was_written_where_a_text_is_wanted) {
  for (const std::string text : {"008", "010", "1e3", "0x10", "yes", "no", "12:30:00", "1_000",
                                 "1.50", "0o17", "true", ".5", "+3"}) {
    EXPECT_EQ(command_of(text), text);
    EXPECT_EQ(jobs_of("name: w\njobs: [{name: " + text + ", command: b}]\n").names, Names{text});
  }
}

TEST(Habits, values_of_parameters_are_numbers_only_when_they_look_like_decimal_ones) {
  EXPECT_EQ(values_of("[008, 010, 0x10, yes, 12:30:00, 1_000, '5', 1e3, 0.50]"),
            (Names{"008", "010", "0x10", "yes", "12:30:00", "1_000", "5", "1e3", "0.50"}));
}

TEST(Habits, a_walltime_with_colons_needs_no_quotes) {
  const Loaded loaded = load(
      "name: w\nslurm_schedulers: [{name: s, walltime: 12:30:00}, {name: t, walltime: 08:00:00}]\n"
      "jobs: [{name: a, command: b}]\n",
      "wf.yaml", {});
  ASSERT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
  EXPECT_EQ(loaded.workflow->slurm_schedulers[0].walltime, "12:30:00");
  EXPECT_EQ(loaded.workflow->slurm_schedulers[1].walltime, "08:00:00");
}

TEST(Habits, names_may_have_blanks_and_letters_of_all_languages) {
  const Jobs jobs = jobs_of(
      "name: w\njobs:\n  - {name: a b, command: c}\n  - {name: größe 模型 🙂, command: c}\n"
      "  - {name: last, command: c, depends_on: [a b, größe 模型 🙂]}\n");
  EXPECT_EQ(jobs.names, (Names{"a b", "größe 模型 🙂", "last"}));
  EXPECT_EQ(jobs.upstream("last"), (Names{"a b", "größe 模型 🙂"}));
}

TEST(Habits, anchors_aliases_and_merge_keys_work_in_jobs) {
  const Jobs jobs = jobs_of(R"(
name: w
resource_requirements:
  - &small {name: small, num_cpus: 2, memory: 1g}
  - {<<: *small, name: big, num_cpus: 8}
jobs:
  - &base
    name: a
    command: run
    resource_requirements: big
  - <<: *base
    name: b
  - <<: [{priority: 3}, *base]
    name: c
    depends_on: &both [a, b]
  - {name: d, command: x, depends_on: *both}
)");
  EXPECT_EQ(jobs.names, (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(jobs.expansion.entries.at(2).priority, 3);
  EXPECT_EQ(jobs.expansion.entries.at(2).resources.cpus, 8U);
  EXPECT_EQ(jobs.upstream("d"), (Names{"a", "b"}));
}

TEST(Habits, line_ends_marks_and_tabs_of_other_editors_do_no_harm) {
  const std::string text = "name: w\njobs:\n  - name: a\n    command: |\n      one\n      two\n";
  std::string dos;
  for (const char c : text) dos += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(jobs_of("\xEF\xBB\xBF" + dos).rendered.at(0).command, "one\ntwo\n");
  EXPECT_EQ(jobs_of("name: w\njobs:\n  - name: a\n    command:\tb\n    env: {\tA: 1,\tB: 2}\n")
                .rendered.at(0)
                .env,
            (Environment{{"A", "1"}, {"B", "2"}}));
}

TEST(Habits, json_is_a_spec_as_well) {
  const Jobs jobs = jobs_of(R"({
	"name": "w",
	"jobs": [
		{"name": "a\u0062_{i}", "command": "x\/y \"{i}\"", "parameters": {"i": "1:2"}},
		{"name": "c", "command": "d", "depends_on": ["ab_{i}"], "priority": -1}
	]
})");
  EXPECT_EQ(jobs.names, (Names{"ab_1", "ab_2", "c"}));
  EXPECT_EQ(jobs.rendered.at(1).command, "x/y \"2\"");
  EXPECT_EQ(jobs.upstream("c"), (Names{"ab_1", "ab_2"}));
}

TEST(Habits, empty_values_are_as_if_they_were_not_there) {
  const Jobs jobs = jobs_of(
      "name: w\nfiles:\nparameters:\nenv:\njobs:\n  - name: a\n    command: b\n    parameters:\n"
      "    use_parameters:\n    depends_on:\n    label: ~\n");
  EXPECT_EQ(jobs.names, Names{"a"});
}

TEST(Habits, a_file_of_a_hundred_megabytes_is_refused_at_once) {
  const Loaded loaded = load("name: w\n" + std::string(100'000'000, '#'), "wf.yaml", {});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].message, "the file has 100000008 bytes; the limit is 64 MiB");
}

TEST(Habits, a_nest_without_end_is_refused) {
  const Loaded loaded =
      load("name: w\nmetadata: " + std::string(1'000'000, '[') + "\n", "wf.yaml", {});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].message, "nested more than 64 deep");
}

TEST(Habits, aliases_that_would_fill_the_memory_are_refused) {
  std::string text = "name: w\nmetadata:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string n = std::to_string(i);
    const std::string before = "*a" + std::to_string(i - 1);
    text += "  a" + n + ": &a" + n + " [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]\n";
  }
  const Loaded loaded = load(text, "wf.yaml", {});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].message,
            "more than 5000000 values, aliases counted as what they repeat, long texts as one for "
            "each 64 bytes");
}

std::string first_message(const std::string& text) {
  const Loaded loaded = load(text, "wf.yaml", {});
  return loaded.diagnostics.empty() ? "" : loaded.diagnostics[0].message;
}

TEST(Habits, a_text_without_end_is_refused) {
  for (const std::string piece : {"x", "{i}", "${files.input.f} "}) {
    std::string text = "name: w\njobs:\n  - name: a\n    command: \"";
    while (text.size() < 1'050'000) text += piece;
    EXPECT_EQ(first_message(text + "\"\n"), "a text of more than 1 MiB");
  }
  EXPECT_EQ(first_message("name: w\njobs:\n  - name: a\n    command: " + std::string(1 << 21, 'x')),
            "a text of more than 1 MiB");
}

TEST(Habits, aliases_of_long_texts_are_counted_by_their_bytes) {
  std::string text = "name: w\nmetadata:\n  a: &a '" + std::string(1'000'000, 'x') + "'\n  b:\n";
  for (int i = 0; i < 400; ++i) text += "    - *a\n";
  EXPECT_TRUE(first_message(text).starts_with("more than 5000000 values")) << first_message(text);
}

// What is found in a text is told with its place, and looking for one costs as much as the text is
// long. These took hours before, and take a second now.
TEST(Habits, a_text_full_of_mistakes_is_read_in_time) {
  for (const std::string piece :
       {"{i}", "${user_data.input.x} ", "${user_data.input.x", "{v:d}", "${files.input.x} "}) {
    std::string text = "name: w\nvariables: {v: 1}\njobs:\n  - {name: a, command: 'echo ";
    while (text.size() < 1'000'000) text += piece;
    EXPECT_NE(first_message(text + "'}\n"), "") << piece;
  }
}

// A file may be one line: each place in it costs no more than in a file of many.
TEST(Habits, a_line_full_of_mistakes_is_read_in_time) {
  std::string text = R"({name: "w")";
  for (int i = 0; i < 100'000; ++i) text += fmt::format(", k{}: 1", i);
  for (const char* file : {"wf.yaml", "wf.json5"}) {
    const Loaded loaded = load(text + "}", file, {});
    ASSERT_GT(loaded.diagnostics.size(), 100U) << file;
    EXPECT_EQ(loaded.diagnostics[100].place.line, 1U) << file;
  }
}

TEST(Habits, long_names_that_nobody_has_are_told_in_time) {
  const auto name = [](char last, int i) {
    std::string text(180, 'a');
    for (int bit = 0; bit < 16; ++bit) text[static_cast<std::size_t>(bit * 11)] += i >> bit & 1;
    return text + last;
  };
  std::string text = "name: w\nresource_requirements:\n";
  for (int i = 0; i < 5'000; ++i) text += fmt::format("  - {{name: {}}}\n", name('x', i));
  text += "jobs:\n";
  for (int i = 0; i < 5'000; ++i)
    text +=
        fmt::format("  - {{name: j{}, command: b, resource_requirements: {}}}\n", i, name('y', i));
  const Loaded loaded = load(text, "wf.yaml", {});
  ASSERT_EQ(loaded.diagnostics.size(), Report::kMaxDiagnostics + 1);
  EXPECT_TRUE(loaded.diagnostics[0].remedy.starts_with("did you mean 'aaaa"))
      << loaded.diagnostics[0].remedy;
}

TEST(Habits, values_of_files_that_would_fill_the_memory_are_refused) {
  ReadFile files = [](const std::string&) { return Result<std::string>("1\n2\n3\n4\n"); };
  files.most_values = 11;
  const std::string own = "name: w\njobs:\n  - {name: 'a{i}', command: b, parameters: {i: '@f'}}\n";
  const std::string one = "  - {name: 'b{i}', command: b, parameters: {i: '@f'}}\n";
  EXPECT_EQ(to_text(load(own + one, "wf.yaml", files).diagnostics), "");
  const Loaded many =
      load(own + one + "  - {name: 'c{i}', command: b, parameters: {i: '@f'}}\n", "wf.yaml", files);
  ASSERT_EQ(many.diagnostics.size(), 1U);
  EXPECT_EQ(many.diagnostics[0].message,
            "the parameters of this file have more than 11 values in all, long texts as one for "
            "each 64 bytes");
  EXPECT_EQ(many.diagnostics[0].place.line, 5U);

  const std::string shared =
      "name: w\nparameters: {i: '@f'}\njobs:\n"
      "  - {name: 'a{i}', command: b, use_parameters: [i]}\n"
      "  - {name: 'b{i}', command: b, use_parameters: [i]}\n";
  EXPECT_EQ(to_text(load(shared, "wf.yaml", files).diagnostics).substr(0, 74),
            "wf.yaml:5:49: error: the parameters of this file have more than 11 values ");
  files.most_values = 12;
  EXPECT_EQ(to_text(load(shared, "wf.yaml", files).diagnostics), "");
  files.most_bytes = 7;
  EXPECT_EQ(to_text(load(shared, "wf.yaml", files).diagnostics).substr(0, 70),
            "wf.yaml:2:17: error: the files of values have more than 7 bytes in all");
}

TEST(Habits, a_table_of_a_million_columns_is_refused_at_once) {
  std::string columns = "c0";
  std::string object = "[{\"c0\": 1";
  std::string row = "1";
  for (int i = 1; i < 1'000'000; ++i) columns += fmt::format(",c{}", i);
  for (int i = 1; i < 60'000; ++i) object += fmt::format(",\"c{}\": 1", i);
  const ReadFile files = [&](const std::string& name) {
    return Result<std::string>(name == "t.csv" ? columns + "\n" + row + "\n" : object + "}]");
  };
  for (const std::string name : {"t.csv", "t.json"}) {
    const Loaded loaded =
        load("name: w\njobs:\n  - {name: 'a{c0}', command: b, parameters_file: " + name + "}\n",
             "wf.yaml", files);
    ASSERT_EQ(loaded.diagnostics.size(), 1U);
    EXPECT_EQ(loaded.diagnostics[0].message, name + ": the table has more than 1000 columns");
  }
}

TEST(Habits, of_a_long_line_only_what_is_around_the_mistake_is_kept) {
  const std::string name = "name: w\njobs: [{name: a, command: b}, {";
  const std::string text = name + "name: '" + std::string(500'000, 'x') + "ü', comand: c, w: 1}]\n";
  const Loaded loaded = load(text, "wf.yaml", {});
  ASSERT_GE(loaded.diagnostics.size(), 1U);
  for (const Diagnostic& d : loaded.diagnostics) EXPECT_LE(d.source_line.size(), 4096U);
  EXPECT_NE(to_text(loaded.diagnostics).find("ü', comand: c, w: 1}]\n"), std::string::npos)
      << to_text(loaded.diagnostics);
}

TEST(Habits, variables_that_would_fill_the_memory_are_refused) {
  std::string text = "name: w\nvariables:\n  a0: xxxxxxxxxx\n";
  for (int i = 1; i < 9; ++i) {
    text += fmt::format("  a{}: '", i);
    for (int k = 0; k < 10; ++k) text += fmt::format("{{a{}}}", i - 1);
    text += "'\n";
  }
  EXPECT_EQ(first_message(text + "jobs:\n  - {name: a, command: 'echo {a8}'}\n"),
            "with its variables this text has more than 1 MiB");

  text = "name: w\nvariables: {v: '" + std::string(100'000, 'y') + "'}\njobs:\n";
  for (int i = 0; i < 2'700; ++i) text += fmt::format("  - {{name: a{}, command: '{{v}}'}}\n", i);
  EXPECT_EQ(first_message(text),
            "with their variables the texts of this file have more than 256 MiB");
}

TEST(Habits, a_command_or_a_variable_that_the_system_would_refuse_is_refused_before) {
  const auto messages = [](const std::string& text) {
    Names all;
    for (const Diagnostic& d : load(text, "wf.yaml", {}).diagnostics) all.push_back(d.message);
    return all;
  };
  const std::string long_text(131'071, 'x');
  const std::string start = "name: w\njobs:\n  - name: a_{i}\n    parameters: {i: \"9:10\"}\n";
  EXPECT_EQ(messages(start + "    command: " + long_text + "\n"), Names{});
  EXPECT_EQ(messages(start + "    command: " + long_text + "y\n"),
            Names{"the command of 'a_9' has 131072 bytes; Linux starts none of more than 131071"});
  EXPECT_EQ(messages(start + "    command: " + long_text.substr(1) + "{i}\n"),
            Names{"the command of 'a_10' has 131072 bytes; Linux starts none of more than 131071"});
  EXPECT_EQ(
      messages(start + "    command: b\n    env: {V: " + long_text + "}\n"),
      Names{"the variable 'V' of 'a_9' has 131071 bytes; Linux takes none of more than 131071 "
            "with its name"});
  EXPECT_EQ(
      messages("name: w\njobs: [{name: " + std::string(1'025, 'n') + ", command: b}]\n").size(),
      1U);
}

TEST(Habits, json_may_escape_a_character_as_two_halves) {
  const std::string json =
      "{\n\t\"name\": \"w\",\n\t\"jobs\": [{\"name\": \"a\", \"command\": \"echo "
      "\\ud83d\\ude00 \\\\ud83d \\u00e4\\uD83D\\uDE01\"}]\n}\n";
  const Jobs jobs = jobs_of(json);
  EXPECT_EQ(jobs.rendered.at(0).command, "echo \xF0\x9F\x98\x80 \\ud83d \xC3\xA4\xF0\x9F\x98\x81");
}

TEST(Habits, places_behind_joined_escapes_are_those_of_the_file) {
  const Loaded loaded = load(
      "{\"name\": \"w\", \"user\": \"\\ud83d\\ude00\\ud83d\\ude00\", \"jbs\": 1, "
      "\"jobs\": [{\"name\": \"a\", \"command\": \"b\"}]}\n",
      "wf.yaml", {});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].place.column, 51U) << to_text(loaded.diagnostics);
}

TEST(Habits, half_a_character_is_told) {
  const Loaded loaded =
      load("{\"name\": \"w\", \"jobs\": [{\"name\": \"a\", \"command\": \"\\ud83d\"}]}\n",
           "wf.yaml", {});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].message, "not valid YAML: invalid unicode: 55357");
}

TEST(Habits, the_invocation_script_is_a_part_of_the_command) {
  const Jobs jobs = jobs_of(
      "name: w\nfiles: [{name: f, path: in/f}, {name: g, path: out/g}, {name: h, path: in/h}]\n"
      "user_data: [{name: u}]\njobs:\n  - name: a\n    invocation_script: sh ${files.input.f} "
      "${user_data.input.u} >${files.output.g}\n    command: use ${files.input.h} "
      "${files.input.f}\n"
      "  - {name: b, command: x, input_files: g}\n");
  EXPECT_EQ(jobs.rendered.at(0).command, "sh in/f u >out/g use in/h in/f");
  EXPECT_EQ(jobs.rendered[0].input_files, (Names{"in/f", "in/h"}));
  EXPECT_EQ(jobs.rendered[0].output_files, Names{"out/g"});
  EXPECT_EQ(jobs.rendered[0].input_user_data, Names{"u"});
  ASSERT_EQ(jobs.expansion.dependencies.size(), 1U);
  EXPECT_EQ(jobs.expansion.dependencies[0].members, (std::vector<Range>{{2, 1}}));
}

TEST(Habits, one_text_does_for_a_list_of_one) {
  const Jobs jobs = jobs_of(
      "name: w\nparameters: {i: \"1:2\"}\nfiles: [{name: f, path: f}]\njobs:\n"
      "  - {name: a, command: x, output_files: f}\n"
      "  - {name: \"b_{i}\", command: x, use_parameters: i, depends_on: a}\n"
      "  - {name: c, command: x, depends_on_regexes: ^b_, input_file_regexes: f}\n");
  EXPECT_EQ(jobs.names, (Names{"a", "b_1", "b_2", "c"}));
  ASSERT_EQ(jobs.expansion.dependencies.size(), 2U);
  EXPECT_EQ(jobs.expansion.dependencies[1].upstream, (std::vector<Range>{{1, 3}}));
}

}  // namespace
}  // namespace torc::spec
