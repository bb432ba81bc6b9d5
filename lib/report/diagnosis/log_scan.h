// What the patterns say of a text. Linear in its length, whatever is in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/diagnosis/causes.h"

namespace torc::report {

struct Sign {
  Cause cause{};
  // The first that the first of its patterns meets; cut where it is long.
  std::string line;
};

// The patterns, compiled once: for any number of texts. One thread.
class LogScan {
 public:
  LogScan();
  ~LogScan();
  LogScan(const LogScan&) = delete;
  LogScan& operator=(const LogScan&) = delete;

  // One sign a cause, in the order of causes. A line stands for one cause, the first.
  [[nodiscard]] std::vector<Sign> signs_in(std::string_view text) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// Those of several texts of one job together; general causes only where nothing else is known.
void settle(std::vector<Sign>& signs);

}  // namespace torc::report
