#include "tests/torture/round.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

namespace torc::torture {
namespace {

using nlohmann::json;

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
// Without a line of a job or a commit for so long, nothing will come any more: longer than a frozen
// worker, its lease, the wait for its gate and the longest pause of an idle worker together.
constexpr std::int64_t kStuck = 120 * kSecond;

// Busy, because no timer is as exact.
void pause_for(std::int64_t nanoseconds) {
  const std::int64_t until = boot_now() + nanoseconds;
  while (boot_now() < until) {
  }
}

// The one engine is compacted only when nobody works.
bool is_refused_beside_workers(const std::string& what, const itest::Ended& end) {
  return what == "compact" && end.says("registered as alive");
}

// On a disk that this program has filled.
bool is_for_want_of_space(const itest::Ended& end) {
  return end.exit_code == 4 && end.says("No space left");
}

}  // namespace

Round::Round(const Options& options, const Path& directory, std::uint64_t seed, Faults budget)
    : options_(options),
      directory_(directory),
      store_(directory / (options.full_disks > 0 ? "disk/wf.torc" : "wf.torc")),
      record_(directory / "runs"),
      random_(seed),
      budget_(budget) {}

Round::~Round() {
  unmount_disk();
}

void Round::unmount_disk() {
  if (std::exchange(small_disk_, false)) itest::unmount(directory_ / "disk");
}

void Round::run() {
  try {
    prepare();
    work();
    leave();
    audit();
    unmount_disk();
  } catch (const Violation&) {
    keep_what_is_on_the_disk();
    throw;
  }
}

// The disk goes with this process.
void Round::keep_what_is_on_the_disk() const {
  if (!small_disk_) return;
  std::error_code ignored;
  std::filesystem::copy(store_, directory_ / "wf.torc", std::filesystem::copy_options::recursive,
                        ignored);
}

// --- the stage ---

itest::Launch Round::launch(const Path& tmpdir, std::vector<std::string> words) const {
  itest::Launch launch;
  launch.argv = {options_.torc};
  launch.argv.insert(launch.argv.end(), words.begin(), words.end());
  launch.directory = directory_;
  launch.env["TMPDIR"] = tmpdir;
  if (options_.locks != "real") {
    launch.env["LD_PRELOAD"] = LYING_LOCKS;
    launch.env["LYING_LOCKS_MODE"] = options_.locks;
    launch.env["LYING_LOCKS_UNDER"] = store_;
    launch.env["LYING_LOCKS_RECORD"] = directory_ / "locks";
    launch.env["ASAN_OPTIONS"] = "verify_asan_link_order=0";
  }
  return launch;
}

const Path& Round::some_tmpdir() {
  return tmpdirs_[between<std::size_t>(random_, 0, tmpdirs_.size() - 1)];
}

Member& Round::some_member() {
  return *members_[between<std::size_t>(random_, 0, members_.size() - 1)];
}

// So small that it is filled in no time, large enough for the store.
void Round::mount_disk() {
  itest::mount_small_disk(directory_ / "disk", std::size_t{64} << 20U);
  small_disk_ = true;
}

void Round::prepare() {
  for (const char* name : {"runs", "locks"}) std::filesystem::create_directories(directory_ / name);
  if (options_.full_disks > 0) mount_disk();
  std::size_t nodes = options_.replicas == Replicas::own ? options_.workers : 1;
  if (options_.replicas == Replicas::pairs) nodes = (options_.workers + 1) / 2;
  for (std::size_t i = 0; i < nodes; ++i) {
    tmpdirs_.push_back(directory_ / fmt::format("node{}", i));
    std::filesystem::create_directories(tmpdirs_.back());
  }
  plan_ = random_plan(options_.jobs, random_);
  make_long(plan_, options_.long_jobs, random_);
  make_deadly(plan_, options_.deadly, random_);
  itest::write_text(directory_ / "wf.yaml",
                    spec_of(plan_, options_.directory / "torc-torture-job", record_));
  const auto init = itest::run(launch(
      tmpdirs_.front(), {"init", "wf.yaml", "--engine", options_.engine, "--store", store_}));
  if (init.exit_code != 0) throw Violation{"torc init failed: " + init.err};
  events_ = std::make_unique<Events>(record_);
  for (std::size_t i = 0; i < options_.workers; ++i) {
    members_.push_back(std::make_unique<Member>(
        launch(tmpdirs_[i % nodes],
               {"worker", store_, "--lease-ttl", fmt::format("{}s", kLease.count()),
                "--max-parallel-jobs", std::to_string(options_.slots)}),
        ledger_));
    members_.back()->start();
  }
  last_event_ = last_look_ = boot_now();
  until_fault_ = between<std::int64_t>(random_, 1, 20);
}

// --- the loop ---

void Round::work() {
  while (!finished_ || frozen_ != nullptr) {
    wait_for_something();
    run_due();
    tend();
    check_progress();
  }
}

void Round::wait_for_something() {
  std::vector<pollfd> fds;
  const auto add = [&](const itest::Source& source) {
    for (const int fd : source.fds()) fds.push_back({fd, POLLIN, 0});
  };
  add(*events_);
  for (const auto& member : members_) add(member->process());
  for (const Reader& reader : readers_) add(*reader.process);
  std::int64_t pause = kSecond;
  if (!due_.empty()) pause = std::clamp<std::int64_t>(due_.begin()->first - boot_now(), 0, pause);
  const timespec timeout{pause / kSecond, pause % kSecond};
  if (ppoll(fds.data(), fds.size(), &timeout, nullptr) < 0 && errno != EINTR)
    throw Violation{"ppoll failed"};
  const std::int64_t now = boot_now();
  if (now - last_look_ > 3 * kSecond) ledger_.stalled(wall_now() - (now - last_look_), wall_now());
  last_look_ = now;
}

void Round::run_due() {
  while (!due_.empty() && due_.begin()->first <= boot_now()) {
    const auto action = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    action();
  }
}

void Round::tend() {
  events_->pump();
  if (const auto count = static_cast<std::int64_t>(events_->take()); count > 0) {
    last_event_ = boot_now();
    until_fault_ -= count;
    if (until_fault_ <= 0) {
      until_fault_ =
          between<std::int64_t>(random_, 1, 2 * static_cast<std::int64_t>(options_.spacing));
      // Not at the event but somewhere after it: often in the middle of the next commit.
      at(boot_now() + between<std::int64_t>(random_, 0, 700 * kMicrosecond),
         [this] { inject_fault(); });
    }
  }
  std::vector<pid_t> own;
  for (const auto& member : members_) {
    member->process().pump();
    if (!member->process().running()) worker_ended(*member);
    own.push_back(member->process().pid());  // that of its successor, which may have ended already
  }
  for (std::size_t i = 0; i < readers_.size();) {
    Reader& reader = readers_[i];
    reader.process->pump();
    own.push_back(reader.process->pid());
    if (reader.process->running()) {
      ++i;
      continue;
    }
    const Reader ended = std::move(reader);
    readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(i));
    const itest::Ended end = ended.process->wait();
    if (ended.struck && end.signal == SIGKILL) continue;
    // The one process of engine lmdb that was stopped inside a commit keeps all others out.
    const bool busy = end.exit_code == 4 && end.says("is held by");
    if (busy || is_for_want_of_space(end)) continue;
    if (end.exit_code == 4 && is_refused_beside_workers(ended.what, end)) continue;
    if (end.exit_code != 0)
      throw Violation{fmt::format("torc {}: exit code {}, signal {}: {}{}", ended.what,
                                  end.exit_code, end.signal, end.out, end.err)};
    if (ended.then) ended.then(end);
  }
  reap_orphans(own);
}

void Round::worker_ended(Member& member) {
  const itest::Ended end = member.process().wait();
  member.buried();
  const bool struck = end.signal == SIGKILL || end.exit_code == 128 + SIGKILL ||
                      (finished_ && end.signal == SIGTERM);  // told to leave before it listened
  // 3: lost its lease too often, or the store was held by somebody who is frozen.
  const bool gave_up =
      is_for_want_of_space(end) ||
      (end.exit_code == 4 && (end.says("lease") || end.says("is held by") || end.says("killed")));
  if (!struck && !gave_up && end.exit_code != 0) {
    throw Violation{fmt::format("a worker ended with exit code {}, signal {}:\n{}{}", end.exit_code,
                                end.signal, end.out, end.err)};
  }
  if (finished_) return;
  if (end.exit_code == 0) ask_whether_finished();
  member.start();
  // Some are not given the time to begin.
  if (struck && dealt_.kills < budget_.kills && between(random_, 0, 7) == 0) {
    at(boot_now() + between<std::int64_t>(random_, 0, 30 * kMillisecond),
       [this, &member] { kill_worker(member); });
  }
}

void Round::ask_whether_finished() {
  if (asked_) return;
  asked_ = true;
  ask("status", some_tmpdir(), {"status", store_, "--json"}, [this](const itest::Ended& end) {
    asked_ = false;
    const json status = json::parse(end.out, nullptr, false);
    if (status.is_discarded()) throw Violation{"torc status prints no JSON: " + end.out};
    const std::string state = status.at("state");
    finished_ = state == "completed" || state == "failed";
  });
}

void Round::check_progress() {
  if (boot_now() - last_event_ < kStuck) return;
  throw Violation{"nothing happens any more\n" + evidence()};
}

std::string Round::evidence() const {
  std::string text;
  for (const auto& member : members_) {
    if (member->process().running()) text += member->evidence();
  }
  return text;
}

// --- faults ---

void Round::inject_fault() {
  if (finished_) return;
  Member& member = some_member();
  const int kind = between(random_, 0, 99);
  const int readers = options_.maintenance ? 24 : 12;
  if (kind < readers) {
    options_.maintenance&& between(random_, 0, 1) == 0 ? start_maintenance() : start_reader();
  } else if (kind < readers + 8 && dealt_.full_disks < options_.full_disks && !full_) {
    fill_disk();
  } else if (kind < readers + 16 || dealt_.kills >= budget_.kills) {
    stop_worker(member, frozen_ == nullptr && dealt_.long_stops < budget_.long_stops);
  } else {
    kill_worker(member);
  }
}

void Round::kill_worker(Member& member) {
  if (finished_ || !member.process().running() || dealt_.kills >= budget_.kills) return;
  // It is to be frozen, not dead. So rarely is anything else, that this one may go to another.
  if (&member == frozen_) return kill_worker(*members_[&member == members_.front().get() ? 1 : 0]);
  // One in two dies in the middle of a commit, if it makes one soon; at any step of it.
  if (between(random_, 0, 1) == 0 && member.wait_for_commit(20 * kMillisecond))
    pause_for(between<std::int64_t>(random_, 0, 300 * kMicrosecond));
  ++dealt_.kills;
  if (member.is_committing()) ++dealt_.in_commit;
  member.strike(static_cast<Target>(between(random_, 0, 2)), SIGKILL);
}

void Round::stop_worker(Member& member, bool beyond_lease) {
  if (!member.process().running() || member.is_stopped()) return;
  if (!beyond_lease) ++dealt_.stops;
  if (beyond_lease) frozen_ = &member;
  // Not of one that is killed in part: the shell would see a job that has ended.
  if (options_.ctrl_z && between(random_, 0, 1) == 0) {
    member.suspend();
  } else {
    member.strike(static_cast<Target>(between(random_, 0, 2)), SIGSTOP);
  }
  const std::int64_t lease = kLease.count() * kSecond;
  const std::int64_t pause = beyond_lease ? between(random_, lease, lease + 5 * kSecond)
                                          : between(random_, kMillisecond, 300 * kMillisecond);
  const pid_t who = member.process().pid();
  at(boot_now() + pause, [this, &member, who, beyond_lease] {
    if (beyond_lease) {
      ++dealt_.long_stops;
      frozen_ = nullptr;
    }
    if (member.process().pid() == who) member.resume();
  });
}

void Round::start_reader() {
  static const std::vector<std::vector<std::string>> kReaders{
      {"status"}, {"verify"}, {"jobs", "--json"}, {"jobs", "--json"}};
  std::vector<std::string> words = kReaders[between<std::size_t>(random_, 0, kReaders.size() - 1)];
  words.insert(words.begin() + 1, store_);
  const bool looks = words.front() == "jobs";
  ask(words.front(), some_tmpdir(), words, [this, looks](const itest::Ended& end) {
    if (looks) accepted_.see(json::parse(end.out));
  });
  strike_reader();
}

// Every other one of those that read may do so in peace.
void Round::strike_reader() {
  if (between(random_, 0, 1) == 0) return;
  ++dealt_.readers;
  readers_.back().struck = true;
  const pid_t pid = readers_.back().process->pid();
  at(boot_now() + between<std::int64_t>(random_, 0, 30 * kMillisecond), [this, pid] {
    for (const Reader& reader : readers_) {
      if (reader.process->pid() == pid) reader.process->kill(SIGKILL);
    }
  });
}

// What people do to a store while workers go on. Where it is refused it says why, and does nothing.
void Round::start_maintenance() {
  ++dealt_.maintenance;
  const int kind = between(random_, 0, options_.engine == "journal" ? 2 : 1);
  if (kind == 0) {
    ask("compact", some_tmpdir(), {"compact", store_}, {});
  } else if (kind == 1) {
    const Path copy = directory_ / fmt::format("backup{}", dealt_.maintenance);
    ask("backup", some_tmpdir(), {"backup", store_, copy}, [this, copy](const itest::Ended& end) {
      std::error_code gone;
      if (end.exit_code == 0) std::filesystem::remove_all(copy, gone);
    });
  } else {
    ask("repair", some_tmpdir(), {"repair", store_}, {});
  }
  strike_reader();
}

void Round::fill_disk() {
  ++dealt_.full_disks;
  full_ = true;
  itest::fill_disk(directory_ / "disk/ballast");
  at(boot_now() + between<std::int64_t>(random_, 10 * kMillisecond, kSecond), [this] {
    std::filesystem::remove(directory_ / "disk/ballast");
    full_ = false;
  });
}

void Round::ask(std::string what, const Path& tmpdir, std::vector<std::string> words, Then then) {
  readers_.push_back({std::make_unique<itest::Process>(launch(tmpdir, std::move(words))),
                      std::move(what), false, std::move(then)});
}

// --- the end ---

// Everybody may go on and leave in his own time; who only waits for news is told to leave.
void Round::leave() {
  due_.clear();
  std::error_code none;
  std::filesystem::remove(directory_ / "disk/ballast", none);
  for (const auto& member : members_) member->resume();
  const std::int64_t patience = boot_now() + 2 * kSecond;
  const std::int64_t limit = boot_now() + 90 * kSecond;
  bool told = false;
  const auto anybody = [&] {
    return !readers_.empty() || std::any_of(members_.begin(), members_.end(),
                                            [](const auto& m) { return m->process().running(); });
  };
  while (anybody()) {
    if (!told && boot_now() > patience) {
      told = true;
      for (const auto& member : members_) member->process().kill(SIGTERM);
    }
    if (boot_now() > limit)
      throw Violation{"a worker does not leave a finished workflow\n" + evidence()};
    wait_for_something();
    tend();
  }
  const std::vector<std::string> left = survivors(std::chrono::seconds(10));
  if (!left.empty()) {
    throw Violation{fmt::format("{} process(es) outlived their workers, such as {}", left.size(),
                                left.front())};
  }
}

json Round::ask_now(std::vector<std::string> words) {
  const Path fresh = directory_ / "auditor";
  std::filesystem::create_directories(fresh);
  const itest::Ended end = itest::run(launch(fresh, words));
  if (end.exit_code != 0)
    throw Violation{
        fmt::format("torc {}: exit code {}: {}{}", words.front(), end.exit_code, end.out, end.err)};
  return json::parse(end.out);
}

void Round::audit() {
  const json verified = ask_now({"verify", store_, "--json"});
  if (verified.at("clean") != true) throw Violation{"verify: " + verified.dump()};
  const json jobs = ask_now({"jobs", store_, "--json"});
  audit_counts(jobs, ask_now({"status", store_, "--json"}));
  accepted_.see(jobs);
  audit_files(plan_, record_, jobs, 0, account_);
  if (options_.engine == "journal") audit_chain(plan_, store_, jobs, ledger_, account_);
}

}  // namespace torc::torture
