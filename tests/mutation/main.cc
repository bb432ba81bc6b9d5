// torc-mutation: mutates small real stores, one thing in each, and runs commands on them. Whatever
// is in a store, a command ends by itself, soon, with a message and within a modest memory, and
// leaves alone what is not of the store. docs/maintainer/testing.md says more.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <system_error>

#include "tests/mutation/mutation.h"
#include "tests/mutation/round.h"

namespace torc::mutation {
namespace {

namespace fs = std::filesystem;

// An id without any entry in passwd.
constexpr uid_t kNobodyElse = 60001;

struct Options {
  std::string engine = "journal";
  std::uint64_t stores = 100;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> round;
  bool no_data_file = false;
  std::string kind;
  bool list = false;  // every mutation, not only those that something broke for
  Path program = TORC_PROGRAM;
  Path keep;
  bool own_disk = false;  // /dev/shm is ours
};

// A memory disk over /dev/shm that only this process and its children see: with device files, with
// the node's ledger that torc keeps there, and gone with the last of them. false: not allowed here.
bool own_memory_disk() {
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0) return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID, "mode=1777,size=2g") == 0;
}

Path make_directory_for(bool own_disk) {
  std::string name =
      (own_disk ? Path("/dev/shm") : fs::temp_directory_path()) / "torc-mutation-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
  fs::permissions(name, fs::perms(0755));
  return fs::canonical(name);
}

// A seed of its own for each round, so that one can be repeated alone.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t round) {
  std::seed_seq both{seed, round};
  std::uint32_t halves[2];
  both.generate(std::begin(halves), std::end(halves));
  return std::uint64_t{halves[0]} << 32 | halves[1];
}

int mutate_stores(const Options& options, const Path& directory, std::optional<uid_t> user) {
  const Path program = directory / "torc";
  // A copy, so that a build meanwhile does not pull the program away from under the run.
  fs::copy_file(options.program, program);
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<StoreTemplate> templates =
      make_templates(program, directory / "templates", options.engine, user);
  std::map<std::string, std::uint64_t> rules;
  std::uint64_t stores = 0;
  std::uint64_t commands = 0;
  const std::uint64_t first = options.round.value_or(1);
  for (std::uint64_t round = first; options.round ? round == first : stores < options.stores;
       ++round) {
    const RoundEnd end =
        run_round({program, directory / fmt::format("round{}", round), user, !options.no_data_file,
                   options.kind, options.keep, options.round.has_value()},
                  templates, seed_of(options.seed, round));
    // What torc kept there because the place of the round was none.
    if (user && options.own_disk) fs::remove_all(Path("/dev/shm") / fmt::format("torc-{}", *user));
    if (end.mutation.empty()) continue;
    ++stores;
    commands += end.commands;
    if (options.round || options.list) fmt::print("round {}: {}\n", round, end.mutation);
    for (const Violation& violation : end.violations) {
      ++rules[violation.rule];
      fmt::print("round {} of seed {}: VIOLATION: {}\n  {}\n", round, options.seed, violation.rule,
                 violation.text);
    }
    std::fflush(stdout);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  fmt::print("{} stores, {} commands, {:.0f} s", stores, commands, seconds);
  for (const auto& [rule, count] : rules) fmt::print("; {}: {}", rule, count);
  fmt::print("{}\n", rules.empty() ? "; 0 violations" : "");
  return rules.empty() ? 0 : 1;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Mutates stores and runs torc's commands on them");
  app.add_option("--engine", options.engine)->check(CLI::IsMember({"journal", "lmdb"}));
  app.add_option("--stores", options.stores, "how many");
  app.add_option("--seed", options.seed, "repeats the random choices of a run");
  app.add_option("--round", options.round, "of that seed, alone; shows what the commands print");
  app.add_option("--keep", options.keep,
                 "leaves the stores there for which something broke, as they were before the "
                 "first command; with --round that one");
  std::vector<std::string> kinds;
  for (const MutationKind& kind : mutation_kinds()) kinds.emplace_back(kind.name);
  app.add_option("--kind", options.kind, "mutations of this kind alone")
      ->check(CLI::IsMember(kinds));
  app.add_flag("--list", options.list, "prints every mutation");
  app.add_option("--torc", options.program, "the program, if not the one built with this")
      ->check(CLI::ExistingFile);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.seed == 0) options.seed = std::random_device{}();
  options.program = fs::canonical(options.program);
  const bool own_disk = own_memory_disk();
  options.own_disk = own_disk;
  const Path directory = make_directory_for(own_disk);
  std::optional<uid_t> user;
  if (geteuid() == 0) user = kNobodyElse;
  if (!user) fmt::print("not root: no device files\n");
  if (!own_disk) fmt::print("no memory disk of its own: in {}\n", directory.string());
  // What commands leave behind becomes ours, so that it can be ended.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fmt::print("torc-mutation --engine {} --stores {} --seed {}{}\n", options.engine, options.stores,
             options.seed,
             (options.kind.empty() ? "" : " --kind " + options.kind) +
                 (options.no_data_file ? " --no-data-file" : ""));
  std::fflush(stdout);
  const int code = mutate_stores(options, directory, user);
  fs::remove_all(directory);
  return code;
}

}  // namespace
}  // namespace torc::mutation

int main(int argc, char** argv) {
  try {
    return torc::mutation::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "torc-mutation: " << error.what() << '\n';
    return 2;
  }
}
