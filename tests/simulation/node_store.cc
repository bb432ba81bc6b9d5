#include "tests/simulation/node_store.h"

#include <algorithm>
#include <utility>

namespace torc::simulation {
namespace {

// Requests from the last listing to the name of a commit, and from there to the answer.
constexpr double kToName = 4;
constexpr double kAfter = 2;

Error killed() {
  return {ErrorKind::io, "the process was killed", ""};
}

}  // namespace

NodeStore::Fate NodeStore::fate() const {
  World& world = cluster_.world();
  if (world.full) return Fate::full;
  if (world.calm || !process_.loses_replies() || !world.one_in(4)) return Fate::done;
  constexpr Fate kFates[] = {Fate::refused, Fate::unknown_done, Fate::unknown_not_done};
  return kFates[world.pick(3)];
}

Result<store::Commit> NodeStore::commit_now(std::uint64_t author, const Body& body, Fate fate) {
  World& world = cluster_.world();
  const auto refusal = [&]() -> std::optional<Error> {
    switch (fate) {
      case Fate::done:
      case Fate::unknown_done:
        break;
      case Fate::full:
        return Error{ErrorKind::no_space, "the disk is full", ""};
      case Fate::refused:
        return Error{world.one_in(2) ? ErrorKind::busy : ErrorKind::io, "it was refused", ""};
      case Fate::unknown_not_done:
        return Error{ErrorKind::unknown, "the outcome is not known", ""};
    }
    return std::nullopt;
  }();
  world.in_transaction = true;
  auto done = cluster_.state().commit(author, [&](store::Transaction& tx) -> Result<void> {
    TORC_TRY(body(tx));
    if (refusal) return *refusal;
    return {};
  });
  world.in_transaction = false;
  if (done && done->wrote) {
    ++cluster_.figures.commits;
    (void)cluster_.state().view(store::Freshness::cached, [&](const store::Reader& reader) {
      cluster_.promises().measure_commit(reader);
      cluster_.promises().committed(reader);
      if (cluster_.scenario().gangs > 0) cluster_.gangs().committed(reader);
      if (committed_) committed_(reader);
      return Result<void>();
    });
  }
  return done;
}

std::uint64_t NodeStore::newest() {
  std::uint64_t sequence = 0;
  (void)cluster_.state().view(store::Freshness::cached, [&](const store::Reader& reader) {
    sequence = reader.sequence();
    return Result<void>();
  });
  return sequence;
}

bool NodeStore::catch_up() {
  World& world = cluster_.world();
  const std::uint64_t there = newest();
  const double requests = world.cost.catch_up(there - std::min(there, seen_));
  const bool more = there > seen_;
  seen_ = std::max(seen_, there);
  world.count_requests(requests);
  process_.wait(world.latency(requests));
  return more;
}

void NodeStore::come_to_publish() {
  World& world = cluster_.world();
  for (;;) {
    while (catch_up() && process_.alive()) {
    }
    process_.wait(world.latency(kToName));
    process_.wait_for_filesystem();
    if (!process_.alive() || newest() == seen_) return;
    // Another was first: the file of this commit is made, the number is taken.
    if (world.measures()) ++world.measured.conflicts;
    world.count_requests(kToName + kAfter);
  }
}

Result<store::Commit> NodeStore::commit(std::uint64_t author, const Body& body) {
  World& world = cluster_.world();
  const Time begun = world.now();
  come_to_publish();
  if (!process_.alive()) return killed();
  const Fate of_this = fate();
  auto done = commit_now(author, body, of_this);
  if (done && done->wrote) {
    seen_ = done->sequence;
    world.count_commit();
    world.count_requests(static_cast<double>(world.cost.commit - world.cost.look));
  }
  process_.wait(world.latency(kAfter));
  process_.wait_for_filesystem();
  if (!process_.alive()) return killed();
  if (done && done->wrote && of_this == Fate::unknown_done)
    return Error{ErrorKind::unknown, "the outcome is not known", ""};
  if (done) done->cost = world.now() - begun;
  return done;
}

Result<void> NodeStore::view(store::Freshness freshness,
                             const std::function<Result<void>(const store::Reader&)>& body) {
  if (freshness == store::Freshness::latest) {
    (void)catch_up();
    process_.wait_for_filesystem();
    if (!process_.alive()) return killed();
  }
  return cluster_.state().view(store::Freshness::cached, body);
}

}  // namespace torc::simulation
