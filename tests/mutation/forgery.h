// Writes that torc would never make: keys that are there, or nearly, with values that are nearly
// right.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/mutation/random.h"

namespace torc::mutation {

using Records = std::map<std::string, std::string>;

struct ForgedWrite {
  std::string key;
  std::optional<std::string> value;  // nullopt: the key is erased
  std::string how;                   // in words
};

// One to three; none where there are no records.
[[nodiscard]] std::vector<ForgedWrite> forge_writes(const Records& records, Random& random);

[[nodiscard]] std::string in_words(const std::vector<ForgedWrite>& writes);
// Bytes, with \xNN for what is neither a letter nor a digit.
[[nodiscard]] std::string shown(std::string_view bytes);

}  // namespace torc::mutation
