#include "bin/commands/store/bench_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/codec.h"

namespace torc::cli {
namespace {

struct Child {
  pid_t pid = -1;
  int from = -1;  // what it writes
};

std::string encode(const Result<doctor::BenchSamples>& measured) {
  Encoder out;
  if (!measured.ok()) {
    out.u8(0).text(measured.error().what).text(measured.error().remedy);
    return out.bytes();
  }
  out.u8(1).varint(measured->conflicts).varint(measured->requests).varint(measured->modifying);
  out.svarint(measured->elapsed.count()).varint(measured->times.size());
  for (const auto time : measured->times) out.svarint(time.count());
  return out.bytes();
}

Result<doctor::BenchSamples> decode(std::string_view bytes) {
  Decoder in(bytes);
  if (in.u8() == 0) {
    const std::string what(in.text());
    return Error{ErrorKind::io, what.empty() ? "a process of the benchmark was killed" : what,
                 std::string(in.text())};
  }
  doctor::BenchSamples out;
  out.conflicts = in.varint();
  out.requests = in.varint();
  out.modifying = in.varint();
  out.elapsed = std::chrono::nanoseconds(in.svarint());
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) out.times.emplace_back(in.svarint());
  return out;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string read_all(int fd) {
  std::string out;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return out;
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

Result<Child> start(const App& app, const Path& store, const Path& root, BootTime from,
                    BootTime until, const doctor::Interrupted& interrupted) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) < 0) return os_error(errno, "cannot make a pipe");
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int failed = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return os_error(failed, "cannot start a process");
  }
  if (pid > 0) {
    ::close(ends[1]);
    return Child{pid, ends[0]};
  }
  // Randomness of its own: what the parent has buffered is the same in every child.
  SystemEntropy entropy;
  const store::World world{
      app.world.disk,          app.world.clock, entropy, app.world.host, app.world.boot_id,
      app.world.pid_namespace, app.world.uid,   {root},  app.world.tell, app.world.machine};
  write_all(ends[1], encode(doctor::bench_commits(world, store, from, until, interrupted)));
  ::_exit(0);
}

}  // namespace

Result<std::vector<doctor::BenchSamples>> bench_in_processes(
    const App& app, const Path& store, const std::vector<Path>& roots, BootTime from,
    BootTime until, const doctor::Interrupted& interrupted) {
  std::vector<Child> children;
  std::optional<Error> failed;
  for (const Path& root : roots) {
    auto child = start(app, store, root, from, until, interrupted);
    if (child) {
      children.push_back(*child);
    } else {
      failed = std::move(child).error();
    }
  }
  std::vector<doctor::BenchSamples> out;
  for (const Child& child : children) {
    auto measured = decode(read_all(child.from));
    ::close(child.from);
    while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (measured) {
      out.push_back(*std::move(measured));
    } else if (!failed) {
      failed = std::move(measured).error();
    }
  }
  if (failed) return *failed;
  return out;
}

}  // namespace torc::cli
