// Finds the file of a program along PATH, once. A found path is remembered for its PATH and word,
// as shells do; forget() it when executing it fails.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/result.h"

namespace torc::exec {

// The value of `name` in an environment of "NAME=value"; nullptr when it has none. Points into
// `environment`.
[[nodiscard]] const char* variable(const std::vector<std::string>& environment,
                                   std::string_view name);

class ProgramPaths {
 public:
  struct Found {
    std::string path;  // empty: not found
    int os_errno = 0;  // then why: ENOENT, or EACCES when a file of that name cannot be executed
    bool remembered = false;
  };

  // A word with a slash is its own path. `path` is the value of PATH, nullptr when unset. Relative
  // directories of PATH are taken from `directory`, and what they hold is not remembered.
  [[nodiscard]] Found find(const std::string& word, const char* path, const std::string& directory);
  void forget(const std::string& word, const char* path);

 private:
  std::unordered_map<std::string, std::string> known_;
};

}  // namespace torc::exec
