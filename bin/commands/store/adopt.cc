// torc adopt: makes this machine the home of a store of engine lmdb that was another machine's.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/quantities.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/watch.h"
#include "lib/report/job_view.h"
#include "lib/store/engine/engines.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/maintenance/adopt.h"
#include "lib/workflow/context/live_workers.h"

namespace torc::cli {
namespace {

struct AdoptOptions {
  std::string store;
  bool wait = false;  // until the leases of workers that are registered ran out
  bool json = false;
};

using std::chrono::nanoseconds;

// Waits until the leases of all workers ran out as seen from here. Whoever is heard of lives.
class Listener {
 public:
  Listener(const App& app, const Path& state, const store::MountFacts& facts,
           std::vector<claim::Worker> workers)
      : app_(app), state_(state), facts_(facts), workers_(std::move(workers)) {
    for (const claim::Worker& worker : workers_) longest_ = std::max(longest_, worker.ttl);
  }
  // Also by what their heartbeats promise.
  Result<void> look_at_promises() {
    for (const claim::Worker& worker : workers_) {
      TORC_ASSIGN(const auto heartbeat, heartbeat_of(worker));
      if (heartbeat) longest_ = std::max(longest_, heartbeat->ttl);
    }
    return {};
  }

  // As long as nothing may be heard before they count as gone.
  [[nodiscard]] nanoseconds silence() const { return longest_ + facts_.heartbeat_age; }

  Result<void> listen() {
    const nanoseconds interval = std::max<nanoseconds>(longest_ / kLooks, kShortestPause);
    for (;;) {
      bool all = true;
      for (const claim::Worker& worker : workers_) {
        TORC_ASSIGN(const bool expired, look(worker, interval));
        all = all && expired;
      }
      if (all) return {};
      app_.clock.sleep_for(interval);
    }
  }

 private:
  static constexpr int kLooks = 10;
  static constexpr nanoseconds kShortestPause = std::chrono::milliseconds(100);

  // nullopt: there is none. One that cannot be read says nothing: neither that it is late.
  [[nodiscard]] Result<std::optional<store::Heartbeat>> heartbeat_of(
      const claim::Worker& worker) const {
    return store::read_heartbeat(app_.world, state_, claim::heartbeat_place(worker),
                                 store::heartbeat_caches(facts_.kind));
  }
  // For a while that is a filesystem's affair; whoever could hear nothing for as long as a lease
  // takes knows nothing.
  Result<bool> hear_nothing(const claim::Worker& worker, const Error& error, BootTime asked) {
    const BootTime since = deaf_since_.emplace(worker.epoch, asked).first->second;
    if (asked - since > silence()) return error;
    return false;
  }
  Result<bool> look(const claim::Worker& worker, nanoseconds interval) {
    const BootTime asked = app_.clock.boot_now();
    const auto read = heartbeat_of(worker);
    if (!read.ok()) return hear_nothing(worker, read.error(), asked);
    deaf_since_.erase(worker.epoch);
    const std::optional<store::Heartbeat>& heartbeat = *read;
    if (heartbeat) {
      const auto first = first_.emplace(worker.epoch, heartbeat->counter).first->second;
      if (heartbeat->counter != first) {
        return Error{ErrorKind::busy,
                     fmt::format("worker {} on {} lives: its heartbeat was heard",
                                 claim::raw(worker.epoch), worker.info.host),
                     "end it there (scancel, Ctrl-C) and try again"};
      }
    }
    const claim::Watch::Look seen{
        worker.epoch, worker.renewals, heartbeat ? std::optional(heartbeat->counter) : std::nullopt,
        std::max(worker.ttl, heartbeat ? heartbeat->ttl : std::chrono::seconds(0)),
        facts_.heartbeat_age};
    return watch_.look(seen, asked, interval) == claim::Watch::Verdict::expired;
  }

  const App& app_;
  Path state_;
  store::MountFacts facts_;
  std::vector<claim::Worker> workers_;
  std::chrono::seconds longest_{0};
  // Heartbeat counters when they were first heard.
  std::map<claim::WorkerEpoch, std::uint64_t> first_;
  claim::Watch watch_;
  std::map<claim::WorkerEpoch, BootTime> deaf_since_;  // of whom no heartbeat can be read
};

Result<void> check_nobody_works(const App& app, const AdoptOptions& options, const Path& directory,
                                const store::Meta& meta, const claim::Reader& reader) {
  TORC_ASSIGN(std::vector<claim::Worker> live_workers, workflow::live_workers(app, reader));
  if (live_workers.empty()) return {};
  const std::string who = workflow::show_workers(live_workers) + " in " + directory.string();
  Listener listener(app, meta.identity.state_directory(directory), meta.place.facts,
                    std::move(live_workers));
  TORC_TRY(listener.look_at_promises());
  const auto silence = std::chrono::duration_cast<std::chrono::microseconds>(listener.silence());
  const std::string until = show_time(app.clock.wall_now() + silence);
  if (options.wait) {
    say(app.err, "torc: note: {}; they count as gone when nothing is heard of them until {}\n", who,
        until);
    return listener.listen();
  }
  return Error{ErrorKind::busy,
               fmt::format("{}: whether they have ended cannot be seen from here, so their leases "
                           "must run out, {} from now: not before {}",
                           who, show_duration(silence), until),
               fmt::format("end them there, then `torc adopt --wait {}`, which listens for so long",
                           directory.string())};
}

std::string text_of(store::Adoption adoption, const App& app) {
  switch (adoption) {
    case store::Adoption::adopted:
      return fmt::format("now belongs to this machine, {}; no other machine can open it",
                         app.world.host);
    case store::Adoption::not_needed:
      return "belongs to this machine already: nothing was changed";
    case store::Adoption::of_all:
      return "has engine journal, which any host may open: nothing was changed";
  }
  return {};
}

Result<Exit> run(const App& app, const AdoptOptions& options) {
  TORC_ASSIGN(auto path, locate_store(app, options.store));
  TORC_ASSIGN(const auto meta, store::look_at_meta(app.world, path));
  const auto done = store::adopt(app.world, path, [&](const store::Reader& reader) {
    return check_nobody_works(app, options, path, meta, reader);
  });
  if (!done) return done.error();
  if (options.json) {
    const nlohmann::ordered_json out = {{"store", path.string()},
                                        {"changed", *done == store::Adoption::adopted},
                                        {"host", app.world.host}};
    say(app.out, "{}\n", report::json_text(out));
    return Exit::ok;
  }
  say(app.out, "{}: {}\n", path.string(), text_of(*done, app));
  return Exit::ok;
}

}  // namespace

void add_adopt(Command& c) {
  auto& o = c.options<AdoptOptions>();
  c.about("Make this machine the home of a store of engine lmdb");
  c.argument("STORE", o.store, "store");
  c.flag("--wait", o.wait,
         "listen until the leases of the workers that are registered have run out");
  c.flag("--json", o.json, "machine-readable output");
  c.footer(
      "\nA store of engine lmdb is opened by the machine that made it, whatever it is called.\n"
      "This is for a store whose disk was moved to another machine, or that was copied there.\n"
      "Exit codes: 0 it is of this machine; 4 refused, nothing was changed; 2 wrong flags.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
