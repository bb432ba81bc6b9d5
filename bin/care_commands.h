// The commands that look after a store and the filesystem under it: their options as the command
// line fills them, and the functions that run them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

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

struct CareOptions {
  DoctorOptions doctor;
};

Exit run_doctor(const App& app, const DoctorOptions& options);

// Adds them to the command line. `options` and `exit` outlive the parsing.
void add_care_commands(CLI::App& cli, const App& app, CareOptions& options, Exit& exit);

}  // namespace torc::cli
