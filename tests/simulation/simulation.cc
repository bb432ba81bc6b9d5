#include "tests/simulation/simulation.h"

#include <algorithm>
#include <filesystem>

namespace torc::simulation {

Lived live(const Scenario& scenario, const Path& scratch, bool tells) {
  const Path directory = scratch / "life";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  Lived lived;
  {
    World world(scenario.seed, tells);
    Cluster cluster(scenario, world, directory);
    lived.violation = cluster.run();
    lived.history = world.history();
    lived.figures = cluster.figures;
  }
  std::filesystem::remove_all(directory);
  return lived;
}

namespace {

// What is violated, whichever job or worker it is about.
std::string kind_of(std::string violation) {
  std::erase_if(violation, [](char c) { return c >= '0' && c <= '9'; });
  return violation.substr(0, violation.find('('));
}

}  // namespace

Scenario shrink(Scenario scenario, const Path& scratch) {
  const std::string kind = kind_of(live(scenario, scratch, false).violation);
  const auto fails = [&](const Scenario& s) {
    return kind_of(live(s, scratch, false).violation) == kind;
  };
  const auto keep_if_failing = [&](const Scenario& smaller) {
    if (!fails(smaller)) return false;
    scenario = smaller;
    return true;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = 0; i < scenario.faults.size();) {
      Scenario less = scenario;
      less.faults.erase(less.faults.begin() + static_cast<std::ptrdiff_t>(i));
      if (keep_if_failing(less)) {
        smaller = true;
      } else {
        ++i;
      }
    }
    for (std::size_t i = 0; i < scenario.edits.size();) {
      Scenario less = scenario;
      less.edits.erase(less.edits.begin() + static_cast<std::ptrdiff_t>(i));
      if (keep_if_failing(less)) {
        smaller = true;
      } else {
        ++i;
      }
    }
    const auto attempt = [&](auto change) {
      Scenario less = scenario;
      if (change(less) && keep_if_failing(less)) smaller = true;
    };
    attempt([](Scenario& s) { return s.jobs > 1 && !s.edited && (s.jobs /= 2, true); });
    attempt([](Scenario& s) { return s.nodes > 1 && (s.nodes /= 2, true); });
    attempt([](Scenario& s) { return s.nodes > 1 && (--s.nodes, true); });
    attempt([](Scenario& s) { return s.workers_per_node > 1 && (--s.workers_per_node, true); });
    attempt([](Scenario& s) { return s.cpus > 1 && (--s.cpus, true); });
    attempt([](Scenario& s) { return s.failing > 0 && (s.failing = 0, true); });
    for (std::size_t i = 0; i < scenario.actions.size();) {
      Scenario less = scenario;
      less.actions.erase(less.actions.begin() + static_cast<std::ptrdiff_t>(i));
      if (keep_if_failing(less)) {
        smaller = true;
      } else {
        ++i;
      }
    }
    attempt([](Scenario& s) { return s.licences > 0 && (s.licences = 0, true); });
    attempt([](Scenario& s) { return s.recovered > 0 && (s.recovered = 0, true); });
    attempt([](Scenario& s) { return s.node_cpus > 0 && (s.node_cpus = 0, true); });
    attempt([](Scenario& s) { return s.wide > 0 && (s.wide = 0, true); });
    attempt([](Scenario& s) { return s.gangs > 0 && (s.gangs = 0, true); });
    attempt([](Scenario& s) { return s.gangs > 10 && (s.gangs /= 2, true); });
    attempt([](Scenario& s) { return s.gang_nodes > 2 && (--s.gang_nodes, true); });
    attempt([](Scenario& s) { return s.on_each_node > 0 && (s.on_each_node = 0, true); });
    attempt([](Scenario& s) { return s.groups > 1 && (s.groups = 1, true); });
    attempt([](Scenario& s) { return s.declared && (s.declared = false, true); });
    attempt([](Scenario& s) { return s.large > 0 && (s.large = 0, true); });
    attempt([](Scenario& s) { return s.bell_trouble > 0 && (s.bell_trouble = 0, true); });
    attempt([](Scenario& s) { return s.bells && (s.bells = false, true); });
    attempt([](Scenario& s) { return s.starters > 1 && (s.starters = 1, true); });
    attempt([](Scenario& s) { return s.crashing > 0 && (s.crashing = 0, true); });
    attempt([](Scenario& s) { return s.chained && (s.chained = false, true); });
    attempt([](Scenario& s) { return s.in_slurm && (s.in_slurm = false, true); });
  }
  return scenario;
}

}  // namespace torc::simulation
