// What makes results count no more when a workflow file, or what it names, changes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace torc::spec {

// In the order of `rerun_triggers` in the language.
enum class RerunTrigger : std::uint8_t {
  command,   // what is run, how it is started, and what files it makes
  inputs,    // which files it takes, and what is in them
  params,    // its environment, and the user data that it takes
  upstream,  // which jobs it waits for
};

class RerunTriggers {
 public:
  static constexpr std::array<std::string_view, 4> kNames{"command", "inputs", "params",
                                                          "upstream"};

  constexpr void add(RerunTrigger trigger) { bits_ |= bit(trigger); }
  [[nodiscard]] constexpr bool has(RerunTrigger trigger) const {
    return (bits_ & bit(trigger)) != 0;
  }
  [[nodiscard]] static constexpr RerunTriggers all() {
    RerunTriggers all;
    all.bits_ = (1U << kNames.size()) - 1;
    return all;
  }
  [[nodiscard]] static std::optional<RerunTrigger> named(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (kNames[i] == name) return static_cast<RerunTrigger>(i);
    }
    return {};
  }
  bool operator==(const RerunTriggers&) const = default;

 private:
  static constexpr unsigned bit(RerunTrigger trigger) {
    return 1U << static_cast<unsigned>(trigger);
  }

  unsigned bits_ = 0;
};

}  // namespace torc::spec
