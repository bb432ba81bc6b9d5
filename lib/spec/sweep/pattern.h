// A text of the spec with its placeholders found once, so that filling it in for one of a million
// jobs is appending pieces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/codec.h"
#include "lib/base/result.h"
#include "lib/spec/language/format.h"
#include "lib/spec/sweep/sweep.h"
#include "lib/spec/text/reference_text.h"

namespace torc::spec {

struct Piece {
  enum class Kind : std::uint8_t { literal, parameter, file };
  Kind kind = Kind::literal;
  std::string text;         // literal: itself; parameter: the placeholder as it was written
  std::uint32_t index = 0;  // of the parameter; of the file's reference
  Format format;
  FileSide side = FileSide::input;
};

// A placeholder of a parameter whose format is none or does not fit a value: bytes of the text, and
// why.
struct BadPlaceholder {
  std::size_t begin = 0;
  std::size_t end = 0;
  Error error;
};
// In the order of the text.
[[nodiscard]] std::vector<BadPlaceholder> find_bad_placeholders(
    std::string_view text, std::span<const Parameter> parameters);

class Pattern {
 public:
  Pattern() = default;
  // Placeholders of unknown parameters are text. Error: a format that is none, or that does not fit
  // a value of its parameter.
  static Result<Pattern> compile(std::string_view text, std::span<const Parameter> parameters);
  // Files that the texts of a command have named so far.
  struct Named {
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;
  };
  // As well `${files.input.NAME}` and `${files.output.NAME}`: piece n-th of its side, in the order
  // of reference_texts(), after those `named`, to which it adds; and `${user_data.input.NAME}`,
  // which stands for NAME.
  static Result<Pattern> compile_command(std::string_view text,
                                         std::span<const Parameter> parameters, Named& named);

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] bool has_parameters() const { return last_ >= 0; }
  [[nodiscard]] bool uses(std::size_t parameter) const;
  // No combination has a longer text, in bytes; it may be longer than the longest. File pieces
  // count `file_bytes` each.
  [[nodiscard]] std::uint64_t bound(std::span<const Parameter> parameters,
                                    std::uint64_t file_bytes = 0) const;
  // The literal text before the first placeholder.
  [[nodiscard]] std::string_view prefix() const;
  // How the text repeats over the combinations.
  [[nodiscard]] Sweep::Cycle cycle(const Sweep& sweep) const;

  // Text of combination k. Precondition: no file pieces.
  void append_to(std::string& out, std::span<const Parameter> parameters, const Sweep& sweep,
                 std::uint64_t k) const;
  [[nodiscard]] std::string text(std::span<const Parameter> parameters, const Sweep& sweep,
                                 std::uint64_t k) const {
    std::string out;
    append_to(out, parameters, sweep, k);
    return out;
  }

  void encode(Encoder& out) const;
  // Damage shows in in.ok(). What comes back has parameter indices below `parameters`, and pieces
  // of files only when these are allowed.
  enum class FilePieces : std::uint8_t { refused, allowed };
  static Pattern decode(Decoder& in, std::size_t parameters, FilePieces files);

  // With this at its end.
  void end_with(std::string_view text) { add_literal(text); }

 private:
  void add(std::string_view text, std::span<const Parameter> parameters);
  void add_literal(std::string_view text);
  void add_parameter(std::size_t index, std::string_view text, const Format& format);

  std::vector<Piece> pieces_;
  int first_ = -1;  // the parameters used lie between these two
  int last_ = -1;
};

}  // namespace torc::spec
