// Everything that is wrong with one request, told at once: whoever mends the first thing should not
// have to find the second one by asking again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace torc::workflow {

class Refusals {
 public:
  // So many are told; the others are counted.
  static constexpr std::size_t kShown = 20;

  void add(std::string what, std::string remedy);
  [[nodiscard]] bool none() const { return count_ == 0; }
  // Error invalid: the one refusal as it is, or all of them behind `summary` ("the file cannot be
  // taken over"), those with the same remedy together. Precondition: !none().
  [[nodiscard]] Error error(const std::string& summary) const;

 private:
  struct Group {
    std::string remedy;
    std::vector<std::string> facts;
  };
  std::vector<Group> groups_;
  std::size_t count_ = 0;
};

}  // namespace torc::workflow
