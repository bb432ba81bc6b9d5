#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "lib/exec/host.h"

namespace torc::exec {
namespace {

constexpr std::string_view kMarker = "TORC_RUN_ID";

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

bool is_marker(std::string_view entry) {
  return entry.size() > kMarker.size() && entry[kMarker.size()] == '=' &&
         entry.starts_with(kMarker);
}

const char* variable_of(const Command& command, std::string_view name) {
  const char* value = variable(command.env, name);
  if (value != nullptr || command.common_env == nullptr) return value;
  return variable(*command.common_env, name);
}

std::optional<BootTime> deadline_of(const Command& command, BootTime now) {
  if (command.time_limit.count() <= 0) return std::nullopt;
  // A limit of centuries is none; the sum would overflow.
  if (command.time_limit > BootTime::max() - now) return std::nullopt;
  return now + command.time_limit;
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

void Host::point_to_environment(const Command& command, std::string& marker) {
  environment_.clear();
  // By their first letters most of the common ones are known not to be set again.
  std::array<bool, 256> begins{};
  std::vector<std::string_view> names;
  names.reserve(command.env.size() + 1);
  const auto add_name = [&](std::string_view entry) {
    names.push_back(entry.substr(0, entry.find('=')));
    if (!entry.empty()) begins[static_cast<unsigned char>(entry.front())] = true;
  };
  for (const std::string& entry : command.env) {
    if (is_marker(entry)) continue;
    environment_.push_back(const_cast<char*>(entry.c_str()));
    if (command.common_env != nullptr) add_name(entry);
  }
  if (command.common_env != nullptr) {
    add_name(marker);
    for (const std::string& entry : *command.common_env) {
      if (!entry.empty() && begins[static_cast<unsigned char>(entry.front())]) {
        const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      }
      environment_.push_back(const_cast<char*>(entry.c_str()));
    }
  }
  environment_.push_back(marker.data());
  environment_.push_back(nullptr);
}

// The first limited command asks for groups: a worker without such is left where it is.
std::unique_ptr<JobGroup> Host::make_group(RunKey key, ByteCount limit) {
  if (limit.value == 0) return nullptr;
  if (!std::exchange(asked_for_groups_, true)) {
    std::vector<pid_t> own{process_};
    const pid_t parent = getppid();
    const auto name = read_small_file("/proc/" + std::to_string(parent) + "/comm");
    if (name && name->starts_with("torc-watchdog")) own.push_back(parent);
    groups_ = JobGroups::create("", own);
  }
  return groups_ == nullptr ? nullptr : groups_->make(key, limit);
}

Launched Host::launch(const Command& command, std::vector<std::string>& words, std::string& marker,
                      const JobGroup* group) {
  point_to_environment(command, marker);
  std::string shell = "/bin/sh";
  std::vector<char*> pointers{shell.data()};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  LaunchPlan plan;
  plan.words = pointers.data();
  plan.environment = environment_.data();
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
  const std::vector<unsigned long> cpus = mask_of(command.cpus);
  if (!cpus.empty()) plan.cpus = cpus.data();
  plan.cpus_size = cpus.size() * sizeof(unsigned long);

  const char* path = variable_of(command, "PATH");
  for (;;) {
    const ProgramPaths::Found found = paths_.find(words[0], path, command.directory);
    if (found.path.empty()) return {0, found.os_errno, StartStep::execute};
    plan.program = found.path.c_str();
    const Launched launched = launcher_->launch(plan);
    const bool moved = launched.failed_at == StartStep::execute && found.remembered;
    if (!moved) return launched;
    paths_.forget(words[0], path);
  }
}

void Host::record_start(RunKey key, pid_t leader, WallTime at, const Command& command,
                        std::unique_ptr<JobGroup> group) {
  Run run;
  run.group = leader;
  run.started_at = at;
  run.termination_signal = command.termination_signal;
  run.lead = command.termination_lead;
  run.deadline = deadline_of(command, clock_.boot_now());
  run.sample_every = command.sample_every;
  run.limits = std::move(group);
  runs_.add(key, std::move(run));
  watch_memory(key, command.memory_limit);
}

Result<RunId> Host::start(const Command& command) {
  const RunKey key = last_key_ + 1;
  std::string marker(kMarker);
  marker.push_back('=');
  // A torc within a job of another one: the outer torc still finds its own part.
  if (const char* outer = variable_of(command, kMarker)) marker.append(outer).push_back('/');
  marker.append(identity_).append(".").append(std::to_string(key));

  const WallTime at = clock_.wall_now();
  Launched launched{0, EINVAL, StartStep::execute};
  std::vector<std::string> words = argv_of(command.line);
  std::unique_ptr<JobGroup> group = make_group(key, command.memory_limit);
  if (command.line.find('\0') == std::string::npos)
    launched = launch(command, words, marker, group.get());
  if (launched.pid == 0 && is_for_lack_of_resources(launched)) return cannot_start_now(launched);

  last_key_ = key;
  if (launched.pid != 0) {
    record_start(key, launched.pid, at, command, std::move(group));
    return RunId{key};
  }
  Ended ended;
  ended.id = RunId{key};
  ended.how = Ending::not_started;
  ended.os_errno = launched.os_errno;
  ended.failed_at = launched.failed_at;
  ended.started_at = at;
  ended.ended_at = clock_.wall_now();
  ended_.push_back(ended);
  return RunId{key};
}

std::optional<Ended> Host::not_started(RunId id) const {
  if (ended_.empty() || ended_.back().id != id) return std::nullopt;
  return ended_.back();
}

void Host::forget(RunId id) {
  if (not_started(id)) ended_.pop_back();
}

}  // namespace torc::exec
