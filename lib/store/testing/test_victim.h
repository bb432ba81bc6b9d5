// For tests of what nobody may be led to write in.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "lib/base/path.h"

namespace torc::store::testing {

// Files and directories that look like those of a store, and are somebody else's.
class Victim {
 public:
  explicit Victim(Path at) : path(std::move(at)) {
    std::filesystem::create_directories(path / "below");
    for (const char* name : {"a", "000000000001", "below/b", "tmp-x"})
      std::ofstream(path / name) << "precious";
    before_ = look();
  }
  void expect_untouched() const { EXPECT_EQ(look(), before_); }
  const Path path;

 private:
  [[nodiscard]] std::map<std::string, std::string> look() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      std::ifstream in(entry.path());
      out[entry.path().string()] =
          entry.is_regular_file() ? std::string(std::istreambuf_iterator<char>(in), {}) : "";
    }
    return out;
  }
  std::map<std::string, std::string> before_;
};

}  // namespace torc::store::testing
