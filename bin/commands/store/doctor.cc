// torc doctor: is this directory a safe place for a store?
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/signals.h"
#include "lib/base/quantities.h"
#include "lib/doctor/doctor_report.h"
#include "lib/report/job_view.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/meta.h"

namespace torc::cli {
namespace {

struct DoctorOptions {
  std::string directory = ".";
  bool two_node = false;
  std::chrono::seconds wait{300};  // for the other instance
  std::string bell_interface;      // as a worker's
  bool json = false;
};

Exit cancelled(const App& app, const Path& directory) {
  const Path left = directory / doctor::kMeetingPlace;
  const bool clean = !app.world.disk.status(left).ok();
  say(app.err, "torc: interrupted; {}\n",
      clean ? "nothing was left behind" : "delete " + left.string() + " when both are gone");
  return Exit::store;
}

std::string read_proc(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string described_store(const App& app, const Path& directory) {
  const auto text = store::read_file(app.world.disk, directory / "META");
  if (!text) return {};
  const auto meta = store::decode_meta(*text, directory / "META");
  if (!meta) return "damaged: " + meta.error().what;
  const bool journal = meta->identity.engine == store::Engine::journal;
  return journal ? fmt::format("engine journal, put-if-absent by {}",
                               to_string(meta->publish.primitive))
                 : fmt::format("engine lmdb, of host {}", meta->identity.host);
}

// What a store here needs and this place does not give it.
void judge_store(const App& app, doctor::Diagnosis& d) {
  const auto text = store::read_file(app.world.disk, d.checkup.directory / "META");
  if (!text) return;
  const auto meta = store::decode_meta(*text, d.checkup.directory / "META");
  if (!meta || meta->identity.engine != store::Engine::lmdb) return;
  if (d.checkup.type.sharing == store::Sharing::shared) {
    d.findings.push_back({store::Severity::unfit, "engine",
                          "the store has engine lmdb, but other hosts may see this filesystem",
                          "move it to a local disk, or back it up with --engine journal"});
  }
}

std::string describe_mount(const doctor::Checkup& checkup) {
  if (!checkup.mount) return std::string(checkup.type.name);
  std::string options;
  for (const std::string& o : checkup.mount->options) {
    // What differs between any two clients and means nothing.
    if (o.starts_with("clientaddr=") || o.starts_with("addr=") || o.starts_with("mountaddr="))
      continue;
    options += (options.empty() ? "" : ",") + o;
  }
  return checkup.mount->type + " " + options;
}

Result<void> with_other_node(const App& app, const DoctorOptions& options,
                             doctor::Diagnosis& diagnosis) {
  doctor::TwoNodeOptions two;
  two.filesystem = describe_mount(diagnosis.checkup);
  two.partner_wait = options.wait;
  two.publish = *diagnosis.checkup.publish;
  two.facts = diagnosis.checkup.facts;
  two.bells.interface = options.bell_interface;
  store::PosixLocks locks(diagnosis.checkup.directory);
  const doctor::Tell tell = [&](const std::string& line) {
    if (!options.json) say(app.err, "{}: {} …\n", app.world.host, line);
  };
  TORC_ASSIGN(
      diagnosis.two_node,
      doctor::run_two_node(app.world, locks, diagnosis.checkup.directory, two, tell, interrupted));
  return {};
}

Result<Exit> run(const App& app, const DoctorOptions& options) {
  note_interrupts();
  doctor::ExamineOptions examine;
  examine.mountinfo = read_proc("/proc/self/mountinfo");
  const Path directory = (app.directory / options.directory).lexically_normal();
  auto checkup = doctor::examine(app.world, directory, examine, interrupted);
  if (interrupted()) return cancelled(app, directory);
  if (!checkup) return checkup.error();
  doctor::Diagnosis diagnosis;
  diagnosis.checkup = *std::move(checkup);
  if (options.two_node) diagnosis.checkup.leftovers.clear();  // of the other instance
  diagnosis.store = described_store(app, diagnosis.checkup.directory);
  diagnosis.findings = doctor::judge(diagnosis.checkup);
  judge_store(app, diagnosis);
  if (options.two_node && diagnosis.checkup.publish) {
    const Result<void> tested = with_other_node(app, options, diagnosis);
    if (interrupted()) return cancelled(app, directory);
    if (!tested) {
      diagnosis.findings.push_back(
          {store::Severity::unfit, "two-node", tested.error().what, tested.error().remedy});
    }
    if (diagnosis.two_node) {
      for (store::Finding& finding : doctor::judge(*diagnosis.two_node))
        diagnosis.findings.push_back(std::move(finding));
    }
  }
  if (options.json) {
    say(app.out, "{}\n", report::json_text(to_json(diagnosis)));
  } else {
    say(app.out, "{}", to_text(diagnosis));
  }
  return doctor::is_fit(diagnosis.findings) ? Exit::ok : Exit::store;
}

}  // namespace

void add_doctor(Command& c) {
  auto& o = c.options<DoctorOptions>();
  c.about("Try out whether a directory is a safe place for a store");
  c.argument("DIR", o.directory, "directory, or a store (default: the working directory)");
  c.flag("--two-node", o.two_node,
         "with the same command on another node (srun -N2, or by hand): tests what holds between "
         "the two");
  c.option("--wait", o.wait, parse_duration,
           "--two-node: how long to wait for the other (default 5m)")
      .value("TIME");
  c.option("--bell-interface", o.bell_interface,
           "--two-node: interface or address for messages between workers (default: what the "
           "host's name stands for)")
      .value("NAME|ADDRESS");
  c.flag("--json", o.json, "machine-readable output");
  c.footer(
      "\nIt makes a directory of its own in DIR and removes it again.\n"
      "Exit codes: 0 fit for a store; 4 unfit, or it could not be tried out; 2 wrong flags.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
