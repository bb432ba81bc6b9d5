// `torc clean`: what is removed below a store, and all that is not.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Names = std::vector<std::string>;

// Fails until the file `ok` is there.
constexpr const char* kTwice = R"(name: wf
execution_config: {stdio: {mode: separate}}
jobs:
  - name: twice
    command: "mkdir -p $TORC_ATTEMPT_DIR/deep; echo scratch > $TORC_ATTEMPT_DIR/deep/file; echo out; test -e ok"
  - {name: done, command: "echo done"}
  - {name: bad, command: "echo bad >&2; mkdir $TORC_ATTEMPT_DIR; exit 3"}
)";

class Clean : public testing::Test {
 protected:
  [[nodiscard]] Path jobs() const { return here_.path() / "wf.torc/logs/jobs"; }
  // What is right below a directory, sorted.
  static Names names_in(const Path& directory) {
    Names names;
    for (const auto& entry : fs::directory_iterator(directory))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] Names attempts() const { return names_in(jobs() / "000000"); }
  [[nodiscard]] json clean(Names words, int ahead_s = 0) const {
    words.insert(words.begin(), "clean");
    words.emplace_back("--json");
    const Ended ended = run(ahead(words, ahead_s));
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return json::parse(ended.out, nullptr, false);
  }
  // As its clock will be in so many seconds.
  [[nodiscard]] Launch ahead(const Names& words, int seconds) const {
    Launch launch = here_.torc(words);
    if (seconds != 0) {
      launch.env["LD_PRELOAD"] = MOVED_CLOCK;
      launch.env["MOVED_CLOCK"] = std::to_string(seconds);
    }
    return launch;
  }
  // Three jobs, the first of which has failed once and completed then.
  void run_twice(const std::string& engine = "journal") const {
    here_.write("wf.yaml", kTwice);
    ASSERT_EQ(here_.run({"run", "wf.yaml", "--engine", engine}).exit_code, 1);
    here_.write("ok", "");
    ASSERT_EQ(here_.run({"retry", "wf.torc", "twice"}).exit_code, 0);
    ASSERT_EQ(here_.run({"run", "wf.torc"}).exit_code, 1);
    ASSERT_EQ(attempts(),
              (Names{"1.1.d", "1.1.out", "1.2.d", "1.2.out", "2.1.out", "3.1.d", "3.1.err"}));
  }

  Workplace here_;
};

TEST_F(Clean, keeps_the_newest_output_of_every_job) {
  run_twice();
  const json looked = clean({"wf.torc", "--dry-run"});
  EXPECT_EQ(looked["dry_run"], true);
  EXPECT_EQ(attempts().size(), 7U) << "nothing was removed";
  const json done = clean({"wf.torc"});
  EXPECT_EQ(looked["freed"], done["freed"]);
  EXPECT_EQ(done["freed_output"], (json{{"files", 1}, {"size_bytes", 4}})) << done;
  EXPECT_EQ(done["freed_attempt_directories"], (json{{"files", 2}, {"size_bytes", 16}})) << done;
  EXPECT_EQ(done["attempt_directories"], 3);
  EXPECT_EQ(done["left_alone"], json::array());
  EXPECT_EQ(attempts(), (Names{"1.2.out", "2.1.out", "3.1.err"}));
  EXPECT_EQ(here_.run({"logs", "wf.torc", "twice"}).out, "out\n");
  const Ended earlier = here_.run({"logs", "wf.torc", "twice", "--attempt", "1"});
  EXPECT_TRUE(earlier.says("or it was removed (torc clean does that)")) << earlier;
  EXPECT_EQ(here_.run({"clean"}).out, "wf.torc: nothing to remove\n");
  EXPECT_EQ(here_.run({"verify", "wf.torc"}).exit_code, 0);
}

TEST_F(Clean, removes_the_output_of_completed_jobs_where_that_is_said) {
  run_twice("lmdb");
  const Ended ended = here_.run({"clean", "--completed"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ended.out,
            "wf.torc: removed 3 output files (13 B), 3 attempt directories (16 B)\n"
            "29 B freed\n");
  EXPECT_EQ(attempts(), (Names{"3.1.err"})) << "a failure is still to be looked at";
  EXPECT_TRUE(here_.run({"logs", "done"}).says("torc clean"));
  // Whatever runs next finds its directory.
  ASSERT_EQ(here_.run({"reset", "wf.torc", "done", "--yes"}).exit_code, 0);
  ASSERT_EQ(here_.run({"run", "wf.torc"}).exit_code, 1);
  EXPECT_EQ(here_.run({"logs", "done"}).out, "done\n");
}

// Times are those that the store has, not those of the files.
TEST_F(Clean, goes_by_the_times_of_attempts) {
  run_twice();
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(100);
  fs::last_write_time(jobs() / "000000/1.1.out", long_ago);
  fs::last_write_time(jobs() / "000000/2.1.out", long_ago);
  EXPECT_EQ(clean({"wf.torc", "--completed", "--older-than", "1h"})["freed"]["files"], 0);
  EXPECT_EQ(attempts().size(), 7U);
  EXPECT_EQ(clean({"wf.torc", "--older-than", "1h"}, 3700)["freed_output"]["files"], 1);
  EXPECT_EQ(here_.run({"clean", "wf.torc", "--older-than", "7"}).exit_code, 2) << "of what?";
}

TEST_F(Clean, touches_nothing_of_a_job_that_a_worker_has) {
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  here_.write("wf.yaml", R"(name: wf
execution_config: {stdio: {mode: separate}}
failure_handlers:
  - {name: again, rules: [{match_all_exit_codes: true, max_retries: 1}]}
jobs:
  - name: live
    failure_handler: again
    command: "mkdir $TORC_ATTEMPT_DIR; echo $TORC_ATTEMPT_ID | tee $TORC_ATTEMPT_DIR/f; echo up $TORC_ATTEMPT_ID > record; read x < gate; test $TORC_ATTEMPT_ID = 2"
  - {name: done, command: "echo done; mkdir $TORC_ATTEMPT_DIR", priority: 9}
)");
  const auto worker = here_.start({"run", "wf.yaml", "--engine", "journal", "--num-cpus", "2"});
  ASSERT_TRUE(wait_for_line(record, "up 1", *worker)) << worker->err();
  ASSERT_TRUE(here_.wait_for_state("wf.torc", "done", "completed"));
  gate.open_gate(1);
  ASSERT_TRUE(wait_for_line(record, "up 2", *worker)) << worker->err();
  ASSERT_TRUE(here_.wait_for_state("wf.torc", "live", "running"));
  EXPECT_EQ(clean({"wf.torc", "--completed"})["left_alone"], json::array());
  Names kept = attempts();
  std::erase_if(kept, [](const std::string& name) { return name.ends_with(".err"); });
  EXPECT_EQ(kept, (Names{"1.1.d", "1.1.out", "1.2.d", "1.2.out"}));
  // Canceled, and its worker has not ended it yet.
  ASSERT_EQ(::kill(worker->worker(), SIGSTOP), 0);
  ASSERT_EQ(here_.run({"cancel", "wf.torc", "live"}).exit_code, 0);
  EXPECT_EQ(clean({"wf.torc", "--completed"})["freed"]["files"], 0);
  EXPECT_TRUE(fs::exists(jobs() / "000000/1.1.out"));
  ASSERT_EQ(::kill(worker->worker(), SIGCONT), 0);
  EXPECT_FALSE(worker->wait().timed_out);
  EXPECT_EQ(clean({"wf.torc"})["attempt_directories"], 2);
}

TEST_F(Clean, leaves_every_name_that_is_not_torcs_and_follows_no_link) {
  run_twice();
  const Path precious = here_.path() / "precious";
  fs::create_directory(precious);
  write_text(precious / "file", "do not lose me\n");
  const Path folder = jobs() / "000000";
  const Names strangers{"1.1.txt",       "1.01.out", "01.1.out", "1.1.out.old", "1.9.out",
                        "1.1.node0.out", "9.1.out",  "1.0.out",  "1001.1.out",  "notes"};
  for (const std::string& name : strangers) write_text(folder / name, "mine\n");
  write_text(here_.path() / "wf.torc/logs/notes.out", "mine\n");
  // Links at torc's own names, and in a directory of an attempt.
  fs::remove(folder / "1.1.out");
  fs::create_symlink(precious / "file", folder / "1.1.out");
  fs::remove_all(folder / "1.1.d");
  fs::create_directory_symlink(precious, folder / "1.1.d");
  fs::create_directory_symlink(precious, folder / "1.2.d/link");
  fs::create_hard_link(precious / "file", folder / "1.1.err");
  fs::create_directory_symlink(precious, jobs() / "000001");
  write_text(precious / "1000.1.out", "");
  const json done = clean({"wf.torc", "--completed"});
  EXPECT_EQ(read_text(precious / "file"), "do not lose me\n");
  EXPECT_TRUE(fs::exists(precious / "1000.1.out"));
  for (const std::string& name : strangers) EXPECT_TRUE(fs::exists(folder / name)) << name;
  EXPECT_TRUE(fs::exists(here_.path() / "wf.torc/logs/notes.out"));
  EXPECT_TRUE(fs::is_symlink(folder / "1.1.out"));
  EXPECT_TRUE(fs::is_symlink(folder / "1.1.d"));
  EXPECT_TRUE(fs::exists(folder / "1.1.err"));
  EXPECT_FALSE(fs::exists(folder / "1.2.d")) << "the link in it is a name like others";
  EXPECT_EQ(done["left_alone"].size(), 4U) << done;
}

TEST_F(Clean, leaves_a_directory_whole_where_something_in_it_is_no_file) {
  run_twice();
  ASSERT_EQ(::mkfifo((jobs() / "000000/1.1.d/fifo").c_str(), 0600), 0);
  const json done = clean({"wf.torc"});
  ASSERT_EQ(done["left_alone"].size(), 1U) << done;
  EXPECT_NE(done["left_alone"][0].get<std::string>().find("fifo is not a file"), std::string::npos);
  EXPECT_TRUE(fs::exists(jobs() / "000000/1.1.d/deep/file"));
  EXPECT_FALSE(fs::exists(jobs() / "000000/1.2.d"));
}

TEST_F(Clean, leaves_what_belongs_to_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  run_twice();
  ASSERT_EQ(::chown((jobs() / "000000/1.1.out").c_str(), 60001, 60001), 0);
  ASSERT_EQ(::chown((jobs() / "000000/1.1.d/deep").c_str(), 60001, 60001), 0);
  EXPECT_EQ(clean({"wf.torc"})["left_alone"].size(), 2U);
  EXPECT_TRUE(fs::exists(jobs() / "000000/1.1.out"));
  EXPECT_TRUE(fs::exists(jobs() / "000000/1.1.d/deep/file"));
}

TEST_F(Clean, of_a_store_that_cannot_be_read_removes_nothing) {
  run_twice();
  for (const auto& entry : fs::directory_iterator(here_.path() / "wf.torc")) {
    if (entry.path().filename().string().starts_with("state-")) fs::remove_all(entry.path());
  }
  const Ended ended = here_.run({"clean", "wf.torc", "--completed"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_EQ(attempts().size(), 7U);
}

TEST_F(Clean, removes_packed_output_when_all_jobs_of_its_worker_have_completed) {
  here_.write("wf.yaml", R"(name: wf
execution_config: {stdio: {mode: packed}}
jobs:
  - {name: a, command: echo a}
  - {name: b, command: "echo b; test -e ok"}
)");
  ASSERT_EQ(here_.run({"run", "wf.yaml", "--engine", "journal"}).exit_code, 1);
  here_.write("ok", "");
  ASSERT_EQ(here_.run({"retry", "wf.torc", "b"}).exit_code, 0);
  EXPECT_EQ(clean({"wf.torc", "--completed"})["freed"]["files"], 0) << "b is ready";
  ASSERT_EQ(here_.run({"run", "wf.torc"}).exit_code, 0);
  ASSERT_EQ(names_in(jobs() / "packed").size(), 4U);
  EXPECT_EQ(clean({"wf.torc"})["freed"]["files"], 0) << "it is the newest of some job";
  Path index;  // of the worker that had both jobs
  for (const auto& entry : fs::directory_iterator(jobs() / "packed")) {
    const bool is_longer = index.empty() || entry.file_size() > fs::file_size(index);
    if (entry.path().extension() == ".index" && is_longer) index = entry.path();
  }
  const std::string whole = read_text(index);
  std::string damaged = whole;
  damaged[10] ^= 1;
  write_text(index, damaged);
  EXPECT_EQ(clean({"wf.torc", "--completed"})["freed_packed_output"]["files"], 2)
      << "an index with a damaged record says nothing; the other worker's goes";
  write_text(index, whole + "x");
  EXPECT_EQ(clean({"wf.torc", "--completed"})["freed"]["files"], 0);
  write_text(index, whole);
  EXPECT_EQ(clean({"wf.torc", "--completed"})["freed_packed_output"]["files"], 2);
  EXPECT_EQ(names_in(jobs() / "packed"), Names{});
  EXPECT_TRUE(here_.run({"logs", "a"}).says("torc clean"));
}

TEST_F(Clean, leaves_packed_output_of_a_worker_that_is_at_work) {
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  here_.write("wf.yaml", R"(name: wf
jobs:
  - {name: done, command: echo done, stdio: {mode: packed}}
  - {name: live, command: "echo up > record; read x < gate", depends_on: [done], stdio: {mode: separate}}
)");
  const auto worker = here_.start({"run", "wf.yaml", "--engine", "journal"});
  ASSERT_TRUE(wait_for_line(record, "up", *worker)) << worker->err();
  ASSERT_TRUE(here_.wait_for_state("wf.torc", "live", "running"));
  EXPECT_EQ(clean({"wf.torc", "--completed"})["freed_packed_output"]["files"], 0);
  EXPECT_EQ(here_.run({"logs", "wf.torc", "done"}).out, "done\n");
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(clean({"wf.torc", "--completed"})["freed_packed_output"]["files"], 2);
}

TEST_F(Clean, removes_logs_of_allocations_whose_workers_have_left) {
  here_.write("wf.yaml", "name: wf\njobs: [{name: a, command: echo}]\n");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  Launch worker = here_.torc({"worker", "wf.torc"});
  worker.env["SLURM_JOB_ID"] = "4711";
  worker.env["SLURMD_NODENAME"] = "n1";
  worker.env["SLURM_JOB_NODELIST"] = "n1";
  const Ended ended = run(worker);
  ASSERT_EQ(ended.exit_code, 0) << ended;
  const Path logs = here_.path() / "wf.torc/logs";
  for (const char* name : {"slurm-4711.out", "slurm-4711.n1.out", "slurm-4711.n2.out",
                           "slurm-4712.out", "notes-4711.out", "slurm-4711.err"})
    write_text(logs / name, "log\n");
  EXPECT_EQ(clean({"wf.torc", "--older-than", "1h"})["freed_worker_logs"]["files"], 0);
  EXPECT_EQ(clean({"wf.torc"})["freed_worker_logs"], (json{{"files", 2}, {"size_bytes", 8}}));
  EXPECT_EQ(names_in(logs), (Names{"README", "jobs", "notes-4711.out", "slurm-4711.err",
                                   "slurm-4711.n2.out", "slurm-4712.out"}));
}

TEST_F(Clean, removes_whole_stores_of_torc_exec_that_ended_long_ago) {
  const Names kOld{"--exec", "--older-than", "1h"};
  EXPECT_EQ(clean(kOld)["exec_stores"], 0) << "there is nothing";
  ASSERT_EQ(here_.run({"exec", "--store", "named.torc", "-c", "echo {}", "a"}).exit_code, 0);
  ASSERT_EQ(here_.run({"exec", "-c", "echo {}", "a", "b"}).exit_code, 0);
  const Path all = here_.path() / ".torc-exec";
  const std::string store = names_in(all).at(0);
  EXPECT_EQ(here_.run({"clean", "--exec"}).exit_code, 2) << "how old?";
  EXPECT_EQ(clean(kOld)["exec_stores"], 0) << "it is new";
  fs::create_directory(all / "mine");
  write_text(all / "mine/file", "mine\n");
  fs::create_directory_symlink(here_.path() / "named.torc", all / "20200101-000000");
  fs::create_directory(all / "20200101-000001");
  write_text(all / "20200101-000001/file", "mine\n");
  // What a crash left of an earlier one.
  const std::string removing = ".removing-" + std::to_string(geteuid());
  fs::create_directory(all / removing);
  fs::permissions(all / removing, fs::perms::owner_all);
  fs::create_directory(all / removing / "20200101-000002");
  write_text(all / removing / "20200101-000002/META", "");

  write_text(all / store / "results.csv", "mine\n");
  const json kept = clean({".torc-exec", "--older-than", "1h", "--dry-run"}, 3700);
  EXPECT_EQ(kept["exec_stores"], 1) << kept;
  EXPECT_EQ(kept["left_alone"].size(), 3U) << kept;
  EXPECT_TRUE(fs::exists(all / store));
  fs::remove(all / store / "results.csv");
  const json done = clean(kOld, 3700);
  EXPECT_EQ(done["exec_stores"], 2) << done;
  EXPECT_EQ(done["left_alone"].size(), 2U) << done;
  EXPECT_EQ(names_in(all), (Names{"20200101-000000", "20200101-000001", "mine"}));
  EXPECT_EQ(here_.run({"status", "named.torc"}).exit_code, 0);
}

// Others who may rename what lies beside it must not be able to have a store removed.
TEST_F(Clean, judges_what_may_have_come_from_others) {
  ASSERT_EQ(here_.run({"exec", "-c", "echo {}", "a"}).exit_code, 0);
  const Path all = here_.path() / ".torc-exec";
  const std::string store = names_in(all).at(0);
  const std::string removing = ".removing-" + std::to_string(geteuid());
  fs::rename(all / store, all / (store + ".removing"));
  EXPECT_EQ(clean({"--exec", "--older-than", "1h"}, 3700)["exec_stores"], 0);
  fs::create_directory(all / removing);
  fs::permissions(all / removing, fs::perms::all);
  fs::rename(all / (store + ".removing"), all / removing / store);
  const json left = clean({"--exec", "--older-than", "1h"}, 3700);
  EXPECT_EQ(left["exec_stores"], 0);
  EXPECT_EQ(left["left_alone"].size(), 1U) << left;
  EXPECT_TRUE(fs::exists(all / removing / store / "META"));
}

TEST_F(Clean, leaves_a_store_of_torc_exec_that_has_something_to_do) {
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  const auto worker =
      here_.start({"exec", "-j", "1", "-c", "echo up > record; read x < gate; true {}", "a", "b"});
  ASSERT_TRUE(wait_for_line(record, "up", *worker)) << worker->err();
  const Path all = here_.path() / ".torc-exec";
  EXPECT_EQ(clean({"--exec", "--older-than", "1h"}, 3700)["exec_stores"], 0);
  worker->kill(SIGTERM);
  gate.open_gate(1);
  EXPECT_FALSE(worker->wait().timed_out);
  EXPECT_EQ(clean({"--exec", "--older-than", "1h"}, 3700)["exec_stores"], 0) << "--resume goes on";
  EXPECT_EQ(names_in(all).size(), 1U);
}

}  // namespace
}  // namespace torc::itest
