// Which template the batch scripts of a store are made of: a site or a user may have another one
// than the one that is part of the program.
#pragma once

#include <string>

#include "lib/base/path.h"
#include "lib/slurm/script.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

struct FoundTemplate {
  slurm::ScriptTemplate text;
  Path file;  // empty: its text is that of the built-in one
};

// `named`, as the user did. A word with a / or one that ends in .sbatch is a file; another one is
// the name of a template, looked for as NAME.sbatch, and nothing is "worker". Looked for is in this
// order:
//   $XDG_CONFIG_HOME/torc/templates (else ~/.config/torc/templates), the user's own;
//   ../share/torc/templates beside the directory of the program, the site's;
//   the program itself, which has "worker".
// What was found, rather than named as a file, has to belong to the user, root, or whom the program
// belongs to: it says what is run. Only that a file is not there leads to the next place. Regular
// files alone are read.
//
// Errors: invalid, with the names there are; permission: it is another user's; what keeps it from
// being read.
Result<FoundTemplate> find_template(const Context& context, const std::string& named);

}  // namespace torc::workflow
