#include "lib/spec/script/script_head.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

constexpr std::size_t kMostWords = 2'000;  // in all lines
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kMarks[] = {"#TORC", "#SBATCH"};  // in the order of Directive
// Comments in which other programs look for the same.
constexpr std::string_view kOthers[] = {"#PBS", "#BSUB", "#HQ", "#COBALT", "#PJM"};

// Whether the line is the mark alone, or the mark and a blank and more.
bool begins_with(std::string_view line, std::string_view mark) {
  if (!line.starts_with(mark)) return false;
  return line.size() == mark.size() || kBlanks.find(line[mark.size()]) != std::string_view::npos;
}

std::optional<Directive> directive_of(std::string_view line) {
  for (const Directive d : {Directive::torc, Directive::sbatch}) {
    if (begins_with(line, word_of(d, kMarks))) return d;
  }
  return std::nullopt;
}

class HeadReader {
 public:
  HeadReader(const Source& source, Report& report) : source_(source), report_(report) {}

  ScriptHead read() {
    ScriptHead head;
    bool in_head = true;
    for (std::size_t begin = 0; begin < source_.text().size();) {
      const std::string_view line = line_at(begin);
      if (begin == 0) {
        read_first(line, head);
      } else if (in_head) {
        in_head = trimmed(line).empty() || trimmed(line).starts_with('#');
        if (in_head) read_line(begin, line, head);
      }
      if (!in_head && directive_of(line)) count_late(begin, line);
      begin = end_;
    }
    tell_late();
    return head;
  }

 private:
  // Without its end; where the next one begins is in `end_`.
  std::string_view line_at(std::size_t begin) {
    std::string_view line = source_.text().substr(begin);
    line = line.substr(0, line.find('\n'));
    end_ = begin + line.size() + 1;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
      if (begin == 0) tell_dos(line);
    }
    return line;
  }

  void tell_dos(std::string_view line) {
    report_.add(Severity::warning, source_.place(0, line.size()),
                "the lines of this script end as in DOS (CRLF), and most interpreters take that "
                "for a part of the commands",
                "remove the carriage returns: sed -i 's/\\r$//' FILE");
  }

  // The kernel cuts the line at its first blanks: a path, and the rest as one argument.
  void read_first(std::string_view line, ScriptHead& head) {
    if (!is_clean(0, line)) return;
    std::size_t at = line.find_first_not_of(kBlanks, 2);
    if (at == std::string_view::npos) {
      report_.error(source_.place(0, 2), "no interpreter follows '#!'",
                    "name the program that runs the script: #!/bin/bash");
      return;
    }
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    head.interpreter = {std::string(line.substr(at, end - at)), at, end - at};
    head.argument = trimmed(line.substr(end));
  }

  void read_line(std::size_t begin, std::string_view line, ScriptHead& head) {
    const auto directive = directive_of(line);
    if (!directive) return tell_other(begin, line);
    if (!is_clean(begin, line)) return;
    const std::size_t mark = word_of(*directive, kMarks).size();
    ScriptLine read{*directive, words_in(begin + mark, line.substr(mark))};
    if (read.words.empty()) {
      report_.add(Severity::warning, source_.place(begin, line.size()),
                  fmt::format("nothing follows {}", line.substr(0, mark)),
                  fmt::format("write an option, {} {}, or remove the line", line.substr(0, mark),
                              *directive == Directive::torc ? "--cpus 4" : "--mem=4G"));
      return;
    }
    words_ += read.words.size();
    if (words_ <= kMostWords) {
      head.lines.push_back(std::move(read));
    } else if (words_ - read.words.size() <= kMostWords) {
      report_.error(source_.place(begin, line.size()),
                    fmt::format("more than {} options", kMostWords),
                    "write a workflow file; `torc new` makes one to start from");
    }
  }

  void tell_other(std::size_t begin, std::string_view line) {
    for (const std::string_view mark : kOthers) {
      if (told_other_ || !begins_with(line, mark)) continue;
      told_other_ = true;
      report_.add(Severity::warning, source_.place(begin, mark.size()),
                  fmt::format("lines of {} are not read", mark),
                  "say the same in lines of #TORC: #TORC --cpus 4");
    }
  }

  bool is_clean(std::size_t begin, std::string_view line) {
    for (std::size_t i = 0; i < line.size();) {
      const CodePoint c = decode_utf8(line, i);
      const bool control = c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0);
      if (c.bytes == 0 || (control && c.value != '\t')) {
        report_.error(source_.place(begin + i),
                      c.bytes == 0 ? std::string("a byte that is not UTF-8")
                                   : fmt::format("control character U+{:04X}",
                                                 static_cast<unsigned>(c.value)),
                      "lines that torc reads are text in UTF-8");
        return false;
      }
      i += c.bytes;
    }
    return true;
  }

  // As a shell cuts a line without variables; '#' at the start of a word ends it.
  std::vector<ScriptText> words_in(std::size_t begin, std::string_view line) {
    std::vector<ScriptText> words;
    for (std::size_t i = 0; i < line.size();) {
      if (kBlanks.find(line[i]) != std::string_view::npos) {
        ++i;
        continue;
      }
      if (line[i] == '#') break;
      ScriptText word{{}, begin + i, 0};
      i = take_word(begin, line, i, word.text);
      word.bytes = begin + i - word.begin;
      words.push_back(std::move(word));
    }
    return words;
  }

  // Where the word that begins at `i` ends.
  std::size_t take_word(std::size_t begin, std::string_view line, std::size_t i,
                        std::string& word) {
    while (i < line.size() && kBlanks.find(line[i]) == std::string_view::npos) {
      const char c = line[i];
      if (c == '\'' || c == '"') {
        const std::size_t open = i++;
        while (i < line.size() && line[i] != c) {
          if (c == '"' && line[i] == '\\' && i + 1 < line.size()) ++i;
          word += line[i++];
        }
        if (i == line.size()) {
          report_.error(source_.place(begin + open, i - open), "a quote that is not closed",
                        fmt::format("close it with {} on the same line", c));
          return i;
        }
        ++i;
      } else {
        if (c == '\\' && i + 1 < line.size()) ++i;
        word += line[i++];
      }
    }
    return i;
  }

  void count_late(std::size_t begin, std::string_view line) {
    if (late_++ == 0) first_late_ = source_.place(begin, line.size());
  }

  void tell_late() {
    if (late_ == 0) return;
    report_.add(Severity::warning, first_late_,
                fmt::format("this line comes after the first command and does not count{}",
                            late_ == 1 ? "" : fmt::format(", nor do {} more", late_ - 1)),
                "write lines of #TORC and #SBATCH before all commands, below the line of #!");
  }

  const Source& source_;
  Report& report_;
  std::size_t end_ = 0;
  std::size_t words_ = 0;
  std::size_t late_ = 0;
  Place first_late_;
  bool told_other_ = false;
};

}  // namespace

ScriptHead read_script_head(const Source& source, Report& report) {
  return HeadReader(source, report).read();
}

}  // namespace torc::spec
