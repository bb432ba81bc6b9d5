#include "lib/exec/machine/gpu_models.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lib/base/amounts.h"
#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

namespace fs = std::filesystem;

struct Device {
  std::string type;
  std::string uuid;
  std::uint32_t group;  // 0: not known
};

std::vector<fs::path> sorted_entries(const std::string& directory) {
  std::vector<fs::path> all;
  std::error_code failure;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end;
       it.increment(failure))
    all.push_back(it->path());
  std::sort(all.begin(), all.end());
  return all;
}

// Where the kernel knows no node it says -1.
std::uint32_t numa_group(const fs::path& device) {
  const auto text = read_small_file((device / "numa_node").string()).value_or("");
  const auto node = whole_number<std::uint16_t>(trimmed(text));
  return node ? *node + std::uint32_t{1} : 0;
}

bool has_bus_order(const GetEnv& env) {
  return env("CUDA_DEVICE_ORDER").value_or("") == "PCI_BUS_ID" && !env("SLURM_JOB_ID");
}

// In the order of the bus.
std::vector<Device> nvidia_models(const std::string& root) {
  std::vector<Device> all;
  for (const fs::path& gpu : sorted_entries(root + "/proc/driver/nvidia/gpus")) {
    const auto text = read_small_file((gpu / "information").string()).value_or("");
    all.push_back({type_of_model(trimmed(line_value(text, "Model:"))),
                   std::string(trimmed(line_value(text, "GPU UUID:"))),
                   numa_group(root + "/sys/bus/pci/devices/" + gpu.filename().string())});
  }
  return all;
}

// Cards that the compute driver knows; "card0-DP-1" and the like are their outputs.
std::vector<Device> amd_models(const std::string& root) {
  std::vector<Device> all;
  for (const fs::path& card : sorted_entries(root + "/sys/class/drm")) {
    const std::string name = card.filename().string();
    if (!name.starts_with("card") || name.find('-') != std::string::npos) continue;
    const auto vendor = read_small_file((card / "device/vendor").string()).value_or("");
    if (trimmed(vendor) != "0x1002") continue;
    const auto product = read_small_file((card / "device/product_name").string()).value_or("");
    const auto id = read_small_file((card / "device/unique_id").string()).value_or("");
    all.push_back({type_of_model(trimmed(product)), "GPU-" + std::string(trimmed(id)),
                   numa_group(card / "device")});
  }
  return all;
}

bool is_maker(const std::string& word) {
  constexpr std::string_view kMakers[] = {"nvidia", "tesla",    "geforce",  "quadro",      "amd",
                                          "radeon", "instinct", "graphics", "corporation", "pro"};
  return std::ranges::find(kMakers, word) != std::end(kMakers);
}

bool has_digit(const std::string& word) {
  return word.find_first_of("0123456789") != std::string::npos;
}

}  // namespace

std::string type_of_model(std::string_view model) {
  std::vector<std::string> words;
  for (const std::string& word : exec::split(model, ' ')) {
    std::string plain;
    for (const char c : word.substr(0, word.find('-'))) {
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
      if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    }
    if (!plain.empty() && !is_maker(plain)) words.push_back(plain);
  }
  const auto number = std::ranges::find_if(words, has_digit);
  std::string type;
  if (number == words.end()) {
    for (const std::string& word : words) type += (type.empty() ? "" : "_") + word;
    return type;
  }
  // "RTX 3090"
  if (number != words.begin() && number->find_first_not_of("0123456789") == std::string::npos)
    type = *(number - 1);
  return type + *number;
}

std::vector<std::string> kinds_of(const Gpus& gpus, const GetEnv& env, const std::string& root) {
  const bool nvidia = gpus.variable == "CUDA_VISIBLE_DEVICES";
  const bool amd = gpus.variable == "ROCR_VISIBLE_DEVICES";
  if (!nvidia && !amd) return {};
  const std::vector<Device> there = nvidia ? nvidia_models(root) : amd_models(root);
  if (there.empty() || gpus.ids.empty()) return {};
  const auto kind_of = [](const std::string& type) {
    return type.empty() ? std::string(kGpus) : std::string(kGpus) + "/" + type;
  };
  const bool alike =
      std::ranges::all_of(there, [&](const Device& d) { return d.type == there[0].type; });
  const bool by_bus = nvidia && has_bus_order(env);
  std::vector<std::string> kinds;
  for (const std::string& id : gpus.ids) {
    std::string type = alike ? there[0].type : "";
    const auto number = whole_number<std::size_t>(id);
    for (std::size_t i = 0; i < there.size() && type.empty(); ++i) {
      if (id == there[i].uuid || (by_bus && number == i)) type = there[i].type;
    }
    kinds.push_back(kind_of(type));
  }
  const bool known = std::ranges::any_of(kinds, [](const std::string& k) { return k != kGpus; });
  return known ? kinds : std::vector<std::string>{};
}

std::vector<std::uint32_t> numa_groups_of(const Gpus& gpus, const GetEnv& env,
                                          const std::string& root) {
  const bool nvidia = gpus.variable == "CUDA_VISIBLE_DEVICES";
  const bool amd = gpus.variable == "ROCR_VISIBLE_DEVICES";
  if ((!nvidia && !amd) || gpus.ids.size() < 2) return {};
  const std::vector<Device> there = nvidia ? nvidia_models(root) : amd_models(root);
  const bool alike =
      std::ranges::all_of(there, [&](const Device& d) { return d.type == there[0].type; });
  const bool seen_whole = alike && there.size() == gpus.ids.size() && !env("SLURM_JOB_ID");
  const bool by_number = nvidia && (has_bus_order(env) || seen_whole);
  std::vector<std::uint32_t> groups;
  for (const std::string& id : gpus.ids) {
    const auto number = whole_number<std::size_t>(id);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < there.size() && group == 0; ++i) {
      if (id == there[i].uuid || (by_number && number == i)) group = there[i].group;
    }
    if (group == 0) return {};
    groups.push_back(group);
  }
  const bool one = std::ranges::all_of(groups, [&](std::uint32_t g) { return g == groups[0]; });
  return one ? std::vector<std::uint32_t>{} : groups;
}

}  // namespace torc::exec
