// The shared state as one process gets at it: every call takes time, hangs when the filesystem
// does, is refused, or has an outcome that is not known.
#pragma once

#include <functional>
#include <utility>

#include "tests/simulation/cluster.h"

namespace torc::simulation {

class NodeStore final : public store::Store {
 public:
  // `committed`: told of what was, before the process itself learns of it.
  NodeStore(Cluster& cluster, Waiter& process,
            std::function<void(const store::Reader&)> committed = {})
      : cluster_(cluster), process_(process), committed_(std::move(committed)) {}
  Result<store::Commit> commit(std::uint64_t author, const Body& body) override;
  Result<void> view(store::Freshness freshness,
                    const std::function<Result<void>(const store::Reader&)>& body) override;
  Result<void> maintain() override { return {}; }
  [[nodiscard]] int changes_fd() const override { return -1; }
  void clear_changes() override {}
  [[nodiscard]] const store::Identity& identity() const override {
    return cluster_.state().identity();
  }
  [[nodiscard]] const Path& directory() const override { return cluster_.state().directory(); }
  void forget_copy() override {}
  [[nodiscard]] const std::string& note() const override { return cluster_.state().note(); }

 private:
  enum class Fate : std::uint8_t { done, refused, unknown_done, unknown_not_done, full };
  [[nodiscard]] Fate fate() const;
  [[nodiscard]] std::uint64_t newest();
  // Reads what others have committed. Whether there was anything.
  bool catch_up();
  // Until nobody else is first.
  void come_to_publish();
  Result<store::Commit> commit_now(std::uint64_t author, const Body& body, Fate fate);

  Cluster& cluster_;
  Waiter& process_;
  std::function<void(const store::Reader&)> committed_;
  std::uint64_t seen_ = 0;
};

}  // namespace torc::simulation
