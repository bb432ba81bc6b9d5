// What the jobs of a torture run do: torc-torture-job FILE MICROSECONDS
// Appends "start ATTEMPT PID TIME" to FILE, waits, appends "end ATTEMPT PID TIME". TIME is
// CLOCK_BOOTTIME in nanoseconds. Each line is one write, so lines of two attempts never mix.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

bool say(int fd, const char* what) {
  const char* attempt = std::getenv("TORC_ATTEMPT_ID");
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  char line[128];
  const int size =
      std::snprintf(line, sizeof line, "%s %s %d %lld%09ld\n", what,
                    attempt != nullptr ? attempt : "-", static_cast<int>(getpid()),
                    static_cast<long long>(now.tv_sec), static_cast<long>(now.tv_nsec));
  return write(fd, line, static_cast<std::size_t>(size)) == size;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0 || !say(fd, "start")) return 1;
  const long microseconds = std::atol(argv[2]);
  const timespec pause{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  if (microseconds > 0) nanosleep(&pause, nullptr);
  return say(fd, "end") && close(fd) == 0 ? 0 : 1;
}
