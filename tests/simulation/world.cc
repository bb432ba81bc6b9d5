#include "tests/simulation/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;
using store::testing::RequestFate;

// Every node was booted at another time.
constexpr Time kBoot = 1h;
constexpr auto kEpoch = std::chrono::hours(24 * 365 * 50);
constexpr double kRequest = 0.8e-3;  // seconds, mostly; seen on a real NFS server
constexpr double kTailPart = 0.02;   // of the requests take longer, by a Pareto law
constexpr double kTailStart = 5e-3;
constexpr double kTailEnd = 0.5;

class NodeClock final : public Clock {
 public:
  NodeClock(World& world, const Node& node) : world_(world), node_(node) {}
  [[nodiscard]] BootTime boot_now() const override {
    return world_.now() + kBoot * (1 + node_.number) - node_.lost;
  }
  [[nodiscard]] WallTime wall_now() const override {
    return kEpoch + std::chrono::duration_cast<WallTime>(world_.now()) + node_.wall_offset;
  }
  void sleep_for(std::chrono::nanoseconds time) override {
    if (world_.caller != nullptr && !world_.in_transaction) world_.caller->wait(time);
  }

 private:
  World& world_;
  const Node& node_;
};

}  // namespace

class World::ServerClock final : public Clock {
 public:
  explicit ServerClock(World& world) : world_(world) {}
  [[nodiscard]] BootTime boot_now() const override { return world_.now(); }
  [[nodiscard]] WallTime wall_now() const override {
    return kEpoch + std::chrono::duration_cast<WallTime>(world_.now());
  }
  void sleep_for(std::chrono::nanoseconds) override {}

 private:
  World& world_;
};

WallTime World::wall(Time time) {
  return kEpoch + std::chrono::duration_cast<WallTime>(time);
}

Node::Node(World& of, int n)
    : world(of),
      number(n),
      name(fmt::format("node{}", n)),
      clock(std::make_unique<NodeClock>(of, *this)),
      disk(std::make_unique<store::testing::NfsDisk>(of.server(), *clock, of,
                                                     store::testing::NfsOptions{})) {}

bool Node::runs() const {
  return !dead && stands_until <= world.now();
}

World::World(std::uint64_t seed, bool tells)
    : random_(seed ^ 0xD1B54A32D192ED03ULL),
      tells_(tells),
      server_clock_(std::make_unique<ServerClock>(*this)),
      server_(store::testing::FileServer(), *server_clock_) {}

void World::at(Time when, std::function<void()> what) {
  entries_.push_back({std::max(when, now_), made_++, std::move(what)});
  std::push_heap(entries_.begin(), entries_.end(), later_than);
}

void World::at(Time when, const Node& node, std::function<void()> what) {
  at(when, [this, &node, what = std::move(what)]() mutable {
    if (node.dead) return;
    if (node.stands_until > now_) return at(node.stands_until, node, std::move(what));
    what();
  });
}

void World::run(Time until, const std::function<bool()>& is_over) {
  while (violation_.empty() && !entries_.empty() && entries_.front().at <= until) {
    std::pop_heap(entries_.begin(), entries_.end(), later_than);
    Entry entry = std::move(entries_.back());
    entries_.pop_back();
    now_ = std::max(now_, entry.at);
    count_event();
    entry.what();
    if (is_over()) return;
  }
}

void World::count_event() {
  ++events;
  const auto second = std::chrono::duration_cast<std::chrono::seconds>(now_).count();
  if (second != second_) events_in_second_ = 0;
  second_ = second;
  if (++events_in_second_ > most_events_a_second && most_events_a_second > 0)
    violate("somebody goes round in circles: more events in a second than are possible");
}

Time World::latency() {
  double seconds = kRequest * (0.5 + part());
  if (part() < kTailPart)
    seconds = std::min(kTailEnd, kTailStart * std::pow(std::max(part(), 1e-9), -1 / 1.5));
  return Time(static_cast<std::int64_t>(seconds * 1e9));
}

Time World::latency(double of) {
  Time sum{};
  for (; of >= 1; of -= 1) sum += latency();
  return sum + Time(static_cast<std::int64_t>(of * kRequest * 1e9));
}

void World::count_requests(double n) {
  if (measures()) measured.requests += n;
}

void World::count_commit() {
  const auto minute = std::chrono::duration_cast<std::chrono::minutes>(now_).count();
  if (minute != minute_) commits_in_minute_ = 0;
  minute_ = minute;
  measured.most_commits = std::max(measured.most_commits, ++commits_in_minute_ / 60);
  if (measures()) measured.commits += 1;
}

std::uint64_t World::heartbeat_files() const {
  return heartbeats_directory == 0 ? 0 : server_.files.list(heartbeats_directory)->size();
}

void World::tell(const std::string& line) {
  if (tells_) history_.push_back(show(now_) + "  " + line);
}

void World::violate(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = what;
  tell("VIOLATED: " + what);
}

RequestFate World::fate(const store::testing::Request& request) {
  ++requests;
  count_requests(1);
  if (measures() && std::string_view(request.name) == "WRITE") measured.heartbeats += 1;
  if (caller == nullptr) return RequestFate::carried;
  if (!in_transaction) {
    caller->wait(latency());
    caller->wait_for_filesystem();
  }
  if (!caller->alive()) return RequestFate::gone;
  if (request.changes && full) return RequestFate::lost;
  if (calm || !caller->loses_replies() || !one_in(4)) return RequestFate::carried;
  if (!request.changes) return RequestFate::lost;
  const std::string_view name = request.name;
  const bool harmless = name == "CREATE" || name == "WRITE";
  switch (pick(4)) {
    case 0:
      return RequestFate::lost;
    case 1:
      return RequestFate::reply_lost;
    case 2:
      return harmless ? RequestFate::carried : RequestFate::repeated;
    default:
      return RequestFate::late;
  }
}

int World::error() {
  return one_in(2) ? EIO : ETIMEDOUT;
}

void World::later(std::function<void()> act) {
  at(now_ + std::chrono::milliseconds(pick(one_in(4) ? 60'000 : 500)), std::move(act));
}

}  // namespace torc::simulation
