// Several hosts with several processes each on one simulated network filesystem
// (lib/store/testing/test_nfs.h). Between any two requests anything else may happen: other
// processes go on, requests and replies get lost or are carried out much later, processes and whole
// hosts stand still for minutes (the clock of a paused host stands still with it), are killed, or
// lose their power. All of it follows from the seed. Everything is checked against a History.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/engine/store.h"
#include "lib/store/testing/test_nfs.h"
#include "lib/store/testing/test_world.h"
#include "tests/property/fiber.h"
#include "tests/property/nfs_history.h"

namespace torc::store::testing {

enum class Flavour : std::uint8_t { nfs, write_back, rename_only };

// A store with some history already, to begin from.
struct Beginning {
  FileServer files;
  History history;
  NfsOptions options;
};
// Made once for each flavour and length.
[[nodiscard]] const Beginning& beginning(Flavour flavour, int commits);

// What a seed chooses before anything happens.
struct Choices {
  Flavour flavour = Flavour::nfs;
  NfsLocks locks = NfsLocks::real;
  int commits_before = 1;
  int hosts = 2;
  int processes = 1;           // on each host
  std::uint64_t faults = 0;    // requests of 1000 that meet something
  std::uint64_t troubles = 0;  // of 1000 moments, at which a process or host does
  std::chrono::nanoseconds listing_lag{0};
  bool retries_stale = true;
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] Choices choices_of(std::uint64_t seed);

class Simulation final : public Network {
 public:
  explicit Simulation(std::uint64_t seed);
  ~Simulation() override;

  // Empty, or the first promise that was broken.
  [[nodiscard]] std::string run();
  [[nodiscard]] const Choices& choices() const { return choices_; }
  [[nodiscard]] std::uint64_t commits() const { return history_.length(); }

  RequestFate fate(const Request& request) override;
  void answered() override;
  int error() override;
  void later(std::function<void()> act) override;
  [[nodiscard]] bool alive() override;
  [[nodiscard]] int process() override;
  bool coin() override { return pick(2) == 0; }

 private:
  struct Host;
  struct Process;
  // Time since boot as a host sees it: it stands still while the host is paused.
  class HostClock;

  std::uint64_t pick(std::uint64_t below) { return random_.next() % below; }
  bool one_in(std::uint64_t n) { return pick(n) == 0; }
  [[nodiscard]] World world_of(Host& host);

  // The course of events.
  void tick();
  void carry_out_late_requests(bool all);
  void start_process(Host& host);
  Process* next_process();
  void trouble();
  void kill(Process& process);
  void bury_the_dead();
  void come_to_an_end();
  void switch_out();
  void pause(std::chrono::nanoseconds duration);

  // What a process does.
  void live(Process& self);
  void act(Process& self);
  void commit(Process& self);
  void work(Process& self);
  void look(Process& self, Freshness freshness);
  [[nodiscard]] Store::Body trail(const std::string& tag);
  void judge(const std::string& tag, const Result<Commit>& done);
  void judge_error(const char* what, const Error& error);
  void check_everything();

  Choices choices_;
  SeededEntropy random_;
  const Beginning& beginning_;
  ScratchDirectory scratch_;
  ManualClock time_;
  NfsServer server_;
  History history_;
  Tuning tuning_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Process>> processes_;
  Process* current_ = nullptr;
  std::multimap<BootTime, std::function<void()>> late_;
  bool calm_ = false;      // no more faults
  bool stopping_ = false;  // processes end after what they do now
  int tags_ = 0;
  int processes_made_ = 0;
};

}  // namespace torc::store::testing
