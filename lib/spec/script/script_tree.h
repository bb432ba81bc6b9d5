// A script as a workflow of one entry, as if somebody had written it in YAML.
#pragma once

#include <string>

#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Whether the text begins with "#!", and the name of the file does not say that it is YAML, JSON or
// KDL.
[[nodiscard]] bool is_script(const Source& source);

// The script is run by its interpreter, by the path that the source's name is, and is an input file
// of its job. Lines `#TORC --key value` are keys of the job, or else of the workflow; lines of
// #SBATCH are translated. With --array it is a sweep over a parameter called `task`. All values
// have their places in the script. A tree without a root: there is an error. Never throws.
[[nodiscard]] Tree read_script(const Source& source, Report& report);

// The same workflow in YAML. Precondition: read_script() gives a tree.
[[nodiscard]] std::string script_as_yaml(const Source& source);

}  // namespace torc::spec
