// torc add: jobs of a file are added to a workflow in a store.
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/change/print_added.h"
#include "bin/commands/commands.h"
#include "bin/commands/ringing.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/text/quote.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/change/left_behind.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

struct AddOptions {
  std::vector<std::string> words;  // FILE, or STORE FILE
  bool dry_run = false;
  bool json = false;
};

// What stands in the file waits for what it waited for: a fan-in that an expression of the file
// makes does not grow by what is added beside it.
void say_left_behind(const App& app, const store::Store& store, const workflow::Added& added) {
  if (added.names.empty()) return;
  const Path copy = workflow::spec_copy_in(app, store.directory());
  const auto text = workflow::read_spec_copy(app, copy);
  if (!text || text->find("depends_on_regexes") == std::string::npos) return;
  const workflow::LoadedSpec loaded = workflow::load_spec_text(app, copy.string(), *text);
  if (!loaded.workflow) return;
  const auto left = workflow::left_behind(*loaded.workflow, added.names);
  if (!left) return;
  say(app.err,
      "torc: note: {} does not wait for {}, although its '{}' matches it: to make it wait and run "
      "again, write the jobs into the workflow file and run `torc run FILE`\n",
      printable(left->entry), printable(left->found), printable(left->expression));
}

Result<Exit> run(const App& app, const AddOptions& options) {
  TORC_ASSIGN(auto where, locate_store_and_name(app, options.words));
  TORC_ASSIGN(const auto text, workflow::read_addition(app, where.name));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  const WallTime now = app.clock.wall_now();
  const auto admit = [&](const claim::Reader&,
                         workflow::AdditionText&) -> Result<workflow::AdditionTerms> {
    workflow::AdditionTerms terms;
    terms.origin.at = now;
    terms.origin.by = workflow::who_asks(app);
    terms.brings_back = true;
    return terms;
  };
  TORC_ASSIGN(const auto added, workflow::add_to(app, *store, text, admit,
                                                 ringing_change(app, *store, options.dry_run)));
  const Exit exit = print_added(app, *store, text, added, options.dry_run, options.json);
  if (exit == Exit::ok) say_left_behind(app, *store, added);
  if (exit == Exit::ok && !options.dry_run) {
    settle_allocations(app, *store, options.json ? Telling::err_alone : Telling::out_and_err);
  }
  return exit;
}

}  // namespace

void add_add(Command& c) {
  auto& o = c.options<AddOptions>();
  c.about("Add the jobs of a file to a workflow, also while it runs");
  c.argument("FILE", o.words, "[STORE] FILE: a file with 'jobs:'; - is stdin (json5:-, kdl:-)")
      .value("[STORE] FILE|-")
      .required()
      .words(1, 2);
  c.flag("-n,--dry-run", o.dry_run, "say what would be added and add nothing");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
