// For tests: the jobs of a text that has no mistakes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {

inline Jobs jobs_of(const std::string& text, const ReadFile& files = {}) {
  Loaded loaded = load(text, "wf.yaml", files);
  EXPECT_EQ(to_text(loaded.diagnostics), "");
  return loaded.expansion ? render_all(*std::move(loaded.expansion)) : Jobs{};
}

}  // namespace torc::spec
