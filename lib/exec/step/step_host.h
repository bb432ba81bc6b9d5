// A ProcessHost that runs commands in steps of Slurm: those whose `step` says with which options.
// Each becomes a child `srun … torc --keep-step NAME KEY`, which runs the keeper of the step on
// this node; the keeper runs the command as a ProcessHost of its own (step_keeper.h) and tells how
// it ended. So signals, exit codes, output and figures do not pass through srun. All other commands
// are the inner host's.
//
// An srun that comes to nothing before a keeper has said that the command begins (slurmctld does
// not answer, the step is not made, its keeper was not heard in time) is tried again, for ten
// minutes at most: the command has not begun, and what could not begin by then was not started for
// a reason of this node. One whose step ends without a word of the keeper's after that (Slurm ended
// it) is judged by srun's words and code, and where these leave it open by the accounting, which is
// asked beside all else.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/file/descriptor.h"
#include "lib/exec/run/process_host.h"
#include "lib/exec/step/step_message.h"

namespace torc::exec {

struct StepTerms {
  std::string name;     // that keepers call; no other worker of this machine has it
  std::string program;  // this one, as the node finds it
  std::string srun = "srun";
  std::string sacct = {};  // by which an end is asked about that nobody told; empty: it is not
  // Ends what of this command may still run on this node although its keeper has gone; empty: not
  // looked for.
  std::function<void(const Command&)> end_leftovers = {};
};

class StepHost final : public ProcessHost {
 public:
  // Error: it cannot listen.
  static Result<std::unique_ptr<ProcessHost>> create(std::unique_ptr<ProcessHost> inner,
                                                     const Clock& clock, StepTerms terms);
  ~StepHost() override;
  StepHost(const StepHost&) = delete;
  StepHost& operator=(const StepHost&) = delete;

  Result<RunId> start(const Command& command) override;
  [[nodiscard]] std::optional<Ended> not_started(RunId id) const override;
  void forget(RunId id) override;
  Result<RunId> queue(const Command& command) override;
  void let_run(std::size_t commands) override { inner_->let_run(commands); }
  std::vector<RunId> take_back() override { return inner_->take_back(); }
  Result<void> watch(int fd) override { return inner_->watch(fd); }
  void unwatch(int fd) override { inner_->unwatch(fd); }
  Result<Wakeup> wait(std::optional<BootTime> deadline) override;
  void stop(RunId id, std::chrono::nanoseconds lead) override;
  void kill(RunId id) override;
  void kill_all() override;
  [[nodiscard]] std::size_t running() const override;
  [[nodiscard]] pid_t leader(RunId id) override;

 private:
  // From the srun that is started to the end that is told.
  struct Step {
    StepKey key = 0;
    Command command;
    Descriptor out;  // of the command, kept open until the keeper has them
    Descriptor err;
    std::optional<RunId> launcher;  // nullopt: none runs
    Descriptor words;               // what srun says
    Descriptor keeper;              // the socket; none: nobody has called yet, or it has gone
    bool called = false;            // a keeper has, since the newest srun was started
    bool begun = false;             // the command, by the word of a keeper
    std::optional<Ended> told;      // by the keeper
    std::optional<Ended> srun;      // how it ended
    std::optional<std::chrono::nanoseconds> stopped;  // it is to end
    std::optional<Ended> judged;                      // by srun's words, then by the accounting
    std::optional<RunId> inquiry;                     // a sacct that runs
    Descriptor answer;                                // of it
    int questions = 0;
    WallTime asked_at{};
    BootTime first{};
    int tries = 0;
    std::optional<BootTime> due;  // of what is waited for, see look_at_times()
  };
  using Steps = std::map<RunId, Step>;

  StepHost(std::unique_ptr<ProcessHost> inner, const Clock& clock, StepTerms terms,
           Descriptor listener);
  [[nodiscard]] Result<RunId> launch(Step& step);
  void take_calls();
  void hear_caller(int socket);
  void hear_keeper(Steps::iterator at);
  void hear(RunId id, Step& step, const Received& message);
  void take_srun_end(Steps::iterator at, const Ended& how);
  void end_launcher(Step& step);
  void look_at_times();
  void settle(Steps::iterator at);
  void tell(RunId id, Step& step, Ended how);
  void drop_keeper(RunId id, Step& step);
  [[nodiscard]] static bool is_to_be_tried(const Step& step);  // again
  void try_later(Step& step);
  [[nodiscard]] bool ask_accounting(Step& step);
  void take_accounting(Steps::iterator at, const Ended& how);
  [[nodiscard]] static std::string name_of(const Step& step);
  [[nodiscard]] static std::string text_of(const Descriptor& file);
  [[nodiscard]] std::optional<BootTime> next_time() const;

  std::unique_ptr<ProcessHost> inner_;
  const Clock& clock_;
  StepTerms terms_;
  Descriptor listener_;
  Steps steps_;                        // by the number of the first srun
  std::map<int, Descriptor> callers_;  // who has not said yet which step it is
  StepKey last_key_ = 0;
  std::uint64_t refusals_ = 0;
  std::optional<Ended> refused_;  // the newest command, where no step was tried
  Wakeup news_;
};

}  // namespace torc::exec
