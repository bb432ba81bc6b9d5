// Builds the world once (disk, clock, entropy, environment, streams) and hands it to the command
// line.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "bin/app.h"
#include "bin/cli.h"
#include "bin/signals.h"
#include "bin/waiting_disk.h"
#include "lib/base/file/shared_mapping.h"
#include "lib/exec/machine/machine.h"
#include "lib/store/mount/home.h"

extern char** environ;

namespace {

std::optional<std::string> read_env(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::vector<std::filesystem::path> replica_roots() {
  std::vector<std::filesystem::path> roots;
  if (auto dir = read_env("TMPDIR"); dir && dir->starts_with('/')) roots.emplace_back(*dir);
  roots.emplace_back("/dev/shm");
  roots.emplace_back("/tmp");
  // Small, and gone when the user logs out; but nobody else can take our name there.
  if (auto dir = read_env("XDG_RUNTIME_DIR"); dir && dir->starts_with('/'))
    roots.emplace_back(*dir);
  return roots;
}

std::string host_name() {
  char buffer[256] = {};
  gethostname(buffer, sizeof buffer - 1);
  return buffer;
}

// It can only be read by being set.
mode_t user_umask() {
  const mode_t mask = umask(077);
  umask(mask);
  return mask;
}

// A terminal on which a line can be drawn again; Emacs' shell and serial consoles say that they
// cannot.
bool can_redraw(int fd) {
  return isatty(fd) == 1 && read_env("TERM").value_or("dumb") != "dumb";
}

int columns_of(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

int columns_now() {
  return columns_of(isatty(STDOUT_FILENO) == 1 ? STDOUT_FILENO : STDERR_FILENO);
}

int rows_now() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

void tell(const std::string& line) {
  torc::cli::say(stderr, "torc: note: {}\n", line);
}

// A file that is opened later would have the number of a stream that was closed, and be taken for
// it. Writing fails as before.
void fill_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
  }
}

// The command as it was typed, for those who ask later who changed what.
std::string words_of(int argc, char** argv) {
  constexpr std::size_t kMostBytes = 300;
  std::string words = "torc";
  for (int i = 1; i < argc && words.size() <= kMostBytes; ++i)
    words += " " + torc::shell_word(argv[i]);
  if (words.size() > kMostBytes) words = words.substr(0, kMostBytes) + "…";
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  // Whoever started this may have ignored it; then no end of a child would ever be told.
  signal(SIGCHLD, SIG_DFL);
  torc::cli::explain_crashes();
  torc::mind_shared_mappings();
  torc::cli::WaitingDisk disk(stderr);
  torc::SystemClock clock;
  torc::SystemEntropy entropy;
  torc::SystemEntropy second_entropy;
  torc::store::World world{disk,
                           clock,
                           entropy,
                           host_name(),
                           torc::exec::boot_id(),
                           torc::exec::pid_namespace(),
                           geteuid(),
                           replica_roots(),
                           tell,
                           torc::store::machine_id()};
  torc::store::World second{disk,           clock,
                            second_entropy, world.host,
                            world.boot_id,  world.pid_namespace,
                            world.uid,      world.replica_roots,
                            tell,           world.machine};
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::current_path(error);
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) program = argv[0];
  const torc::cli::App app{
      {clock, world, second, read_env, directory, program, environ, user_umask(), nullptr},
      stdout,
      stderr,
      can_redraw(STDOUT_FILENO),
      columns_of(STDOUT_FILENO),
      can_redraw(STDERR_FILENO),
      columns_now,
      rows_now,
      false,
      torc::cli::Color::automatic,
      words_of(argc, argv),
      clock.wall_now()};
  torc::cli::Exit exit = torc::cli::Exit::ok;
  try {
    exit = torc::cli::run_command_line(app, argc, argv);
  } catch (const std::bad_alloc&) {  // a limit of the batch system, or a store that somebody forged
    torc::cli::say(
        stderr,
        "torc: error: there is not enough memory\n  try it where there is more, or with a "
        "higher limit (ulimit -v)\n");
    return static_cast<int>(torc::cli::Exit::store);
  } catch (const std::exception& failed) {
    torc::cli::say(stderr, "torc: error: {}\n  this is a mistake in torc, or in a store\n",
                   failed.what());
    return static_cast<int>(torc::cli::Exit::store);
  }
  // What did not fit is gone from the buffer: then the flush says nothing any more.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && exit == torc::cli::Exit::ok) {
    torc::cli::say(stderr, "torc: error: cannot write the output\n");
    return static_cast<int>(torc::cli::Exit::store);
  }
  return static_cast<int>(exit);
}
