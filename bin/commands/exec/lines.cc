#include "bin/commands/exec/lines.h"

#include <fmt/format.h>

#include <cerrno>

namespace torc::cli {
namespace {

// Of one argument, with its end: MAX_ARG_STRLEN of Linux.
constexpr std::size_t kMostBytes = 131'071;

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t") == std::string::npos;
}

}  // namespace

Result<ExecLines> ExecLines::open(const App& app, const std::string& file, char separator) {
  ExecLines lines;
  lines.separator_ = separator;
  lines.name_ = file == "-" ? "<stdin>" : file;
  lines.file_.reset(file == "-" ? stdin : std::fopen((app.directory / file).c_str(), "rbe"));
  if (lines.file_ == nullptr) {
    const int why = errno;
    Error error =
        os_error(why, fmt::format("cannot read '{}'", file), "name a file, or - for stdin");
    error.kind = ErrorKind::invalid;
    return error;
  }
  return lines;
}

ExecLines ExecLines::of(std::vector<std::string> words) {
  ExecLines lines;
  lines.words_ = std::move(words);
  return lines;
}

Result<bool> ExecLines::next(std::string& line) {
  if (file_ == nullptr) {
    if (number_ == words_.size()) return false;
    line = words_[number_++];
    return true;
  }
  do {
    TORC_ASSIGN(const bool there, read(line));
    if (!there) return false;
  } while (is_blank(line));
  return true;
}

Result<bool> ExecLines::read(std::string& line) {
  line.clear();
  int c = 0;
  while ((c = getc_unlocked(file_.get())) != EOF && c != separator_) {
    if (c == '\0' || line.size() == kMostBytes) {
      return Error{ErrorKind::invalid,
                   c == '\0' ? fmt::format("{}:{}: a NUL byte", name_, number_ + 1)
                             : fmt::format("{}:{}: more than {} bytes; Linux starts nothing longer",
                                           name_, number_ + 1, kMostBytes),
                   c == '\0' ? "-0 reads values that end with NUL, as find -print0 writes them"
                             : "put it into a script, or into a file that the command reads"};
    }
    line.push_back(static_cast<char>(c));
  }
  if (std::ferror(file_.get()) != 0) {
    const int why = errno;
    Error error = os_error(why, fmt::format("cannot read all of {}", name_));
    error.kind = ErrorKind::invalid;
    return error;
  }
  if (c == EOF && line.empty()) return false;
  ++number_;
  if (separator_ == '\n' && !line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

}  // namespace torc::cli
