#include "bin/commands/exec/words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "bin/commands/exec/replace.h"
#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

const std::vector<std::string> kStdin{"-"};

Error wrong_words(std::string what, std::string remedy) {
  return {ErrorKind::invalid, std::move(what), std::move(remedy)};
}

bool is_mark(const std::string& word) {
  const auto& marks = source_marks();
  return std::find(marks.begin(), marks.end(), word) != marks.end();
}

enum class Stdin : unsigned char { closed, nothing, person, lines };

// /dev/null is nothing, and so is what cannot be read.
Stdin look_at_stdin() {
  struct stat now {};
  if (::fstat(STDIN_FILENO, &now) != 0) return Stdin::closed;
  if (::isatty(STDIN_FILENO) != 0) return Stdin::person;
  const int mode = ::fcntl(STDIN_FILENO, F_GETFL);
  if (mode < 0 || (mode & O_ACCMODE) == O_WRONLY) return Stdin::closed;
  const bool lines = S_ISFIFO(now.st_mode) || S_ISREG(now.st_mode) || S_ISSOCK(now.st_mode);
  return lines ? Stdin::lines : Stdin::nothing;
}

ExecSource file_source(std::string file, bool linked = false) {
  return {{}, std::move(file), linked};
}

// Behind the first mark.
Result<void> add_marked(std::vector<std::string>::const_iterator at,
                        std::vector<std::string>::const_iterator end, ExecOptions& o) {
  while (at != end) {
    const std::string& mark = *at++;
    const auto next = std::find_if(at, end, is_mark);
    const bool linked = mark.ends_with('+');
    if (linked && o.sources.empty())
      return wrong_words(fmt::format("{} has no values before it to go with", mark),
                         ":::+ goes with the values of the ::: before it");
    if (!mark.starts_with("::::")) {
      o.sources.push_back({{at, next}, {}, linked});
    } else {
      if (at == next)
        return wrong_words(fmt::format("{} names no file", mark), ":::: FILE, or ::: VALUES");
      for (bool together = linked; at != next; ++at, together = linked)
        o.sources.push_back(file_source(*at, together));
    }
    at = next;
  }
  return {};
}

// As a shell would have to be told them.
std::string shell_line(const std::vector<std::string>& words, const ExecOptions& o) {
  const ReplaceStyle style{o.replace_string, 0};
  std::string all;
  for (const std::string& word : words)
    all += (all.empty() ? "" : " ") + (o.quote ? quoted_but_places(word, style) : word);
  return all;
}

Result<void> check_typed(const ExecOptions& o, bool has_values) {
  const bool values = has_values || !o.values_files.empty();
  if (!o.commands_file.empty() && (!o.commands.empty() || values))
    return wrong_words(
        "-C names whole commands, but further commands or values were given",
        "leave one of them out; values are for -c CMD, and what separates columns is --colsep");
  if (values && !o.parameters.empty())
    return wrong_words("values and --param were given",
                       "values may be a parameter: --param file=@FILE, and {file} in the command");
  if (!o.name.empty() && o.name.find_first_not_of("0123456789") == std::string::npos)
    return wrong_words(fmt::format("-n {} would name the workflow '{}'", o.name, o.name),
                       "-N says how many values a job has");
  return {};
}

// Nobody has named values.
Result<void> look_for_values(ExecOptions& o) {
  const ReplaceStyle style{o.replace_string, 0};
  const Stdin in = look_at_stdin();
  if (o.commands.empty()) {
    if (in != Stdin::lines)
      return wrong_words("there is no command",
                         "-c CMD, or CMD ::: VALUES; -C FILE with a command on each line, or - for "
                         "such lines on stdin");
    o.sources.push_back(file_source("-"));
    return {};
  }
  const bool place = std::any_of(o.commands.begin(), o.commands.end(),
                                 [&](const std::string& c) { return has_place(c, style); });
  if (in == Stdin::lines || (in == Stdin::nothing && place)) {
    o.sources.push_back(file_source("-"));
    return {};
  }
  if (place)
    return wrong_words("the command has a place for a value, and there are no values",
                       "name them: ::: VALUES, -a FILE, or lines on stdin; if {} is not meant as a "
                       "place, name another with -I STRING");
  return {};
}

Result<void> check_sources(const ExecOptions& o) {
  const auto reads_stdin = [](const ExecSource& s) { return s.file == "-"; };
  if (std::count_if(o.sources.begin(), o.sources.end(), reads_stdin) > 1)
    return wrong_words("stdin can be read only once, but - was given twice",
                       "write its lines into a file, and name that: -a FILE");
  const bool shaped = !o.column_separator.empty() || o.arguments;
  if (shaped && o.sources.empty())
    return wrong_words("--colsep and -N are for values, and there are none",
                       "name values: ::: VALUES, -a FILE, or lines on stdin");
  return {};
}

}  // namespace

const std::vector<std::string>& source_marks() {
  static const std::vector<std::string> marks{":::", "::::", ":::+", "::::+"};
  return marks;
}

Result<ExecOptions> with_sources(const ExecOptions& typed) {
  ExecOptions o = typed;
  if (o.replace_string.empty()) o.replace_string = "{}";
  const auto mark = std::find_if(typed.words.begin(), typed.words.end(), is_mark);
  const std::vector<std::string> before(typed.words.begin(), mark);
  const bool says_values = !o.commands.empty() || !o.commands_file.empty() || before == kStdin;
  TORC_TRY(check_typed(o, mark != typed.words.end() || (says_values && !before.empty())));
  for (const std::string& file : o.values_files) o.sources.push_back(file_source(file));
  if (!before.empty() && says_values) {
    if (!o.values_files.empty())
      return wrong_words(
          "-a and values were given",
          "values in one place only; for every combination of both write ::: VALUES");
    o.sources.push_back(before == kStdin ? file_source("-") : ExecSource{before, {}, false});
  } else if (!before.empty()) {
    o.commands = {shell_line(before, o)};
  }
  TORC_TRY(add_marked(mark, typed.words.end(), o));
  if (!o.commands_file.empty() && o.parameters.empty())
    o.sources.push_back(file_source(o.commands_file));
  const bool elsewhere = !o.commands_file.empty() || !o.parameters.empty();
  if (o.sources.empty() && !elsewhere) {
    TORC_TRY(look_for_values(o));
    // Then -c was a command alone, which nobody gives values: as it is where stdin is /dev/null.
    const bool found = !o.sources.empty() && !typed.commands.empty();
    const ReplaceStyle style{o.replace_string, 0};
    o.runs_once_without_values =
        found && std::none_of(o.commands.begin(), o.commands.end(),
                              [&](const std::string& c) { return has_place(c, style); });
  }
  TORC_TRY(check_sources(o));
  return o;
}

}  // namespace torc::cli
