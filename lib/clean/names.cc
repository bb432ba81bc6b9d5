#include "lib/clean/names.h"

#include <algorithm>
#include <array>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/exec/output/packed_format.h"
#include "lib/launcher/definition.h"
#include "lib/worker/jobs/job_command.h"

namespace torc::clean {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Takes a number off the front of the text.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  const std::size_t length = std::min(text.find_first_not_of(kDigits), text.size());
  const auto number = whole_number<Number>(text.substr(0, length));
  text.remove_prefix(length);
  return number;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// As who writes such files calls them: a name is believed only if it is one of these.
bool is_given(const Path& path, JobId job, std::uint32_t attempt, std::uint32_t rank, Part part) {
  if (part == Part::directory) return path == worker::attempt_directory("/", job, attempt);
  const worker::OutputFiles files =
      worker::output_files("", job, attempt, spec::StdioMode::separate, rank);
  return path == files.out || path == files.err || path == worker::recovery_file("/", job, attempt);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

// "1234", or "1234_7" of an array, or what another batch system has.
bool is_allocation(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '-' || c == '[' || c == ']';
  });
}

}  // namespace

std::optional<AttemptName> attempt_name(std::string_view folder, std::string_view name) {
  std::string_view rest = name;
  const auto job = take_number<std::uint64_t>(rest);
  if (!job || !take(rest, ".")) return std::nullopt;
  const auto attempt = take_number<std::uint32_t>(rest);
  if (!attempt || *attempt == 0 || *job == 0) return std::nullopt;
  std::uint32_t rank = 0;
  if (take(rest, ".node")) {
    const auto given = take_number<std::uint32_t>(rest);
    if (!given || *given == 0) return std::nullopt;
    rank = *given;
  }
  const AttemptName made{JobId{*job}, *attempt, rest == ".d" ? Part::directory : Part::output};
  const Path path = Path("/") / folder / name;
  if (!is_given(path, made.job, made.attempt, rank, made.part)) return std::nullopt;
  return made;
}

std::optional<PackedName> packed_name(std::string_view name) {
  std::string_view rest = name;
  const auto worker = take_number<std::uint64_t>(rest);
  if (!worker) return std::nullopt;
  PackedName made{*worker, false, std::nullopt};
  exec::PackedNames names{"", *worker};
  if (name == names.index().string()) {
    made.is_index = true;
    return made;
  }
  if (name == names.data().string()) return made;
  if (take(rest, ".slot")) {
    const auto slot = take_number<std::uint32_t>(rest);
    if (!slot) return std::nullopt;
    for (const exec::Stream stream : exec::kStreams) {
      if (name == names.scratch(*slot, stream).string()) return made;
    }
    return std::nullopt;
  }
  if (!take(rest, ".job")) return std::nullopt;
  exec::AttemptKey key;
  const auto job = take_number<std::uint64_t>(rest);
  if (!job || !take(rest, ".")) return std::nullopt;
  const auto attempt = take_number<std::uint32_t>(rest);
  if (!attempt) return std::nullopt;
  key.job = *job;
  key.attempt = *attempt;
  if (take(rest, ".node")) {
    const auto rank = take_number<std::uint16_t>(rest);
    if (!rank) return std::nullopt;
    key.rank = *rank;
  }
  made.job = JobId{key.job};
  for (const exec::Stream stream : exec::kStreams) {
    if (name == names.own(key, stream).string()) return made;
  }
  return std::nullopt;
}

std::optional<LogName> log_name(std::string_view name) {
  constexpr std::string_view kEnding = ".out";
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  if (take(name, "slurm-")) {
    const std::size_t point = std::min(name.find('.'), name.size());
    if (!is_number(name.substr(0, point))) return std::nullopt;
    LogName made{std::string(name.substr(0, point)), ""};
    if (point < name.size()) made.node = name.substr(point + 1);
    if (point < name.size() && made.node.empty()) return std::nullopt;
    return made;
  }
  for (const std::string_view launcher : launcher::built_in_launchers()) {
    std::string_view rest = name;
    if (take(rest, launcher) && take(rest, "-") && is_allocation(rest))
      return LogName{std::string(rest), ""};
  }
  return std::nullopt;
}

bool is_exec_store(std::string_view name) {
  constexpr std::size_t kDay = 8;
  constexpr std::size_t kMoment = 15;
  if (name.size() < kMoment || name[kDay] != '-' || !is_number(name.substr(0, kDay)) ||
      !is_number(name.substr(kDay + 1, kMoment - kDay - 1)))
    return false;
  const std::string_view rest = name.substr(kMoment);
  return rest.empty() ||
         (rest[0] == '-' && rest.size() > 1 && rest[1] != '0' && is_number(rest.substr(1)));
}

bool is_in_store(std::string_view name) {
  constexpr std::array kNames = {"META",      "data.mdb",  "lock.mdb",   "open.lock", "logs",
                                 "spec.yaml", "spec.json", "spec.json5", "spec.kdl"};
  if (std::ranges::find(kNames, name) != kNames.end()) return true;
  return name.starts_with("state-") || name.starts_with("gate-") || name.starts_with("META.");
}

}  // namespace torc::clean
