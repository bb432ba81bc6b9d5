// What is allowed and probably not meant: mistakes that people make with resources, launchers,
// schedulers and labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/expand/expansion.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {

// Warnings in file order, beside those that load() gave. `text` and `file` as load() had them.
[[nodiscard]] std::vector<Diagnostic> advice(const Workflow& workflow, const Expansion& expansion,
                                             std::string_view text, const std::string& file);

}  // namespace torc::spec
