// Everything that users get wrong, and machines: each with its exit code and with words that help.
// Nothing that was there before is harmed by any of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/store/engine/meta.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using nlohmann::json;

constexpr const char* kGood = R"(name: wf
jobs:
  - name: first
    command: "true"
  - name: second
    command: "true"
    depends_on: [first]
)";

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

// --- words ---

TEST(Words, in_brackets_stay_one_word) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\nuser_data: [{name: v}]\njobs: [{name: a, command: 'true'}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  for (const std::string value : {R"(["a"])", "[1,2]", "[]", "[[1],[2]]"}) {
    EXPECT_EQ(here.run({"data", "set", "v", value}).exit_code, 0) << value;
    EXPECT_EQ(here.run({"data", "get", "v"}).out, value + "\n");
  }
  EXPECT_EQ(here.run({"exec", "--dry-run", "-c", "[ -f {} ]", "[a,b]", "--", "[c]"}).out,
            "[ -f '[a,b]' ]\n[ -f '[c]' ]\n");
  EXPECT_SAYS(here.run({"[x]"}), "there is no command '[x]'");
}

TEST(Words, of_a_giant_number_the_message_has_the_begin) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\nuser_data: [{name: v}]\njobs: [{name: a, command: 'true'}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const Ended ended = here.run({"data", "set", "v", std::string(60'000, '1')});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_SAYS(ended, "number overflow parsing '111");
  EXPECT_LT(ended.err.size(), 1'000U);
}

// --- specs ---

// Every command that reads a spec refuses it with code 2 and the same words, and makes nothing.
void expect_refused(const std::string& spec, const std::vector<std::string>& words) {
  const Workplace here;
  here.write("wf.yaml", spec);
  for (const std::string command : {"check", "init", "run"}) {
    SCOPED_TRACE(command);
    const Ended ended = here.run({command, "wf.yaml"});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_TRUE(ended.out.empty()) << ended;
    for (const std::string& word : words) EXPECT_SAYS(ended, word);
  }
  EXPECT_EQ(contents(here.path()).size(), 1U) << "something was made";
}

TEST(BadSpec, broken_yaml_is_shown_with_its_place) {
  expect_refused("name: wf\njobs:\n  - name: a\n    command: \"true\n",
                 {"wf.yaml:", "error:", "1 mistake"});
  expect_refused("name: wf\njobs: [ {name: a, command: b\n", {"wf.yaml:", "error:"});
}

TEST(BadSpec, an_unknown_key_is_underlined_and_the_known_one_is_named) {
  expect_refused("name: wf\njobs:\n  - name: a\n    comand: \"true\"\n    command: \"true\"\n",
                 {"wf.yaml:4:5", "unknown key 'comand'", "^~~~~~", "did you mean 'command'"});
}

TEST(BadSpec, a_cycle_names_its_jobs) {
  expect_refused(R"(name: wf
jobs:
  - {name: a, command: "true", depends_on: [c]}
  - {name: b, command: "true", depends_on: [a]}
  - {name: c, command: "true", depends_on: [b]}
)",
                 {"wf.yaml:3:", "in a circle: a -> c -> b -> a"});
}

TEST(BadSpec, a_missing_command_is_told) {
  expect_refused("name: wf\njobs:\n  - name: a\n", {"wf.yaml:3:", "command"});
}

TEST(BadSpec, all_mistakes_are_told_at_once) {
  expect_refused(R"(name: wf
nmae: x
jobs:
  - {name: a, command: "true", depends_on: [b]}
  - {name: aa, command: "true", priorty: 1}
  - {name: aa, command: "true"}
)",
                 {"unknown key 'nmae'", "unknown key 'priorty'"});
  expect_refused(R"(name: wf
jobs:
  - {name: a, command: "true", scheduler: big}
  - {name: b, command: "true", resource_requirements: huge}
)",
                 {"wf.yaml:3:", "wf.yaml:4:", "'big'", "'huge'", "2 mistakes"});
  expect_refused(R"(name: wf
jobs:
  - {name: a, command: "true", depends_on: [bb]}
  - {name: b, command: "true", input_files: [data]}
  - {name: b, command: "true"}
)",
                 {"wf.yaml:3:", "wf.yaml:4:", "wf.yaml:5:", "'bb'", "'b'", "'data'"});
}

TEST(BadSpec, a_key_whose_behaviour_is_not_there_is_refused_by_name) {
  const Workplace here;
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: a, command: \"true\"}\nslurm_schedulers: [{name: "
             "big}]\nactions:\n"
             "  - {trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: big, "
             "scheduler_type: local}\n");
  const Ended checked = here.run({"check", "wf.yaml"});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_SAYS(checked, "wf.yaml:6:100: note: scheduler_type 'local'");
  EXPECT_SAYS(checked, "this version cannot run all of it");
  for (const std::string command : {"init", "run"}) {
    const Ended ended = here.run({command, "wf.yaml"});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_SAYS(ended, "wf.yaml:6:100: error: scheduler_type 'local'");
  }
  EXPECT_FALSE(std::filesystem::exists(here.path() / "wf.torc"));
}

TEST(BadSpec, mistakes_of_all_kinds_come_in_one_round_and_in_file_order) {
  expect_refused(R"(name: wf
slurm_defaults: {gpus: 2, constraint: "a&b"}
slurm_schedulers:
  - {name: s, extra: "--wrap=x"}
  - {name: t, extra: "stray"}
jobs:
  - {name: prep, command: "true", comand: x}
  - {name: b, command: "true", depends_on: [perp]}
  - {name: c, command: "true", depends_on: [d]}
  - {name: d, command: "cat ${files.inptu.x}", depends_on: [c]}
  - {name: b, command: "true"}
)",
                 {"wf.yaml:2:18:", "slurm_defaults may not hold --gpus",
                  "wf.yaml:4:22:", "may not hold --wrap", "wf.yaml:5:22:", "stray word",
                  "wf.yaml:7:", "'comand'", "wf.yaml:8:45:", "did you mean 'prep'",
                  "wf.yaml:9:", "c -> d -> c", "wf.yaml:10:29:", "did you mean ${files.input.x}",
                  "wf.yaml:11:", "two jobs are named 'b'", "8 mistakes"});
}

TEST(BadSpec, scripts_and_people_are_told_the_same) {
  const Workplace here;
  here.write("wf.yaml",
             "name: wf\nslurm_defaults: {gpus: 2}\nslurm_schedulers: [{name: s}]\njobs:\n"
             "  - {name: a, command: \"true\", depends_on: [b], prioriti: 1}\n");
  const Ended people = here.run({"check", "wf.yaml"});
  const json report = json::parse(here.run({"check", "wf.yaml", "--json"}).out, nullptr, false);
  ASSERT_TRUE(report.is_object());
  std::string texts;
  for (const json& d : report["diagnostics"]) {
    texts += d["rendered"].get<std::string>();
    EXPECT_EQ(d["rendered"].get<std::string>().find(d["file"].get<std::string>() + ":" +
                                                    std::to_string(d["line"].get<int>()) + ":" +
                                                    std::to_string(d["column"].get<int>()) + ":"),
              0U)
        << d;
  }
  EXPECT_EQ(report["diagnostics"].size(), 3U);
  EXPECT_NE(people.err.find(texts), std::string::npos) << people << texts;
}

TEST(BadSpec, bytes_of_any_kind_are_refused_without_a_crash) {
  expect_refused("\0\xff\xfe\x80 name: \x01"s, {"wf.yaml"});
  expect_refused("", {"wf.yaml"});
}

TEST(BadSpec, a_file_that_is_not_there_is_told) {
  const Workplace here;
  for (const std::string command : {"check", "init", "run"}) {
    const Ended ended = here.run({command, "nowhere.yaml"});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_SAYS(ended, "nowhere.yaml");
  }
}

TEST(BadSpec, check_tells_scripts_about_every_mistake) {
  const Workplace here;
  here.write("wf.yaml",
             "name: wf\njobs:\n  - name: a\n    comand: \"true\"\n    command: \"true\"\n");
  const Ended ended = here.run({"check", "wf.yaml", "--json"});
  EXPECT_EQ(ended.exit_code, 2);
  const json report = json::parse(ended.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ended;
  EXPECT_EQ(report["valid"], false);
  ASSERT_EQ(report["diagnostics"].size(), 1U) << report;
  const json& mistake = report["diagnostics"][0];
  EXPECT_EQ(mistake["severity"], "error");
  EXPECT_EQ(mistake["line"], 4);
  EXPECT_EQ(mistake["column"], 5);
  EXPECT_EQ(mistake["message"], "unknown key 'comand' in a job");
  EXPECT_NE(mistake["remedy"].get<std::string>().find("'command'"), std::string::npos);
}

// --- stores ---

// A good store wf.torc.
class BadStore : public testing::Test {
 protected:
  BadStore() { here_.write("wf.yaml", kGood); }
  void make(const std::string& engine) {
    const Ended made = here_.run({"init", "wf.yaml", "--engine", engine});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] Path store() const { return here_.path() / "wf.torc"; }

  // Every command that opens a store refuses it with code 4 and these words, and changes nothing in
  // it.
  void expect_refused(const std::vector<std::string>& words,
                      const std::string& name = "wf.torc") const {
    const Path directory = here_.path() / name;
    const auto before =
        fs::is_directory(directory) ? contents(directory) : std::map<std::string, std::string>{};
    for (const std::string command : {"status", "jobs", "worker", "run", "verify"}) {
      SCOPED_TRACE(command);
      const Ended ended = here_.run({command, name});
      EXPECT_EQ(ended.exit_code, 4) << ended;
      EXPECT_TRUE(ended.out.empty()) << ended;
      EXPECT_SAYS(ended, "torc: error: ");
      for (const std::string& word : words) EXPECT_SAYS(ended, word);
    }
    if (fs::is_directory(directory)) {
      EXPECT_EQ(contents(directory), before);
    }
  }

  Workplace here_;
};

TEST_F(BadStore, of_another_format_is_refused_by_both_numbers) {
  make("journal");
  std::string meta = read_text(store() / "META");
  const auto at = meta.find("format: 5\n");
  ASSERT_NE(at, std::string::npos);
  write_text(store() / "META", meta.replace(at, 10, "format: 99\n"));
  expect_refused({"META", "format 99", "format 5"});
}

TEST_F(BadStore, with_a_damaged_description_is_refused) {
  make("journal");
  std::string meta = read_text(store() / "META");
  meta[meta.find("id: ") + 4] ^= 1;
  write_text(store() / "META", meta);
  expect_refused({"META", "damaged", "checksum"});
}

TEST_F(BadStore, a_directory_that_is_none_is_told_from_one) {
  fs::create_directory(here_.path() / "data.torc");
  here_.write("data.torc/results.txt", "42\n");
  expect_refused({"data.torc", "not a torc store"}, "data.torc");
  fs::create_directory(here_.path() / "empty.torc");
  expect_refused({"empty.torc", "not a torc store"}, "empty.torc");
  here_.write("fake.torc/META", "I am somebody else's\n");
  expect_refused({"fake.torc"}, "fake.torc");
}

TEST_F(BadStore, that_does_not_exist_is_named) {
  expect_refused({"nowhere.torc"}, "nowhere.torc");
}

TEST_F(BadStore, of_engine_lmdb_is_refused_on_another_machine_by_both_names) {
  make("lmdb");
  auto meta = store::decode_meta(read_text(store() / "META"), store() / "META");
  ASSERT_TRUE(meta.ok()) << meta.error().text();
  meta->identity.host = "elsewhere17";
  meta->identity.machine = std::string(32, '7');
  write_text(store() / "META", store::encode_meta(*meta));
  char self[256] = {};
  gethostname(self, sizeof self - 1);
  expect_refused({"lmdb", "elsewhere17", self, "journal", "torc adopt"});
}

TEST_F(BadStore, with_a_damaged_commit_is_refused_by_the_name_of_the_file) {
  make("journal");
  Path victim;
  for (const auto& entry : fs::recursive_directory_iterator(store())) {
    if (entry.is_regular_file() && entry.path().string().find("/journal/") != std::string::npos)
      victim = std::max(victim, entry.path());
  }
  ASSERT_FALSE(victim.empty());
  std::string bytes = read_text(victim);
  bytes[bytes.size() / 2] ^= 1;
  fs::permissions(victim, fs::perms::owner_write, fs::perm_options::add);
  write_text(victim, bytes);
  Launch launch = here_.torc({"verify", "wf.torc"});
  launch.env["TMPDIR"] = here_.new_tmpdir("another-node");
  for (const std::string command : {"verify", "status"}) {
    launch.argv[1] = command;
    const Ended ended = run(launch);
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_SAYS(ended, victim.string());
  }
}

// --- init on something ---

TEST_F(BadStore, init_on_an_existing_store_refuses_and_changes_nothing) {
  for (const std::string engine : {"journal", "lmdb"}) {
    make(engine);
    const auto before = contents(store());
    here_.write("wf.yaml", std::string(kGood) + "  - {name: third, command: \"true\"}\n");
    const Ended again = here_.run({"init", "wf.yaml", "--engine", engine});
    EXPECT_EQ(again.exit_code, 4) << again;
    EXPECT_SAYS(again, "exists");
    EXPECT_SAYS(again, "--force");
    EXPECT_EQ(contents(store()), before);

    const Ended forced = here_.run({"init", "wf.yaml", "--engine", engine, "--force"});
    EXPECT_EQ(forced.exit_code, 0) << forced;
    EXPECT_SAYS(forced, "wf.torc.old1");
    EXPECT_EQ(contents(here_.path() / "wf.torc.old1"), before);
    EXPECT_EQ(here_.json({"status", "wf.torc"})["jobs"], 3);
    EXPECT_EQ(here_.json({"status", "wf.torc.old1"})["jobs"], 2);
    fs::remove_all(store());
    fs::remove_all(here_.path() / "wf.torc.old1");
    here_.write("wf.yaml", kGood);
  }
}

TEST_F(BadStore, init_refuses_to_replace_anything_else) {
  here_.write("wf.torc/precious", "data\n");
  EXPECT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 4);
  EXPECT_EQ(read_text(store() / "precious"), "data\n");
  here_.write("file", "data\n");
  EXPECT_EQ(here_.run({"init", "wf.yaml", "--store", "file"}).exit_code, 4);
  EXPECT_EQ(read_text(here_.path() / "file"), "data\n");
}

// --- permission ---

// As root, torc runs as somebody else here, from a copy that everybody may run.
class NoPermission : public BadStore {
 protected:
  NoPermission() {
    const Path copy = here_.path() / "torc";
    fs::copy_file(here_.torc({}).argv[0], copy);
    fs::permissions(copy, fs::perms(0755));
  }
  Ended run_restricted(std::vector<std::string> arguments) const {
    Launch launch = here_.torc(std::move(arguments));
    launch.argv[0] = here_.path() / "torc";
    launch.env["TMPDIR"] = here_.new_tmpdir("theirs");
    if (geteuid() == 0) launch.user = 65534;
    return run(launch);
  }
  // Takes permissions away, and gives them back to be able to clean up.
  void set_modes(const Path& directory, unsigned for_directories, unsigned for_files) const {
    fs::permissions(directory, fs::perms(0755));
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      fs::permissions(entry.path(), fs::perms(entry.is_directory() ? 0755 : 0644));
    }
    std::vector<Path> directories{directory};
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.is_directory())
        directories.push_back(entry.path());
      else
        fs::permissions(entry.path(), fs::perms(for_files));
    }
    for (auto it = directories.rbegin(); it != directories.rend(); ++it)
      fs::permissions(*it, fs::perms(for_directories));
  }
};

TEST_F(NoPermission, to_write_here_is_told_by_init) {
  fs::permissions(here_.path(), fs::perms(0555));
  const Ended ended = run_restricted({"init", "wf.yaml"});
  fs::permissions(here_.path(), fs::perms(0755));
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_SAYS(ended, "Permission denied");
  EXPECT_SAYS(ended, here_.path().string());
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(NoPermission, to_read_a_store_is_told) {
  make("journal");
  set_modes(store(), 0000, 0000);
  const Ended ended = run_restricted({"status", "wf.torc"});
  set_modes(store(), 0755, 0644);
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_SAYS(ended, "Permission denied");
  EXPECT_SAYS(ended, "wf.torc");
}

TEST_F(NoPermission, to_write_a_store_is_told_by_a_worker_and_harms_nothing) {
  for (const std::string engine : {"journal", "lmdb"}) {
    SCOPED_TRACE(engine);
    make(engine);
    const auto before = contents(store());
    set_modes(store(), 0555, 0444);
    const Ended ended = run_restricted({"worker", "wf.torc"});
    set_modes(store(), 0755, 0644);
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_SAYS(ended, "Permission denied");
    EXPECT_SAYS(ended, "wf.torc");
    EXPECT_EQ(contents(store()), before);
    fs::remove_all(store());
    fs::remove_all(here_.path().parent_path() / "theirs");
  }
}

}  // namespace
}  // namespace torc::itest
