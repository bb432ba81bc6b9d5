// One round: a store with a workflow, workers that are killed and frozen while they work on it
// until it is finished, and the audit of what they leave. Nothing is timed by the clock but how
// long somebody stays frozen: faults follow what happens (lines of jobs), so a slow
// machine sees the same number of them for the same work.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/integration/harness.h"
#include "tests/torture/audit.h"
#include "tests/torture/crew.h"
#include "tests/torture/events.h"
#include "tests/torture/options.h"
#include "tests/torture/plan.h"

namespace torc::torture {

// What was done in a round, or in all.
struct Faults {
  std::uint64_t kills = 0;      // workers
  std::uint64_t in_commit = 0;  // of these while they wrote, synced, linked or listed
  std::uint64_t readers = 0;
  std::uint64_t stops = 0;
  std::uint64_t long_stops = 0;
  std::uint64_t maintenance = 0;  // compact, backup, repair
  std::uint64_t full_disks = 0;
};

class Round {
 public:
  // At most so many faults of each kind are dealt.
  Round(const Options& options, const Path& directory, std::uint64_t seed, Faults budget);

  ~Round();
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  // Throws Violation.
  void run();
  [[nodiscard]] const Faults& dealt() const { return dealt_; }
  [[nodiscard]] const Account& account() const { return account_; }

 private:
  using Then = std::function<void(const itest::Ended&)>;
  struct Reader {
    std::unique_ptr<itest::Process> process;
    std::string what;
    bool struck = false;
    Then then;
  };

  void prepare();
  void mount_disk();
  void unmount_disk();
  void work();
  void leave();
  void audit();

  [[nodiscard]] itest::Launch launch(const Path& tmpdir, std::vector<std::string> words) const;
  [[nodiscard]] const Path& some_tmpdir();
  void at(std::int64_t when, std::function<void()> action) {
    due_.emplace(when, std::move(action));
  }
  void wait_for_something();
  void run_due();
  void tend();
  void worker_ended(Member& member);
  void ask_whether_finished();
  void inject_fault();
  void kill_worker(Member& member);
  void stop_worker(Member& member, bool beyond_lease);
  void start_reader();
  void start_maintenance();
  void strike_reader();
  void fill_disk();
  void keep_what_is_on_the_disk() const;
  void ask(std::string what, const Path& tmpdir, std::vector<std::string> words, Then then);
  nlohmann::json ask_now(std::vector<std::string> words);
  void check_progress();
  [[nodiscard]] std::string evidence() const;
  Member& some_member();

  const Options& options_;
  Path directory_;
  Path store_;
  Path record_;
  std::mt19937_64 random_;
  Faults budget_;
  Faults dealt_;
  Plan plan_;
  Ledger ledger_;
  Accepted accepted_;
  Account account_;
  std::vector<Path> tmpdirs_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Reader> readers_;
  std::unique_ptr<Events> events_;
  std::multimap<std::int64_t, std::function<void()>> due_;  // by boot time
  std::int64_t until_fault_ = 0;                            // events
  std::int64_t last_event_ = 0;
  std::int64_t last_look_ = 0;
  Member* frozen_ = nullptr;  // beyond its lease
  bool small_disk_ = false;   // the store is on a disk of its own
  bool full_ = false;
  bool asked_ = false;
  bool finished_ = false;
};

}  // namespace torc::torture
