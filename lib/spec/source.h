// The text of a spec with its lines, and the list of what was found wrong with it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/diagnostic.h"

namespace torc::spec {

// Views `text`, which must outlive it. Offsets are bytes from its start.
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

 private:
  std::string_view text_;
  std::string file_;
  std::vector<std::size_t> starts_;
};

// Collects diagnostics. Keeps at most kMaxDiagnostics; sorted() says how many more there were.
class Report {
 public:
  static constexpr std::size_t kMaxDiagnostics = 200;

  explicit Report(const Source& source) : source_(&source) {}

  void add(Severity severity, Place place, std::string message, std::string remedy);
  void error(Place place, std::string message, std::string remedy) {
    add(Severity::error, place, std::move(message), std::move(remedy));
  }

  [[nodiscard]] bool has_error() const { return errors_ > 0; }
  // In file order, each once (a node that several aliases name is checked several times).
  [[nodiscard]] std::vector<Diagnostic> sorted() &&;

 private:
  const Source* source_;
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace torc::spec
