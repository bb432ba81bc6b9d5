#include "lib/report/accounted_attempts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/base/number.h"
#include "lib/base/text/quote.h"

namespace torc::report {
namespace {

constexpr const char* kDirectory = "logs/sacct";
constexpr std::size_t kLargestFile = 64 << 20;
constexpr std::size_t kLongestWord = 4096;

std::string_view take(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

std::optional<AttemptNumber> attempt_named(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto job = whole_number<std::uint64_t>(name.substr(0, dot));
  const auto attempt = whole_number<std::uint32_t>(name.substr(dot + 1));
  if (!job || !attempt || *job == 0 || *attempt == 0) return std::nullopt;
  return AttemptNumber{JobId{*job}, *attempt};
}

bool is_word(std::string_view text) {
  return text.size() <= kLongestWord &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_allocation(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || c == '_'; });
}

// None: not all of it can be read, or it is longer than that.
std::optional<std::string> read_whole(int fd, std::size_t most) {
  std::string text;
  std::string part(64 << 10, '\0');
  while (text.size() <= most) {
    const ssize_t got = read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part, 0, static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

AccountedAttempts attempts_among(const std::vector<slurm::Accounted>& steps) {
  AccountedAttempts all;
  for (const slurm::Accounted& step : steps) {
    const auto number = attempt_named(step.name);
    if (step.step.empty() || !number || step.end == WallTime{}) continue;
    AccountedAttempt one{step.max_rss.value_or(ByteCount{}),
                         step.ave_cpu.value_or(std::chrono::seconds(0)), step.elapsed,
                         step.state.substr(0, step.state.find(' ')), step.node_list};
    if (!is_word(one.state)) one.state.clear();
    if (!is_word(one.node_list)) one.node_list.clear();
    // What recovers an attempt has its name, too, and comes behind it.
    AccountedAttempt& known = all[*number];
    if (known.elapsed <= one.elapsed) known = std::move(one);
  }
  return all;
}

std::string to_lines(const AccountedAttempts& attempts) {
  std::string text;
  for (const auto& [number, a] : attempts) {
    text += fmt::format("{} {} {} {} {} {} {}\n", raw(number.first), number.second, a.max_rss.value,
                        a.cpu_time.count(), a.elapsed.count(), a.state.empty() ? "-" : a.state,
                        a.node_list.empty() ? "-" : a.node_list);
  }
  return text;
}

void take_lines(std::string_view text, AccountedAttempts& into) {
  constexpr std::int64_t kMostSeconds = std::int64_t{1} << 33;
  while (text.find('\n') != std::string_view::npos) {
    std::string_view line = take(text, '\n');
    const auto job = whole_number<std::uint64_t>(take(line, ' '));
    const auto attempt = whole_number<std::uint32_t>(take(line, ' '));
    const auto rss = whole_number<std::uint64_t>(take(line, ' '));
    const auto cpu = whole_number<std::int64_t>(take(line, ' '));
    const auto elapsed = whole_number<std::int64_t>(take(line, ' '));
    const std::string_view state = take(line, ' ');
    const bool sound = job && attempt && rss && cpu && elapsed && *cpu >= 0 && *elapsed >= 0 &&
                       *cpu < kMostSeconds && *elapsed < kMostSeconds && !state.empty() &&
                       !line.empty() && is_word(state) && is_word(line);
    if (!sound) continue;
    const auto word = [](std::string_view w) { return std::string(w == "-" ? "" : w); };
    into[{JobId{*job}, *attempt}] = {{*rss},
                                     std::chrono::seconds(*cpu),
                                     std::chrono::seconds(*elapsed),
                                     word(state),
                                     word(line)};
  }
}

Result<void> keep_accounted(const Path& store, const std::string& allocation,
                            const AccountedAttempts& attempts) {
  if (!is_allocation(allocation)) {
    return Error{ErrorKind::invalid,
                 fmt::format("{} is not an allocation", torc::quoted(allocation)),
                 "give the number that squeue and sacct show"};
  }
  const beneath::Root root(store);
  TORC_TRY(beneath::make_directories(root, kDirectory));
  const Path name = Path(kDirectory) / allocation;
  AccountedAttempts all;
  const auto before = beneath::open_file(root, name, O_RDONLY);
  if (before) {
    const auto known = read_whole(before->get(), kLargestFile);
    if (!known) return beneath::open_error(EIO, "read", store / name);
    take_lines(*known, all);
  } else if (before.error().kind != ErrorKind::not_found &&
             before.error().kind != ErrorKind::corrupt) {
    return before.error();  // what is no regular file is replaced
  }
  for (const auto& [number, attempt] : attempts) all.insert_or_assign(number, attempt);
  return beneath::replace_file(root, name, to_lines(all));
}

KeptAttempts read_accounted(const Path& store, std::size_t most_bytes) {
  KeptAttempts kept;
  const beneath::Root root(store);
  auto names = beneath::list(root, kDirectory);
  if (!names) {
    kept.whole = names.error().kind == ErrorKind::not_found;
    return kept;
  }
  std::erase_if(*names, [](const std::string& name) { return !is_allocation(name); });
  std::ranges::sort(*names, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) > std::pair(b.size(), b);
  });
  for (const std::string& name : *names) {
    const auto fd = beneath::open_file(root, Path(kDirectory) / name, O_RDONLY);
    const auto text = fd ? read_whole(fd->get(), most_bytes) : std::nullopt;
    kept.whole = kept.whole && text;
    if (!text) continue;
    most_bytes -= text->size();
    take_lines(*text, kept.attempts);
  }
  return kept;
}

bool merge(const AccountedAttempt& told, claim::Outcome& into) {
  bool any = false;
  if (told.max_rss > into.max_rss) {
    into.max_rss = told.max_rss;
    any = true;
  }
  if (told.cpu_time > into.cpu_time) {
    into.cpu_time = told.cpu_time;
    any = true;
  }
  return any;
}

}  // namespace torc::report
