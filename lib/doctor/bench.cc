#include "lib/doctor/bench.h"

#include "lib/base/codec.h"
#include "lib/store/disk/counting_disk.h"

namespace torc::doctor {
namespace {

constexpr std::size_t kRecord = 256;
constexpr std::uint64_t kJobs = 10'000;
constexpr std::size_t kJobRecord = 40;

// Runs `once` until the time is up, at least once, and keeps how long each took.
template <class Once>
Result<BenchSamples> repeat(Clock& clock, BootTime until, const Interrupted& interrupted,
                            Once once) {
  BenchSamples out;
  const BootTime begun = clock.boot_now();
  for (BootTime now = begun; (now < until || out.times.empty()) && !interrupted();) {
    TORC_TRY(once());
    const BootTime after = clock.boot_now();
    out.times.push_back(after - now);
    now = after;
  }
  out.elapsed = clock.boot_now() - begun;
  return out;
}

std::string key_of(char table, std::uint64_t id) {
  return Encoder(table).be64(id).bytes();
}

}  // namespace

Result<BenchSamples> bench_append(const store::World& world, const Path& directory, BootTime until,
                                  const Interrupted& interrupted) {
  const Path file = directory / "append";
  TORC_ASSIGN(const store::FileHandle handle, world.disk.open_update(file));
  const store::OpenFile open(world.disk, handle, file);
  const std::string record(kRecord, 'r');
  std::uint64_t end = 0;
  return repeat(world.clock, until, interrupted, [&]() -> Result<void> {
    TORC_TRY(open.write(end, record));
    end += record.size();
    return open.sync(store::Sync::data);
  });
}

Result<BenchSamples> bench_publish(const store::World& world, const Path& directory,
                                   const store::PublishMethod& method, BootTime until,
                                   const Interrupted& interrupted) {
  store::Publisher publisher(world.disk, world.entropy, method, store::Durable::yes);
  const std::string record(kRecord, 'r');
  std::uint64_t made = 0;
  return repeat(world.clock, until, interrupted, [&]() -> Result<void> {
    TORC_ASSIGN(const store::Publication done,
                publisher.publish(directory, "n" + std::to_string(made++), record));
    return done.state == store::Publication::State::done ? Result<void>()
                                                         : Result<void>(done.error);
  });
}

Result<void> make_bench_store(const store::World& world, const Path& directory,
                              store::Engine engine) {
  TORC_ASSIGN(const auto store, store::Store::create(world, directory, engine, store::Tuning{},
                                                     [](store::Transaction& tx) -> Result<void> {
                                                       const std::string value(kJobRecord, '.');
                                                       for (std::uint64_t id = 1; id <= kJobs; ++id)
                                                         tx.put(key_of('J', id), value);
                                                       return {};
                                                     }));
  return {};
}

Result<BenchSamples> bench_commits(const store::World& world, const Path& directory, BootTime from,
                                   BootTime until, const Interrupted& interrupted) {
  store::CountingDisk disk(world.disk);
  const store::World counted{disk,          world.clock,         world.entropy, world.host,
                             world.boot_id, world.pid_namespace, world.uid,     world.replica_roots,
                             world.tell,    world.machine};
  TORC_ASSIGN(const auto store, store::Store::open(counted, directory, store::Tuning{}));
  const std::uint64_t self = world.entropy.next() | 1U;
  world.clock.sleep_for(from - world.clock.boot_now());
  BenchSamples costs;
  std::uint64_t renewals = 0;
  const auto body = [&](store::Transaction& tx) -> Result<void> {
    std::string value(kJobRecord, '.');
    value += std::to_string(renewals);
    tx.put(key_of('V', self), value);
    tx.put("K", value);
    for (int i = 0; i < 2; ++i) tx.put(key_of('J', 1 + (self + renewals * 2 + i) % kJobs), value);
    return {};
  };
  TORC_ASSIGN(BenchSamples out, repeat(world.clock, until, interrupted, [&]() -> Result<void> {
                ++renewals;
                const store::CountingDisk::Counts before = disk.counts();
                TORC_ASSIGN(const store::Commit done, store->commit(self, body));
                costs.requests += disk.counts().requests - before.requests;
                costs.modifying += disk.counts().modifying - before.modifying;
                costs.conflicts += done.conflicts;
                return store->maintain();
              }));
  out.conflicts = costs.conflicts;
  out.requests = costs.requests;
  out.modifying = costs.modifying;
  store->forget_copy();
  return out;
}

}  // namespace torc::doctor
