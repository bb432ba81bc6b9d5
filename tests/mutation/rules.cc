#include "tests/mutation/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "lib/base/sanitizer.h"

namespace torc::mutation {
namespace {

const std::vector<Command>& commands() {
  static const std::vector<Command> kAll = {
      {{"status", "STORE"}},
      {{"status", "STORE", "--json"}},
      {{"jobs", "STORE"}},
      {{"jobs", "STORE", "--json"}},
      {{"jobs", "STORE", "--state", "failed", "--name", "s.*"}},
      {{"job", "STORE", "last"}},
      {{"job", "STORE", "packed", "--json"}},
      {{"why", "STORE", "last"}},
      {{"why", "STORE", "fails", "--json"}},
      {{"results", "STORE"}},
      {{"results", "STORE", "--all-attempts", "--json"}},
      {{"resources", "STORE"}},
      {{"resources", "STORE", "--json"}},
      {{"resources", "STORE", "--series", "last"}},
      {{"slurm", "usage", "STORE"}},
      {{"slurm", "stats", "STORE", "--json"}},
      {{"logs", "STORE", "a"}, true},
      {{"logs", "STORE", "packed"}, true},
      {{"logs", "STORE", "mended", "--recovery", "--attempt", "1"}, true},
      {{"logs", "STORE", "--failed"}, true},
      {{"logs", "export", "STORE", "OUT"}},
      {{"logs", "export", "STORE", "OUT", "--all-attempts"}},
      {{"verify", "STORE"}, false, true},
      {{"verify", "STORE", "--json"}, false, true},
      {{"repair", "STORE"}, false, true},
      {{"repair", "STORE", "--quarantine-tail", "--yes", "--force"}, false, true},
      {{"repair", "STORE", "--salvage", "OUT"}, false, true},
      {{"backup", "STORE", "OUT"}},
      {{"backup", "STORE", "OUT", "--engine", "lmdb"}},
      {{"backup", "STORE", "OUT", "--engine", "journal"}},
      {{"history", "STORE"}},
      {{"history", "STORE", "--json"}},
      {{"history", "STORE", "--job", "a"}},
      {{"compact", "STORE"}},
      {{"adopt", "STORE"}},
      {{"trust", "STORE"}},
      {{"graph", "STORE"}},
      {{"graph", "STORE", "--json"}, false, true},
      {{"graph", "STORE", "--format", "svg"}},
      {{"actions", "STORE"}},
      {{"actions", "STORE", "--json"}},
      {{"actions", "STORE", "--output", "1"}, true},
      {{"data", "list", "STORE"}},
      {{"data", "get", "STORE", "shared"}},
      {{"data", "set", "--create", "STORE", "new", "[1, 2]"}},
      {{"data", "delete", "STORE", "shared"}},
      {{"add", "STORE", "more.yaml"}},
      {{"cancel", "STORE", "--all"}},
      {{"retry", "STORE", "--failed", "--canceled"}},
      {{"reset", "STORE", "--all", "--yes", "--force"}},
      {{"reset", "STORE", "last", "--dry-run"}},
      {{"hold", "STORE", "--all"}},
      {{"release", "STORE", "--all"}},
      {{"set", "STORE", "--all", "priority=3"}},
      {{"reinit", "STORE"}},
      {{"reinit", "STORE", "--dry-run"}},
      {{"node"}},
      {{"node", "--json"}},
      {{"doctor", "STORE"}, false, true},
      {{"worker", "STORE", "--idle-timeout", "1s"}, false, true},
      {{"run", "STORE", "--idle-timeout", "1s"}, false, true},
      {{"run", "STORE", "--idle-timeout", "1s", "--num-cpus", "1"}, false, true},
  };
  return kAll;
}

// What a terminal could take for an order, or nullopt.
std::optional<std::string> control_in(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool plain = c >= 0x20 || c == '\n' || c == '\t';
    // U+0080 to U+009F in UTF-8.
    const bool upper = c == 0xc2 && i + 1 < text.size() &&
                       static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                       static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (plain && c != 0x7f && !upper) continue;
    const std::size_t from = i < 40 ? 0 : i - 40;
    return fmt::format("byte {:#04x} after '{}'", c, text.substr(from, i - from));
  }
  return std::nullopt;
}

bool has_line_of_torc(std::string_view text) {
  return text.starts_with("torc: ") || text.find("\ntorc: ") != std::string_view::npos;
}

// Also of a process that the command started: it has the same standard error.
std::optional<std::string> sanitizer_report(const CommandEnd& end) {
  for (const char* mark : {"runtime error:", "ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
                           "hard rss limit exhausted", "AddressSanitizer:DEADLYSIGNAL"}) {
    const std::size_t at = end.err.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t line = end.err.rfind('\n', at) + 1;
    return end.err.substr(line, 3000);
  }
  if (kSanitized && end.exit_code == kSanitizerExit) return "by its exit code";
  return std::nullopt;
}

std::string shortened(std::string_view text) {
  std::string out(text.substr(0, 600));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') c = '?';
  }
  return out;
}

}  // namespace

const Command& any_command(const std::vector<std::string>& of, Random& random) {
  std::vector<const Command*> preferred;
  for (const Command& command : commands()) {
    if (std::find(of.begin(), of.end(), command.words.front()) != of.end())
      preferred.push_back(&command);
  }
  if (!preferred.empty() && random.one_in(2)) return *random.pick(preferred);
  return random.pick(commands());
}

std::vector<Broken> judge(const Command& command, const CommandEnd& end) {
  std::vector<Broken> broken;
  const std::string printed = "; stderr: " + shortened(end.err);
  if (end.timed_out) {
    broken.push_back(
        {"took longer than it may", fmt::format("{:.1f} s of CPU{}", end.cpu_seconds, printed)});
  } else if (end.signal != 0) {
    broken.push_back({fmt::format("ended by signal {}", strsignal(end.signal)),
                      fmt::format("after {:.2f} s{}", end.wall_seconds, printed)});
  } else if (end.exit_code < 0 || end.exit_code > 4) {
    broken.push_back({fmt::format("exit code {}", end.exit_code), printed});
  } else if (end.exit_code != 0 && !has_line_of_torc(end.err) &&
             !(command.reports && !end.out.empty())) {
    broken.push_back({"no message", fmt::format("exit code {}{}; stdout: {}", end.exit_code,
                                                printed, shortened(end.out))});
  }
  if (const auto report = sanitizer_report(end)) {
    broken.push_back({"a sanitizer reports", *report});
  }
  // Torc catches its own crashes while it reads a store. That is meant for LMDB, of which a file
  // can be damaged in a way that nobody saw coming.
  if (end.err.find(" ended by SIG") != std::string::npos)
    broken.push_back({std::string(kExplainedCrash), printed});
  if (end.peak_memory > kMostMemory && !kSanitized) {
    broken.push_back(
        {"more than 1 GiB of memory", fmt::format("{} MiB{}", end.peak_memory >> 20, printed)});
  }
  if (const auto control = control_in(end.err)) {
    broken.push_back({"control characters on stderr", *control});
  }
  if (const auto control = control_in(end.out); control && !command.prints_output) {
    broken.push_back({"control characters on stdout", *control});
  }
  return broken;
}

}  // namespace torc::mutation
