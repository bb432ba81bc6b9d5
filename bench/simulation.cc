#include "bench/simulation.h"

#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/sim_node.h"
#include "lib/base/limits.h"
#include "lib/claim/audit/verify.h"
#include "lib/claim/transactions/plan_writing.h"

#include <unistd.h>

#include <memory>
#include <vector>

namespace torc::bench {
namespace {

constexpr std::uint64_t kEndless = torc::kMaxJobs;  // a sweep costs nothing until it is claimed

class Cluster final : public EventSink {
 public:
  explicit Cluster(Simulator& simulator) : simulator_(simulator) {
    simulator_.sink = this;
    for (std::uint32_t i = 0; i < simulator.scenario().workers; ++i) {
      nodes_.push_back(std::make_unique<SimNode>(simulator, i));
    }
    const auto& troubles = simulator.scenario().troubles;
    for (std::size_t i = 0; i < troubles.size(); ++i) {
      const bool at_its_end = troubles[i].what == Trouble::What::lost_time;
      const auto last = std::min<std::uint64_t>(troubles[i].last, nodes_.size() - 1);
      for (std::uint64_t n = troubles[i].first; n <= last; ++n) {
        simulator.at(at_its_end ? troubles[i].until : troubles[i].from,
                     static_cast<std::uint32_t>(n), EventKind::trouble, i);
      }
    }
  }

  void handle(const Event& event) override { nodes_[event.node]->handle(event); }

  Result<void> finish() {
    Figures& f = simulator_.figures;
    const auto& scenario = simulator_.scenario();
    const double seconds =
        std::chrono::duration<double>(simulator_.now() - scenario.measured_from).count();
    double busy = 0;
    double present = 0;
    for (const auto& node : nodes_) {
      if (node->error()) return *node->error();
      node->account();
      busy += node->busy();
      present += node->present();
    }
    f.idle = present > 0 ? 1 - busy / (present * scenario.slots) : 0;
    for (double* sum : {&f.commits, &f.beats, &f.requests, &f.transitions}) *sum /= seconds;
    f.completed = f.workflow.of(claim::JobState::completed);
    return {};
  }

 private:
  Simulator& simulator_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
};

}  // namespace

Result<Figures> simulate(const Scenario& scenario, const JournalCost& cost, const Path& scratch) {
  TORC_ASSIGN(const ScratchDirectory here, ScratchDirectory::make(scratch));
  TORC_ASSIGN(const auto local, LocalWorld::make());
  Simulator simulator(scenario, cost);
  store::Tuning tuning;
  tuning.sync = false;
  const auto write = [&](store::Transaction& tx) -> Result<void> {
    if (!scenario.plan.templates.empty()) return claim::write_plan(tx, scenario.plan);
    return claim::write_plan(tx,
                             plan_of(scenario.jobs != 0 ? scenario.jobs : kEndless, Shape::sweep));
  };
  TORC_ASSIGN(simulator.state, store::Store::create(local->world(), here.path() / "simulated.torc",
                                                    store::Engine::lmdb, tuning, write));
  Cluster cluster(simulator);
  simulator.run_until(scenario.ends, cluster);
  TORC_TRY(cluster.finish());
  if (scenario.jobs != 0 || !scenario.plan.templates.empty()) {
    TORC_TRY(simulator.state->view(store::Freshness::latest, [](const store::Reader& reader) {
      return claim::verify_state(reader);
    }));
  }
  return simulator.figures;
}

}  // namespace torc::bench
