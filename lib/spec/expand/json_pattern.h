// The data of user data with its placeholders found once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

class JsonPattern {
 public:
  // Reports formats that are none. None: reported. `entry` must outlive it.
  static std::optional<JsonPattern> compile(const UserDataEntry& entry, Report& report);

  // Of combination k: values stand in the texts of the JSON, not in its keys, with what JSON
  // escapes.
  [[nodiscard]] std::string text(const Family& family, std::uint64_t k) const;

 private:
  // What stands between two values, and the value behind it; the last has none.
  struct Part {
    std::string_view json;
    std::optional<Pattern> value;
  };
  std::vector<Part> parts_;
};

}  // namespace torc::spec
