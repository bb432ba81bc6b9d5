// The choices of a run: the same seed gives the same choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace torc::mutation {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::uint64_t any() { return engine_(); }
  // From 0 to `count` - 1; 0 when there is none.
  [[nodiscard]] std::size_t below(std::size_t count) {
    return count == 0 ? 0 : static_cast<std::size_t>(engine_() % count);
  }
  [[nodiscard]] bool one_in(std::size_t count) { return below(count) == 0; }
  template <class T>
  [[nodiscard]] const T& pick(const std::vector<T>& things) {
    return things[below(things.size())];
  }
  [[nodiscard]] std::string bytes(std::size_t count) {
    std::string out(count, '\0');
    for (char& c : out) c = static_cast<char>(engine_());
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace torc::mutation
