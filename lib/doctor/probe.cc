#include "lib/doctor/probe.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>
#include <sys/quota.h>

#include <algorithm>

#include "lib/store/disk/hash.h"

namespace torc::doctor {
namespace {

using std::chrono::nanoseconds;

// A wall clock before this program was written, or long after anybody runs it, is a broken one.
constexpr WallTime kEarliest = std::chrono::hours(24 * 365 * 54);
constexpr WallTime kLatest = std::chrono::hours(24 * 365 * 150);
constexpr std::size_t kContent = 256;

std::string random_name(Entropy& entropy) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(entropy.next()));
  return text;
}

Result<Path> resolved(const Path& directory) {
  std::error_code error;
  Path real = std::filesystem::canonical(directory, error);
  if (error) {
    return os_error(error.value(), "cannot look at " + directory.string(),
                    "name a directory that exists");
  }
  const bool is_directory = std::filesystem::is_directory(real, error);
  if (error) return os_error(error.value(), "cannot look at " + directory.string());
  if (!is_directory) {
    return Error{ErrorKind::invalid, directory.string() + " is not a directory",
                 "name the directory in which a store is, or shall be"};
  }
  return real;
}

// One commit's worth of work, step by step.
Result<void> time_round(const store::World& world, const Path& directory,
                        store::Publisher& publisher, std::size_t round,
                        std::vector<nanoseconds> (&samples)[4]) {
  const auto now = [&] { return world.clock.boot_now(); };
  const Path file = directory / ("f" + std::to_string(round));
  const std::string content(kContent, 'x');
  BootTime begun = now();
  TORC_TRY(write_file(world.disk, file, content, store::Durable::yes));
  samples[0].push_back(now() - begun);
  if (publisher.method().primitive != store::Primitive::rename_directory) {
    begun = now();
    TORC_TRY(world.disk.link(file, directory / ("l" + std::to_string(round))));
    if (publisher.method().name != store::DurableName::server)
      TORC_TRY(world.disk.sync_directory(directory));
    samples[1].push_back(now() - begun);
    TORC_TRY(world.disk.unlink(directory / ("l" + std::to_string(round))));
  }
  TORC_TRY(world.disk.unlink(file));
  begun = now();
  TORC_TRY(world.disk.list(directory));
  samples[2].push_back(now() - begun);
  begun = now();
  const std::string name = "p" + std::to_string(round);
  TORC_ASSIGN(const store::Publication made, publisher.publish(directory, name, content));
  samples[3].push_back(now() - begun);
  if (made.state != store::Publication::State::done) return made.error;
  return publisher.remove(directory, name);
}

Result<void> measure(const store::World& world, const Path& directory,
                     const ExamineOptions& options, const Interrupted& interrupted, Checkup& out) {
  if (!out.publish) return {};
  store::Publisher publisher(world.disk, world.entropy, *out.publish, store::Durable::yes);
  std::vector<nanoseconds> samples[4];
  const BootTime until = world.clock.boot_now() + options.budget;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    if (interrupted() || (round > 0 && world.clock.boot_now() >= until)) break;
    TORC_TRY(time_round(world, directory, publisher, round, samples));
  }
  out.sync = store::summarize(std::move(samples[0]));
  out.link = store::summarize(std::move(samples[1]));
  out.list = store::summarize(std::move(samples[2]));
  out.publication = store::summarize(std::move(samples[3]));
  return {};
}

// The time stamp of a file that is new. Not a matter of Disk: the store never asks for one.
std::optional<ClockReading> read_clocks(const store::World& world, const Path& directory,
                                        nanoseconds wall_less_boot) {
  const Path file = directory / "clock";
  const WallTime before = world.clock.wall_now();
  if (!write_file(world.disk, file, "x", store::Durable::yes).ok()) return std::nullopt;
  const WallTime after = world.clock.wall_now();
  struct stat st {};
  if (::stat(file.c_str(), &st) < 0) return std::nullopt;
  (void)world.disk.unlink(file);
  ClockReading out;
  const nanoseconds stamp =
      std::chrono::seconds(st.st_mtim.tv_sec) + nanoseconds(st.st_mtim.tv_nsec);
  // Kernels stamp by a clock that ticks every few milliseconds.
  constexpr nanoseconds kTick = std::chrono::milliseconds(20);
  if (stamp < before - kTick) out.mtime_ahead = stamp - nanoseconds(before);
  if (stamp > after + kTick) out.mtime_ahead = stamp - nanoseconds(after);
  out.stepped = (nanoseconds(after) - world.clock.boot_now()) - wall_less_boot;
  out.plausible = after > kEarliest && after < kLatest;
  return out;
}

Space read_space(const Path& directory) {
  struct statvfs fs {};
  if (::statvfs(directory.c_str(), &fs) < 0) return {};
  return {{fs.f_bavail * fs.f_frsize}, {fs.f_blocks * fs.f_frsize}, fs.f_favail, fs.f_files};
}

// quotactl_fd(2), Linux 5.14: no device name is needed. NFS and many others do not answer.
std::vector<Quota> read_quotas(const Path& directory) {
  std::vector<Quota> out;
#ifdef SYS_quotactl_fd
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return out;
  const auto ask = [&](const char* of, int type, unsigned id) {
    dqblk q{};
    if (::syscall(SYS_quotactl_fd, fd, QCMD(Q_GETQUOTA, type), id, &q) != 0) return;
    const std::uint64_t blocks = q.dqb_bsoftlimit != 0 ? q.dqb_bsoftlimit : q.dqb_bhardlimit;
    const std::uint64_t files = q.dqb_isoftlimit != 0 ? q.dqb_isoftlimit : q.dqb_ihardlimit;
    out.push_back({of, {q.dqb_curspace}, {blocks * 1024}, q.dqb_curinodes, files});
  };
  ask("user", USRQUOTA, ::geteuid());
  ask("group", GRPQUOTA, ::getegid());
  ::close(fd);
#else
  (void)directory;
#endif
  return out;
}

void find_leftovers(store::Disk& disk, const Path& directory, const Path& own,
                    std::vector<std::string>& out) {
  const Result<std::vector<std::string>> names = disk.list(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if ((name.starts_with(TrialDirectory::kPrefix) || name == kMeetingPlace) &&
        name != own.filename())
      out.push_back(name);
  }
  std::sort(out.begin(), out.end());
}

}  // namespace

Result<TrialDirectory> TrialDirectory::make(store::Disk& disk, Entropy& entropy,
                                            const Path& parent) {
  disk.protect(parent);
  const Path path = parent / (std::string(kPrefix) + random_name(entropy));
  TORC_TRY(disk.make_directory(path));
  return TrialDirectory(disk, path);
}

TrialDirectory::~TrialDirectory() {
  if (disk_ != nullptr) (void)remove_tree(*disk_, path_);
}

Result<Checkup> examine(const store::World& world, const Path& directory,
                        const ExamineOptions& options, const Interrupted& interrupted) {
  Checkup out;
  const nanoseconds wall_less_boot = nanoseconds(world.clock.wall_now()) - world.clock.boot_now();
  TORC_ASSIGN(out.directory, resolved(directory));
  out.host = world.host;
  TORC_ASSIGN(out.magic, world.disk.filesystem(out.directory));
  out.type = store::filesystem_type(out.magic);
  out.mount = store::mount_of(options.mountinfo, out.directory);
  out.facts = mount_facts(mount_kind(out.mount, out.magic));
  out.engine =
      out.type.sharing == store::Sharing::shared ? store::Engine::journal : store::Engine::lmdb;
  out.space = read_space(out.directory);
  out.quotas = read_quotas(out.directory);
  out.replicas = probe_replica_places(world);
  out.limits = read_limits(options.proc_sys);

  TORC_ASSIGN(const TrialDirectory trial,
              TrialDirectory::make(world.disk, world.entropy, out.directory));
  find_leftovers(world.disk, out.directory, trial.path(), out.leftovers);
  Result<store::PublishMethod> method = probe_publish(world.disk, world.entropy, trial.path());
  if (method.ok()) {
    out.publish = *method;
  } else {
    out.publish_error = std::move(method).error();
  }
  for (const store::LockKind kind : store::kLockKinds) {
    if (interrupted()) break;
    const Path file = trial.path() / ("lock-" + std::string(to_string(kind)));
    const Result<store::LockOutcome> outcome = probe_lock(kind, trial.path().parent_path(), file);
    if (outcome.ok()) out.locks.push_back(*outcome);
  }
  const Path latencies = trial.path() / "t";
  TORC_TRY(world.disk.make_directory(latencies));
  TORC_TRY(measure(world, latencies, options, interrupted, out));
  out.clock = read_clocks(world, trial.path(), wall_less_boot);
  out.interrupted = interrupted();
  return out;
}

}  // namespace torc::doctor
