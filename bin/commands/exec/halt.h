// --halt: when torc exec starts nothing more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bin/commands/exec/options.h"
#include "lib/worker/loop/worker.h"

namespace torc::cli {

// "now,fail=1", "soon,done=10%", "never", or 0, 1, 2 as of old. Error (invalid): it is none.
Result<ExecHalt> parse_halt(std::string_view text);

class HaltCounter {
 public:
  // `jobs`: that there are; of those that ended in an earlier run none counts.
  HaltCounter(const ExecHalt& halt, std::uint64_t jobs);
  void ended(claim::JobState state);
  [[nodiscard]] worker::Halt due() const;
  // What it came to: "1 job failed". Empty: it was not reached.
  [[nodiscard]] std::string reason() const;
  // What was waited for has come: that some completed, or that some ended and none failed.
  [[nodiscard]] bool is_good() const;

 private:
  [[nodiscard]] std::uint64_t counted() const;

  ExecHalt halt_;
  std::uint64_t limit_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace torc::cli
