#include "lib/exec/machine/gpus.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNvidia = "CUDA_VISIBLE_DEVICES";
constexpr const char* kAmd = "ROCR_VISIBLE_DEVICES";
constexpr const char* kIntel = "ZE_AFFINITY_MASK";
constexpr const char* kHip = "HIP_VISIBLE_DEVICES";
constexpr std::array<std::string_view, 5> kVariables = {kNvidia, kAmd, kIntel, kHip,
                                                        "GPU_DEVICE_ORDINAL"};
// Intel's driver shows all devices for an empty mask, and none for one of an index that it has not.
constexpr const char* kNoIntelDevice = "1000";

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end;
       it.increment(failure)) {
    names.push_back(it->path().filename().string());
  }
  return names;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "0,1", "GPU-8f…,GPU-22…"; a program sees the devices before the first that is none ("-1",
// "NoDevFiles"). One that is named twice is one device.
std::vector<std::string> devices_in(std::string_view text) {
  std::vector<std::string> ids;
  for (const std::string& part : split(text, ',')) {
    std::string_view id = part;
    while (id.starts_with(' ')) id.remove_prefix(1);
    while (id.ends_with(' ')) id.remove_suffix(1);
    if (id.empty() || id == "NoDevFiles" || id == "none" || id == "void" || id.starts_with('-') ||
        id == kNoIntelDevice)
      break;
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.emplace_back(id);
  }
  return ids;
}

std::size_t nvidia_devices(const std::string& root) {
  const std::size_t by_driver = names_in(root + "/proc/driver/nvidia/gpus").size();
  if (by_driver > 0) return by_driver;
  const auto names = names_in(root + "/dev");
  return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), [](const auto& name) {
    return name.starts_with("nvidia") && is_number(std::string_view(name).substr(6));
  }));
}

// CPUs are nodes of the topology, too; theirs have the id 0.
std::size_t amd_devices(const std::string& root) {
  const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  const auto names = names_in(nodes);
  return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), [&](const auto& name) {
    const auto id = read_small_file(nodes + "/" + name + "/gpu_id");
    return id && !id->empty() && !id->starts_with('0');
  }));
}

// Class 0x0380 is a display controller without a display: a compute card, not the graphics of a
// desktop.
std::size_t intel_devices(const std::string& root) {
  const std::string cards = root + "/sys/class/drm";
  const auto names = names_in(cards);
  return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), [&](const auto& name) {
    if (!name.starts_with("card") || !is_number(std::string_view(name).substr(4))) return false;
    const auto vendor = read_small_file(cards + "/" + name + "/device/vendor");
    const auto kind = read_small_file(cards + "/" + name + "/device/class");
    return vendor && kind && vendor->starts_with("0x8086") && kind->starts_with("0x0380");
  }));
}

struct Hardware {
  const char* variable;
  std::size_t count;
};

std::array<Hardware, 3> hardware(const std::string& root) {
  return {
      {{kNvidia, nvidia_devices(root)}, {kAmd, amd_devices(root)}, {kIntel, intel_devices(root)}}};
}

Gpus none(std::string from) {
  return {{}, {}, std::move(from)};
}

bool is_unset(const Hardware& maker, const std::optional<std::string>& value) {
  return !value || (value->empty() && std::string_view(maker.variable) == kIntel);
}

// By number within `ids`, or as they are where nothing else limits them. Numbers of devices that
// are not there are those of the whole node, which some sites set: then `ids` stand.
std::vector<std::string> within(std::vector<std::string> ids, const std::vector<std::string>& hip,
                                bool limited) {
  if (!limited) return hip;
  std::vector<std::string> chosen;
  for (const std::string& number : hip) {
    if (!is_number(number) || number.size() > 4 || std::stoul(number) >= ids.size()) return ids;
    chosen.push_back(ids[std::stoul(number)]);
  }
  return chosen;
}

// What ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES say together; nullopt: neither is set.
std::optional<Gpus> amd_grant(const GetEnv& env) {
  const auto rocr = env(kAmd);
  auto hip = env(kHip);
  if (hip && hip->empty()) hip.reset();  // as HIP reads it
  if (!rocr && !hip) return std::nullopt;
  std::vector<std::string> ids = devices_in(rocr.value_or(""));
  if (hip) ids = within(std::move(ids), devices_in(*hip), rocr.has_value());
  return Gpus{std::move(ids), kAmd, hip ? kHip : kAmd};
}

std::optional<Gpus> grant_of(const Hardware& maker, const GetEnv& env) {
  if (std::string_view(maker.variable) == kAmd) return amd_grant(env);
  const auto value = env(maker.variable);
  if (is_unset(maker, value)) return std::nullopt;
  return Gpus{devices_in(*value), maker.variable, maker.variable};
}

}  // namespace

Gpus find_gpus(const GetEnv& env, const std::string& root) {
  auto present = hardware(root);
  // Slurm may set the variables of all makers at once: that of the hardware counts.
  std::stable_sort(present.begin(), present.end(), [](const Hardware& a, const Hardware& b) {
    return (a.count > 0) > (b.count > 0);
  });
  std::optional<std::string> set_to_none;
  for (const Hardware& maker : present) {
    auto granted = grant_of(maker, env);
    if (!granted) continue;
    if (!granted->ids.empty()) return *std::move(granted);
    if (!set_to_none) set_to_none = granted->from;
  }
  if (set_to_none) return none(*set_to_none);
  for (const char* granted : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}) {
    if (const auto value = env(granted)) {
      auto ids = devices_in(*value);
      if (!ids.empty()) return {std::move(ids), present[0].variable, granted};
    }
  }
  if (env("SLURM_JOB_ID")) return none("Slurm, which granted none");
  if (present[0].count == 0) return none("this node");
  Gpus found{{}, present[0].variable, "this node"};
  for (std::size_t i = 0; i < present[0].count; ++i) found.ids.push_back(std::to_string(i));
  return found;
}

std::string visible_gpus(std::string_view variable, const std::vector<std::string>& ids) {
  if (ids.empty() && variable == kIntel) return kNoIntelDevice;
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ",") + id;
  return text;
}

bool is_gpu_variable(std::string_view name) {
  return std::find(kVariables.begin(), kVariables.end(), name) != kVariables.end();
}

}  // namespace torc::exec
