// Where a YAML file says what its jobs need, and the same file with other amounts there: all else
// of it stays as it is, comments and order too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/resources.h"
#include "lib/base/result.h"

namespace torc::spec {

enum class Need : std::uint8_t { cpus, memory, runtime, time_limit };
inline constexpr std::array kNeeds{Need::cpus, Need::memory, Need::runtime, Need::time_limit};
[[nodiscard]] std::string_view word(Need need);  // as files have it
// Bytes, seconds, or a number; 0: not declared (of memory: 1 MiB or less).
[[nodiscard]] std::uint64_t amount_of(const Resources& resources, Need need);

// A value in the file. Several jobs have the same one, by a set, a merge (<<) or an alias.
struct NeedValue {
  std::size_t begin = 0;  // bytes [begin, begin + length) of the text, quotes included
  std::size_t length = 0;
  std::uint64_t amount = 0;
  std::size_t line = 0;
  std::string where;  // whose it is: "small", of a job without a set its name
  std::string fixed;  // why it cannot be changed here; empty: it can
  std::string text;   // as written
};

class NeedValues {
 public:
  // Error (invalid): no YAML, or none that can be read. JSON is YAML. `text` may begin with a byte
  // order mark.
  static Result<NeedValues> read(std::string text, const std::string& file);

  // What holds for the job at `position` in the file's list of jobs, which has the set `set`
  // (empty: none). nullptr: neither says any.
  [[nodiscard]] const NeedValue* find(std::size_t position, const std::string& set,
                                      Need need) const;

  // With other amounts, by NeedValue::begin; each written in the manner of the one that it
  // replaces.
  [[nodiscard]] std::string with(const std::map<std::size_t, std::uint64_t>& amounts) const;

 private:
  using Said = std::array<std::optional<NeedValue>, kNeeds.size()>;
  std::string text_;
  std::vector<Said> jobs_;
  std::map<std::string, Said> sets_;
};

// As a file has it: "4g", "1536m", "90m", "2h30m"; in the manner of `like`: "PT90M", bytes alone.
[[nodiscard]] std::string show_need(Need need, std::uint64_t amount, std::string_view like = {});

}  // namespace torc::spec
