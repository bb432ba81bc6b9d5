// The options of torc exec, as the command line fills them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace torc::cli {

// When to start nothing more: "now,fail=1".
struct ExecHalt {
  enum class Of : unsigned char { nothing, failures, successes, ends };
  Of of = Of::nothing;
  bool now = false;  // what runs is ended, too
  std::uint64_t count = 0;
  bool is_percentage = false;  // of all jobs
};

// Where values come from: each is one, and the jobs are for every combination of them.
struct ExecSource {
  std::vector<std::string> words;  // as they are; else a file
  std::string file;                // lines of it; "-": stdin; empty: words
  bool linked = false;             // its first value goes with the first one of the source before
};

struct ExecOptions {
  std::vector<std::string> commands;       // -c; or the words before the first `:::`
  std::string commands_file;               // -C; "-": stdin
  std::vector<std::string> values_files;   // -a; "-": stdin
  std::vector<std::string> words;          // as typed: command or values, `:::` among them
  std::vector<ExecSource> sources;         // of what was typed, see words.h
  bool runs_once_without_values = false;   // stdin was taken for values though nobody said so
  std::string column_separator;            // a regular expression; empty: a line is one value
  std::optional<std::uint64_t> arguments;  // values of each source for one job
  std::string replace_string;              // what stands for the value; empty: {}
  bool quote = false;                      // the words of the command are words, not shell
  std::vector<std::string> parameters;     // "i=1:10"
  std::string link = "product";            // or zip
  bool nul_separated = false;              // values end with NUL instead of a line end
  std::optional<std::uint64_t> jobs;       // at a time
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
  std::string joblog;   // a file with a line for each job that has ended
  std::string results;  // a directory for the output of each job
  ExecHalt halt;
  bool describes_jobs = false;  // flags were given that say what to run
};

}  // namespace torc::cli
