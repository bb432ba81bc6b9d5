// torc new: a workflow file to start from.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bin/commands/change/confirm.h"
#include "bin/commands/commands.h"
#include "bin/commands/prepare/starters.h"
#include "bin/commands/prepare/wizard.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/text/quote.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {
namespace {

struct NewOptions {
  std::string kind;  // empty: list them, or ask
  std::string file;  // empty: to stdout
};

Path path_of(const App& app, const std::string& file) {
  return (app.directory / file).lexically_normal();
}

bool is_there(const App& app, const std::string& file) {
  return app.world.disk.status(path_of(app, file)).ok();
}

// Fails when it is there.
Result<void> write_file_of(const App& app, const std::string& file, const std::string& text) {
  const Path path = path_of(app, file);
  store::Disk& disk = app.world.disk;
  auto made = disk.create(path);
  if (!made) {
    if (made.error().kind != ErrorKind::exists) return made.error();
    return Error{ErrorKind::invalid, fmt::format("{} exists already", printable(file)),
                 "name another file, or remove it"};
  }
  store::OpenFile open(disk, *made, path);
  auto written = open.write(0, text);
  auto closed = open.close();
  if (!written || !closed) return written ? closed.error() : written.error();
  return {};
}

Result<Exit> make(const App& app, const Starter& starter, const StarterValues& values,
                  const std::string& file) {
  const std::string text = fill(starter, values, file);
  // By its ending it would be read as something else.
  if (Path(file).extension() == ".torc")
    return invalid(fmt::format("'{}' is a name for a store", printable(file)),
                   "stores end in .torc, workflow files in .yaml");
  if (text.starts_with("#!") && has_workflow_ending(file))
    return invalid(fmt::format("a file named '{}' would not be read as a script", printable(file)),
                   "give it no ending, or .sh");
  TORC_TRY(write_file_of(app, file, text));
  const std::string word = shell_word(file);
  const bool needs_slurm = !starter.of_one.empty() && values.jobs > 1;
  say(app.out, "made {}\nnext: torc check {}   # then torc {} {}\n", printable(file), word,
      needs_slurm ? "submit" : "run", word);
  return Exit::ok;
}

Result<Exit> ask_and_make(const App& app) {
  const auto wish = ask_for_starter(app, is_there);
  if (!wish) return invalid("nothing was made", "`torc new KIND FILE` makes one without questions");
  return make(app, *wish->starter, wish->values, wish->file);
}

Result<Exit> run(const App& app, const NewOptions& options) {
  if (options.kind.empty() && can_ask(app)) return ask_and_make(app);
  const auto all = starters();
  if (options.kind.empty()) {
    for (const Starter& s : all) say(app.out, "{:<14} {}\n", s.kind, s.about);
    say(app.out,
        "\ntorc new KIND FILE makes one; on a terminal torc new alone asks for the rest\n");
    return Exit::ok;
  }
  const auto found = std::ranges::find(all, options.kind, &Starter::kind);
  if (!options.file.empty()) return make(app, *found, usual_values(*found), options.file);
  say(app.out, "{}", fill(*found, usual_values(*found), ""));
  return Exit::ok;
}

}  // namespace

void add_new(Command& c) {
  auto& o = c.options<NewOptions>();
  c.about("Write a workflow file to start from");
  std::vector<std::string> kinds;
  for (const Starter& s : starters()) kinds.emplace_back(s.kind);
  c.argument("KIND", o.kind, "the kind (default: ask on a terminal, otherwise list the kinds)")
      .value("KIND")
      .choices(kinds);
  c.argument("FILE", o.file, "file to make (default: print it)").value("FILE");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
