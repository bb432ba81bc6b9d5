// Parameters as the spec writes them: ranges, lists, files of values.
#pragma once

#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/reader.h"

namespace torc::spec {

// The value of a 'parameters' key; reports what is wrong and leaves it out.
[[nodiscard]] std::vector<Parameter> read_parameters(const Session& session, const Node& node);

// Those of a workflow or an addition, with the columns of its parameters_file, into the session.
void read_shared_parameters(Session& session, const MapReader& reader);

// Own parameters of a job, a file or user data, then the columns of its table, then those of the
// workflow that its use_parameters names; its parameter_mode.
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
