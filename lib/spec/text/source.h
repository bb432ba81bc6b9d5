// The text of a spec with its lines, and the list of what was found wrong with it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/spec/text/diagnostic.h"

namespace torc::spec {

// Views `text`, which must outlive it. Offsets are bytes from its start. What a place costs does
// not grow with the length of its line: a file may be one line of many megabytes.
class Source {
 public:
  Source(std::string_view text, std::string file);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::size_t lines() const { return starts_.size(); }

  // The place of bytes [offset, offset + bytes), cut at the end of the line; at the end of the text
  // when offset lies behind it.
  [[nodiscard]] Place place(std::size_t offset, std::size_t bytes = 1) const;
  // Line `number`, from 1, without its end; empty when there is none.
  [[nodiscard]] std::string_view line(std::size_t number) const;
  [[nodiscard]] std::size_t line_start(std::size_t offset) const;
  // The byte that a place starts at; the end of the text when it is not there.
  [[nodiscard]] std::size_t offset_of(Place place) const;

 private:
  [[nodiscard]] std::size_t characters_before(std::size_t offset) const;

  std::string_view text_;
  std::string file_;
  std::vector<std::size_t> starts_;
  struct Mark {  // where a character begins, and how many are before it
    std::size_t offset;
    std::size_t characters;
  };
  std::vector<Mark> marks_;  // every few KiB of the text; at least one
};

// Gives a diagnostic the line that it is about, or 4 KiB of it around its place.
void show_line(const Source& source, Diagnostic& diagnostic);

// Bytes [begin, begin + bytes) of the text of a value that starts at `value`: that part of it in
// the file, when the file has it in those words, else `value` itself; as in a text of more than
// 64 KiB. For texts over several lines, too.
[[nodiscard]] Place place_within(const Source& source, Place value, std::string_view text,
                                 std::size_t begin, std::size_t bytes);

// Collects diagnostics. Keeps at most kMaxDiagnostics; sorted() says how many more there were.
class Report {
 public:
  static constexpr std::size_t kMaxDiagnostics = 200;

  explicit Report(const Source& source) : source_(&source) {}

  void add(Severity severity, Place place, std::string message, std::string remedy);
  void error(Place place, std::string message, std::string remedy) {
    add(Severity::error, place, std::move(message), std::move(remedy));
  }

  // Something that is right, but more than this version runs. Each message is kept once, at its
  // first place in the file, with the number of its uses; none is left out.
  void planned(Place place, std::string message, std::string remedy);

  // Ends a pass over the spec: what later passes find wrong at the very place of an error follows
  // from that error, and is not shown.
  void end_pass();

  // The one of `known()` that is nearest to `name` (nearest() of diagnostic.h), for a message of a
  // mistake. Empty also where a file has so many mistakes, or names, that looking for more of them
  // takes long.
  [[nodiscard]] std::string guess(std::string_view name,
                                  const std::function<std::vector<std::string>()>& known) const;

  [[nodiscard]] const Source& source() const { return *source_; }
  [[nodiscard]] bool has_error() const { return errors_ > 0; }
  // In file order, each once (a node that several aliases name is checked several times).
  [[nodiscard]] std::vector<Diagnostic> sorted() &&;

 private:
  const Source* source_;
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
  std::size_t left_out_ = 0;
  std::size_t errors_left_out_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> settled_;  // lines and columns of earlier errors
  struct Use {
    Diagnostic first;
    std::size_t count = 0;
  };
  std::map<std::string, Use> planned_;
  mutable std::size_t guesses_ = 0;
  mutable std::size_t looked_at_ = 0;  // names, for those
};

}  // namespace torc::spec
