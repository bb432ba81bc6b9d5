// A workflow in a directory that two machines share, and workers on both: what the tests on real
// network filesystems have in common. Jobs write to a directory of this machine, around it.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/integration/harness.h"
#include "tests/torture/audit.h"
#include "tests/torture/events.h"

namespace torc::itest {

// Who derives says how the machines are reached. Both are numbered as its laboratory does.
class SharedWorkflow : public testing::Test {
 protected:
  struct Terms {
    std::string torc;  // the programs, as the machines see them
    std::string job;
    std::chrono::seconds lease;     // of the workers
    std::chrono::seconds patience;  // with what waits for leases, time limits and slow kernels
    std::int64_t clocks_apart = 0;  // of the machines, ns
  };
  struct Worker {
    int node = 0;
    std::unique_ptr<Process> process;
    std::size_t heard = 0;  // of what it printed: before the last fault
  };
  using Nodes = std::vector<int>;

  SharedWorkflow();
  ~SharedWorkflow() override;

  // What runs `command` with sh on a machine.
  [[nodiscard]] virtual Launch on(int node, const std::string& command) const = 0;
  // The shared directory of this test, as a machine sees it.
  [[nodiscard]] virtual Path shared(int node) const = 0;
  // How the machines see a path of this one.
  [[nodiscard]] virtual Path seen(const Path& path) const { return path; }
  // Copies the store into `directory_`, whole.
  virtual void fetch_store() = 0;

  void clocks_are_apart(std::int64_t ns) { terms_.clocks_apart = ns; }
  // Where files of this test lie on this machine, and what holds for it. Before all else.
  void set_up(const Path& scratch, Terms terms);
  // Makes the shared directory and a store in it.
  void init(const std::string& spec);
  // A workflow of so many jobs and a worker on each of `nodes`; returns when all work.
  void begin(std::size_t jobs, const Nodes& nodes);
  void start_worker(int node);
  void forget_workers_of(int node);
  void kill_workers();

  [[nodiscard]] Ended run(int node, const std::string& command) const;
  // So many further lines of jobs. False: they did not come.
  [[nodiscard]] bool see_lines(std::uint64_t count);
  void let_pass(std::chrono::seconds time);
  // A fault struck: counted for tell_figures().
  void struck();
  // Some worker there learned since then that its jobs were given to others, or could not go on.
  [[nodiscard]] bool superseded(int node);
  // Waits for the end of the workflow; who has left before, or gave up, is replaced.
  void finish();
  // As finish() does, for once. One that died of its own error is a failure.
  void replace_leavers();
  // Looks at the store from both sides, and at what the jobs have written.
  void audit();
  void finish_and_audit();
  // What `torc status` says; null when it cannot be had now.
  [[nodiscard]] nlohmann::json status();
  [[nodiscard]] std::string printed();
  // A line about what this test saw.
  void tell_figures() const;

  [[nodiscard]] std::string name() const { return name_; }
  [[nodiscard]] const Path& directory() const { return directory_; }
  [[nodiscard]] const Terms& terms() const { return terms_; }
  [[nodiscard]] const torture::Account& account() const { return account_; }
  [[nodiscard]] std::vector<Worker>& workers() { return workers_; }
  // What those printed that left before the end, and those that are there.
  [[nodiscard]] std::string all_printed() { return last_words_ + printed(); }

  // How often each fault strikes, by that variable of the environment.
  [[nodiscard]] static int rounds(const char* variable);
  // So many jobs that the last of these rounds finds work too.
  [[nodiscard]] static std::size_t jobs_for(int rounds);

  std::mt19937_64 random_;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::vector<Source*> sources();
  [[nodiscard]] std::size_t workers_at_work();
  [[nodiscard]] bool is_finished();

  Terms terms_;
  std::string name_;  // of the shared directory
  Path scratch_;
  Path directory_;  // of this machine
  Path record_;
  torture::Plan plan_;
  std::unique_ptr<torture::Events> events_;
  std::vector<Worker> workers_;
  std::string last_words_;
  torture::Account account_;
  int faults_ = 0;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace torc::itest
