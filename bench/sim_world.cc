#include "bench/sim_world.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace torc::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kRequest = 0.8e-3;  // seconds, mostly
constexpr double kTailPart = 0.02;   // of the requests that take longer …
constexpr double kTailShape = 1.5;   // … by a Pareto law …
constexpr double kTailStart = 5e-3;  // … from here …
constexpr double kTailEnd = 0.5;     // … to here

}  // namespace

void Simulator::PerMinute::add(SimTime now) {
  const auto this_minute = static_cast<std::uint64_t>(now / 60s);
  if (this_minute != minute) count = 0;
  minute = this_minute;
  most = std::max(most, ++count / 60);
}

void Simulator::at(SimTime when, std::uint32_t node, EventKind kind, std::uint64_t detail) {
  events_.push({std::max(when, now_), made_++, node, kind, detail});
}

void Simulator::run_until(SimTime until, EventSink& handler) {
  while (!stopped_ && !events_.empty() && events_.top().at <= until) {
    Event event = events_.top();
    events_.pop();
    now_ = std::max(now_, event.at);
    // What a machine that stands still would have done, it does when it goes on.
    const SimTime still = event.kind == EventKind::trouble ? SimTime(0) : stands_still(event.node);
    if (still > now_) {
      event.at = still;
      events_.push(event);
      continue;
    }
    handler.handle(event);
  }
  if (!stopped_) now_ = std::max(now_, until);
}

SimTime Simulator::filesystem_hangs(std::uint64_t node) const {
  SimTime until{};
  for (const Trouble& t : scenario_.troubles) {
    if (t.what == Trouble::What::filesystem && node >= t.first && node <= t.last &&
        now_ >= t.from && now_ < t.until) {
      until = std::max<SimTime>(until, t.until);
    }
  }
  return until;
}

SimTime Simulator::stands_still(std::uint64_t node) const {
  SimTime until{};
  for (const Trouble& t : scenario_.troubles) {
    if ((t.what == Trouble::What::pause || t.what == Trouble::What::lost_time) && node >= t.first &&
        node <= t.last && now_ >= t.from && now_ < t.until) {
      until = std::max<SimTime>(until, t.until);
    }
  }
  return until;
}

void Simulator::wait_for_filesystem(std::uint64_t node) {
  for (SimTime until; (until = std::max(filesystem_hangs(node), stands_still(node))) > now_;) {
    run_until(until, *sink);
    if (stopped_) return;
  }
}

SimTime Simulator::latency(double requests) {
  double seconds = 0;
  for (double left = requests; left > 0; left -= 1) {
    const double u = dice();
    double one = kRequest * (0.5 + dice());
    if (u < kTailPart) {
      one = std::min(kTailEnd, kTailStart * std::pow(std::max(dice(), 1e-9), -1 / kTailShape));
    }
    seconds += one * std::min(left, 1.0);
  }
  return SimTime(static_cast<std::int64_t>(seconds * 1e9));
}

void Simulator::count_requests(double n) {
  if (measured()) figures.requests += n;
}

void Simulator::count_beat() {
  beats_.add(now_);
  figures.most_beats = beats_.most;
  if (measured()) figures.beats += 1;
}

void Simulator::count_commit() {
  commits_.add(now_);
  figures.most_commits = commits_.most;
  if (measured()) figures.commits += 1;
}

WallTime SimClock::wall_now() const {
  const auto since = std::chrono::duration_cast<WallTime>(simulator_.now());
  WallTime jump{};
  if (simulator_.scenario().wall_clocks_jump) {
    const auto minute = static_cast<std::int64_t>(simulator_.now() / 60s);
    jump = std::chrono::hours((minute * 7919 + booted_.count() / 1'000'000'000) % 49 - 24);
  }
  return std::chrono::hours(24 * 365 * 50) + since + jump;
}

void BeatDisk::request() {
  simulator_.wait_for_filesystem(node_);
  simulator_.count_requests(1);
}

Result<store::FileHandle> BeatDisk::open_read(const Path& file) {
  request();
  if (!simulator_.beats.contains(file)) return os_error(ENOENT, "no " + file.string());
  open_ = file;
  return store::FileHandle{3};
}

Result<store::FileHandle> BeatDisk::open_update(const Path& file) {
  request();
  simulator_.beats[file];
  simulator_.figures.beat_files =
      std::max<std::uint64_t>(simulator_.figures.beat_files, simulator_.beats.size());
  open_ = file;
  return store::FileHandle{3};
}

Result<std::string> BeatDisk::read(store::FileHandle, std::uint64_t at, std::size_t n) {
  request();
  const auto file = simulator_.beats.find(open_);
  if (file == simulator_.beats.end()) return std::string();
  const auto bytes = file->second.find(at);
  return bytes == file->second.end() ? std::string(n, '\0') : bytes->second.substr(0, n);
}

Result<void> BeatDisk::write(store::FileHandle, std::uint64_t at, std::string_view bytes) {
  request();
  simulator_.beats[open_][at] = bytes;
  simulator_.count_beat();
  return {};
}

Result<void> BeatDisk::close(store::FileHandle) {
  request();
  return {};
}

Result<void> BeatDisk::unlink(const Path& file) {
  request();
  simulator_.beats.erase(file);
  return {};
}

Result<std::vector<std::string>> BeatDisk::list(const Path&) {
  request();
  return std::vector<std::string>();
}

std::uint64_t NodeStore::newest() {
  std::uint64_t sequence = 0;
  (void)simulator_.state->view(store::Freshness::cached, [&](const store::Reader& reader) {
    sequence = reader.sequence();
    return Result<void>();
  });
  return sequence;
}

double NodeStore::catch_up() {
  const std::uint64_t sequence = newest();
  const double requests = simulator_.cost().catch_up(sequence - std::min(sequence, seen_));
  seen_ = sequence;
  return requests;
}

Result<store::Commit> NodeStore::commit(std::uint64_t author, const Body& body) {
  simulator_.wait_for_filesystem(node_);
  simulator_.count_requests(catch_up());
  TORC_ASSIGN(const store::Commit done, simulator_.state->commit(author, body));
  if (done.wrote) {
    simulator_.count_requests(static_cast<double>(simulator_.cost().commit));
    simulator_.count_commit();
    seen_ = done.sequence;
  }
  return done;
}

Result<void> NodeStore::view(store::Freshness freshness,
                             const std::function<Result<void>(const store::Reader&)>& body) {
  if (freshness == store::Freshness::latest) {
    simulator_.wait_for_filesystem(node_);
    simulator_.count_requests(catch_up());
  }
  return simulator_.state->view(store::Freshness::cached, body);
}

}  // namespace torc::bench
