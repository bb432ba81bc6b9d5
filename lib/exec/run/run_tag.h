// The variable by which a process that has left the session of its command is still known as that
// command's. A value; any thread. Internal to lib/exec: include process_host.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/exec/run/run.h"

namespace torc::exec {

// Of one host. The variable's value is IDENTITY.KEY; a torc within a job of another one appends its
// own to what it finds, behind a slash, so that the outer one still knows its part.
class RunTag {
 public:
  static constexpr std::string_view kVariable = "TORC_RUN_ID";

  // `identity` is no other host's, of this process or of another one, now or later.
  explicit RunTag(std::string identity) : identity_(std::move(identity)) {}
  // By this process and the moment, since a process may have one host after another.
  [[nodiscard]] static RunTag of_this_process(BootTime now);

  // Makes `entry` the variable with its value; `outer`: the value that is there, null: none.
  void write(std::string& entry, const char* outer, RunKey key) const;
  // The run that the value of a process's variable names; nullopt: it is not of this host.
  // 0 (no run's): it names this host, and what is behind that is no number.
  [[nodiscard]] std::optional<RunKey> key_in(std::string_view value) const;

 private:
  std::string identity_;
};

}  // namespace torc::exec
