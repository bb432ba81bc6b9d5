// torc check: validate only, and ask Slurm whether it would take the batch scripts.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "bin/commands/commands.h"
#include "bin/commands/input_check.h"
#include "bin/commands/prepare/slurm_answers.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

struct CheckOptions {
  std::string spec;
  std::string script_template;  // a file or a name; empty: it is looked for
  bool no_slurm = false;        // Slurm is not asked about the scripts
  bool yaml = false;            // of a script: the same workflow in YAML, and nothing else
  bool json = false;
};

// Of the scripts that `torc init` would make. They are rendered where Slurm can be asked, or a
// template or a launcher is named that may have mistakes.
Result<SlurmAnswers> ask(const App& app, const workflow::LoadedSpec& loaded,
                         const CheckOptions& options) {
  SlurmAnswers all;
  const bool is_slurms = loaded.workflow->launcher.empty();
  const bool asks = is_slurms && !options.no_slurm && workflow::can_ask_slurm(app);
  if (is_slurms && !asks && options.script_template.empty()) return all;
  TORC_ASSIGN(auto scripts,
              workflow::render_scripts(app, loaded, workflow::default_store(app, loaded),
                                       options.script_template));
  all.scripts = std::move(scripts.all);
  if (asks) all.answers = workflow::ask_slurm(app, all.scripts, all.from);
  return all;
}

void print_good(const App& app, const workflow::LoadedSpec& loaded) {
  const bool runs = std::none_of(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                                 [](const spec::Diagnostic& d) { return d.blocks_run; });
  const std::string values =
      loaded.value_files.empty()
          ? ""
          : fmt::format(", with values from {}", fmt::join(loaded.value_files, ", "));
  say(app.out, "{}: {}: workflow '{}', {} from {}{}\n", loaded.file,
      runs ? "good" : "good, but this version cannot run all of it (see the notes)",
      loaded.workflow->name, plural(loaded.expansion->jobs, "job"),
      plural(loaded.workflow->jobs.size(), "entry", "entries"), values);
}

Result<Exit> print_yaml(const App& app, const workflow::LoadedSpec& loaded) {
  if (loaded.yaml.empty())
    return invalid(fmt::format("{} is not a script", printable(loaded.file)),
                   "--yaml is for files that begin with '#!'; this one is a workflow file already");
  print_diagnostics(app, loaded);
  say(app.out, "{}", loaded.yaml);
  return Exit::ok;
}

Result<Exit> run(const App& app, const CheckOptions& options) {
  TORC_ASSIGN(auto loaded, workflow::load_spec(app, options.spec, workflow::Purpose::look));
  if (!loaded.expansion) return refuse_spec(app, loaded, options.json);
  if (options.yaml) return print_yaml(app, loaded);
  TORC_TRY(note_missing_inputs(app, loaded));
  if (!options.json) print_diagnostics(app, loaded);
  TORC_ASSIGN(const SlurmAnswers slurm, ask(app, loaded, options));
  const std::size_t refused = slurm.refused();
  const Exit exit = refused == 0 ? Exit::ok : Exit::usage;
  if (options.json) {
    nlohmann::ordered_json out = diagnostics_json(loaded);
    out["slurm"] = to_json(slurm);
    say(app.out, "{}\n", report::json_text(out));
    return exit;
  }
  if (refused == 0) print_good(app, loaded);
  print(app, loaded, slurm);
  if (refused != 0) {
    say(app.err, "torc: error: Slurm refuses {} of {} batch script{} of {}\n", refused,
        slurm.scripts.size(), slurm.scripts.size() == 1 ? "" : "s", loaded.file);
  }
  return exit;
}

}  // namespace

void add_check(Command& c) {
  auto& o = c.options<CheckOptions>();
  c.about("Check a workflow file and show all its mistakes");
  c.argument("SPEC", o.spec, "workflow file, or a script").required();
  c.option("--template", o.script_template,
           "template of the batch scripts that Slurm is asked about, as `torc init` takes it")
      .value("FILE|NAME");
  c.flag("--no-slurm", o.no_slurm,
         "do not ask Slurm whether it takes the batch scripts (sbatch --test-only)");
  c.flag("--yaml", o.yaml,
         "of a script: print the workflow file that it stands for, to go on with");
  c.flag("--json", o.json, "machine-readable output");
  c.footer(
      "Where there is an sbatch, Slurm is asked for 5 s at most whether it would take the batch "
      "scripts.\n\n"
      "Exit codes: 0 no mistakes, and Slurm refuses no batch script, as far as it answered;\n"
      "2 wrong flags, mistakes in the file, or a batch script that Slurm refuses.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
