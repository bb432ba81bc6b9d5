// torc completion: what the command line says of itself, as a script for a shell.
#include <string>

#include "bin/help/completion.h"

#include "bin/cli.h"
#include "bin/commands/commands.h"
#include "bin/flags.h"

namespace torc::cli {
namespace {

struct CompletionOptions {
  std::string shell;
};

Result<Exit> run(const App& app, const CompletionOptions& options) {
  TORC_ASSIGN(const auto script,
              completion_script(options.shell, describe_command_line().commands));
  say(app.out, "{}", script);
  return Exit::ok;
}

}  // namespace

void add_completion(Command& c) {
  auto& o = c.options<CompletionOptions>();
  c.about("Print a script that completes torc's command line");
  c.argument("SHELL", o.shell, "bash, zsh or fish: source <(torc completion bash)")
      .required()
      .choices({"bash", "zsh", "fish"});
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
