#include "lib/exec/start/command.h"

#include <algorithm>
#include <array>

namespace torc::exec {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kBlanksAndNewlines = " \t\n";

// Builtins and keywords of dash, and of bash where that is /bin/sh. Sorted.
constexpr auto kShellWords = std::to_array<std::string_view>(
    {".",      ":",       "alias",    "bg",      "bind",      "break",    "builtin", "caller",
     "case",   "cd",      "chdir",    "command", "compgen",   "complete", "compopt", "continue",
     "coproc", "declare", "dirs",     "disown",  "do",        "done",     "elif",    "else",
     "enable", "esac",    "eval",     "exec",    "exit",      "export",   "fc",      "fg",
     "fi",     "for",     "function", "getopts", "hash",      "help",     "history", "if",
     "in",     "jobs",    "kill",     "let",     "local",     "logout",   "mapfile", "popd",
     "printf", "pushd",   "pwd",      "read",    "readarray", "readonly", "return",  "select",
     "set",    "shift",   "shopt",    "source",  "suspend",   "test",     "then",    "time",
     "times",  "trap",    "type",     "typeset", "ulimit",    "umask",    "unalias", "unset",
     "until",  "wait",    "while"});
static_assert(std::is_sorted(kShellWords.begin(), kShellWords.end()));

// Without meaning to a shell wherever it stands outside quotes.
bool is_plain(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  if (static_cast<unsigned char>(c) >= 0x80) return true;
  return std::string_view("_-+.,/:@%^=").find(c) != std::string_view::npos;
}

// Appends the text of the quotation that begins at line[at] and moves `at` behind it; false when it
// means more than its text.
bool take_quoted(std::string_view line, std::size_t& at, std::string& word) {
  const char quote = line[at];
  const auto end = line.find(quote, at + 1);
  if (end == std::string_view::npos) return false;
  const std::string_view text = line.substr(at + 1, end - at - 1);
  if (quote == '"' && text.find_first_of("$`\\") != std::string_view::npos) return false;
  word.append(text);
  at = end + 1;
  return true;
}

std::optional<std::vector<std::string>> split(std::string_view line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < line.size()) {
    if (kBlanks.find(line[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    std::string& word = words.emplace_back();
    while (at < line.size() && kBlanks.find(line[at]) == std::string_view::npos) {
      if (line[at] == '\'' || line[at] == '"') {
        if (!take_quoted(line, at, word)) return std::nullopt;
      } else if (is_plain(line[at])) {
        word.push_back(line[at++]);
      } else {
        return std::nullopt;
      }
    }
  }
  return words;
}

// What a builtin of the same name does otherwise than the program: options of `true`, options and
// escapes of `echo`.
bool differs_from_program(const std::vector<std::string>& words) {
  if (words[0] == "true" || words[0] == "false") return words.size() > 1;
  if (words[0] != "echo") return false;
  if (words.size() > 1 && words[1].starts_with('-')) return true;
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.find('\\') != std::string::npos; });
}

bool needs_shell(const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty() || words[0].find('=') != std::string::npos) return true;
  return std::binary_search(kShellWords.begin(), kShellWords.end(), std::string_view(words[0])) ||
         differs_from_program(words);
}

}  // namespace

std::vector<std::string> shell_of(std::string_view line) {
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ksh", "zsh"};
  const auto end = line.find('\n');
  const std::vector<std::string> usual = {"/bin/sh", "-c"};
  if (!line.starts_with("#!") || end == std::string_view::npos) return usual;
  auto words = split(line.substr(2, end - 2));
  if (!words || words->empty() || !words->front().starts_with('/')) return usual;
  const auto name = [&](std::size_t i) {
    const std::string& word = (*words)[i];
    return std::string_view(word).substr(word.rfind('/') + 1);
  };
  const std::size_t shell = name(0) == "env" && words->size() > 1 ? 1 : 0;
  if (std::ranges::find(kShells, name(shell)) == std::end(kShells)) return usual;
  const bool only_options =
      std::all_of(words->begin() + static_cast<std::ptrdiff_t>(shell) + 1, words->end(),
                  [](const std::string& w) { return w.size() > 1 && w[0] == '-' && w[1] != '-'; });
  if (!only_options) return usual;
  words->emplace_back("-c");
  return *std::move(words);
}

std::vector<std::string> argv_of(const std::string& line) {
  // A block of YAML ends with a newline, which separates nothing.
  std::string_view text = line;
  const auto first = text.find_first_not_of(kBlanksAndNewlines);
  const auto last = text.find_last_not_of(kBlanksAndNewlines);
  if (first != std::string_view::npos) {
    auto words = split(text.substr(first, last - first + 1));
    if (words && !needs_shell(*words)) return *std::move(words);
  }
  std::vector<std::string> words = shell_of(line);
  words.push_back(line);
  return words;
}

std::string_view to_string(StartStep step) {
  constexpr std::array<std::string_view, 6> kWords = {"the process",
                                                      "the working directory",
                                                      "the file for its standard output",
                                                      "the file for its standard error",
                                                      "the CPUs that it is bound to",
                                                      "the program"};
  return kWords.at(static_cast<std::size_t>(step));
}

}  // namespace torc::exec
