#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/integration/harness.h"
#include "tests/torture/options.h"

namespace torc::torture {

// Lines that jobs write to their files, as they come.
class Events final : public itest::Source {
 public:
  explicit Events(const Path& record);
  ~Events() override;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  void pump() override;
  [[nodiscard]] std::vector<int> fds() const override { return {fd_}; }
  [[nodiscard]] std::uint64_t take() { return std::exchange(count_, 0); }

 private:
  int fd_ = -1;
  std::uint64_t count_ = 0;
};

}  // namespace torc::torture
