// Real MPI launchers for a test: a ring of ranks that is compiled with each, who its ranks were,
// and the processes of a gang on all nodes, which are namespaces of this machine.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {

struct Mpi {
  const char* name;
  const char* compiler;
  const char* launcher;
};
inline constexpr Mpi kOpenMpi{"openmpi", "mpicc.openmpi", "mpirun.openmpi"};
inline constexpr Mpi kMpich{"mpich", "mpicc.mpich", "mpiexec.hydra"};
// Root may run Open MPI only if it says so; nodes of one kernel are taken for one by the library
// below MPICH, which would have them meet in shared memory. Without NOLOCAL ranks of one node that
// may not use that never end (MPICH 4.0.2).
inline constexpr const char* kMpiEnvironment =
    "env: {OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1', "
    "OMPI_MCA_btl: 'tcp,self', UCX_TLS: 'tcp,self', "
    "MPIR_CVAR_NOLOCAL: '1'}\n";

// Its ring, made in `directory`: "ring-openmpi".
inline std::string make_ring(const Mpi& mpi, const std::filesystem::path& directory) {
  const std::string program = (directory / (std::string("ring-") + mpi.name)).string();
  const Ended made = run({{"/usr/bin/env", mpi.compiler, "-O1", "-o", program,
                           std::string(TORC_SOURCE_DIR) + "/tests/integration/mpi/ring.c"},
                          {},
                          directory,
                          {},
                          {}});
  EXPECT_EQ(made.exit_code, 0) << made << "To get it run scripts/install-deps.sh test.";
  return program;
}

struct Rank {
  int number = -1;
  int of = 0;
  std::string host;
  int cpus = 0;
};
// Those that have joined the ring, by its log.
inline std::vector<Rank> ranks_in(const std::filesystem::path& log) {
  std::vector<Rank> ranks;
  for (const std::string& line : lines_of(read_text(log))) {
    Rank rank;
    std::string word;
    std::istringstream in(line);
    in >> word >> rank.number >> word >> rank.of >> word >> rank.host >> word >> rank.cpus;
    EXPECT_TRUE(in) << line;
    ranks.push_back(rank);
  }
  std::ranges::sort(ranks, {}, &Rank::number);
  return ranks;
}
// Each of `nodes` hosts has as many, all that are numbered are there, none is bound to less than
// `cpus`.
inline void expect_ring(const std::vector<Rank>& ranks, std::size_t nodes, std::size_t each,
                        int cpus) {
  ASSERT_EQ(ranks.size(), nodes * each);
  std::map<std::string, std::size_t> on_host;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(ranks[i].number, static_cast<int>(i));
    EXPECT_EQ(ranks[i].of, static_cast<int>(nodes * each));
    EXPECT_GE(ranks[i].cpus, cpus);
    ++on_host[ranks[i].host];
  }
  EXPECT_EQ(on_host.size(), nodes);
  for (const auto& [host, count] : on_host) EXPECT_EQ(count, each) << host;
}

// A process of this machine, on one of its nodes.
struct Seen {
  pid_t pid = 0;
  std::string node;     // the hostname of its UTS namespace, as `node_of` knows them; empty: none
  std::string program;  // its name
  std::string command;  // its words, each followed by a blank
};

inline std::string file_of(pid_t pid, const char* name) {
  return read_text(fmt::format("/proc/{}/{}", pid, name));
}

// The processes of these nodes whose environment or words have `text`; `nodes`: UTS namespaces by
// their links.
inline std::vector<Seen> processes_with(const std::string& text,
                                        const std::map<std::string, std::string>& nodes) {
  std::vector<Seen> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto end = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (end.ptr != name.data() + name.size()) continue;
    std::string command = file_of(pid, "cmdline");
    std::ranges::replace(command, '\0', ' ');
    if (file_of(pid, "environ").find(text) == std::string::npos &&
        command.find(text) == std::string::npos)
      continue;
    std::error_code gone;
    const std::string uts = std::filesystem::read_symlink(entry.path() / "ns/uts", gone);
    const auto node = nodes.find(uts);
    if (node == nodes.end()) continue;  // of a test that runs beside this one
    std::string program = file_of(pid, "comm");
    if (!program.empty()) program.pop_back();
    found.push_back({pid, node->second, program, command});
  }
  return found;
}

// What the death of something at `struck` came to, in seconds: when the first attempt was over, by
// the history of the job, and the second began; and when the last of its ranks was gone.
struct Timeline {
  double over = -1;   // after the death; -1: never
  double gone = -1;   // the same
  double again = -1;  // the same
};
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
inline Timeline timeline_of(const nlohmann::json& events, double struck, double gone) {
  Timeline line{-1, gone - struck, -1};
  for (const auto& event : events) {
    const std::string what = event.at("event");
    if (what == "canceled" && line.over < 0) line.over = event.at("at").get<double>() - struck;
    if (!event.at("attempt").is_number() || !event.at("at").is_number()) continue;
    const int attempt = event.at("attempt");
    // Of a loss there are two: the last sign of a worker, and when that was found.
    double at = event.at("at");
    if (event.contains("heard_at") && event.at("heard_at").is_number())
      at = std::max(at, event.at("heard_at").get<double>());
    at -= struck;
    if (attempt == 1 && (what == "finished" || what == "requeued") && line.over < 0) line.over = at;
    if (attempt == 2 && what == "started" && line.again < 0) line.again = at;
  }
  return line;
}
// A row of the table of docs/maintainer/testing.md.
inline std::string row_of(const char* name, const nlohmann::json& job, const Timeline& line) {
  const auto show = [](double s) { return s < 0 ? std::string("-") : fmt::format("{:.1f}", s); };
  return fmt::format("| {} | {}, attempt {} | {} | {:.1f} | {} |\n", name,
                     job.at("state").get<std::string>(), job.at("attempt").get<int>(),
                     show(line.over), line.gone, show(line.again));
}

// "1.2.": of attempt 2 of job 1.
inline std::string gang_tag_of(int attempt) {
  return fmt::format("TORC_GANG=1.{}.", attempt);
}

}  // namespace torc::itest
