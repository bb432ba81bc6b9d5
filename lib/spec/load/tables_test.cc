// Tables of values, in files that a spec names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/load/outline.h"
#include "lib/spec/testing/test_jobs.h"

namespace torc::spec {
namespace {

using Names = std::vector<std::string>;

Result<std::string> tables(const std::string& path) {
  if (path == "grid.csv")
    return std::string("\xEF\xBB\xBFlr,opt,id\r\n0.1,\"ad,am\",007\r\n\r\n1e-3,sgd,\"8\"\r\n");
  if (path == "rows.json") return std::string(R"([{"a": 1, "b": "x"}, {"b": "y", "a": 2.5}])");
  if (path == "columns.json") return std::string(R"({"a": [1, 2], "b": [true, "y"]})");
  if (path == "ragged.csv") return std::string("a,b\n1,2\n3\n");
  if (path == "open.csv") return std::string("a,b\n1,\"2\n");
  if (path == "twice.csv") return std::string("a,a\n1,2\n");
  if (path == "holes.csv") return std::string("a,b\n1,\n");
  if (path == "bare.csv") return std::string("a,b\n");
  if (path == "title.csv") return std::string("learning rate;b\n1;2\n");
  if (path == "missing.json") return std::string(R"([{"a": 1}, {"b": 2}])");
  if (path == "deep.json") return std::string(R"([{"a": [1]}])");
  if (path == "uneven.json") return std::string(R"({"a": [1], "b": [1, 2]})");
  if (path == "same.csv") return std::string("a,b\n1,2\n2,2\n1,2\n");
  if (path == "spelled.csv") return std::string("v\n3.1\n3.10\n1e5\n-0\n12\n");
  if (path == "spelled.json") return std::string(R"({"v": [3.1, 3.10, 1e5, -0, 12]})");
  if (path == "huge.json") return std::string(R"({"v": [18446744073709551616]})");
  if (path == "one.json") return std::string("7");
  if (path == "bad.json") return std::string("[{\"a\": 1},\n {\"a\": tru}]");
  if (path == "broken.json") return std::string(R"([{"a": 1)");
  return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
}

TEST(Tables, rows_become_jobs_and_columns_parameters) {
  const Jobs jobs = jobs_of(
      "name: w\njobs:\n  - {name: \"t_{id}\", command: \"run {lr} {opt}\", parameters: "
      "\"@grid.csv\"}\n",
      tables);
  EXPECT_EQ(jobs.names, (Names{"t_007", "t_8"}));
  EXPECT_EQ(jobs.rendered.at(0).command, "run 0.1 ad,am");
  EXPECT_EQ(jobs.rendered.at(1).command, "run 1e-3 sgd");
}

TEST(Tables, json_may_have_rows_or_columns) {
  const auto names = [](const std::string& file) {
    return jobs_of("name: w\njobs:\n  - {name: \"{a}_{b}\", command: c, parameters: \"@" + file +
                       "\"}\n",
                   tables)
        .names;
  };
  EXPECT_EQ(names("rows.json"), (Names{"1_x", "2.5_y"}));
  EXPECT_EQ(names("columns.json"), (Names{"1_true", "2_y"}));
}

TEST(Tables, a_shared_table_keeps_its_rows_together) {
  const std::string start =
      "name: w\nparameters: \"@rows.json\"\njobs:\n  - {name: \"{a}_{b}\", "
      "command: c, use_parameters: [a, b]";
  EXPECT_EQ(jobs_of(start + "}\n", tables).names, (Names{"1_x", "2.5_y"}));
  EXPECT_EQ(jobs_of(start + ", parameter_mode: product}\n", tables).names, (Names{"1_x", "2.5_y"}));
}

TEST(Tables, rows_are_multiplied_with_other_parameters_unless_a_zip_is_asked_for) {
  const auto names = [](const std::string& seeds, const std::string& mode) {
    return jobs_of("name: w\nparameters: {s: \"" + seeds +
                       "\"}\njobs:\n  - {name: \"{a}_{b}_{s}\", command: c, parameters: "
                       "\"@rows.json\", use_parameters: [s]" +
                       mode + "}\n",
                   tables)
        .names;
  };
  const Names product = {"1_x_1", "1_x_2", "2.5_y_1", "2.5_y_2"};
  EXPECT_EQ(names("1:2", ""), product);
  EXPECT_EQ(names("1:2", ", parameter_mode: product"), product);
  EXPECT_EQ(names("1:3", "").size(), 6U);
  EXPECT_EQ(names("1:2", ", parameter_mode: zip"), (Names{"1_x_1", "2.5_y_2"}));
}

TEST(Tables, columns_that_are_taken_out_of_order_are_one_axis_all_the_same) {
  const std::string spec =
      "name: w\nparameters: \"@rows.json\"\njobs:\n  - {name: \"{b}_{s}_{a}\", command: c, "
      "parameters: {s: \"1:2\"}, use_parameters: [b, a]}\n";
  EXPECT_EQ(jobs_of(spec, tables).names, (Names{"x_1_1", "y_1_2.5", "x_2_1", "y_2_2.5"}));
}

TEST(Tables, what_depends_on_some_columns_alone_waits_for_the_jobs_of_its_row) {
  const Loaded loaded = load(
      "name: w\nparameters: \"@rows.json\"\njobs:\n"
      "  - {name: \"make_{a}_{b}_{s}\", command: c, parameters: {s: \"1:3\"}, "
      "use_parameters: [a, b]}\n"
      "  - {name: \"join_{b}\", command: c, use_parameters: [a, b], "
      "depends_on: [\"make_{a}_{b}_{s}\"]}\n",
      "wf.yaml", tables);
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  ASSERT_EQ(loaded.expansion->dependencies.size(), 2U);
  const auto names = [&](const std::vector<Range>& jobs) {
    Names all;
    for (const Range& r : jobs) {
      for (std::uint64_t job = r.first; job < r.end(); ++job)
        all.push_back(name_of(*loaded.expansion, job));
    }
    return all;
  };
  EXPECT_EQ(names(loaded.expansion->dependencies[1].upstream),
            (Names{"make_2.5_y_1", "make_2.5_y_2", "make_2.5_y_3"}));
  EXPECT_EQ(names(loaded.expansion->dependencies[1].members), Names{"join_y"});
}

TEST(Tables, numbers_keep_their_spelling) {
  const auto names = [](const std::string& file) {
    return jobs_of(
               "name: w\njobs:\n  - {name: \"j_{v}\", command: c, parameters: \"@" + file + "\"}\n",
               tables)
        .names;
  };
  const Names expected = {"j_3.1", "j_3.10", "j_1e5", "j_-0", "j_12"};
  EXPECT_EQ(names("spelled.csv"), expected);
  EXPECT_EQ(names("spelled.json"), expected);
}

TEST(Tables, a_job_is_found_by_its_name_among_rows_times_values) {
  const Loaded loaded = load(
      "name: w\njobs:\n  - {name: \"{b}_{s}_{a}\", command: c, parameters: \"@rows.json\", "
      "use_parameters: [s]}\nparameters: {s: \"1:3\"}\n",
      "wf.yaml", tables);
  ASSERT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  const Recipe recipe = *Recipe::decode(loaded.expansion->entries.at(0).recipe);
  for (std::uint64_t k = 0; k < 6; ++k) EXPECT_EQ(recipe.find(recipe.name(k)), k);
  EXPECT_EQ(recipe.find("x_1_2.5"), std::nullopt);
}

TEST(Tables, of_equal_rows_it_is_said_that_they_are_equal) {
  const Loaded loaded =
      load("name: w\njobs:\n  - {name: \"j_{a}_{b}\", command: c, parameters: \"@same.csv\"}\n",
           "wf.yaml", tables);
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].message,
            "job 1 and 3 of 'j_{a}_{b}' would both be named 'j_1_2'");
  EXPECT_EQ(loaded.diagnostics[0].remedy,
            "their values are the same: take one of the two out of the list or the table");
}

TEST(Tables, what_is_wrong_with_one_is_said_with_its_row) {
  const auto message = [](const std::string& file) {
    const Loaded loaded =
        load("name: w\njobs:\n  - {name: \"j_{a}\", command: c, parameters: \"@" + file + "\"}\n",
             "wf.yaml", tables);
    EXPECT_EQ(loaded.diagnostics.size(), 1U) << to_text(loaded.diagnostics);
    return loaded.diagnostics.empty() ? "" : loaded.diagnostics[0].message;
  };
  EXPECT_EQ(message("ragged.csv"),
            "ragged.csv: line 3 has 1 values, and the first line names 2 columns");
  EXPECT_EQ(message("open.csv"), "open.csv: a quote in line 2 is never closed");
  EXPECT_EQ(message("twice.csv"), "twice.csv: two columns are named 'a'");
  EXPECT_EQ(message("holes.csv"), "holes.csv: line 2 has no value for 'b'");
  EXPECT_EQ(message("bare.csv"), "bare.csv: the table has no rows");
  EXPECT_EQ(message("title.csv"), "title.csv: the column 'learning rate;b' cannot be a parameter");
  EXPECT_EQ(message("missing.json"), "missing.json: row 2 has no 'a'");
  EXPECT_EQ(message("deep.json"), "deep.json: row 1 has no number and no text for 'a'");
  EXPECT_EQ(message("uneven.json"), "uneven.json: the column 'b' has 2 values, and 'a' has 1");
  EXPECT_EQ(message("broken.json"),
            "broken.json: the table is not valid JSON: line 1, column 9: syntax error while "
            "parsing object - unexpected end of input; expected '}'");
  EXPECT_EQ(message("bad.json"),
            "bad.json: the table is not valid JSON: line 2, column 11: syntax error while parsing "
            "value - invalid literal");
  EXPECT_EQ(message("one.json"), "one.json: the table is one value");
  EXPECT_EQ(message("huge.json"), "huge.json: row 1 has no number and no text for 'v'");
  EXPECT_EQ(message("none.csv"), "the values cannot be read: there is no 'none.csv'");
}

}  // namespace
}  // namespace torc::spec
