// The workflow files that `torc new` writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace torc::cli {

// What is filled in.
struct StarterValues {
  std::string name = {};
  std::uint64_t jobs = 1;  // or samples, or nodes
  std::uint32_t cpus = 1;
  std::string memory = "100m";
  std::string runtime = "10m";
};

struct Starter {
  std::string_view kind;
  std::string_view ending;  // of the file's name
  std::string_view about;   // one line
  std::string_view counts;  // what `jobs` of the values counts; empty: nothing can be said of it
  StarterValues usual;      // its name is the kind
  std::string_view text;
  std::string_view of_one = {};  // in place of the text where `jobs` is 1; empty: the same

  // The wizard asks for values of those alone that have any.
  [[nodiscard]] bool asks() const { return !counts.empty(); }
};

[[nodiscard]] std::span<const Starter> starters();
[[nodiscard]] StarterValues usual_values(const Starter& starter);
// The text of a file; `file`: its name, for commands in comments; empty: it is printed.
[[nodiscard]] std::string fill(const Starter& starter, const StarterValues& values,
                               const std::string& file);

}  // namespace torc::cli
