// The shared state as one process gets at it: every call takes time, hangs when the filesystem
// does, is refused, or has an outcome that is not known.
#pragma once

#include "tests/simulation/process.h"

namespace torc::simulation {

class NodeStore final : public store::Store {
 public:
  NodeStore(Cluster& cluster, Process& process) : cluster_(cluster), process_(process) {}
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
  Process& process_;
  std::uint64_t seen_ = 0;
};

}  // namespace torc::simulation
