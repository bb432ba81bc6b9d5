// Why a job is where it is, as `torc why` shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/report/why.h"

namespace torc::report {

// In lines of at most `columns`.
[[nodiscard]] std::string to_text(const Explanation& found, std::size_t columns);
// job_json(), and {reasons: [{kind, text, remedy}]}.
[[nodiscard]] nlohmann::ordered_json to_json(const claim::Reader& reader,
                                             workflow::RecipeBook& book, const Explanation& found);

}  // namespace torc::report
