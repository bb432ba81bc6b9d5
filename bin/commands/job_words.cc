#include "bin/commands/job_words.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::cli {
namespace {

constexpr std::string_view kStage = "stage:";
constexpr std::string_view kGlob = "*?[";
constexpr std::string_view kSeparators = "_-.";
constexpr workflow::NamedText kList{"list of names",
                                    "a glob or stage:NAME means many jobs at once"};
constexpr std::size_t kMaxLineBytes = 4'096;  // a name has at most 1,024

// Each once: a list may be long, and name the same again and again.
class Words {
 public:
  void add(std::string_view word) {
    const auto [at, is_new] = known_.emplace(word);
    if (is_new) all_.push_back(*at);
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] std::vector<std::string> all() && { return std::move(all_); }

 private:
  std::unordered_set<std::string> known_;
  std::vector<std::string> all_;
};

// `list`: as messages name it.
Result<void> add_lines(std::string_view text, std::string_view list, Words& words) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::uint64_t number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_long = line.size() > kMaxLineBytes;
    if (is_long || std::ranges::any_of(line, is_control)) {
      return invalid(fmt::format("{}, line {}: {}", list, number,
                                 is_long ? "too long for a name" : "control characters in a name"),
                     "@FILE is a list of names, one a line");
    }
    if (!line.empty()) words.add(line);
  }
  return {};
}

// "[a-f]" at `at`: as RE2 writes it, and where it ends. Without an end it is a bracket.
std::string class_at(std::string_view glob, std::size_t& at) {
  const std::size_t first = at + 1;
  const bool negated = first < glob.size() && (glob[first] == '!' || glob[first] == '^');
  const std::size_t begin = first + (negated ? 1 : 0);
  // A bracket that stands first is one of them.
  const std::size_t end = glob.find(']', begin + 1);
  if (begin >= glob.size() || end == std::string_view::npos) return "\\[";
  std::string some;
  for (const char c : glob.substr(begin, end - begin)) {
    if (c == '\\' || c == '[' || c == ']' || c == '^') some += '\\';
    some += c;
  }
  at = end;
  return (negated ? "[^" : "[") + some + "]";
}

}  // namespace

Result<std::vector<std::string>> job_words(const App& app, const std::vector<std::string>& typed) {
  Words words;
  for (const std::string& word : typed) {
    if (word == "-" || word == "@-") {
      TORC_ASSIGN(const std::string text, workflow::read_spec_stream(stdin, kList));
      TORC_TRY(add_lines(text, "standard input", words));
    } else if (word.size() > 1 && word.front() == '@') {
      const std::string file = word.substr(1);
      auto text = workflow::read_spec_text(app, app.directory / file, kList);
      if (!text) {
        return workflow::unreadable(std::move(text).error(), file,
                                    "@FILE is a list of names, one a line", kList);
      }
      TORC_TRY(add_lines(*text, fmt::format("'{}'", printable(file)), words));
    } else {
      words.add(word);
    }
  }
  // Else it would mean what no name at all does: every job.
  if (words.empty() && !typed.empty()) {
    return invalid(fmt::format("'{}' names no job", printable(typed.back())),
                   "@FILE and - are lists of names, one a line");
  }
  return std::move(words).all();
}

std::optional<std::string> expression_of_glob(std::string_view word) {
  if (word.find_first_of(kGlob) == std::string_view::npos) return {};
  std::string expression = "^(?s:";
  for (std::size_t at = 0; at < word.size(); ++at) {
    switch (word[at]) {
      case '*':
        expression += ".*";
        break;
      case '?':
        expression += '.';
        break;
      case '[':
        expression += class_at(word, at);
        break;
      default:
        expression += re2::RE2::QuoteMeta(word.substr(at, 1));
    }
  }
  return expression + ")$";
}

std::string_view fixed_beginning(std::string_view glob) {
  return glob.substr(0, glob.find_first_of(kGlob));
}

std::string stage_name(std::string_view entry) {
  const auto is_separator = [](char c) { return kSeparators.find(c) != std::string_view::npos; };
  std::string name;
  for (std::size_t at = 0; at < entry.size(); ++at) {
    const std::size_t end = entry[at] == '{' ? entry.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      // What stood on both sides of a parameter stands there once.
      if (!is_separator(entry[at]) || (!name.empty() && !is_separator(name.back())))
        name += entry[at];
    } else {
      at = end;
    }
  }
  while (!name.empty() && is_separator(name.back())) name.pop_back();
  return name;
}

std::optional<std::string_view> stage_in(std::string_view word) {
  if (!word.starts_with(kStage) || word.size() == kStage.size()) return {};
  return word.substr(kStage.size());
}

}  // namespace torc::cli
