#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "lib/exec/process/host.h"

namespace torc::exec {
namespace {

constexpr std::string_view kRunTag = "TORC_RUN_ID";

bool is_for_lack_of_resources(const Launched& launched) {
  switch (launched.os_errno) {
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return launched.failed_at == StartStep::none;
  }
}

Error cannot_start_now(const Launched& launched) {
  if (launched.os_errno == kLeaseInDoubt)
    return {ErrorKind::busy, "this worker's lease is in doubt", "it asks the store"};
  Error error =
      os_error(launched.os_errno, "cannot start a process",
               "it is tried again; look at the limits of processes (ulimit -u) and memory");
  error.kind = ErrorKind::busy;
  return error;
}

const char* path_or_null(const std::string& path) {
  return path.empty() ? nullptr : path.c_str();
}

bool is_run_tag(std::string_view entry) {
  return entry.size() > kRunTag.size() && entry[kRunTag.size()] == '=' &&
         entry.starts_with(kRunTag);
}

std::optional<BootTime> deadline_of(std::chrono::nanoseconds time_limit, BootTime now) {
  if (time_limit.count() <= 0) return std::nullopt;
  // A limit of centuries is none; the sum would overflow.
  if (time_limit > BootTime::max() - now) return std::nullopt;
  return now + time_limit;
}

// A mask as the kernel takes it: an array of long, CPU n is bit n.
std::vector<unsigned long> mask_of(const std::vector<std::uint32_t>& cpus) {
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const std::uint32_t cpu : cpus) {
    if (mask.size() <= cpu / kBits) mask.resize(cpu / kBits + 1);
    mask[cpu / kBits] |= 1UL << (cpu % kBits);
  }
  return mask;
}

}  // namespace

const char* variable_of(const Command& command, std::string_view name) {
  const char* value = variable(command.env, name);
  if (value != nullptr || command.common_env == nullptr) return value;
  return variable(*command.common_env, name);
}

void Host::point_to_environment(const Command& command, std::string& run_tag,
                                std::vector<char*>& environment) {
  environment.clear();
  // By their first letters most of the common ones are known not to be set again.
  std::array<bool, 256> begins{};
  std::vector<std::string_view> names;
  names.reserve(command.env.size() + 1);
  const auto add_name = [&](std::string_view entry) {
    names.push_back(entry.substr(0, entry.find('=')));
    if (!entry.empty()) begins[static_cast<unsigned char>(entry.front())] = true;
  };
  for (const std::string& entry : command.env) {
    if (is_run_tag(entry)) continue;
    environment.push_back(const_cast<char*>(entry.c_str()));
    if (command.common_env != nullptr) add_name(entry);
  }
  if (command.common_env != nullptr) {
    add_name(run_tag);
    for (const std::string& entry : *command.common_env) {
      if (!entry.empty() && begins[static_cast<unsigned char>(entry.front())]) {
        const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      }
      environment.push_back(const_cast<char*>(entry.c_str()));
    }
  }
  environment.push_back(run_tag.data());
  environment.push_back(nullptr);
}

// The first limited command asks for groups: a worker without such is left where it is.
JobGroups* Host::groups() {
  if (!std::exchange(asked_for_groups_, true)) {
    std::vector<pid_t> own{process_};
    const pid_t parent = getppid();
    const auto name = read_small_file("/proc/" + std::to_string(parent) + "/comm");
    if (name && name->starts_with("torc-watchdog")) own.push_back(parent);
    groups_ = JobGroups::create("", own);
  }
  return groups_.get();
}

// Points into `order`, and into its command. What the program is, is not looked up. An order may
// have been another one's before.
void Host::prepare(Order& order, const JobGroup* group) {
  const Command& command = order.command;
  order.run_tag = kRunTag;
  order.run_tag.push_back('=');
  // A torc within a job of another one: the outer torc still finds its own part.
  if (const char* outer = variable_of(command, kRunTag)) order.run_tag.append(outer).push_back('/');
  order.run_tag.append(identity_).append(".").append(std::to_string(order.key));
  point_to_environment(command, order.run_tag, order.environment);
  order.words = argv_of(command.line);
  order.pointers.clear();
  order.pointers.push_back(order.shell.data());
  for (std::string& word : order.words) order.pointers.push_back(word.data());
  order.pointers.push_back(nullptr);

  LaunchPlan& plan = order.plan;
  plan = {};
  plan.words = order.pointers.data();
  plan.environment = order.environment.data();
  plan.directory = path_or_null(command.directory);
  plan.stdout_fd = command.stdout_fd;
  plan.stderr_fd = command.stderr_fd;
  if (plan.stdout_fd < 0) plan.stdout_path = path_or_null(command.stdout_path);
  plan.join_stderr = plan.stdout_path != nullptr && plan.stderr_fd < 0 &&
                     command.stderr_path == command.stdout_path;
  if (!plan.join_stderr && plan.stderr_fd < 0) plan.stderr_path = path_or_null(command.stderr_path);
  if (plan.stdout_fd < 0) plan.stdout_errno = command.stdout_errno;
  if (plan.stderr_fd < 0) plan.stderr_errno = command.stderr_errno;
  plan.umask = command.umask;
  if (lease_ != nullptr) plan.lease = lease_->page().word();
  if (group != nullptr) plan.group_fd = group->procs_fd();
  order.cpus = mask_of(command.cpus);
  if (!order.cpus.empty()) plan.cpus = order.cpus.data();
  plan.cpus_size = order.cpus.size() * sizeof(unsigned long);
}

Launched Host::launch(Order& order) {
  const char* path = variable_of(order.command, "PATH");
  for (;;) {
    const ProgramPaths::Found found = paths_.find(order.words[0], path, order.command.directory);
    if (found.path.empty()) return {0, found.os_errno, StartStep::execute};
    order.plan.program = found.path.c_str();
    const Launched launched = launcher_->launch(order.plan);
    const bool moved = launched.failed_at == StartStep::execute && found.remembered;
    if (!moved) return launched;
    paths_.forget(order.words[0], path);
  }
}

void Host::record_start(const Leader& leader, const RunTerms& terms,
                        std::unique_ptr<JobGroup> group) {
  Run run;
  run.group = leader.pid;
  run.started_at = leader.at;
  run.termination_signal = terms.termination_signal;
  run.lead = terms.termination_lead;
  run.deadline = deadline_of(terms.time_limit, leader.since);
  run.sample_every = terms.sample_every;
  run.limits = std::move(group);
  runs_.add(leader.key, std::move(run));
  watch_memory(leader.key, terms.memory_limit);
}

Result<RunId> Host::start(const Command& command) {
  Order order;
  order.key = last_key_ + 1;
  order.command = command;
  const WallTime at = clock_.wall_now();
  Launched launched{0, EINVAL, StartStep::execute};
  std::unique_ptr<JobGroup> group;
  if (command.memory_limit.value != 0 && groups() != nullptr)
    group = groups()->make(order.key, command.memory_limit);
  if (command.line.find('\0') == std::string::npos) {
    prepare(order, group.get());
    launched = launch(order);
  }
  if (launched.pid == 0 && is_for_lack_of_resources(launched)) return cannot_start_now(launched);

  last_key_ = order.key;
  const RunId id{order.key};
  if (launched.pid != 0) {
    record_start({order.key, launched.pid, at, clock_.boot_now()}, command, std::move(group));
    return id;
  }
  Ended ended;
  ended.id = id;
  ended.how = Ending::not_started;
  ended.os_errno = launched.os_errno;
  ended.failed_at = launched.failed_at;
  ended.started_at = at;
  ended.ended_at = clock_.wall_now();
  ended_.push_back(ended);
  return id;
}

std::optional<Ended> Host::not_started(RunId id) const {
  if (ended_.empty() || ended_.back().id != id) return std::nullopt;
  return ended_.back();
}

void Host::forget(RunId id) {
  if (not_started(id)) ended_.pop_back();
}

}  // namespace torc::exec
