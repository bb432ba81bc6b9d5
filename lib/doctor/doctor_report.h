// What `torc doctor` found, for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/doctor/probe.h"
#include "lib/doctor/two_node.h"

namespace torc::doctor {

struct Diagnosis {
  Checkup checkup;
  std::optional<TwoNodeReport> two_node;
  std::vector<store::Finding> findings;
  std::string store;  // "engine journal, put-if-absent by link"; empty: the directory is no store
};

[[nodiscard]] nlohmann::ordered_json to_json(const Diagnosis& diagnosis);
[[nodiscard]] std::string to_text(const Diagnosis& diagnosis);
[[nodiscard]] nlohmann::ordered_json to_json(const store::Latency& latency);
[[nodiscard]] std::string show_latency(const store::Latency& latency);

}  // namespace torc::doctor
