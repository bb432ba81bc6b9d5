// Parameters as the spec writes them: ranges, lists, files of values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/reader.h"
#include "lib/spec/workflow.h"

namespace torc::spec {

// "1:100", "0:100:10", "0.0:1.0:0.1", "[1,5,10]", "['adam','sgd']", or one value.
[[nodiscard]] Result<ParameterValues> parse_values(std::string_view text);

// An integer or a finite decimal number becomes that, or a numeral when it would be printed
// otherwise; anything else stays text (010 too: it is no decimal number). Error: a number that no
// 64 bits hold.
[[nodiscard]] Result<ParameterValue> parse_value(std::string_view text);

// The value of a 'parameters' key; reports what is wrong and leaves it out.
[[nodiscard]] std::vector<Parameter> read_parameters(const Session& session, const Node& node);

// Own parameters of a job or file, then those of the workflow that its use_parameters names; its
// parameter_mode.
struct OwnParameters {
  std::vector<Parameter> parameters;
  ParameterMode mode = ParameterMode::product;
  bool complete = true;  // false: there may be further ones, whose names could not be read
  bool sound = true;     // false: one could not be read, or they do not go together; was reported
};
[[nodiscard]] OwnParameters read_own_parameters(const MapReader& reader);

// Warns of (in a name: refuses) placeholders in `text` that no parameter fills in.
// False: refused.
enum class InName : std::uint8_t { no, yes };
bool check_placeholders(const Session& session, const Node& node,
                        const std::vector<Parameter>& parameters, InName in_name);

}  // namespace torc::spec
