// How the files are read that a spec names.
#pragma once

#include <functional>
#include <string>

#include "lib/base/result.h"

namespace torc::spec {

// Reads a file that the spec names (parameter lists after '@', tables); relative to the spec's
// directory.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

}  // namespace torc::spec
