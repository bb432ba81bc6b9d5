// Runs commands inside the virtual nodes of the NFS lab.
//   nfs-lab-agent serve PORT            in a node: runs what clients send, each in its own process
//   nfs-lab-agent run ADDRESS PORT CMD  outside: runs CMD there with /bin/sh; its output and exit
//   code
// One connection is one command: its text, then the end of the stream; the answer is its output,
// a zero byte and the exit code as text. Exit code 255: no answer.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

sockaddr_in address_of(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

std::string read_all(int fd) {
  std::string text;
  char buffer[1 << 14];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

void write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

void answer(int connection) {
  const std::string command = read_all(connection);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const int null = dup(0);
    dup2(null, 0);
    dup2(connection, 1);
    dup2(connection, 2);
    close(connection);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  write_all(connection, std::string(1, '\0') + std::to_string(code));
}

int serve(const char* port) {
  signal(SIGCHLD, SIG_IGN);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in any = address_of("0.0.0.0", port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
      listen(listener, 64) != 0) {
    std::perror("nfs-lab-agent");
    return 1;
  }
  for (;;) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      close(listener);
      answer(connection);
      _exit(0);
    }
    close(connection);
  }
}

int run(const char* host, const char* port, const std::string& command) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{3, 0};  // for the connection; then as long as the command takes
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const sockaddr_in there = address_of(host, port);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) return 255;
  const int keep = 1, seconds = 5;  // a node that loses its power sends no end of the stream
  setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &keep, sizeof keep);
  setsockopt(connection, IPPROTO_TCP, 4 /* TCP_KEEPIDLE */, &seconds, sizeof seconds);
  write_all(connection, command);
  shutdown(connection, SHUT_WR);
  std::string tail;  // what may be the trailer
  char buffer[1 << 14];
  for (ssize_t n = 0; (n = read(connection, buffer, sizeof buffer)) > 0;) {
    tail.append(buffer, static_cast<std::size_t>(n));
    const std::size_t zero = tail.rfind('\0');
    const std::size_t text = zero == std::string::npos ? tail.size() : zero;
    write_all(1, tail.substr(0, text));
    tail.erase(0, text);
  }
  return tail.empty() ? 255 : std::atoi(tail.c_str() + 1);
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  if (argc == 3 && std::strcmp(argv[1], "serve") == 0) return serve(argv[2]);
  if (argc == 5 && std::strcmp(argv[1], "run") == 0) return run(argv[2], argv[3], argv[4]);
  std::fprintf(stderr, "nfs-lab-agent serve PORT | nfs-lab-agent run ADDRESS PORT COMMAND\n");
  return 2;
}
