// torc new: a workflow file to start from.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/prepare/starters.h"
#include "bin/flags.h"
#include "lib/base/quote.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {
namespace {

struct NewOptions {
  std::string kind;  // empty: list them
  std::string file;  // empty: to stdout
};

Result<Exit> run(const App& app, const NewOptions& options) {
  if (options.kind.empty()) {
    for (const Starter& s : starters()) say(app.out, "{:<14} {}\n", s.kind, s.about);
    say(app.out, "\ntorc new KIND FILE makes one\n");
    return Exit::ok;
  }
  const auto found = std::find_if(starters().begin(), starters().end(),
                                  [&](const Starter& s) { return s.kind == options.kind; });
  if (options.file.empty()) {
    say(app.out, "{}", found->text);
    return Exit::ok;
  }
  const Path path = (app.directory / options.file).lexically_normal();
  store::Disk& disk = app.world.disk;
  auto file = disk.create(path);  // fails when it is there
  if (!file) {
    if (file.error().kind != ErrorKind::exists) return file.error();
    return Error{ErrorKind::invalid, fmt::format("{} exists already", options.file),
                 "name another file, or remove it"};
  }
  store::OpenFile open(disk, *file, path);
  auto written = open.write(0, found->text);
  auto closed = open.close();
  if (!written || !closed) return report(app, written ? closed.error() : written.error());
  say(app.out, "made {}\nnext: torc check {}\n", options.file, shell_word(options.file));
  return Exit::ok;
}

}  // namespace

void add_new(Command& c) {
  auto& o = c.options<NewOptions>();
  c.about("Write a workflow file to start from");
  std::vector<std::string> kinds;
  for (const Starter& s : starters()) kinds.emplace_back(s.kind);
  c.argument("KIND", o.kind, "without one: list them").value("KIND").choices(kinds);
  c.argument("FILE", o.file, "file to make (default: print it)").value("FILE");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
