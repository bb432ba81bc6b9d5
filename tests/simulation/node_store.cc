#include "tests/simulation/node_store.h"

#include <utility>

namespace torc::simulation {
namespace {

constexpr int kListings = 2;  // requests before a commit is given its name
constexpr int kAfter = 2;     // and after that

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
      cluster_.committed(reader);
      return Result<void>();
    });
  }
  return done;
}

Result<store::Commit> NodeStore::commit(std::uint64_t author, const Body& body) {
  World& world = cluster_.world();
  const Time begun = world.now();
  Time before{};
  for (int i = 0; i < kListings; ++i) before += world.latency();
  process_.wait(before);
  process_.wait_for_filesystem();
  if (!process_.alive()) return killed();
  const Fate of_this = fate();
  auto done = commit_now(author, body, of_this);
  Time after{};
  for (int i = 0; i < kAfter; ++i) after += world.latency();
  process_.wait(after);
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
    process_.wait(cluster_.world().latency());
    process_.wait_for_filesystem();
    if (!process_.alive()) return killed();
  }
  return cluster_.state().view(store::Freshness::cached, body);
}

}  // namespace torc::simulation
