// KEY=VALUE as `torc set` takes them.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/override.h"

namespace torc::workflow {

struct SettingWords {
  claim::Setting setting;
  std::string shown;               // "priority=5 memory=8g", in the order given
  std::vector<std::string> names;  // the words that set nothing
};

// "priority, cpus, …": what can be set.
[[nodiscard]] std::string setting_keys();

// Errors (invalid): nothing is set, a key that is nearly one of those there are, a key given twice,
// a value that the key does not take. A word with another text before its '=' is a name: jobs may
// have such names.
Result<SettingWords> parse_setting(const std::vector<std::string>& words);

// Whether jobs of this workflow can have that, as the workflow file is checked. Error invalid: not
// in its mode.
Result<void> check_mode(const claim::Reader& reader, const claim::Setting& setting);

}  // namespace torc::workflow
