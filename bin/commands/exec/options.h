// The options of torc exec, as the command line fills them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace torc::cli {

struct ExecOptions {
  std::vector<std::string> commands;    // -c
  std::string commands_file;            // -C; "-": stdin
  std::string values_file;              // -a; "-": stdin
  std::vector<std::string> words;       // values, or "-" alone: lines of stdin
  std::vector<std::string> parameters;  // "i=1:10"
  std::string link = "product";         // or zip
  bool nul_separated = false;           // values end with NUL instead of a line end
  std::optional<std::uint64_t> jobs;    // at a time
  std::optional<std::uint64_t> retries;
  std::optional<std::chrono::seconds> timeout;
  std::optional<std::uint64_t> max_failures;
  std::string gpus;                         // of each job: "1", "0.25", "all"
  std::vector<std::string> resources;       // of each job: NAME=AMOUNT
  std::vector<std::string> node_resources;  // what this node has, as --resource of torc run
  std::string name;
  std::string store;
  std::string engine = "auto";
  bool resume = false;
  bool resume_failed = false;  // the same, and what failed runs again
  bool keep_order = false;
  bool tag = false;
  bool progress = false;
  bool dry_run = false;
  bool quiet = false;
  bool describes_jobs = false;  // flags were given that say what to run
};

}  // namespace torc::cli
