// What a snapshot of a large state costs, and how long it keeps those waiting who commit meanwhile:
// the worker that makes it, and one on another host.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/base/limits.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kFill = 8192;   // jobs a commit while the state is made
constexpr std::uint64_t kCommits = 48;  // measured without a snapshot
constexpr std::uint64_t kBatch = 64;
constexpr auto kPoll = std::chrono::milliseconds(2);

store::Tuning never() {
  store::Tuning tuning;
  tuning.checkpoint_commits = 100'000'000;
  tuning.checkpoint_bytes = mebibytes(100'000);
  return tuning;
}

store::Tuning at_once(bool beside) {
  store::Tuning tuning;
  tuning.checkpoint_commits = 1;
  tuning.snapshots_beside = beside;
  return tuning;
}

std::uint64_t snapshots(const store::Store& store) {
  std::uint64_t out = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(store.state_directory() / "snapshot", error))
    out += entry.is_regular_file(error) && entry.path().filename().string()[0] != '.' ? 1 : 0;
  return out;
}

// Commits until `enough` says so; the longest.
Result<Seconds> longest_turn(BatchWorker& worker, store::Store* maintained,
                             const std::function<bool(std::uint64_t)>& enough) {
  Seconds longest{};
  for (std::uint64_t i = 0; !enough(i); ++i) {
    TORC_ASSIGN(const Seconds took, timed([&]() -> Result<void> {
                  TORC_TRY(worker.turn(kBatch));
                  return maintained != nullptr ? maintained->maintain() : Result<void>();
                }));
    longest = std::max(longest, took);
    std::this_thread::sleep_for(kPoll);
  }
  return longest;
}

struct Scene {
  std::unique_ptr<LocalWorld> here, there;
  std::unique_ptr<store::Store> store;
  Path directory;
  std::uint64_t jobs = 0;
};

Result<Scene> make_scene(const Options& options) {
  Scene scene;
  scene.jobs = options.quick ? 100'000 : 1'000'000;
  scene.directory = options.scratch / "large.torc";
  TORC_ASSIGN(scene.here, LocalWorld::make());
  TORC_ASSIGN(scene.there, LocalWorld::make());
  // A job has no record before something happens to it: so it happens to all of them.
  const std::uint64_t spare = kMaxJobs - scene.jobs;
  TORC_ASSIGN(scene.store,
              store::Store::create(scene.here->world(), scene.directory, store::Engine::journal,
                                   never(), [&](store::Transaction& tx) {
                                     return claim::write_plan(
                                         tx, plan_of(scene.jobs + spare, Shape::sweep));
                                   }));
  TORC_ASSIGN(BatchWorker worker, BatchWorker::join(*scene.store));
  for (std::uint64_t done = 0; done < scene.jobs; done += kFill) TORC_TRY(worker.turn(kFill));
  return scene;
}

// One snapshot from beginning to end, nobody else at work, against writing its bytes to a file.
Result<void> measure_alone(const Scene& scene, Table& table) {
  TORC_ASSIGN(const auto maker,
              store::Store::open(scene.here->world(), scene.directory, at_once(false)));
  TORC_ASSIGN(const Seconds took, timed([&] { return maker->maintain(); }));
  if (snapshots(*maker) != 1)
    return Error{ErrorKind::corrupt, "no snapshot was made", "this is a mistake of the benchmark"};
  table.add({fmt::format("snapshot of a state of {} job records", scene.jobs),
             show(took),
             {},
             {},
             Floor{Floor::Kind::at_most, 3, "<= 3 s"},
             took.count()});
  return {};
}

// The longest commit of a worker here, which makes the snapshot, and of one on another host, while
// it is made; against the longest of as many commits without one.
Result<void> measure_beside(const Scene& scene, Table& table) {
  TORC_ASSIGN(const auto other, store::Store::open(scene.there->world(), scene.directory, never()));
  TORC_ASSIGN(BatchWorker guest, BatchWorker::join(*other));
  TORC_ASSIGN(BatchWorker maker, BatchWorker::join(*scene.store));
  const auto some = [](std::uint64_t turns) { return turns >= kCommits; };
  TORC_ASSIGN(const Seconds maker_before, longest_turn(maker, nullptr, some));
  TORC_ASSIGN(const Seconds guest_before, longest_turn(guest, nullptr, some));

  TORC_ASSIGN(const auto busy,
              store::Store::open(scene.here->world(), scene.directory, at_once(true)));
  TORC_ASSIGN(BatchWorker caring, BatchWorker::join(*busy));
  const std::uint64_t before = snapshots(*busy);
  std::atomic<bool> over{false};
  Result<Seconds> guest_during = Seconds{};
  std::thread beside([&] {
    guest_during = longest_turn(guest, nullptr, [&](std::uint64_t) { return over.load(); });
  });
  Result<Seconds> maker_during =
      longest_turn(caring, busy.get(), [&](std::uint64_t) { return snapshots(*busy) > before; });
  over = true;
  beside.join();
  TORC_TRY(maker_during);
  TORC_TRY(guest_during);
  const auto add = [&](const char* who, Seconds during, Seconds without) {
    table.add({fmt::format("longest commit while that snapshot is made, {} / without one", who),
               show(during), show(without), during / without,
               Floor{Floor::Kind::at_most, 0.25, "<= 250 ms"}, during.count()});
  };
  add("by the worker that makes it", *maker_during, maker_before);
  add("by one on another host", *guest_during, guest_before);
  return {};
}

Result<void> measure(const Options& options, Table& table) {
  TORC_ASSIGN(const Scene scene, make_scene(options));
  TORC_TRY(measure_alone(scene, table));
  return measure_beside(scene, table);
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
