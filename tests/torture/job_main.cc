// What the jobs of a torture run do: torc-torture-job FILE MICROSECONDS [wall | self | group |
// worker] Appends "start ATTEMPT PID TIME" to FILE.ATTEMPT, waits, appends "end ATTEMPT PID TIME".
// TIME is in nanoseconds, since boot or, with `wall`, since 1970, for jobs of several machines.
// Each line is one write, so lines of two processes never mix. With one of the last three it kills
// itself, its process group or its worker in place of its end.
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

bool say(int fd, const char* what, const char* attempt, clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  char line[128];
  const int size = std::snprintf(line, sizeof line, "%s %s %d %lld%09ld\n", what, attempt,
                                 static_cast<int>(getpid()), static_cast<long long>(now.tv_sec),
                                 static_cast<long>(now.tv_nsec));
  return write(fd, line, static_cast<std::size_t>(size)) == size;
}

}  // namespace

int main(int argc, char** argv) {
  const char* attempt = std::getenv("TORC_ATTEMPT_ID");
  if (argc < 3 || attempt == nullptr) return 2;
  const std::string_view how = argc > 3 ? argv[3] : "";
  const clockid_t clock = how == "wall" ? CLOCK_REALTIME : CLOCK_BOOTTIME;
  char path[4096];
  std::snprintf(path, sizeof path, "%s.%s", argv[1], attempt);
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0 || !say(fd, "start", attempt, clock)) return 1;
  const long microseconds = std::atol(argv[2]);
  const timespec pause{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  if (microseconds > 0) nanosleep(&pause, nullptr);
  if (how == "self") kill(getpid(), SIGKILL);
  if (how == "group") kill(0, SIGKILL);
  if (how == "worker") {
    kill(getppid(), SIGKILL);
    for (;;) ::pause();  // until whoever ends what the worker has left
  }
  return say(fd, "end", attempt, clock) && close(fd) == 0 ? 0 : 1;
}
