// The name of a file or directory.
#pragma once

#include <filesystem>

namespace torc {

using Path = std::filesystem::path;

}  // namespace torc
