// The batch system of a workflow that is not Slurm. What tells of it is found once, when the store
// is made, and kept there: workers and later commands go by the same text, whatever became of the
// file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/claim/rules/allocation.h"
#include "lib/launcher/definition.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/text/source.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

// In the store, beside the batch scripts of the workflow's schedulers.
inline constexpr const char* kLauncherFolder = "launcher";
inline constexpr const char* kDefinitionFile = "launcher/definition.yaml";

// The text that the workflow's launcher stands for: a definition that is part of the program, or a
// file, which is looked for in `directory`. What is wrong with either is reported: of the workflow
// file to `report`, of the definition to `of_definition`. Empty: it is Slurm, or there was
// something wrong.
[[nodiscard]] std::string find_definition(const Context& context, const spec::Workflow& workflow,
                                          const Path& directory, spec::Report& report,
                                          std::vector<spec::Diagnostic>& of_definition);

// Of one that was found. Error invalid: it has mistakes.
[[nodiscard]] Result<launcher::Definition> parse_definition(std::string_view text,
                                                            const std::string& file);

// Whether its allocations are asked of another batch system than Slurm.
[[nodiscard]] bool is_of_launcher(const claim::Scheduler& scheduler);

// That of the store's schedulers; nullopt: Slurm's, or there are none. Errors: those of the store;
// the file cannot be read or has mistakes.
[[nodiscard]] Result<std::optional<launcher::Definition>> kept_definition(const Context& context,
                                                                          store::Store& store);

// Whether who only looks at the store may have the commands of that definition run: it is part of
// the program, or nobody but they themselves or root could put it there. Else whoever made the
// store would run commands as anybody who looks at it.
[[nodiscard]] bool is_for_lookers(const Context& context, const store::Store& store,
                                  const launcher::Definition& definition);

}  // namespace torc::workflow
