// How the command of a job of several nodes is started on workers of one host that count as nodes:
// once on the head, or on all of them, and what it finds there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

class LaunchOn : public ::testing::Test {
 protected:
  // Loopback addresses are names by which nodes of one host reach each other.
  void start_nodes(int count) {
    std::filesystem::create_directories(here.path() / "nodes");
    for (int n = 1; n <= count; ++n) {
      const std::string node = fmt::format("127.0.0.{}", n);
      Launch launch =
          here.torc({"worker", "wf.torc", "--num-cpus", "1", "--group", "lab", "--node-name", node,
                     "--bell-interface", "127.0.0.1", "--idle-timeout", "1h"});
      launch.env["TMPDIR"] = here.new_tmpdir(node).string();
      launch.env["TORC_NODE_DIR"] = (here.path() / "nodes").string();
      workers_.push_back(std::make_unique<Process>(launch));
    }
  }
  void make(int nodes, const std::string& job) const {
    here.write("wf.yaml",
               fmt::format("name: wf\nresource_requirements:\n  - {{name: wide, num_cpus: 1, "
                           "num_nodes: {}}}\njobs:\n  - name: gang\n    resource_requirements: "
                           "wide\n{}",
                           nodes, job));
    const Ended made = here.run({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  // Of all workers, which leave by themselves.
  void expect_end(const std::string& state) {
    for (const auto& worker : workers_) EXPECT_FALSE(worker->wait().timed_out) << said();
    EXPECT_EQ(here.json({"status", "wf.torc"})["state"], state) << said();
    EXPECT_EQ(here.run({"verify", "wf.torc"}).exit_code, 0);
  }
  [[nodiscard]] std::string said() const {
    std::string all;
    for (const auto& worker : workers_) all += worker->out() + worker->err() + "\n";
    return all;
  }
  [[nodiscard]] std::string text(const std::string& file) const {
    return read_text(here.path() / file);
  }

  const Workplace here;
  std::vector<std::unique_ptr<Process>> workers_;
};

TEST_F(LaunchOn, the_head_runs_the_command_once_and_knows_all_nodes) {
  make(2,
       "    ntasks_per_node: 3\n    command: |\n"
       "      echo \"$TORC_NODELIST $TORC_NUM_NODES $TORC_HEAD_NODE $TORC_NODE_RANK\" >> ran\n"
       "      cat $TORC_HOSTFILE $TORC_HOSTFILE_OPENMPI $TORC_HOSTFILE_MPICH > hosts\n"
       "      echo \"$OMPI_MCA_orte_default_hostfile $HYDRA_HOST_FILE\" > files\n"
       "      echo \"$TORC_HOSTFILE_OPENMPI $TORC_HOSTFILE_MPICH\" >> files\n");
  start_nodes(2);
  expect_end("completed");
  const auto ran = lines_of(text("ran"));
  ASSERT_EQ(ran.size(), 1U);
  const bool first = ran[0] == "127.0.0.1,127.0.0.2 2 127.0.0.1 0";
  EXPECT_TRUE(first || ran[0] == "127.0.0.2,127.0.0.1 2 127.0.0.2 0") << ran[0];
  const std::string a = first ? "127.0.0.1" : "127.0.0.2";
  const std::string b = first ? "127.0.0.2" : "127.0.0.1";
  EXPECT_EQ(text("hosts"), fmt::format("{0}\n{1}\n{0} slots=3\n{1} slots=3\n{0}:3\n{1}:3\n", a, b));
  const auto files = lines_of(text("files"));
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0], files[1]);
}

// What torch.distributed, Dask and Ray do first: rank 0 listens, the others come to it.
constexpr const char* kMeet = R"(import os, socket, sys
rank, nodes = int(os.environ["TORC_NODE_RANK"]), int(os.environ["TORC_NUM_NODES"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(place)
    server.settimeout(60)
    came = [0]
    held = []
    while len(came) < nodes:
        peer, _ = server.accept()
        held.append(peer)
        came.append(int(peer.recv(10)))
    for peer in held:
        peer.sendall(b"go")
    open("met", "a").write(" ".join(map(str, sorted(came))) + "\n")
else:
    for attempt in range(600):
        try:
            peer = socket.create_connection(place, 60)
            break
        except ConnectionRefusedError:
            import time
            time.sleep(0.1)
    peer.sendall(str(rank).encode())
    assert peer.recv(2) == b"go"
print("rank", rank)
)";

TEST_F(LaunchOn, all_nodes_run_the_command_and_meet_at_the_master) {
  here.write("meet.py", kMeet);
  make(4, "    launch: all\n    command: python3 meet.py\n");
  start_nodes(4);
  expect_end("completed");
  EXPECT_EQ(text("met"), "0 1 2 3\n");
}

// What the ranks print is kept, whose it is, and how one sees it.
class RanksPrint : public LaunchOn {
 protected:
  // On three nodes; rank 2 prints nothing to its standard output.
  void run_all(const std::string& more) {
    make(3,
         "    launch: all\n    command: 'test $TORC_NODE_RANK = 2 || printf \"one\\nrank "
         "$TORC_NODE_RANK\"; echo \"err $TORC_NODE_RANK\" >&2'\n" +
             more);
    start_nodes(3);
    expect_end("completed");
  }
  [[nodiscard]] std::string logs(std::vector<std::string> words) const {
    words.insert(words.begin(), {"logs", "wf.torc"});
    const Ended ended = here.run(words);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return ended.out;
  }
  // By rank, as the command found them.
  [[nodiscard]] std::vector<std::string> nodes() const {
    std::vector<std::string> names;
    const nlohmann::json logs = here.json({"logs", "wf.torc", "gang"});
    for (const auto& rank : logs["ranks"]) names.push_back(rank["node_name"]);
    return names;
  }
  void expect_all_seen() const {
    const std::vector<std::string> on = nodes();
    ASSERT_EQ((std::set<std::string>(on.begin(), on.end())),
              (std::set<std::string>{"127.0.0.1", "127.0.0.2", "127.0.0.3"}));
    const std::string both = fmt::format(
        "==> rank 0 on {} <==\none\nrank 0\n==> rank 1 on {} <==\none\nrank 1", on[0], on[1]);
    EXPECT_EQ(logs({"gang"}), both);
    EXPECT_EQ(logs({"gang", "-f"}), both);
    EXPECT_EQ(logs({"gang", "--rank", "1"}), "one\nrank 1");
    EXPECT_EQ(logs({"gang", "--rank", "1", "-f"}), "one\nrank 1");
    EXPECT_EQ(logs({"gang", "--rank", "2"}), "");
    EXPECT_EQ(
        logs({"gang", "--tail", "1"}),
        fmt::format("==> rank 0 on {} <==\nrank 0\n==> rank 1 on {} <==\nrank 1\n", on[0], on[1]));
    EXPECT_EQ(logs({"gang", "--stderr", "--rank", "2"}), "err 2\n");
    const auto json = here.json({"logs", "wf.torc", "gang", "--rank", "1"});
    ASSERT_EQ(json["ranks"].size(), 1U);
    EXPECT_EQ(json["ranks"][0]["rank"], 1);
    EXPECT_EQ(json["ranks"][0]["stdout"]["size_bytes"], 10);
    EXPECT_EQ(json["stdout"]["size_bytes"], 10);
    for (const std::string rank : {"3", "4294967296"})
      EXPECT_NE(here.run({"logs", "wf.torc", "gang", "--rank", rank}).exit_code, 0);
    EXPECT_EQ(here.run({"logs", "wf.torc", "export", "files"}).exit_code, 0);
    EXPECT_EQ(text("files/gang.out"), "one\nrank 0");
    EXPECT_EQ(text("files/gang%node1.out"), "one\nrank 1");
    EXPECT_EQ(text("files/gang%node2.err"), "err 2\n");
    EXPECT_FALSE(std::filesystem::exists(here.path() / "files/gang%node2.out"));
  }
};

TEST_F(RanksPrint, into_files_of_their_own) {
  run_all("");
  expect_all_seen();
  EXPECT_EQ(lines_of(logs({"gang", "--path"})).size(), 3U);
}

TEST_F(RanksPrint, into_packed_files) {
  run_all("    stdio: {mode: packed}\n");
  expect_all_seen();
}

TEST_F(RanksPrint, before_they_fail) {
  make(2,
       "    launch: all\n    launch_end: all\n    command: 'echo rank $TORC_NODE_RANK; exit 3'\n"
       "  - {name: single, command: echo alone, depends: {afterany: gang}}\n");
  start_nodes(2);
  expect_end("failed");
  const std::string failed = logs({"--failed"});
  EXPECT_NE(failed.find("==> gang: attempt 1, "), std::string::npos) << failed;
  EXPECT_NE(failed.find("==> rank 1 on 127.0.0."), std::string::npos) << failed;
  EXPECT_NE(failed.find("rank 0\n"), std::string::npos) << failed;
  // A job of one node has no ranks.
  EXPECT_EQ(logs({"single"}), "alone\n");
  EXPECT_TRUE(here.json({"logs", "wf.torc", "single"})["ranks"].empty());
  const Ended refused = here.run({"logs", "wf.torc", "single", "--rank", "1"});
  EXPECT_NE(refused.err.find("'single' has no rank 1"), std::string::npos) << refused;
}

TEST_F(LaunchOn, all_nodes_end_with_the_first_failure) {
  make(2, "    launch: all\n    command: 'test $TORC_NODE_RANK = 0 && exec sleep 1000; exit 7'\n");
  start_nodes(2);
  expect_end("failed");
  EXPECT_EQ(here.json({"jobs", "wf.torc"})[0]["exit_code"], 7);
  const nlohmann::json result = here.json({"results", "wf.torc"})[0];
  EXPECT_EQ(result["rank"], 1) << result;
  const std::string node = result["node_name"];
  EXPECT_EQ(node.substr(0, 8), "127.0.0.") << result;
  EXPECT_TRUE(here.run({"results", "wf.torc"}).says(node + " (rank 1)"));
  const std::string end = "exit code 7, on rank 1 (" + node + ")";
  for (const Ended& shown : {here.run({"status", "wf.torc"}), here.run({"why", "wf.torc", "gang"}),
                             here.run({"job", "wf.torc", "gang"})}) {
    std::string text = shown.out;
    std::ranges::replace(text, '\n', ' ');
    EXPECT_NE(text.find(end), std::string::npos) << shown;
  }
}

TEST_F(LaunchOn, all_nodes_run_to_their_own_ends_where_the_job_says_so) {
  make(2,
       "    launch: all\n    launch_end: all\n    command: 'test $TORC_NODE_RANK = 1 && exit 7; "
       "read x < gate; touch went_on'\n");
  Fifo gate(here.path() / "gate");
  start_nodes(2);
  Timer a_while(std::chrono::seconds(6));
  EXPECT_TRUE(wait_until({&a_while}, [&] { return a_while.passed(); }));
  gate.open_gate(1);
  expect_end("failed");
  EXPECT_TRUE(std::filesystem::exists(here.path() / "went_on"));
}

TEST_F(LaunchOn, what_the_user_sets_for_launchers_stays) {
  make(2,
       "    env: {OMPI_MCA_rmaps_base_mapping_policy: slot, MASTER_PORT: '9'}\n"
       "    launch: all\n    command: 'echo $OMPI_MCA_rmaps_base_mapping_policy $MASTER_PORT >> "
       "said'\n");
  start_nodes(2);
  expect_end("completed");
  EXPECT_EQ(text("said"), "slot 9\nslot 9\n");
}

}  // namespace
}  // namespace torc::itest
