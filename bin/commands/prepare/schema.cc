// torc schema: the workflow language for editors.
#include "lib/spec/language/language.h"

#include "bin/commands/commands.h"
#include "bin/flags.h"

namespace torc::cli {

void add_schema(Command& c) {
  c.about("Print the JSON Schema of workflow files, for editors");
  c.run([](const App& app) {
    say(app.out, "{}", spec::json_schema());
    return Exit::ok;
  });
}

}  // namespace torc::cli
