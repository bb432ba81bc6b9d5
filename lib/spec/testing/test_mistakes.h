// For tests: specs with mistakes, and what people are shown.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

#include "lib/spec/load/load.h"

namespace torc::spec {

struct Mistake {
  std::string_view name;
  std::string_view text;   // starts with a line end that is not part of the spec
  std::string_view shown;  // the same
};

inline std::ostream& operator<<(std::ostream& out, const Mistake& m) {
  return out << m.name;
}

inline std::string mistake_name(const ::testing::TestParamInfo<Mistake>& info) {
  return std::string(info.param.name);
}

class MistakeTest : public ::testing::TestWithParam<Mistake> {
 protected:
  [[nodiscard]] static std::string shown() {
    const auto nothing_there = [](const std::string& path) -> Result<std::string> {
      if (path == "good.csv") return std::string("a,b\n1,x\n2,y\n");
      return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
    };
    return to_text(load(GetParam().text.substr(1), "wf.yaml", nothing_there).diagnostics);
  }
};

}  // namespace torc::spec
