#include "bin/commands/prepare/wizard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc::cli {
namespace {

constexpr std::uint64_t kMostJobs = 1'000'000;
constexpr std::uint64_t kMostCpus = 65'536;
constexpr std::size_t kLongestName = 100;

// A line without its end; nullopt: there is none.
std::optional<std::string> read_line() {
  std::string line;
  for (int c = std::getchar(); c != '\n'; c = std::getchar()) {
    if (c == EOF) return std::nullopt;
    line += static_cast<char>(c);
  }
  return std::string(trimmed(line));
}

// `take`: the error of an answer that is none; it has kept one that is. False: the input has ended.
template <class Take>
bool ask(const App& app, std::string_view question, std::string_view usual, const Take& take) {
  while (true) {
    say(app.out, "{} [{}]: ", question, usual);
    std::fflush(app.out);
    const auto line = read_line();
    if (!line) {
      say(app.out, "\n");
      return false;
    }
    const Result<void> taken = take(line->empty() ? std::string(usual) : *line);
    if (taken.ok()) return true;
    say(app.out, "  {}: {}\n", taken.error().what, taken.error().remedy);
  }
}

template <class Number>
Result<void> take_number(const std::string& answer, std::uint64_t most, Number& to) {
  const auto number = whole_number<std::uint64_t>(answer);
  if (!number || *number < 1 || *number > most)
    return invalid(fmt::format("{} is not a number from 1 to {}", torc::quoted(answer), most),
                   "write it in digits");
  to = static_cast<Number>(*number);
  return {};
}

Result<void> take_name(const std::string& answer, std::string& to) {
  const bool fine = answer.size() <= kLongestName && is_letter(answer[0]) &&
                    std::ranges::all_of(answer, [](char c) {
                      return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
                    });
  if (!fine || answer == "null")
    return invalid(fmt::format("{} cannot be the name", torc::quoted(answer)),
                   "use letters, digits, '_', '-' and '.', a letter first");
  to = answer;
  return {};
}

Result<void> take_starter(const std::string& answer, const Starter*& to) {
  const auto all = starters();
  const auto number = whole_number<std::size_t>(answer);
  const auto named = std::ranges::find(all, answer, &Starter::kind);
  if (number && *number >= 1 && *number <= all.size())
    to = &all[*number - 1];
  else if (named != all.end())
    to = &*named;
  else
    return invalid(fmt::format("{} is not one of these", torc::quoted(answer)),
                   fmt::format("write a number from 1 to {}, or its name", all.size()));
  return {};
}

// Keeps the text itself, which is what stands in the file.
template <class Parsed>
Result<void> take_text(const Result<Parsed>& parsed, const std::string& answer, std::string& to) {
  if (!parsed) return parsed.error();
  to = answer;
  return {};
}

}  // namespace

std::optional<Wish> ask_for_starter(const App& app,
                                    bool (*is_there)(const App& app, const std::string& file)) {
  Wish wish;
  const auto all = starters();
  say(app.out, "What do you want to make? Enter takes the answer in brackets, Ctrl-C leaves.\n");
  for (std::size_t i = 0; i < all.size(); ++i)
    say(app.out, "  {}  {:<14} {}\n", i + 1, all[i].kind, all[i].about);
  if (!ask(app, "Which", "1",
           [&](const auto& answer) { return take_starter(answer, wish.starter); }))
    return std::nullopt;
  const Starter& starter = *wish.starter;
  StarterValues& values = wish.values;
  values = usual_values(starter);
  // What runs on the machine of a person who only pressed Enter.
  if (!starter.of_one.empty()) values = {.name = values.name, .jobs = 1, .cpus = 2};
  const bool named =
      ask(app, "Name", values.name, [&](const auto& a) { return take_name(a, values.name); });
  if (!named) return std::nullopt;
  if (starter.asks()) {
    const bool answered =
        ask(app, fmt::format("How many {}", starter.counts), std::to_string(values.jobs),
            [&](const auto& a) { return take_number(a, kMostJobs, values.jobs); }) &&
        ask(app, "CPUs of each", std::to_string(values.cpus),
            [&](const auto& a) { return take_number(a, kMostCpus, values.cpus); }) &&
        ask(app, "Memory of each", values.memory,
            [&](const auto& a) { return take_text(parse_memory(a), a, values.memory); }) &&
        ask(app, "Longest time of each", values.runtime,
            [&](const auto& a) { return take_text(parse_spec_duration(a), a, values.runtime); });
    if (!answered) return std::nullopt;
  }
  const auto take_file = [&](const std::string& answer) -> Result<void> {
    if (is_there(app, answer))
      return invalid(fmt::format("{} exists already", torc::quoted(answer)), "name another file");
    wish.file = answer;
    return {};
  };
  if (!ask(app, "File", values.name + std::string(starter.ending), take_file)) return std::nullopt;
  return wish;
}

}  // namespace torc::cli
