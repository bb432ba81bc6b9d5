// What became of a workflow as an RO-Crate 1.1 of the profile Process Run Crate 0.5
// (https://w3id.org/ro/wfrun/process/0.5): each attempt that ended is an action of its command upon
// files. Only what the store or the files themselves say.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"

namespace torc::report {

// A file as it is when the crate is made.
struct CrateFile {
  std::string path;      // absolute
  bool is_known = true;  // false: it could not be looked at, and nothing below says anything
  bool exists = false;
  std::uint64_t bytes = 0;
  WallTime changed_at{};
  std::string sha256;   // empty: not taken
  bool is_read = true;  // false: the hash was wanted and could not be taken
  // Not as a job found or left it, by its size and time.
  bool is_other = false;
};

struct CrateRun {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  std::string name;
  std::string command;
  std::string entry;  // of the workflow file, by the name that is written there
  std::string host;   // empty: not known
  std::string user;   // who ran it; empty: not known
  bool completed = false;
  std::string error;  // of one that did not complete: "exit code 3"
  WallTime started_at{};
  WallTime ended_at{};
  std::vector<CrateFile> inputs;
  std::vector<CrateFile> outputs;
};

struct CrateHead {
  std::string workflow;
  std::string description;  // empty: none
  std::string license;      // a text, or a URL; empty: not told
  WallTime made_at{};
  std::string spec_file;  // in the crate: "spec.yaml"; empty: none
  std::uint64_t spec_bytes = 0;
  std::string spec_sha256;
};

// Writes ro-crate-metadata.json, an entity a line, to `sink`, run by run; keeps the ids of runs and
// files, and no more of them.
class RoCrate {
 public:
  using Sink = std::function<void(std::string_view)>;
  RoCrate(CrateHead head, Sink sink);
  void add(const CrateRun& run);
  // After the last one.
  void finish();
  [[nodiscard]] std::uint64_t runs() const { return actions_.size(); }
  // That are there.
  [[nodiscard]] std::uint64_t files() const { return files_.size() - absent_; }
  // That jobs have, and that were not there or could not be looked at; and the first of them.
  [[nodiscard]] std::uint64_t absent() const { return absent_; }
  [[nodiscard]] const std::vector<std::string>& first_absent() const { return first_absent_; }

 private:
  void write(const nlohmann::ordered_json& entity);
  // Its id; written when it is new.
  std::string file(const CrateFile& file);
  std::string once(std::map<std::string, std::string>& known, const std::string& name,
                   std::string_view kind, std::string_view type, std::string_view description);

  CrateHead head_;
  Sink sink_;
  bool any_ = false;
  std::vector<std::string> actions_;
  std::uint64_t absent_ = 0;
  std::vector<std::string> first_absent_;
  std::map<std::string, std::string> files_, entries_, hosts_, users_;  // ids by names
};

// A path as a URI of the scheme file.
[[nodiscard]] std::string file_uri(std::string_view path);
// As ISO 8601 has it, in UTC: "2026-05-01T12:00:00.250+00:00".
[[nodiscard]] std::string iso_time(WallTime at);

}  // namespace torc::report
