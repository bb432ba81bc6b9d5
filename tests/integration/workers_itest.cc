// Many real workers on one store, killed, frozen and replaced while they work. What happened is
// known from the jobs themselves: each writes a line when it starts and a line when it is done into
// one fifo, whose order is the order in which it happened.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

constexpr int kFirst = 1000;  // jobs of the first stage,
constexpr int kSecond = 990;  // of the second: each after one of the first,
constexpr int kThird = 10;    // of the third: each after all of the second
constexpr int kJobs = kFirst + kSecond + kThird;
constexpr std::size_t kWorkers = 6;

// The jobs of the third stage wait at the gate before they are done.
std::string three_stages(const Path& record, const Path& gate) {
  const std::string start =
      fmt::format("echo start $TORC_JOB_NAME $TORC_ATTEMPT_ID > {}", record.string());
  const std::string done =
      fmt::format("echo done $TORC_JOB_NAME $TORC_ATTEMPT_ID > {}", record.string());
  return fmt::format(R"(name: stages
jobs:
  - name: a_{{i}}
    command: "{0}; {1}"
    parameters: {{i: "1:{3}"}}
    stdio: {{mode: none}}
  - name: b_{{i}}
    command: "{0}; {1}"
    depends_on: ["a_{{i}}"]
    parameters: {{i: "1:{4}"}}
    stdio: {{mode: none}}
  - name: c_{{i}}
    command: "{0}; read line < {2}; {1}"
    depends_on_regexes: ["^b_"]
    parameters: {{i: "1:{5}"}}
    stdio: {{mode: none}}
)",
                     start, done, gate.string(), kFirst, kSecond, kThird);
}

struct Attempt {
  std::string job;
  int number = 0;
  auto operator<=>(const Attempt&) const = default;
};

// Where in the record each attempt started and was done.
struct History {
  std::map<Attempt, std::vector<std::size_t>> starts, ends;
  std::map<std::string, std::size_t> first_start;  // of any attempt of a job
};

History read_history(const std::vector<std::string>& record) {
  History history;
  for (std::size_t at = 0; at < record.size(); ++at) {
    std::istringstream line(record[at]);
    std::string what;
    Attempt attempt;
    line >> what >> attempt.job >> attempt.number;
    EXPECT_TRUE(line && (what == "start" || what == "done")) << "torn line: " << record[at];
    (what == "start" ? history.starts : history.ends)[attempt].push_back(at);
    if (what == "start") history.first_start.try_emplace(attempt.job, at);
  }
  return history;
}

std::vector<std::string> upstream_of(const std::string& job) {
  if (job.starts_with("b_")) return {"a_" + job.substr(2)};
  std::vector<std::string> all;
  if (job.starts_with("c_")) {
    for (int i = 1; i <= kSecond; ++i) all.push_back(fmt::format("b_{}", i));
  }
  return all;
}

struct Member {
  Path tmpdir;           // its replica is here
  std::string hostname;  // empty: this host's
  std::unique_ptr<Process> process;
};

// A store with the three stages, and a crew of workers on it.
class Crew {
 public:
  enum class Place { one_node, a_node_each };

  Crew(const std::string& engine, Place place, const std::string& lease_ttl)
      : record_(workplace_.path() / "record"),
        gate_(workplace_.path() / "gate"),
        lease_ttl_(lease_ttl) {
    workplace_.write("wf.yaml", three_stages(record_.path(), gate_.path()));
    const Ended made = workplace_.run({"init", "wf.yaml", "--engine", engine});
    EXPECT_EQ(made.exit_code, 0) << made;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      const std::string name = place == Place::one_node ? "node" : fmt::format("node{}", i);
      members_.push_back({workplace_.path().parent_path() / name, "", nullptr});
      if (place == Place::a_node_each || i == 0) workplace_.new_tmpdir(name);
    }
  }

  void start(Member& member) {
    Launch launch =
        workplace_.torc({"worker", "stages.torc", "--num-cpus", "2", "--lease-ttl", lease_ttl_});
    launch.env["TMPDIR"] = member.tmpdir;
    launch.hostname = member.hostname;
    member.process = std::make_unique<Process>(launch);
  }
  void start_all() {
    for (Member& member : members_) start(member);
  }

  // The store's directory of everything that changes; its name ends with a part of the store's id.
  [[nodiscard]] Path state() const {
    for (const auto& entry : std::filesystem::directory_iterator(workplace_.path() / "stages.torc"))
      if (entry.path().filename().string().starts_with("state-")) return entry.path();
    return {};
  }

  std::vector<Source*> sources() {
    std::vector<Source*> all{&record_};
    for (Member& member : members_) all.push_back(member.process.get());
    return all;
  }

  // Waits until jobs wrote so many more lines.
  [[nodiscard]] bool wait_for_lines(std::size_t more) {
    const std::size_t enough = record_.lines().size() + more;
    return wait_until(sources(), [&] { return record_.lines().size() >= enough; });
  }

  void kill(Member& member) {
    killed_.insert(member.process->pid());
    member.process->kill(SIGKILL);
    EXPECT_EQ(member.process->wait().signal, SIGKILL) << "a worker ended by itself before its time";
  }

  // The number that the store knows a worker by.
  [[nodiscard]] std::string number_of(const Member& member) const {
    const json status = workplace_.json({"status", "stages.torc"});
    for (const json& worker : status["workers"]) {
      if (worker["pid"] == member.process->pid())
        return std::to_string(worker["worker"].get<int>());
    }
    return "";
  }

  [[nodiscard]] bool is_living(const std::string& number) const {
    const json status = workplace_.json({"status", "stages.torc"});
    return std::any_of(status["workers"].begin(), status["workers"].end(), [&](const json& worker) {
      return std::to_string(worker["worker"].get<int>()) == number;
    });
  }

  void expect_that_all_leave() {
    for (Member& member : members_) {
      const Ended ended = member.process->wait();
      EXPECT_EQ(ended.exit_code, 0) << ended;
    }
  }

  void expect_a_clean_end();

  Workplace& workplace() { return workplace_; }
  std::vector<Member>& members() { return members_; }
  Fifo& record() { return record_; }
  Fifo& gate() { return gate_; }

 private:
  Workplace workplace_;
  Fifo record_;
  Fifo gate_;
  std::string lease_ttl_;
  std::vector<Member> members_;
  std::set<pid_t> killed_;
};

void Crew::expect_a_clean_end() {
  const Ended verified = workplace_.run({"verify", "stages.torc"});
  EXPECT_EQ(verified.exit_code, 0) << verified;
  EXPECT_TRUE(verified.says("clean")) << verified;

  const json status = workplace_.json({"status", "stages.torc"});
  EXPECT_EQ(status["state"], "completed") << status;
  EXPECT_EQ(status["jobs_by_state"]["completed"], kJobs) << status;
  // One that was killed with nothing claimed is nobody's concern: its lease may still run.
  for (const json& worker : status["workers"])
    EXPECT_TRUE(killed_.contains(worker["pid"].get<pid_t>())) << worker;

  record_.pump();
  const History history = read_history(record_.lines());
  const auto jobs = workplace_.jobs("stages.torc");
  ASSERT_EQ(jobs.size(), static_cast<std::size_t>(kJobs));

  for (const auto& [attempt, starts] : history.starts) {
    EXPECT_EQ(starts.size(), 1U) << attempt.job << ", attempt " << attempt.number
                                 << " was started twice";
    ASSERT_TRUE(jobs.contains(attempt.job)) << attempt.job;
    EXPECT_LE(attempt.number, jobs.at(attempt.job)["attempt"].get<int>()) << attempt.job;
  }
  // The attempt whose result was accepted, and where it was done.
  std::map<std::string, std::size_t> accepted;
  for (const auto& [name, job] : jobs) {
    EXPECT_EQ(job["state"], "completed") << job;
    EXPECT_EQ(job["exit_code"], 0) << job;
    EXPECT_LE(job["claimed_at"].get<double>(), job["started_at"].get<double>() + 1) << job;
    const auto end = history.ends.find({name, job["attempt"].get<int>()});
    ASSERT_TRUE(end != history.ends.end()) << "accepted without having been done: " << job;
    accepted[name] = end->second.front();
  }
  for (const auto& [name, started] : history.first_start) {
    for (const std::string& upstream : upstream_of(name)) {
      ASSERT_LT(accepted.at(upstream), started)
          << name << " ran before " << upstream << " was done";
    }
  }
}

// Kills a random worker after a random number of lines and puts another in its place, `times`
// times, but spares those in `spared`.
void kill_and_replace(Crew& crew, std::mt19937_64& random, int times,
                      const std::set<std::size_t>& spared) {
  for (int i = 0; i < times; ++i) {
    ASSERT_TRUE(crew.wait_for_lines(std::uniform_int_distribution<std::size_t>(1, 250)(random)));
    std::size_t victim = 0;
    do {
      victim = std::uniform_int_distribution<std::size_t>(0, kWorkers - 1)(random);
    } while (spared.contains(victim));
    crew.kill(crew.members()[victim]);
    crew.start(crew.members()[victim]);
  }
}

void survive_kills(const std::string& engine, Crew::Place place) {
  std::mt19937_64 random(test_seed());
  Crew crew(engine, place, "5m");  // dead neighbours must be noticed long before their lease ends
  crew.start_all();
  kill_and_replace(crew, random, 10, {});
  crew.gate().open_gate(10 * kJobs);
  crew.expect_that_all_leave();
  crew.expect_a_clean_end();
}

TEST(Workers, that_are_killed_and_replaced_lose_and_repeat_no_result_on_one_node) {
  survive_kills("journal", Crew::Place::one_node);
}

TEST(Workers, that_are_killed_and_replaced_lose_and_repeat_no_result_with_a_replica_each) {
  survive_kills("journal", Crew::Place::a_node_each);
}

TEST(Workers, that_are_killed_and_replaced_lose_and_repeat_no_result_on_the_lmdb_engine) {
  survive_kills("lmdb", Crew::Place::one_node);
}

TEST(Workers, a_worker_frozen_beyond_its_lease_loses_its_jobs_and_comes_back_as_a_new_worker) {
  std::mt19937_64 random(test_seed());
  Crew crew("journal", Crew::Place::a_node_each, "10s");
  crew.start_all();
  ASSERT_TRUE(crew.wait_for_lines(100));

  // One that has registered: on a busy machine the others may have done the first hundred jobs.
  std::size_t frozen = std::uniform_int_distribution<std::size_t>(0, kWorkers - 1)(random);
  std::string number;
  for (std::size_t tried = 0; tried < kWorkers && number.empty(); ++tried) {
    frozen = (frozen + 1) % kWorkers;
    number = crew.number_of(crew.members()[frozen]);
  }
  ASSERT_FALSE(number.empty());
  Process& process = *crew.members()[frozen].process;
  NewNames commits(crew.state() / "journal");
  process.kill(SIGSTOP);
  kill_and_replace(crew, random, 4, {frozen});

  auto sources = crew.sources();
  sources.push_back(&commits);
  ASSERT_TRUE(wait_until(sources, [&] { return commits.take() && !crew.is_living(number); }))
      << "its lease was never ended";
  process.kill(SIGCONT);
  EXPECT_TRUE(process.wait_for_output("its lease was lost")) << process.out() << process.err();
  EXPECT_TRUE(process.running()) << process.out() << process.err();

  crew.gate().open_gate(10 * kJobs);
  crew.expect_that_all_leave();
  crew.expect_a_clean_end();
}

TEST(Workers, a_worker_whose_store_is_moved_away_leaves_with_the_advice_for_that) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: mv wf.torc moved}\n");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  const Ended ended = here.run({"worker", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("is not there any more: it was deleted or moved")) << ended;
  EXPECT_TRUE(ended.says("go on with it at its new place: torc worker PLACE")) << ended;
  EXPECT_FALSE(ended.out.find("is not there any more") != std::string::npos)
      << "told twice: " << ended;
  EXPECT_FALSE(ended.says("torc init")) << ended;
}

// Its jobs cannot be started before the store is asked again. In one step: who notices half of it
// gone ends the job that removes the rest.
TEST(Workers, a_run_whose_store_is_removed_says_that_and_not_what_it_kept_from_starting) {
  const Workplace here;
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: a, command: mv wf.torc old && rm -r old}\n"
             "  - {name: \"b{i}\", command: \"true\", depends_on: a, parameters: {i: \"1:9\"}}\n");
  for (const char* engine : {"lmdb", "journal"}) {
    std::filesystem::remove_all(here.path() / "wf.torc");
    ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", engine}).exit_code, 0);
    const Ended ended = here.run({"run", "wf.torc", "--num-cpus", "1"});
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_TRUE(ended.says("is not there any more: it was deleted or moved")) << ended;
    EXPECT_FALSE(ended.says("cannot run jobs here")) << ended;
    EXPECT_FALSE(ended.says("go on with: torc run")) << ended;
  }
}

// The worker loses its lease in the half of it, and finds nothing when it comes back.
TEST(Workers, a_run_whose_store_is_removed_half_and_then_all_of_it_does_not_wait_for_it) {
  const Workplace here;
  for (const char* half : {"state-*", "state-*/snapshot"}) {
    here.write("wf.yaml", std::string("name: wf\njobs:\n  - {name: a, command: mv wf.torc/") +
                              half +
                              " $(mktemp -d)}\n  - {name: \"b{i}\", command: \"true\", "
                              "depends_on: a, parameters: {i: \"1:9\"}}\n");
    ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
    const auto run = here.start({"run", "wf.torc", "--num-cpus", "1"});
    ASSERT_TRUE(run->wait_for_output("trying again")) << run->out() << run->err();
    std::filesystem::remove_all(here.path() / "wf.torc");
    const Ended ended = run->wait();
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_TRUE(ended.says("is not there any more: it was deleted or moved")) << ended;
  }
}

// The first attempt fails while its worker is frozen; the second is still running when that worker
// comes back with the news.
TEST(Workers, a_result_that_comes_after_the_lease_has_ended_is_discarded) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo first(here.path() / "gate1");
  Fifo second(here.path() / "gate2");
  here.write("wf.yaml", R"(name: wf
jobs:
  - name: job
    command: "echo start $TORC_ATTEMPT_ID > record; read x < gate$TORC_ATTEMPT_ID; test $TORC_ATTEMPT_ID = 2"
)");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  const std::vector<std::string> worker{"worker", "wf.torc", "--lease-ttl", "10s"};
  const auto frozen = here.start(worker);
  ASSERT_TRUE(wait_for_line(record, "start 1", *frozen)) << frozen->err();
  frozen->kill(SIGSTOP);
  first.open_gate(1);
  const auto other = here.start(worker);
  ASSERT_TRUE(wait_for_line(record, "start 2", *other)) << other->out() << other->err();

  frozen->kill(SIGCONT);
  EXPECT_TRUE(frozen->wait_for_output("its lease was lost")) << frozen->out() << frozen->err();
  const json running = here.json({"job", "job"});
  // That it runs is told by the next commit of its worker, which may not have come yet.
  EXPECT_TRUE(running["state"] == "running" || running["state"] == "claimed") << running;
  EXPECT_EQ(running["attempt"], 2) << running;

  second.open_gate(1);
  EXPECT_EQ(other->wait().exit_code, 0);
  EXPECT_EQ(frozen->wait().exit_code, 0);
  const json ended = here.json({"job", "job"});
  EXPECT_EQ(ended["state"], "completed") << ended;
  EXPECT_EQ(ended["attempt"], 2) << ended;
  EXPECT_EQ(ended["exit_code"], 0) << ended;
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
  record.pump();
  EXPECT_EQ(record.lines(), (std::vector<std::string>{"start 1", "start 2"}));
}

// Nothing but the heartbeats tells a host of another host's worker. The dead node's jobs die with
// it.
TEST(Workers, a_node_that_disappears_is_noticed_by_the_silence_of_its_heartbeat) {
  if (geteuid() != 0) GTEST_SKIP() << "host names of their own need root";
  Crew crew("journal", Crew::Place::a_node_each, "10s");
  for (std::size_t i = 0; i < kWorkers; ++i) crew.members()[i].hostname = fmt::format("node{}", i);
  crew.start_all();
  ASSERT_TRUE(crew.wait_for_lines(200));
  crew.kill(crew.members()[1]);
  crew.members()[1].hostname = "node9";
  crew.start(crew.members()[1]);
  crew.kill(crew.members()[2]);
  crew.members()[2].hostname = "node10";
  crew.start(crew.members()[2]);
  crew.gate().open_gate(10 * kJobs);
  crew.expect_that_all_leave();
  crew.expect_a_clean_end();

  std::set<std::string> hosts;
  for (const auto& [name, job] : crew.workplace().jobs("stages.torc"))
    hosts.insert(job["host"].get<std::string>());
  EXPECT_GE(hosts.size(), 3U);
}

}  // namespace
}  // namespace torc::itest
