// What must hold whatever happens in a simulated cluster: of every start and end of a job, a
// recovery script, or a command of an action, of every commit, and at the end.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/store/engine/store.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/world.h"

namespace torc::simulation {

class Process;

// How something that ran is over.
struct RunEnd {
  bool by_itself = false;
  int exit_code = 0;
};

class Promises {
 public:
  Promises(const Scenario& scenario, World& world);

  [[nodiscard]] const JobFate& fate_of(JobId job) const { return fates_[raw(job)]; }
  // Somebody cancels it.
  void canceled(JobId job) { canceled_.insert(raw(job)); }
  [[nodiscard]] const std::set<std::uint64_t>& canceled_jobs() const { return canceled_; }

  // One attempt begins to run, on a node; its recovery script does; a command of an action.
  enum class Alone : std::uint8_t { no, yes };
  void job_begins(const Process& process, std::uint64_t run, const claim::ClaimToken& token,
                  Alone alone);
  void script_begins(const Process& process, std::uint64_t run, const claim::ClaimToken& token);
  void action_begins(const Process& process, std::uint64_t run, const claim::ActionGrant& grant);
  // It goes on or stands still; is over.
  void is_active(const Process& process, std::uint64_t run, bool active);
  void ends(const Process& process, std::uint64_t run, RunEnd end);

  // Where nothing is checked: a commit, after which the state is this.
  void measure_commit(const store::Reader& reader) {
    committed_at_[reader.sequence()] = world_.now();
  }
  // After each commit.
  void committed(const store::Reader& reader);
  // The workflow, its actions too.
  [[nodiscard]] bool all_over() const { return all_over_; }
  [[nodiscard]] Time jobs_over_at() const { return jobs_over_at_; }
  void check_end(const store::Reader& reader);

  // Where nothing is checked, what is measured: until now.
  void count_busy() { count_busy(0); }

 private:
  enum class Kind : std::uint8_t { job, script, action };
  struct Run {
    const Process* process = nullptr;
    Kind kind = Kind::job;
    claim::ClaimToken token;    // of a job and its script
    claim::ActionGrant action;  // of the other
    std::uint64_t epoch = 0;
    bool alone = false;
    bool active = false;
    bool over = false;
    RunEnd end;
  };
  using RunKey = std::pair<std::uint64_t, std::uint64_t>;  // process, run and epoch
  static RunKey key_of(const Process& process, std::uint64_t run);
  // Of an action of the workflow, or of one worker's.
  using ActionKey = std::pair<std::uint32_t, std::uint64_t>;
  [[nodiscard]] ActionKey key_of(const Run& run) const;
  [[nodiscard]] claim::Trigger trigger_of(const claim::ActionGrant& grant) const;
  [[nodiscard]] std::vector<RunKey>& runs_beside(const Run& run);
  void check_licences(const Process& process);
  Run& add(const Process& process, std::uint64_t run, Run with);

  void measure_begin(const Process& process, std::uint64_t run, std::uint64_t job);
  void measure_wait(const Process& process, std::uint64_t job);
  void count_busy(int more);
  void check_room(const Process& process);
  void check_beside_suspect(const Run& mine);
  // Somebody may wait for ever for what was canceled or has failed.
  [[nodiscard]] bool may_be_blocked() const { return !canceled_.empty() || given_up_; }
  void check_job(JobId id, const claim::Job& job);
  void check_completed(JobId id, const claim::Job& job);
  void check_edited(const store::Reader& reader);
  void check_failed(JobId id, const claim::Job& job);
  void check_action(std::uint32_t number, claim::WorkerEpoch worker, const claim::ActionRun& run);
  void wrong(JobId id, const claim::Job& job, const std::string& what);

  const Scenario& scenario_;
  World& world_;
  std::vector<JobFate> fates_;
  std::set<std::uint64_t> canceled_;
  std::map<RunKey, Run> runs_;
  std::map<RunKey, const Run*> open_;  // not over
  std::map<std::uint64_t, std::vector<RunKey>> runs_of_jobs_;
  std::map<ActionKey, std::vector<RunKey>> runs_of_actions_;
  claim::WorkflowState workflow_;  // as of the newest commit
  bool all_over_ = false;
  bool given_up_ = false;  // a job was, or has failed in the end
  Time jobs_over_at_{};
  // Where nothing is checked: the jobs of runs, when those of chains ended, what runs now.
  std::map<RunKey, std::uint64_t> unchecked_;
  std::vector<Time> ended_at_;
  std::unordered_map<std::uint64_t, Time> committed_at_;
  std::int64_t active_ = 0;
  Time busy_since_{};
};

}  // namespace torc::simulation
