// torc repair and torc backup with real processes: a store is damaged on disk, workers live or die,
// and a backup is taken while they work.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <cstring>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/store/lmdb/lmdb_file.h"
#include "lib/store/lmdb/lmdb_page.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class Maintenance : public testing::Test {
 protected:
  // A store of engine journal in which 40 jobs were done, by many commits.
  void make_history() {
    std::string jobs = "name: wf\njobs:\n  - {name: j1, command: \"true\"}\n";
    for (int i = 2; i <= 40; ++i)
      jobs += fmt::format("  - {{name: j{}, command: \"true\", depends_on: [j{}]}}\n", i, i - 1);
    here_.write("wf.yaml", jobs);
    ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
    const Ended ended = here_.run({"run", "wf.torc"});
    ASSERT_EQ(ended.exit_code, 0) << ended;
  }
  [[nodiscard]] std::vector<Path> commit_files() const {
    std::vector<Path> out;
    for (const auto& entry : fs::recursive_directory_iterator(here_.path() / "wf.torc")) {
      if (entry.is_regular_file() &&
          entry.path().parent_path().parent_path().filename() == "journal")
        out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] Path state_directory() const {
    for (const auto& entry : fs::directory_iterator(here_.path() / "wf.torc")) {
      if (entry.path().filename().string().starts_with("state-")) return entry.path();
    }
    ADD_FAILURE() << "no state directory";
    return {};
  }
  [[nodiscard]] Path commit_file(int number) const {
    return state_directory() / "journal/000000000000" / fmt::format("{:012}", number);
  }
  static void damage(const Path& file) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(60);
    stream << "XX";
  }
  // As on a node that never saw the store.
  [[nodiscard]] Launch elsewhere(std::vector<std::string> arguments) const {
    Launch launch = here_.torc(std::move(arguments));
    launch.env["TMPDIR"] = here_.new_tmpdir(fmt::format("node{}", ++nodes_)).string();
    return launch;
  }

  Workplace here_;
  mutable int nodes_ = 0;
};

TEST_F(Maintenance, verify_names_the_damaged_file_and_the_way_out) {
  make_history();
  const Path victim = *(commit_files().end() - 8);
  damage(victim);
  const Ended ended = run(elsewhere({"verify"}));
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says(victim.filename().string())) << ended;
  EXPECT_TRUE(ended.says("torc repair")) << ended;
}

TEST_F(Maintenance, repair_only_looks_unless_it_is_told_to_act) {
  make_history();
  damage(*(commit_files().end() - 8));
  const auto before = contents(here_.path() / "wf.torc");
  const Ended looked = run(elsewhere({"repair"}));
  EXPECT_EQ(looked.exit_code, 4) << looked;
  EXPECT_TRUE(looked.says("nothing was changed")) << looked;
  EXPECT_TRUE(looked.says("cannot be read")) << looked;
  EXPECT_TRUE(looked.says("finished")) << looked;
  const Ended unasked = run(elsewhere({"repair", "--quarantine-tail"}));
  EXPECT_EQ(unasked.exit_code, 2) << unasked;
  EXPECT_TRUE(unasked.says("--yes")) << unasked;
  EXPECT_EQ(contents(here_.path() / "wf.torc"), before);
}

TEST_F(Maintenance, after_a_repair_the_store_is_clean_and_the_workflow_can_be_finished) {
  make_history();
  damage(*(commit_files().end() - 8));
  const Ended repaired = run(elsewhere({"repair", "--quarantine-tail", "--yes", "--json"}));
  EXPECT_EQ(repaired.exit_code, 0) << repaired;
  const json report = json::parse(repaired.out, nullptr, false);
  EXPECT_TRUE(report.value("repaired", false)) << repaired;
  EXPECT_TRUE(report.value("verified", false)) << repaired;
  EXPECT_EQ(report["lost_commits"].size(), 8U);
  EXPECT_TRUE(fs::exists(report.value("quarantine", "")));
  EXPECT_EQ(run(elsewhere({"verify"})).exit_code, 0);
  // The lost part held the release of the worker: it is registered as alive and its process is
  // gone.
  const Ended ended = run(elsewhere({"run", "wf.torc"}));
  EXPECT_EQ(ended.exit_code, 0) << ended;
  // On the node whose copy had the lost part, as on any other.
  EXPECT_EQ(here_.json({"status"})["jobs_by_state"]["completed"], 40);
  EXPECT_EQ(here_.run({"verify"}).exit_code, 0);
  const Ended again = here_.run({"repair"});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_TRUE(again.says("nothing to repair")) << again;
}

// The worker that finished a workflow takes its copy away, so segments are all that has the commit.
TEST_F(Maintenance, a_file_that_is_gone_after_the_end_is_repaired_as_verify_promises) {
  make_history();
  fs::remove(commit_file(10));
  for (const char* command : {"verify", "status", "run", "repair"}) {
    const Ended refused = here_.run({command, "wf.torc"});
    EXPECT_EQ(refused.exit_code, 4) << refused;
    EXPECT_TRUE(refused.says("000000000010 is missing")) << refused;
    EXPECT_TRUE(refused.says("segment")) << refused;
    EXPECT_TRUE(refused.says("torc repair")) << refused;
  }
  const json looked = json::parse(here_.run({"repair", "wf.torc", "--json"}).out, nullptr, false);
  EXPECT_EQ(looked["clean"], false);
  EXPECT_EQ(looked["damaged_files"].size(), 1U);
  EXPECT_EQ(looked["lost_commits"].size(), 0U);
  const Ended repaired = here_.run({"repair", "wf.torc", "--quarantine-tail", "--yes"});
  EXPECT_EQ(repaired.exit_code, 0) << repaired;
  EXPECT_TRUE(repaired.says("nothing is lost")) << repaired;
  EXPECT_EQ(here_.run({"verify"}).exit_code, 0);
  EXPECT_EQ(here_.run({"run", "wf.torc"}).exit_code, 0);
  EXPECT_EQ(here_.json({"status"})["jobs_by_state"]["completed"], 40);
  const json clean = here_.json({"repair", "wf.torc"});
  EXPECT_EQ(clean["clean"], true);
  EXPECT_EQ(clean["verified"], true);
  EXPECT_EQ(run(elsewhere({"verify"})).exit_code, 0);
}

TEST_F(Maintenance, of_a_store_without_any_history_nothing_is_called_whole) {
  make_history();
  for (const Path& file : commit_files()) fs::remove_all(file.parent_path());
  fs::remove_all(state_directory() / "segment");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"verify"},
                                                  {"status"},
                                                  {"repair"},
                                                  {"repair", "--quarantine-tail", "--yes"}}) {
    const Ended refused = here_.run(command);
    EXPECT_EQ(refused.exit_code, 4) << refused;
    EXPECT_TRUE(refused.says("torc backup") || refused.says("torc repair")) << refused;
    EXPECT_FALSE(refused.says("try again")) << refused;
    EXPECT_FALSE(refused.says("nothing to repair")) << refused;
  }
  EXPECT_FALSE(fs::exists(here_.path() / "wf.torc/quarantine"));
}

TEST_F(Maintenance, repair_is_refused_while_a_worker_lives) {
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  here_.write("wf.yaml",
              "name: wf\njobs:\n  - {name: a, command: \"echo a > record; read x < gate\"}\n");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  const auto worker = here_.start({"run", "wf.torc"});
  ASSERT_TRUE(wait_for_line(record, "a", *worker));
  // That it runs is the last commit; the one before it made the worker known.
  ASSERT_TRUE(here_.wait_for_state("wf.torc", "a", "running"));
  damage(commit_files().back());
  const Ended refused = run(elsewhere({"repair", "--quarantine-tail", "--yes"}));
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_TRUE(refused.says("registered as alive")) << refused;
  EXPECT_FALSE(fs::exists(here_.path() / "wf.torc/quarantine"));
  worker->kill(SIGKILL);
  (void)worker->wait();
  const Ended repaired = run(elsewhere({"repair", "--quarantine-tail", "--yes"}));
  EXPECT_EQ(repaired.exit_code, 0) << repaired;
}

TEST_F(Maintenance, a_store_of_engine_lmdb_goes_on_from_the_state_before_a_damaged_one) {
  here_.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"true\"}\n");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", "lmdb"}).exit_code, 0);
  EXPECT_TRUE(here_.run({"repair"}).says("nothing to repair"));
  ASSERT_EQ(here_.run({"run"}).exit_code, 0);
  const Path data = here_.path() / "wf.torc" / "data.mdb";
  std::string bytes = read_text(data);
  // The newer of the two heads names the page that the last commit wrote last.
  const auto number = [&](std::size_t at) {
    std::uint64_t out = 0;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
  };
  constexpr std::size_t kPage = 4096;
  const std::size_t head = number(kPage + 144) > number(144) ? kPage : 0;
  bytes.replace(number(head + 128) * kPage, 64, 64, '\0');
  write_text(data, bytes);
  EXPECT_EQ(here_.run({"verify"}).exit_code, 4);
  const Ended shown = here_.run({"repair"});
  EXPECT_EQ(shown.exit_code, 4) << shown;
  EXPECT_TRUE(shown.says("lost commit")) << shown;
  const Ended mended = here_.run({"repair", "--quarantine-tail", "--yes"});
  EXPECT_EQ(mended.exit_code, 0) << mended;
  EXPECT_EQ(here_.run({"verify"}).exit_code, 0);
  EXPECT_EQ(here_.run({"run"}).exit_code, 0);
}

// The pages of a store of engine lmdb, chosen by the kind of their first and last key.
class LmdbPages {
 public:
  explicit LmdbPages(const Path& store) : data_(store / "data.mdb"), good_(read_text(data_)) {
    const auto file = store::LmdbFile::open(store);
    newest_ = *file->unused_pages(file->newest());
    older_ = *file->unused_pages(file->older());
  }
  // Those that both states use.
  [[nodiscard]] std::vector<std::size_t> of(store::LmdbPageKind kind, std::string_view keys) const {
    std::vector<std::size_t> out;
    std::vector<store::LmdbNode> nodes;
    for (std::size_t page = 2; page < good_.size() / kPage; ++page) {
      const auto bytes = std::string_view(good_).substr(page * kPage, kPage);
      if (newest_[page] || older_[page] || read_lmdb_page(bytes, page, kind, nodes) != nullptr)
        continue;
      const bool fits = keys.empty() ||
                        (nodes.front().key.starts_with(keys) && nodes.back().key.starts_with(keys));
      if (fits) out.push_back(page);
    }
    return out;
  }
  void destroy(const std::vector<std::size_t>& pages) const {
    std::string bytes = good_;
    for (const std::size_t page : pages) bytes.replace(page * kPage, kPage, kPage, '\0');
    write_text(data_, bytes);
  }

 private:
  static constexpr std::size_t kPage = 4096;
  Path data_;
  std::string good_;
  std::vector<bool> newest_;
  std::vector<bool> older_;
};

class Salvage : public Maintenance {
 protected:
  void SetUp() override {
    here_.write("wf.yaml",
                "name: wf\njobs: [{name: \"a_{i}\", command: \"exit $(( {i} % 7 ))\", parameters: "
                "{i: \"1:2000\"}}]\n");
    ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", "lmdb"}).exit_code, 0);
    ASSERT_EQ(here_.run({"run", "wf.torc"}).exit_code, 1);
    results_ = here_.run({"results", "wf.torc", "--csv"}).out;
  }
  std::string results_;
};

TEST_F(Salvage, gives_back_what_is_left_of_the_jobs_and_nothing_that_could_be_run) {
  const LmdbPages pages(here_.path() / "wf.torc");
  const auto leaves = pages.of(store::LmdbPageKind::leaf, "J");
  ASSERT_GT(leaves.size(), 3U);
  pages.destroy({leaves[1]});
  const Ended looked = here_.run({"repair", "wf.torc"});
  EXPECT_EQ(looked.exit_code, 4) << looked;
  EXPECT_TRUE(looked.says("--salvage")) << looked;
  const auto before = contents(here_.path() / "wf.torc");
  const Ended ended = here_.run({"repair", "wf.torc", "--salvage", "left", "--json"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_EQ(contents(here_.path() / "wf.torc"), before);
  const json report = json::parse(ended.out, nullptr, false);
  EXPECT_EQ(report.value("salvaged_as", ""), "lists") << ended;
  EXPECT_TRUE(ended.says("records can be read")) << ended;
  EXPECT_EQ(report["may_be_missing"], json::array({"jobs"})) << ended;
  ASSERT_EQ(report["unknown_job_ids"].size(), 1U) << ended;
  const auto lost = report["unknown_job_ids"][0];
  std::ifstream lines(here_.path() / "left/jobs.jsonl");
  std::uint64_t jobs = 0;
  for (std::string line; std::getline(lines, line);) {
    const json job = json::parse(line, nullptr, false);
    const auto id = job.value("job_id", std::uint64_t{0});
    if (job["as_of"] != "state") continue;
    ++jobs;
    EXPECT_EQ(job["job"], fmt::format("a_{}", id));
    EXPECT_EQ(job["exit_code"], id % 7);
    EXPECT_TRUE(id < lost["first_job_id"] || id > lost["last_job_id"]) << line;
  }
  const std::uint64_t gone =
      lost["last_job_id"].get<std::uint64_t>() - lost["first_job_id"].get<std::uint64_t>();
  EXPECT_EQ(jobs + gone + 1, 2000U);
  EXPECT_EQ(here_.run({"run", "left"}).exit_code, 4);
  const Ended again = here_.run({"repair", "wf.torc", "--salvage", "left"});
  EXPECT_EQ(again.exit_code, 4) << again;
  EXPECT_TRUE(again.says("there already")) << again;
}

TEST_F(Salvage, makes_a_store_that_goes_on_when_no_record_is_missing) {
  const LmdbPages pages(here_.path() / "wf.torc");
  const std::string whole = read_text(here_.path() / "wf.torc/data.mdb");
  std::string bytes = whole;
  bytes.replace(0, 4096, 4096, '\0');  // a head, without which nobody can open it
  write_text(here_.path() / "wf.torc/data.mdb", bytes);
  EXPECT_EQ(here_.run({"results", "wf.torc"}).exit_code, 4);
  const Ended ended = here_.run({"repair", "wf.torc", "--salvage", "new.torc"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here_.run({"verify", "new.torc"}).exit_code, 0);
  EXPECT_EQ(here_.run({"results", "new.torc", "--csv"}).out, results_);
  EXPECT_EQ(here_.run({"retry", "new.torc", "--failed"}).exit_code, 0);
  EXPECT_EQ(here_.run({"run", "new.torc"}).exit_code, 1);
}

TEST_F(Salvage, of_a_store_with_workers_is_refused_unless_they_are_surely_gone) {
  Fifo record(here_.path() / "record");
  Fifo gate(here_.path() / "gate");
  here_.write("w.yaml",
              "name: w\njobs:\n  - {name: a, command: \"echo a > record; read x < gate\"}\n");
  ASSERT_EQ(here_.run({"init", "w.yaml", "--engine", "lmdb"}).exit_code, 0);
  const auto worker = here_.start({"run", "w.torc"});
  ASSERT_TRUE(wait_for_line(record, "a", *worker));
  const Ended refused = here_.run({"repair", "w.torc", "--salvage", "new.torc"});
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_TRUE(refused.says("would run again in the new store")) << refused;
  EXPECT_FALSE(fs::exists(here_.path() / "new.torc"));
  const Ended forced = here_.run({"repair", "w.torc", "--salvage", "new.torc", "--force"});
  EXPECT_EQ(forced.exit_code, 0) << forced;
  EXPECT_TRUE(forced.says("their jobs run again")) << forced;
  EXPECT_TRUE(forced.says("name the damaged store")) << forced;
  worker->kill(SIGKILL);
  (void)worker->wait();
  EXPECT_EQ(here_.run({"repair", "w.torc", "--salvage", "late.torc"}).exit_code, 0);
}

// LMDB has no checksums: nothing is missing, and only the recount of the claims notices.
TEST_F(Salvage, makes_no_store_of_records_that_do_not_fit_together) {
  const Path data = here_.path() / "wf.torc/data.mdb";
  const std::string good = read_text(data);
  std::string bytes = good;
  std::vector<store::LmdbNode> nodes;
  for (std::size_t page = 2; page < good.size() / 4096; ++page) {
    const auto at = std::string_view(good).substr(page * 4096, 4096);
    if (read_lmdb_page(at, page, store::LmdbPageKind::leaf, nodes) != nullptr) continue;
    for (const store::LmdbNode& node : nodes) {
      // The counters: how many jobs are blocked comes first.
      if (node.key == "K") bytes[static_cast<std::size_t>(node.value.data() - good.data())] ^= 1;
    }
  }
  write_text(data, bytes);
  // Without --salvage as well: the pages are good, and still it is not whole.
  const Ended looked = here_.run({"repair", "wf.torc"});
  EXPECT_EQ(looked.exit_code, 4) << looked;
  EXPECT_TRUE(looked.says("are counted")) << looked;
  EXPECT_FALSE(looked.says("nothing to repair")) << looked;
  const Ended ended = here_.run({"repair", "wf.torc", "--salvage", "left"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("is not a store and cannot be run")) << ended;
  EXPECT_TRUE(ended.says("are counted")) << ended;
  EXPECT_TRUE(fs::exists(here_.path() / "left/jobs.jsonl"));
  EXPECT_FALSE(fs::exists(here_.path() / "left/META"));
}

TEST_F(Maintenance, a_backup_taken_while_workers_work_is_a_whole_store) {
  for (const char* engine : {"journal", "lmdb"}) {
    const std::string name = std::string("w") + engine;
    Fifo record(here_.path() / ("record-" + name));
    Fifo gate(here_.path() / ("gate-" + name));
    here_.write("wf.yaml", fmt::format(R"(name: {0}
jobs:
  - name: "j_{{i}}"
    command: "echo j > record-{0}; read x < gate-{0}"
    parameters: {{i: "1:6"}}
)",
                                       name));
    ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", engine}).exit_code, 0);
    const auto worker = here_.start({"run", name + ".torc", "--num-cpus", "2"});
    ASSERT_TRUE(wait_for_line(record, "j", *worker)) << worker->err();
    const Ended backed = here_.run({"backup", name + ".torc", name + "-copy.torc", "--json"});
    EXPECT_EQ(backed.exit_code, 0) << backed;
    const json report = json::parse(backed.out, nullptr, false);
    EXPECT_EQ(report.value("jobs", 0), 6);
    EXPECT_EQ(report.value("registered_workers", 0), 1);
    EXPECT_NE(report.value("store_id", ""),
              here_.json({"status", name + ".torc"}).value("store_id", ""));
    gate.open_gate(6);
    EXPECT_EQ(worker->wait().exit_code, 0);
    // The original went on; the copy did not.
    EXPECT_EQ(here_.json({"status", name + ".torc"})["jobs_by_state"]["completed"], 6);
    EXPECT_LT(here_.json({"status", name + "-copy.torc"})["jobs_by_state"]["completed"], 6);
    EXPECT_EQ(here_.run({"verify", name + "-copy.torc"}).exit_code, 0);
    EXPECT_EQ(here_.run({"backup", name + ".torc", name + "-copy.torc"}).exit_code, 4);
    // Its registered worker is known to be gone on this node, so its jobs are run again at once.
    gate.open_gate(6);
    const Ended ended = here_.run({"run", name + "-copy.torc"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
  }
}

// LMDB believes its file. Whatever it does with this one, the user reads a sentence.
TEST(DamagedLmdb, ends_no_command_by_a_signal) {
  const Workplace here;
  here.write(
      "wf.yaml",
      "name: wf\njobs: [{name: \"a_{i}\", command: \"true\", parameters: {i: \"1:2000\"}}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "lmdb"}).exit_code, 0);
  ASSERT_EQ(here.run({"run", "wf.torc"}).exit_code, 0);
  const Path data = here.path() / "wf.torc" / "data.mdb";
  const std::string good = read_text(data);
  constexpr std::size_t kPage = 4096;
  std::vector<std::string> damaged(3, good);
  for (std::size_t page = 2; page < good.size() / kPage; ++page) {
    damaged[0].replace(page * kPage, kPage, kPage, '\0');
    damaged[1][(page * kPage) + 12] = '\xff';  // the number of entries
    damaged[1][(page * kPage) + 13] = '\xff';
  }
  damaged[2].resize(3 * kPage);
  for (const std::string& bytes : damaged) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"verify"},
                                               {"repair"},
                                               {"repair", "--salvage", "left"},
                                               {"status"},
                                               {"jobs"},
                                               {"results"},
                                               {"history"},
                                               {"compact"},
                                               {"run"},
                                               {"worker"},
                                               {"reset", "--all", "--yes"},
                                               {"backup", "copy"}}) {
      write_text(data, bytes);
      std::vector<std::string> line = words;
      line.insert(line.begin() + 1, "wf.torc");
      const Ended ended = here.run(line);
      EXPECT_EQ(ended.signal, 0) << words.front() << ": " << ended;
      EXPECT_TRUE(ended.exit_code >= 0 && ended.exit_code <= 4) << words.front() << ": " << ended;
      EXPECT_TRUE(ended.exit_code == 0 || ended.says("torc: ")) << ended;
      // What the others meet of it depends on where they look.
      fs::remove_all(here.path() / "left");
      if (words != std::vector<std::string>{"verify"} &&
          words != std::vector<std::string>{"repair"})
        continue;
      EXPECT_EQ(ended.exit_code, 4) << words.front() << ": " << ended;
      EXPECT_TRUE(ended.says("data.mdb: page")) << ended;
    }
  }
  write_text(data, good);
  EXPECT_EQ(here.run({"verify", "wf.torc"}).exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
