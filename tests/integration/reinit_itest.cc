// User data, and running again what became stale, with real workers and files.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// a -> b -> c by files; d beside them, without any.
constexpr const char* kFiles = R"(name: wf
files:
  - {name: raw, path: raw.txt}
  - {name: mid, path: mid.txt}
  - {name: end, path: end.txt}
jobs:
  - {name: a, command: "echo a >> log; cat ${files.input.raw} > ${files.output.mid}"}
  - {name: b, command: "echo b >> log; cat ${files.input.mid} > ${files.output.end}"}
  - {name: c, command: "echo c >> log; cat ${files.input.end}"}
  - {name: d, command: "echo d >> log"}
)";

std::vector<std::string> names(const json& stale) {
  std::vector<std::string> all;
  for (const json& job : stale) all.push_back(job["job"].get<std::string>());
  return all;
}

class Reinit : public ::testing::TestWithParam<const char*> {
 protected:
  void make(const std::string& spec, std::vector<std::string> flags = {}) {
    here.write("wf.yaml", spec);
    std::vector<std::string> words{"init", "wf.yaml", "--engine", GetParam()};
    words.insert(words.end(), flags.begin(), flags.end());
    const Ended made = here.run(words);
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  void run(int code = 0) {
    const Ended ended = here.run({"run", "wf.torc", "-q", "--num-cpus", "2"});
    EXPECT_EQ(ended.exit_code, code) << ended;
    const Ended verified = here.run({"verify"});
    EXPECT_EQ(verified.exit_code, 0) << verified;
  }
  // Jobs that ran since the last call, sorted.
  std::string ran() {
    std::vector<std::string> lines = lines_of(read_text(here.path() / "log"));
    here.write("log", "");
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const std::string& line : lines) all += line;
    return all;
  }
  json reinit(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"reinit", "wf.torc"});
    return here.json(flags);
  }

  const Workplace here;
};

TEST_P(Reinit, runs_nothing_again_where_nothing_changed) {
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  EXPECT_EQ(ran(), "abcd");
  const Ended ended = here.run({"reinit", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("nothing is stale")) << ended;
  run();
  EXPECT_EQ(ran(), "");
}

// A filesystem that does not answer is no reason to run what has completed again.
TEST_P(Reinit, takes_no_file_for_missing_that_it_cannot_look_at) {
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  const Path end = here.path() / "end.txt";
  std::filesystem::rename(end, here.path() / "kept");
  const Path closed = here.path() / "closed";
  std::filesystem::create_directory(closed);
  std::filesystem::create_symlink(closed / "end.txt", end);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  Launch denied = here.torc({"reinit", "wf.torc"});
  if (geteuid() == 0)  // whom else nothing is denied
    denied.argv.insert(denied.argv.begin(),
                       {"/usr/bin/setpriv", "--bounding-set", "-dac_override,-dac_read_search"});
  const Ended refused = itest::run(denied);
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_TRUE(refused.says("cannot look at " + end.string())) << refused;
  EXPECT_EQ(here.json({"status", "wf.torc"})["jobs_by_state"]["completed"], 4);
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
  std::filesystem::remove(end);
  const Path away = here.path().parent_path() / "away";
  std::filesystem::rename(here.path() / "wf.torc", here.path().parent_path() / "wf.torc");
  std::filesystem::rename(here.path(), away);  // the directory of the workflow is not there
  Launch launch = here.torc({"reinit", here.path().parent_path() / "wf.torc"});
  launch.directory = away;
  const Ended gone = itest::run(launch);
  std::filesystem::rename(away, here.path());
  EXPECT_EQ(gone.exit_code, 4) << gone;
  EXPECT_TRUE(gone.says("its jobs ran in " + here.path().string() + ", and ")) << gone;
}

TEST_P(Reinit, takes_no_file_for_missing_whose_filesystem_is_not_mounted) {
  if (!own_mounts()) GTEST_SKIP() << "needs a mount namespace";
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  std::filesystem::remove(here.path() / "end.txt");
  Launch launch = here.torc({"reinit", "wf.torc"});
  launch.etc = here.path() / "etc";
  for (const char* file : {"machine-id", "passwd", "group", "nsswitch.conf"})
    here.write(std::string("etc/") + file, read_text(Path("/etc") / file));
  here.write("etc/fstab", "server:/x " + here.path().string() + " nfs rw 0 0\n");
  const Ended refused = itest::run(launch);
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_TRUE(refused.says("nothing is mounted at " + here.path().string())) << refused;
  EXPECT_EQ(here.json({"status", "wf.torc"})["jobs_by_state"]["completed"], 4);
  EXPECT_EQ(here.run({"reinit", "wf.torc"}).exit_code, 0) << "it was never one";
  EXPECT_EQ(here.json({"status", "wf.torc"})["jobs_by_state"]["completed"], 2);
}

TEST_P(Reinit, runs_what_took_a_changed_file_and_what_follows_from_it_again) {
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  (void)ran();
  here.write("raw.txt", "22");
  const json tried = reinit({"--dry-run"});
  EXPECT_EQ(names(tried["stale"]), std::vector<std::string>{"a"}) << tried;
  EXPECT_EQ(tried["stale"][0]["changes"],
            json({"input raw.txt changed: it has 2 bytes and had 1"}));
  EXPECT_EQ(tried["following_names"], json({"b", "c"})) << tried;
  run();
  EXPECT_EQ(ran(), "") << "a dry run changes nothing";
  EXPECT_EQ(reinit()["changed_jobs"], 3);
  run();
  EXPECT_EQ(ran(), "abc");
  EXPECT_EQ(read_text(here.path() / "end.txt"), "22");
  EXPECT_EQ(reinit()["changed_jobs"], 0);
}

TEST_P(Reinit, makes_missing_and_changed_outputs_again_and_nothing_above_them) {
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  (void)ran();
  std::filesystem::remove(here.path() / "end.txt");
  const json tried = reinit({"--dry-run"});
  EXPECT_EQ(tried["stale"][0]["changes"], json({"output end.txt is not there"})) << tried;
  EXPECT_EQ(reinit()["changed_jobs"], 2);
  run();
  EXPECT_EQ(ran(), "bc");
  here.write("mid.txt", "tampered");
  EXPECT_EQ(names(reinit()["stale"]), (std::vector<std::string>{"a", "b"}));
  run();
  EXPECT_EQ(ran(), "abc");
  EXPECT_EQ(read_text(here.path() / "mid.txt"), "1");
}

TEST_P(Reinit, names_inputs_that_are_gone_and_that_nobody_makes_and_changes_nothing) {
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  (void)ran();
  std::filesystem::remove(here.path() / "raw.txt");
  const Ended ended = here.run({"reinit", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_TRUE(ended.says("'raw.txt' of job 'a'")) << ended;
  here.write("raw.txt", "1");
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["completed"], 4);
}

TEST_P(Reinit, takes_new_commands_and_leaves_the_jobs_whose_command_is_the_same) {
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  (void)ran();
  std::string spec = kFiles;
  const std::string old = "echo c >> log";
  spec.replace(spec.find(old), old.size(), "echo C >> log");
  here.write("new.yaml", spec);
  const json tried = reinit({"--spec", "new.yaml", "--dry-run"});
  EXPECT_EQ(names(tried["stale"]), std::vector<std::string>{"c"}) << tried;
  EXPECT_EQ(reinit({"--spec", "new.yaml"})["again_jobs"], 1);
  EXPECT_EQ(read_text(here.path() / "wf.torc" / "spec.yaml"), spec);
  run();
  EXPECT_EQ(ran(), "C");
}

TEST_P(Reinit, adds_the_jobs_that_a_new_file_has_wherever_they_stand_in_it) {
  here.write("raw.txt", "1");
  make(kFiles);
  run();
  (void)ran();
  std::string spec = kFiles;
  spec.insert(spec.find("  - {name: b,"),
              "  - {name: x, command: \"echo x >> log\", depends_on: [a]}\n");
  spec += "  - {name: y, command: \"echo y >> log; cat ${files.input.end}\", depends_on: [x]}\n";
  const std::string old = "echo c >> log";
  spec.replace(spec.find(old), old.size(), "echo C >> log");
  here.write("new.yaml", spec);
  const json tried = reinit({"--spec", "new.yaml", "--dry-run"});
  EXPECT_EQ(tried["added_jobs"], 2) << tried;
  EXPECT_EQ(here.json({"status"})["jobs"], 4);
  const json done = reinit({"--spec", "new.yaml"});
  EXPECT_EQ(done["added_jobs"], 2) << done;
  EXPECT_EQ(names(done["stale"]), std::vector<std::string>{"c"}) << done;
  run();
  EXPECT_EQ(ran(), "Cxy");
  const json again = reinit({"--spec", "new.yaml"});
  EXPECT_EQ(again["added_jobs"], 0) << again;
  EXPECT_EQ(again["again_jobs"], 0) << again;
  const json graph = here.json({"graph", "wf.torc"});
  for (const json& node : graph["vertices"]) {
    EXPECT_EQ(node["jobs_by_state"]["completed"], node["jobs"]) << node;
    EXPECT_NE(node["entry"], "added jobs");
  }
}

TEST_P(Reinit, takes_a_new_file_also_after_jobs_were_added_to_the_store) {
  here.write("raw.txt", "1");
  make(kFiles);
  here.write("more.yaml", "jobs: [{name: later, command: \"echo l >> log\", depends_on: [d]}]\n");
  ASSERT_EQ(here.run({"add", "wf.torc", "more.yaml"}).exit_code, 0);
  run();
  EXPECT_EQ(ran(), "abcdl");
  std::string spec = kFiles;
  const std::string old = "echo d >> log";
  spec.replace(spec.find(old), old.size(), "echo D >> log");
  here.write("new.yaml", spec);
  const json done = reinit({"--spec", "new.yaml"});
  EXPECT_EQ(names(done["stale"]), std::vector<std::string>{"d"}) << done;
  EXPECT_EQ(done["again_names"], json({"d", "later"})) << done;
  run();
  EXPECT_EQ(ran(), "Dl");
}

TEST_P(Reinit, with_checksums_takes_a_file_that_was_written_again_alike_for_the_same) {
  here.write("raw.txt", "1");
  make(kFiles, {"--checksum"});
  run();
  (void)ran();
  std::filesystem::last_write_time(
      here.path() / "raw.txt",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(3));
  EXPECT_EQ(reinit({"--dry-run"})["changed_jobs"], 0);
  EXPECT_EQ(reinit({"--checksum"})["changed_jobs"], 0);
  // Also of the old time and size.
  const auto time = std::filesystem::last_write_time(here.path() / "raw.txt");
  here.write("raw.txt", "2");
  std::filesystem::last_write_time(here.path() / "raw.txt", time);
  EXPECT_EQ(reinit({"--checksum", "--dry-run"})["changed_jobs"], 3);
  here.write("raw.txt", "3");
  EXPECT_EQ(reinit({"--dry-run"})["changed_jobs"], 3);
}

TEST_P(Reinit, ends_a_running_job_whose_input_is_to_be_made_again) {
  here.write("raw.txt", "1");
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  make(R"(name: wf
files:
  - {name: raw, path: raw.txt}
jobs:
  - {name: a, command: "cat ${files.input.raw} > mid"}
  - {name: b, command: "echo b $TORC_ATTEMPT_ID > record; read x < gate; echo done > record", depends_on: [a]}
)");
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "2", "--lease-ttl", "10s"});
  ASSERT_TRUE(wait_for_line(record, "b 1", *worker)) << worker->err();
  here.write("raw.txt", "22");
  const json done = reinit();
  EXPECT_EQ(done["ending_jobs"], 1) << done;
  ASSERT_TRUE(wait_for_line(record, "b 2", *worker)) << worker->err();
  gate.open_gate(1);
  ASSERT_TRUE(wait_for_line(record, "done", *worker)) << worker->err();
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(std::count(record.lines().begin(), record.lines().end(), "done"), 1);
}

// --- user data ---

constexpr const char* kData = R"(name: wf
user_data:
  - {name: given, data: {lr: 0.5, list: [1, 2]}}
  - {name: found}
  - {name: best_1}
  - {name: best_2}
jobs:
  - name: search
    command: TORC data set ${user_data.output.found} '{"x":1}' && echo s >> log
    input_user_data: [given]
  - name: best_{i}
    command: TORC data get ${user_data.input.found} > found_{i}; echo {i} | TORC data set ${user_data.output.best_{i}} - ; echo {i} >> log
    parameters: {i: "1:2"}
  - name: sum
    command: for i in 1 2; do TORC data get best_$i; done > sum; echo + >> log
    input_user_data_regexes: ['^best_']
)";

std::string with_program(std::string text, const std::string& program) {
  for (std::size_t at = 0; (at = text.find("TORC data", at)) != std::string::npos;)
    text.replace(at, 4, program);
  return text;
}

TEST_P(Reinit, jobs_hand_user_data_on_and_run_again_when_it_changes) {
  make(with_program(kData, here.torc({}).argv[0]));
  EXPECT_EQ(here.run({"data", "get", "given"}).out, "{\"lr\":0.5,\"list\":[1,2]}\n");
  EXPECT_EQ(here.run({"data", "get", "found"}).out, "null\n");
  run();
  EXPECT_EQ(ran(), "+12s");
  EXPECT_EQ(read_text(here.path() / "found_2"), "{\"x\":1}\n");
  EXPECT_EQ(read_text(here.path() / "sum"), "1\n2\n");
  const json all = here.json({"data", "list"});
  ASSERT_EQ(all.size(), 4U) << all;
  EXPECT_EQ(all[0]["name"], "best_1");
  EXPECT_EQ(all[0]["output_of"], "best_1");
  EXPECT_EQ(all[0]["set_by"], "best_1");
  EXPECT_EQ(reinit()["changed_jobs"], 0);

  EXPECT_EQ(here.run({"data", "set", "found", " { \"x\" : 2 } "}).exit_code, 0);
  const json tried = reinit({"--dry-run"});
  EXPECT_EQ(names(tried["stale"]), (std::vector<std::string>{"best_1", "best_2"})) << tried;
  EXPECT_EQ(tried["stale"][0]["changes"], json({"user data found changed"}));
  EXPECT_EQ(reinit()["changed_jobs"], 3);
  run();
  EXPECT_EQ(ran(), "+12");
  EXPECT_EQ(read_text(here.path() / "found_1"), "{\"x\":2}\n");

  EXPECT_EQ(here.run({"data", "delete", "found"}).exit_code, 0);
  EXPECT_EQ(reinit()["changed_jobs"], 4);
  run();
  EXPECT_EQ(ran(), "+12s");
}

TEST_P(Reinit, a_job_does_not_set_what_another_one_declares) {
  make(with_program(R"(name: wf
user_data: [{name: mine}, {name: free}]
jobs:
  - {name: owner, command: "TORC data set ${user_data.output.mine} 1"}
  - {name: thief, command: "TORC data set free 1 && TORC data set mine 2", depends_on: [owner]}
)",
                    here.torc({}).argv[0]));
  run(1);
  EXPECT_EQ(here.json({"job", "thief"})["state"], "failed");
  EXPECT_TRUE(here.run({"logs", "thief", "--stderr"}).says("is the output of job 'owner'"));
  EXPECT_EQ(here.json({"data", "get", "mine"})["data"], 1);
  EXPECT_EQ(here.json({"data", "get", "free"})["set_by"], "thief");
}

INSTANTIATE_TEST_SUITE_P(Engines, Reinit, ::testing::Values("lmdb", "journal"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Data, mistakes_in_json_are_shown_with_their_place) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\nuser_data: [{name: d}]\njobs: [{name: a, command: \"true\"}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  here.write("bad.json", "{\"a\": 1,\n  \"b\": oops}\n");
  const Ended bad = here.run({"data", "set", "d", "@bad.json"});
  EXPECT_EQ(bad.exit_code, 2) << bad;
  EXPECT_TRUE(bad.says("bad.json is not valid JSON, line 2, column 8: ")) << bad;
  EXPECT_TRUE(bad.says("\n      \"b\": oops}\n           ^")) << bad;
  const Ended unknown = here.run({"data", "set", "e", "1"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
  EXPECT_TRUE(unknown.says("there is no user data 'e'")) << unknown;
  EXPECT_EQ(here.run({"data", "set", "e", "1", "--create"}).exit_code, 0);
  const Ended huge = here.run({"data", "set", "d", "\"" + std::string(65536, 'x') + "\""});
  EXPECT_EQ(huge.exit_code, 2) << huge;
  EXPECT_TRUE(huge.says("the limit is 65536")) << huge;
  EXPECT_EQ(here.run({"data", "set", "d", "two words", "--text"}).exit_code, 0);
  EXPECT_EQ(here.run({"data", "get", "d"}).out, "\"two words\"\n");
  EXPECT_EQ(here.run({"data", "get", "d", "--text"}).out, "two words\n");
  EXPECT_EQ(here.run({"data", "set", "d", "-5"}).exit_code, 0);
  EXPECT_EQ(here.run({"data", "get", "d"}).out, "-5\n");
  EXPECT_EQ(here.run({"data", "set", "--text", "--", "d", "-x"}).exit_code, 0);
  EXPECT_EQ(here.run({"data", "get", "d"}).out, "\"-x\"\n");
}

}  // namespace
}  // namespace torc::itest
