// The commands that look after a store and the filesystem under it: their options as the command
// line fills them, and the functions that run them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/app.h"

namespace CLI {
class App;
}

namespace torc::cli {

struct DoctorOptions {
  std::string directory = ".";
  bool two_node = false;
  std::chrono::seconds wait{300};  // for the other instance
  bool json = false;
};

struct RepairOptions {
  std::string store;
  std::string salvage;  // a directory to be made; empty: none
  bool quarantine_tail = false;
  bool yes = false;
  bool force = false;  // although workers are registered as alive
  bool json = false;
};

struct BackupOptions {
  std::vector<std::string> words;  // DEST, or STORE DEST
  std::string engine = "same";     // same, auto, lmdb, journal
  bool json = false;
};

struct HistoryOptions {
  std::string store;
  std::string job;  // name or #number; empty: all
  std::optional<std::uint64_t> worker;
  std::string since;        // a duration or a local time; empty: from the beginning
  std::uint64_t limit = 0;  // the newest so many; 0: all
  bool json = false;
};

struct BenchOptions {
  std::string directory = ".";
  std::chrono::seconds seconds{10};
  std::uint64_t processes = 4;
  std::string engine = "auto";
  bool json = false;
};

struct CompactOptions {
  std::string store;
  bool json = false;
};

struct AdoptOptions {
  std::string store;
  bool wait = false;  // until the leases of workers that are registered ran out
  bool json = false;
};

struct TrustOptions {
  std::string store;  // empty: lists
  bool forget = false;
  bool json = false;
};

struct CareOptions {
  DoctorOptions doctor;
  RepairOptions repair;
  BackupOptions backup;
  HistoryOptions history;
  BenchOptions bench;
  CompactOptions compact;
  AdoptOptions adopt;
  TrustOptions trust;
};

Exit run_doctor(const App& app, const DoctorOptions& options);
Exit run_repair(const App& app, const RepairOptions& options);
// The part of it that puts what can be read into a new directory.
Exit run_salvage(const App& app, const RepairOptions& options, const Path& store);
Exit run_backup(const App& app, const BackupOptions& options);
Exit run_history(const App& app, const HistoryOptions& options);
Exit run_bench(const App& app, const BenchOptions& options);
Exit run_compact(const App& app, const CompactOptions& options);
Exit run_adopt(const App& app, const AdoptOptions& options);
Exit run_trust(const App& app, const TrustOptions& options);

// Adds them to the command line. `options` and `exit` outlive the parsing.
void add_care_commands(CLI::App& cli, const App& app, CareOptions& options, Exit& exit);

}  // namespace torc::cli
