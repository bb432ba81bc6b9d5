// torc schema: the workflow language for editors.
#include <fmt/format.h>

#include "bin/commands/spec_commands.h"
#include "lib/spec/language/schema.h"

namespace torc::cli {

Exit run_schema(const App& app) {
  say(app.out, "{}", spec::json_schema());
  return Exit::ok;
}

}  // namespace torc::cli
