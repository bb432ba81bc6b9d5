// Every command: its options as the command line fills them, and the function that runs it. The
// flags themselves are described in cli.cc, once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/app.h"
#include "lib/base/units.h"
#include "lib/worker/worker_setup.h"

namespace torc::cli {

struct CheckOptions {
  std::string spec;
  bool json = false;
};

struct InitOptions {
  std::string spec;
  std::string store;            // empty: <workflow name>.torc in the working directory
  std::string engine = "auto";  // auto, lmdb, journal
  std::string group;            // name or number of a group that shares the store; empty: none
  std::optional<std::chrono::seconds> retention;  // nullopt: what the filesystem here needs
  bool force = false;                             // move an existing store aside
  bool checksum = false;  // workers hash the files of jobs, for `reinit --checksum`
  bool json = false;
};

struct RunOptions {
  std::string target;  // a spec or a store; empty: the store found as for other commands
  std::string store;   // for a spec: where to make the store
  std::string engine = "auto";
  bool spec_flags = false;  // flags were given that only a spec can use
  worker::WorkerOptions worker;
};

struct StatusOptions {
  std::string store;
  bool json = false;
};

struct JobsOptions {
  std::string store;
  std::string state;
  std::string name;         // regular expression, searched in the name
  std::uint64_t limit = 0;  // 0: all
  bool json = false;
};

struct JobOptions {
  std::vector<std::string> words;  // NAME, or STORE NAME
  bool json = false;
};

struct LogsOptions {
  std::vector<std::string> words;  // NAME, or STORE NAME; with `failed` STORE or nothing
  bool err = false;
  bool follow = false;                // until the job has ended
  bool failed = false;                // of all jobs that failed
  std::optional<std::uint64_t> tail;  // so many lines
  bool recovery = false;              // that of the recovery script after the attempt
  std::optional<std::uint32_t> attempt;
  bool path_only = false;
  bool json = false;
};

struct ExportOptions {
  std::vector<std::string> words;  // DIR, or STORE DIR
  bool all_attempts = false;
};

struct NodeOptions {
  bool json = false;
};

struct VerifyOptions {
  std::string store;
  bool json = false;
};

Exit run_check(const App& app, const CheckOptions& options);
Exit run_init(const App& app, const InitOptions& options);
Exit run_worker(const App& app, const worker::WorkerOptions& options);
Exit run_run(const App& app, const RunOptions& options);
Exit run_status(const App& app, const StatusOptions& options);
Exit run_jobs(const App& app, const JobsOptions& options);
Exit run_job(const App& app, const JobOptions& options);
Exit run_why(const App& app, const JobOptions& options);
Exit run_logs(const App& app, const LogsOptions& options);
Exit run_export(const App& app, const ExportOptions& options);
Exit run_node(const App& app, const NodeOptions& options);
Exit run_verify(const App& app, const VerifyOptions& options);

// Parses the command line and runs the command that it names.
Exit run_command_line(const App& app, int argc, char** argv);

}  // namespace torc::cli
