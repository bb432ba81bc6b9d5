// A workflow as its user wrote it, checked but not expanded. Values only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/allocate_terms.h"
#include "lib/base/end_margins.h"
#include "lib/base/job_terms.h"
#include "lib/base/resources.h"
#include "lib/spec/language/rerun_triggers.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {

// Values of one parameter, in order. A range keeps its bounds: a million values cost three numbers.
struct IntegerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;  // inclusive
  std::int64_t step = 1;
};
struct FloatRange {  // value k is first + k * step, so that nothing drifts
  double first = 0;
  double step = 0;
  std::uint64_t count = 0;
  // Digits after the point that the spec wrote, at most 15: value k is the double nearest to the
  // decimal number first + k * step, so 0.1 three times is 0.3. -1: not a decimal number, plain
  // arithmetic. Use value_at().
  int decimals = -1;
};
// A number in the words of the spec, where it would be printed in others: 3.10, 1e5, +5, -0.
struct Numeral {
  std::string text;  // parse_integer() or parse_decimal() reads it
  bool operator==(const Numeral&) const = default;
};
using ParameterValue = std::variant<std::int64_t, double, std::string, Numeral>;
using ParameterValues = std::variant<IntegerRange, FloatRange, std::vector<ParameterValue>>;
[[nodiscard]] std::uint64_t count(const ParameterValues& values);
// Precondition: index < count(values).
[[nodiscard]] ParameterValue value_at(const ParameterValues& values, std::uint64_t index);

// One parameter has at most so many values.
constexpr std::uint64_t kMaxParameterValues = 1'000'000'000;
// Parameters of an entry or of the workflow, and columns of a table.
constexpr std::size_t kMostParameters = 1'000;

struct Parameter {
  std::string name;
  ParameterValues values;
  // The columns of one table have one number, not 0, and equally many values, and stand beside each
  // other among an entry's parameters: its rows are multiplied with the other parameters as one.
  std::uint32_t table = 0;
};
enum class ParameterMode : std::uint8_t { product, zip };

enum class StdioMode : std::uint8_t { separate, combined, no_stdout, no_stderr, none, packed };
struct Stdio {
  StdioMode mode = StdioMode::separate;
  bool delete_on_success = false;
  bool by_size = false;  // the file says no mode: it is usual_mode() of the workflow
};
// Of a workflow of so many jobs: two files for each job, but not thousands of files.
constexpr std::uint64_t kMostSeparate = 1000;
constexpr StdioMode usual_mode(std::uint64_t jobs) {
  return jobs > kMostSeparate ? StdioMode::packed : StdioMode::separate;
}

// Where the file says something.
struct Placed {
  Place place;                          // of its name; of what has none, of its map
  std::map<std::string, Place> places;  // of each key's value ("depends_on[2]" for elements)
  // Of the value of `key`, or of an element of the list that it is; `place` where none is known.
  [[nodiscard]] Place place_of(const std::string& key) const;
  [[nodiscard]] Place place_of(std::string_view list, std::size_t element) const;
};

// What stands for one or, with parameters, for many of its kind.
struct Entry : Placed {
  std::string name;  // may hold {param} and {param:format}
  std::vector<Parameter>
      parameters;  // own in the order of the file, then those taken by use_parameters
  ParameterMode mode = ParameterMode::product;
  bool sound = true;  // false: name or parameters could not be read, which was reported
};

// What a map says of needs: a set of resource requirements, or a job itself. All else stays as it
// is where they are put.
struct SaidNeeds {
  std::vector<std::pair<const ResourceKind*, std::uint64_t>> amounts;
  Amounts named;  // parts and types of GPUs among them
  [[nodiscard]] bool empty() const { return amounts.empty() && named.empty(); }
  // Of GPUs what is said here is all that is said; so of a name and its types.
  [[nodiscard]] Resources over(Resources needs) const;
  // The same over a set; over what is needed without one where there is none.
  [[nodiscard]] Resources over_set(const Resources* set) const {
    return over(set == nullptr ? Resources{} : *set);
  }
};

// Alternatives of what a job needs are numbered from 1 for people, and from 0 where they are kept.
inline constexpr std::size_t kMostAlternatives = 16;
inline constexpr std::uint32_t kUsualWeight = 1;

// One of them in a file. What else the set, or the job, says of needs holds for it, too.
struct SaidAlternative {
  SaidNeeds needs;
  std::uint32_t weight = kUsualWeight;
  std::string command;  // empty: the job's
};
// The same with all that it needs.
struct Alternative {
  Resources needs;
  std::uint32_t weight = kUsualWeight;
  auto operator<=>(const Alternative&) const = default;
};

// Where there are alternatives, the resources are what a set says beside them, or those of the
// first one (needs_of()).
struct ResourceRequirements : Resources {
  std::string name;
  Place place;                           // of its name
  std::vector<Alternative> one_of = {};  // none, or at least two

  [[nodiscard]] bool same_needs(const ResourceRequirements& other) const {
    return static_cast<const Resources&>(*this) == other && one_of == other.one_of;
  }
};
// Of the place of the command of an alternative in a job, from 0: "one_of[0].command".
[[nodiscard]] std::string command_key(std::size_t alternative);
// What a job may have: of one without alternatives its needs alone.
[[nodiscard]] std::vector<Resources> choices_of(const ResourceRequirements& needs);
// "1 CPU, 1 MiB"; of alternatives "4 CPUs, 1 MiB, 1 GPU, or 32 CPUs, 1 MiB".
[[nodiscard]] std::string show_needs(const ResourceRequirements& needs);

using torc::Condition;
using torc::FailureCause;
using torc::SortMethod;

using Environment = std::vector<std::pair<std::string, std::string>>;  // in the order of the file

// That a job has so much of one of the workflow's limits while it runs.
struct LimitUse {
  std::string name;
  std::uint32_t amount = 1;
  Place place;  // of the name
};

// How the command of a job over several nodes is started.
enum class LaunchOn : std::uint8_t {
  automatic,  // `head`, but below Slurm, where it is no launcher itself, as one step on all nodes
  head,       // once, on the first node: it starts what runs on the others
  all         // on each node
};
enum class LaunchEnd : std::uint8_t {  // of a command on each node
  first_failure,                       // one that fails ends the others
  all                                  // each runs to its own end
};
// As they are written; "none" of what is not.
[[nodiscard]] std::string_view word(LaunchOn on);
[[nodiscard]] std::string_view word(LaunchEnd end);
struct Launch {
  LaunchOn on = LaunchOn::automatic;
  LaunchEnd end = LaunchEnd::first_failure;
  std::uint32_t tasks_per_node = 0;  // 0: one for each of the job's CPUs there
  auto operator<=>(const Launch&) const = default;
};

struct JobEntry : Entry {
  std::string was;      // the name before, as the name; empty: it had none
  std::string command;  // as the name, and ${files.input.NAME}
  std::int32_t priority = 0;
  std::string invocation_script;
  Environment env;
  std::string resource_requirements;    // a name; empty: 1 CPU, 1 MiB
  SaidNeeds needs;                      // in the job itself: they win over those
  std::vector<SaidAlternative> one_of;  // none, or at least two
  std::string scheduler;                // a name; empty: any
  std::vector<std::string> labels;
  std::vector<std::string> depends_on;
  std::vector<std::string> depends_on_regexes;
  std::vector<std::pair<Condition, std::string>> depends;  // names, each with its condition
  std::vector<std::string> input_files, output_files;
  std::vector<std::string> input_file_regexes, output_file_regexes;
  std::vector<std::string> input_datasets, output_datasets;
  std::vector<std::string> input_user_data, output_user_data;
  std::vector<std::string> input_user_data_regexes, output_user_data_regexes;
  std::optional<Stdio> stdio;   // none: the workflow's
  std::string failure_handler;  // a name; empty: none
  bool cancel_on_blocking_job_failure = false;
  std::optional<std::uint32_t> max_parallel;
  std::vector<LimitUse> limits;  // in the order of the file
  std::optional<std::uint32_t> crash_limit;
  std::int32_t checkpoint_exit_code = 0;      // 0: none
  std::optional<bool> allow_missing_outputs;  // none: as the workflow has it
  Launch launch;
  // That it says its labels by.
  [[nodiscard]] const char* labels_key() const {
    return places.contains("label") ? "label" : "labels";
  }
  // With those of its set, which `set` is; nullptr: it names none. Its own alternatives replace the
  // set's.
  [[nodiscard]] ResourceRequirements needs_with(const ResourceRequirements* set) const;
  // Of what it needs of the kinds: where the job says it itself, else of the name of its set.
  [[nodiscard]] Place place_of_need(std::initializer_list<std::string_view> keys) const;
};

struct FileEntry : Entry {
  std::string path;
};

// Without parameters its name and value are within the limits of lib/base/limits.h.
struct UserDataEntry : Entry {
  std::string data;  // JSON text, whose texts may hold placeholders; empty: nothing yet
  bool is_ephemeral = false;
};

// A directory that many jobs may write into. It only orders them.
struct Dataset {
  std::string name;
  Place place;  // of its name
};

struct SlurmScheduler : Placed {
  std::string name;
  std::string account;
  std::string partition;
  std::uint32_t nodes = 1;
  std::string walltime;  // as written; validated: Slurm's time formats
  std::string mem;
  std::string gres;
  std::string qos;
  std::optional<std::uint32_t> ntasks_per_node;
  std::string tmp;
  std::string extra;                 // further sbatch options, one string
  std::vector<std::string> options;  // of another launcher: lines of its batch script
  bool serialize_allocations = false;
  std::optional<AllocateTerms> allocate;  // none: torc asks for none by itself
  bool submit_from_login = false;         // compute nodes may not submit
};

enum class Trigger : std::uint8_t {
  on_workflow_start,
  on_workflow_complete,
  on_jobs_ready,
  on_jobs_complete,
  on_worker_start,
  on_worker_complete
};
struct Action : Placed {
  Trigger trigger = Trigger::on_workflow_start;
  enum class Kind : std::uint8_t { run_commands, schedule_nodes };
  Kind kind = Kind::run_commands;
  std::vector<std::string> jobs;  // names, as in JobEntry::depends_on
  std::vector<std::string> job_name_regexes;
  std::vector<std::string> commands;
  // Of schedule_nodes.
  std::string scheduler;
  std::uint32_t num_allocations = 1;
  bool start_one_worker_per_node = false;
  std::optional<std::uint32_t> max_parallel_jobs;  // of each worker
  bool persistent = false;
};

struct FailureRule : RetryRule {
  Place place;  // of the map
};
struct FailureHandler {
  std::string name;
  std::vector<FailureRule> rules;
  Place place;  // of its name
};

struct Budget {
  std::optional<double> core_hours;
  std::optional<double> node_hours;
};
inline constexpr std::chrono::seconds kUsualTtl{300};
struct LeaseConfig {
  std::optional<std::chrono::seconds> ttl;
  std::optional<std::chrono::seconds> heartbeat;
};
struct ResourceMonitor {
  bool time_series = false;
  std::chrono::seconds interval{10};
};
// At most `most` jobs of the entry run at a time; or, where no entry has the name, so much there is
// of what jobs name in their limits.
struct Limit {
  std::string name;  // of the entry, as written, or its own
  std::uint32_t most = 1;
  Place place;            // of the name
  bool is_there = false;  // in the workflow that is added to, and of no entry
};

enum class ExecutionMode : std::uint8_t { automatic, direct, slurm };
struct ExecutionConfig {
  ExecutionMode mode = ExecutionMode::automatic;
  bool limit_resources = true;
  int termination_signal = 15;
  std::chrono::seconds sigterm_lead{30};
  std::chrono::seconds sigkill_headroom{60};
  int timeout_exit_code = 152;
  int oom_exit_code = 137;
  bool enable_cpu_bind = false;
  bool staggered_start = false;
  // As srun --mpi takes it; empty: none for the workers, for steps as the site has it.
  std::string srun_mpi = {};
  // As the user says it, SIGNAL[@SECONDS]; termination_signal and sigterm_lead are of it then, and
  // come before a time limit, not at it. Empty: nothing was said.
  std::string srun_termination_signal = {};
  Stdio stdio{.by_size = true};
};

// A lineage has at most so many iterations unless dynamic_jobs says otherwise.
constexpr std::uint32_t kMaxIterations = 1000;

// With `on_failure: recover`, unless max_recoveries says otherwise.
constexpr std::uint32_t kMaxRecoveries = 3;

enum class OnFailure : std::uint8_t { leave, recover };

// What a worker needs of the workflow besides its jobs.
struct RunSettings {
  std::string name;
  Environment env;
  ExecutionConfig execution;
  std::optional<std::uint32_t> max_iterations;  // of dynamic_jobs
  std::chrono::seconds wait_for_new_jobs{0};    // before a worker leaves a finished workflow
  bool workers_stay = false;                    // in a finished workflow
  std::chrono::seconds expiration_buffer{0};    // kept free at the end of an allocation
  bool use_pending_failed = false;
  bool learn_runtimes = false;
  bool allow_missing_outputs = false;  // of jobs that say nothing of it
  std::uint32_t recoveries = 0;        // of each job, without a person (on_failure); 0: none
  LeaseConfig lease;
  ResourceMonitor monitor;
  // Of the end of an allocation.
  [[nodiscard]] KeptFree kept_free() const {
    return {execution.sigkill_headroom, expiration_buffer, execution.sigterm_lead};
  }
};

struct Workflow : RunSettings {
  Environment variables;
  std::vector<Parameter> shared_parameters;
  std::vector<JobEntry> jobs;
  std::vector<FileEntry> files;
  std::vector<ResourceRequirements> resource_requirements;
  // As written: a name, or the file of a definition (lib/launcher); empty: Slurm's.
  std::string launcher;
  Place launcher_place;
  std::vector<SlurmScheduler> slurm_schedulers;
  std::vector<std::pair<std::string, std::string>> slurm_defaults;  // sbatch long option, value
  std::map<std::string, Place> slurm_default_places;                // by option
  std::vector<UserDataEntry> user_data;
  std::vector<Dataset> datasets;
  std::vector<FailureHandler> failure_handlers;
  std::vector<Action> actions;
  std::vector<Limit> limits;
  std::optional<std::uint32_t> max_parallel;  // jobs of the workflow
  Budget budget;
  std::optional<std::uint32_t> max_failures;
  SortMethod sort = SortMethod::none;
  RerunTriggers rerun_triggers = RerunTriggers::all();
};

}  // namespace torc::spec
