// The workflow language as a JSON Schema (draft 2020-12), for editors: made from the table that the
// parser reads by, so it cannot fall behind.
#pragma once

#include <string>

namespace torc::spec {

// It accepts every file that the parser accepts, and some that it refuses: what no schema can say
// (names that must exist, jobs that wait for each other) is for `torc check`. Numbers and booleans
// may hold placeholders nowhere; texts may be written as numbers, as YAML allows.
[[nodiscard]] std::string json_schema();

}  // namespace torc::spec
