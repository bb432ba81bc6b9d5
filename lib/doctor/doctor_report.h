// What `torc doctor` found, for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/probe/probe.h"
#include "lib/store/probe/two_node.h"

namespace torc::doctor {

struct Diagnosis {
  store::Checkup checkup;
  std::optional<store::TwoNodeReport> two_node;
  std::vector<store::Finding> findings;
  std::string store;  // "engine journal, put-if-absent by link"; empty: the directory is no store
};

[[nodiscard]] nlohmann::ordered_json to_json(const Diagnosis& diagnosis);
[[nodiscard]] std::string to_text(const Diagnosis& diagnosis);
[[nodiscard]] nlohmann::ordered_json to_json(const store::Latency& latency);  // in microseconds
[[nodiscard]] std::string show_latency(const store::Latency& latency);

}  // namespace torc::doctor
