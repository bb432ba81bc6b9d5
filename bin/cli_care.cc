// The flags of the commands that look after a store.
#include <CLI/CLI.hpp>

#include "bin/care_commands.h"
#include "bin/quantities.h"

namespace torc::cli {
namespace {

void add_duration(CLI::App* command, const std::string& flag, std::chrono::seconds& target,
                  const std::string& help) {
  command
      ->add_option_function<std::string>(
          flag,
          [&target, flag](const std::string& text) {
            const auto value = parse_duration(text);
            if (!value) throw CLI::ValidationError(flag, value.error().text());
            target = *value;
          },
          help)
      ->type_name("TIME");
}

void add_doctor(CLI::App& cli, const App& app, DoctorOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("doctor", "Try out whether a directory is a safe place for a store");
  c->add_option("DIR", o.directory, "directory, or a store (default: the working directory)");
  c->add_flag("--two-node", o.two_node,
              "with the same command on another node (srun -N2, or by hand): tests what holds "
              "between the two");
  add_duration(c, "--wait", o.wait, "--two-node: how long to wait for the other (default 5m)");
  c->add_flag("--json", o.json, "machine-readable output");
  c->footer(
      "\nIt makes a directory of its own in DIR and removes it again.\n"
      "Exit codes: 0 fit for a store; 3 unfit, or it could not be tried out; 2 wrong flags.");
  c->callback([&] { exit = run_doctor(app, o); });
}

}  // namespace

void add_care_commands(CLI::App& cli, const App& app, CareOptions& options, Exit& exit) {
  add_doctor(cli, app, options.doctor, exit);
}

}  // namespace torc::cli
