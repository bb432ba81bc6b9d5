// torc-torture: kills and freezes workers on real stores, round after round, and audits each.
// docs/maintainer/testing.md says what is held and how it was shown that it can fail.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <system_error>

#include "tests/integration/harness.h"
#include "tests/torture/round.h"

namespace torc::torture {
namespace {

void declare(CLI::App& app, Options& options, std::string& replicas) {
  app.add_option("--kills", options.kills, "workers to kill, in all");
  app.add_option("--long-stops", options.long_stops,
                 "workers to freeze beyond their lease, in all");
  app.add_option("--rounds", options.rounds, "rounds to go through at least");
  app.add_option("--full-disks", options.full_disks,
                 "times that the disk of the store is full, in a round; needs root");
  app.add_option("--deadly", options.deadly,
                 "jobs of a round that kill themselves, their group or, one of them, their worker");
  app.add_option("--long-jobs", options.long_jobs,
                 "jobs of a round that run for longer than a lease");
  app.add_flag("--ctrl-z", options.ctrl_z,
               "half of the stops are a person's: SIGTSTP to all of it");
  app.add_flag("--maintenance", options.maintenance,
               "compact, backup and repair are among those who read");
  app.add_option("--workers", options.workers, "workers at a time")->check(CLI::Range(2, 64));
  app.add_option("--slots", options.slots, "jobs that a worker runs at a time");
  app.add_option("--jobs", options.jobs, "jobs of a round")->check(CLI::Range(20, 100000));
  app.add_option("--spacing", options.spacing, "lines of jobs between two blows, on average")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "repeats the random choices of a run");
  app.add_option("--engine", options.engine)->check(CLI::IsMember({"journal", "lmdb"}));
  app.add_option(
         "--replica", replicas,
         "engine journal: one copy of the state for all workers, for two each, or for each one")
      ->check(CLI::IsMember({"shared", "pairs", "own"}));
  app.add_option("--locks", options.locks, "file locks below the store")
      ->check(CLI::IsMember({"real", "fail", "succeed", "stuck"}));
  app.add_option("--torc", options.torc, "the program, if not the one built with this")
      ->check(CLI::ExistingFile);
  app.add_option("--store", options.directory, "directory to work in, kept after a violation");
  app.add_flag("--keep", options.keep, "keep the stores of good rounds, too");
}

void add(Faults& all, const Faults& more) {
  all.kills += more.kills;
  all.in_commit += more.in_commit;
  all.readers += more.readers;
  all.stops += more.stops;
  all.long_stops += more.long_stops;
  all.maintenance += more.maintenance;
  all.full_disks += more.full_disks;
}

void add(Account& all, const Account& more) {
  all.attempts += more.attempts;
  all.ran_twice += more.ran_twice;
  all.given_up += more.given_up;
  all.not_reached += more.not_reached;
  all.killed += more.killed;
  all.commits += more.commits;
  all.expired += more.expired;
  all.not_replayed += more.not_replayed;
}

std::string describe(const Faults& faults, const Account& account) {
  return fmt::format(
      "{} kills ({} in a commit), {} readers killed, {} stops, {} beyond the lease, {} full disks, "
      "{} compact, backup, repair; {} attempts, {} jobs ran twice, {} given up, {} not reached, {} "
      "killed themselves; {} commits, {} leases expired, {} not replayed",
      faults.kills, faults.in_commit, faults.readers, faults.stops + faults.long_stops,
      faults.long_stops, faults.full_disks, faults.maintenance, account.attempts, account.ran_twice,
      account.given_up, account.not_reached, account.killed, account.commits, account.expired,
      account.not_replayed);
}

// 0: nothing was violated.
int torture(const Options& options) {
  std::mt19937_64 random(options.seed);
  Faults faults;
  Account account;
  std::uint64_t jobs = 0;
  std::uint64_t number = 0;
  const std::int64_t begun = boot_now();
  while (number < options.rounds || faults.kills < options.kills ||
         faults.long_stops < options.long_stops) {
    const Path directory = options.directory / fmt::format("round{}", ++number);
    const std::int64_t since = boot_now();
    // One frozen worker a round at most: it takes as long as a lease.
    Faults budget;
    budget.kills = options.kills > faults.kills ? options.kills - faults.kills : 0;
    if (number <= options.rounds) budget.kills = UINT64_MAX;
    budget.long_stops = options.long_stops > faults.long_stops ? 1 : 0;
    Round round(options, directory, random(), budget);
    try {
      std::filesystem::create_directories(directory);
      round.run();
    } catch (const Violation& violation) {
      add(faults, round.dealt());
      fmt::print("round {}: VIOLATION after {} kills: {}\nseed {}; the store is kept in {}\n",
                 number, faults.kills, violation.what, options.seed, directory.string());
      return 1;
    }
    add(faults, round.dealt());
    add(account, round.account());
    jobs += options.jobs;
    fmt::print("round {}: {:.1f} s: {}\n", number, static_cast<double>(boot_now() - since) * 1e-9,
               describe(round.dealt(), round.account()));
    std::fflush(stdout);
    if (!options.keep) std::filesystem::remove_all(directory);
  }
  fmt::print("{} rounds, {} jobs, {:.0f} s: {}; 0 violations\n", number, jobs,
             static_cast<double>(boot_now() - begun) * 1e-9, describe(faults, account));
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  options.torc = TORC_PROGRAM;
  std::string replicas = "shared";
  CLI::App app("Kills and freezes workers on real stores and audits what they leave");
  declare(app, options, replicas);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.engine == "lmdb" && options.locks != "real") {
    std::cerr << "torc-torture: the lmdb engine is for local filesystems, whose locks work; use "
                 "--engine journal with --locks\n";
    return 2;
  }
  if (replicas == "own") options.replicas = Replicas::own;
  if (replicas == "pairs") options.replicas = Replicas::pairs;
  if (options.full_disks > 0 && !itest::own_mounts()) {
    if (std::getenv("TORC_TEST_SKIP_NAMESPACES") == nullptr) {
      std::cerr << "torc-torture: --full-disks needs a mount namespace\n";
      return 2;
    }
    options.full_disks = 0;
  }
  if (options.seed == 0) options.seed = std::random_device{}();
  const bool own_place = options.directory.empty();
  if (own_place) {
    // Not removed by anybody but us, and not after a violation.
    std::string name = std::filesystem::temp_directory_path() / "torc-torture-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
    options.directory = name;
  }
  // Copies, so that a build meanwhile does not pull the programs away from under the run.
  std::filesystem::create_directories(options.directory);
  std::filesystem::copy_file(options.torc, options.directory / "torc",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(TORTURE_JOB, options.directory / "torc-torture-job",
                             std::filesystem::copy_options::overwrite_existing);
  options.directory = std::filesystem::canonical(options.directory);
  options.torc = options.directory / "torc";
  // What workers leave behind becomes ours, so that nothing can hide.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fmt::print(
      "torc-torture --seed {} --engine {} --replica {} --locks {} --workers {} --jobs {}, in {}\n",
      options.seed, options.engine, replicas, options.locks, options.workers, options.jobs,
      options.directory.string());
  std::fflush(stdout);
  const int code = torture(options);
  if (code == 0 && own_place && !options.keep) std::filesystem::remove_all(options.directory);
  return code;
}

}  // namespace
}  // namespace torc::torture

int main(int argc, char** argv) {
  try {
    return torc::torture::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "torc-torture: " << error.what() << '\n';
    return 2;
  }
}
