#include "lib/exec/run/order.h"

#include <algorithm>
#include <array>

#include "lib/exec/start/program_path.h"

namespace torc::exec {
namespace {

const char* path_or_null(const std::string& path) {
  return path.empty() ? nullptr : path.c_str();
}

bool is_run_tag(std::string_view entry) {
  constexpr std::string_view kName = RunTag::kVariable;
  return entry.size() > kName.size() && entry[kName.size()] == '=' && entry.starts_with(kName);
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

void point_to_environment(const Command& command, std::string& run_tag,
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

}  // namespace

const char* variable_of(const Command& command, std::string_view name) {
  const char* value = variable(command.env, name);
  if (value != nullptr || command.common_env == nullptr) return value;
  return variable(*command.common_env, name);
}

void prepare(Order& order, const RunTag& tag, const LeasePage* lease, const JobGroup* group) {
  const Command& command = order.command;
  tag.write(order.run_tag, variable_of(command, RunTag::kVariable), order.key);
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
  if (lease != nullptr) plan.lease = lease->terms();
  if (group != nullptr) plan.group_fd = group->procs_fd();
  order.cpus = mask_of(command.cpus);
  if (!order.cpus.empty()) plan.cpus = order.cpus.data();
  plan.cpus_size = order.cpus.size() * sizeof(unsigned long);
}

}  // namespace torc::exec
