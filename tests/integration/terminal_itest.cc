// torc run and torc exec on a terminal: a pty stands in for the person.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

// The side of a terminal where the person sits.
class Terminal final : public Source {
 public:
  Terminal() : fd_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    EXPECT_TRUE(grantpt(fd_) == 0 && unlockpt(fd_) == 0);
    resize(100);
  }
  ~Terminal() override { close(fd_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void resize(int columns) const {
    winsize size{24, static_cast<unsigned short>(columns), 0, 0};
    EXPECT_EQ(ioctl(fd_, TIOCSWINSZ, &size), 0);
  }
  // The program with this as its controlling terminal: Ctrl-C reaches it as it would a person's.
  [[nodiscard]] Launch on(Launch launch) const {
    std::string line = "exec setsid -w /bin/sh -c 'exec \"$@\" <\"$0\" >\"$0\" 2>&1' ";
    line += std::string(ptsname(fd_)) + " \"$@\"";
    std::vector<std::string> argv{"/bin/sh", "-c", line, "sh"};
    argv.insert(argv.end(), launch.argv.begin(), launch.argv.end());
    launch.argv = std::move(argv);
    launch.env["TERM"] = "xterm";
    return launch;
  }
  void type(char c) const { EXPECT_EQ(write(fd_, &c, 1), 1); }

  void pump() override {
    char buffer[4096];
    ssize_t n = 0;
    while ((n = read(fd_, buffer, sizeof buffer)) > 0)
      text_.append(buffer, static_cast<std::size_t>(n));
  }
  [[nodiscard]] std::vector<int> fds() const override { return {fd_}; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool shows(std::string_view text) const {
    return text_.find(text) != std::string::npos;
  }

 private:
  int fd_;
  std::string text_;
};

constexpr char kCtrlC = 3;

// `a` fails, `b` waits at the gate, `c` is left over.
void write_workflow(const Workplace& here) {
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: a, command: exit 3, priority: 9}
  - {name: b, command: echo b > record; read x < gate, priority: 5}
  - {name: c, command: "true"}
)");
}

TEST(Terminal, shows_progress_and_failures_as_they_come) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  write_workflow(here);
  Terminal terminal;
  Process process(terminal.on(here.torc({"run", "wf.yaml", "--num-cpus", "1"})));
  // While b runs nothing is committed: what the last commit said must be seen all the same.
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] {
    return terminal.shows("failed: a: exit code 3") && terminal.shows("  0 %  0/3  1 running") &&
           terminal.shows("1 failed");
  })) << terminal.text();
  EXPECT_TRUE(terminal.shows("\r\x1b[K["));
  gate.open_gate(1);
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] {
    return terminal.shows(" 66 %  2/3") && terminal.shows("2 of 3 job(s) completed, 1 failed");
  })) << terminal.text();
  (void)process.wait();
}

TEST(Terminal, ctrl_c_drains_and_says_how_to_go_on) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  write_workflow(here);
  Terminal terminal;
  Process process(terminal.on(here.torc({"run", "wf.yaml", "--num-cpus", "1"})));
  ASSERT_TRUE(wait_until({&process, &terminal, &record}, [&] { return record.has("b"); }));
  terminal.type(kCtrlC);
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] {
    return terminal.shows("finishing 1 running job(s); press Ctrl-C again to stop them");
  })) << terminal.text();
  gate.open_gate(1);
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] {
    return terminal.shows("go on with: torc run wf.torc");
  })) << terminal.text();
  (void)process.wait();
  EXPECT_EQ(here.jobs("wf.torc").at("b")["state"], "completed");
  EXPECT_EQ(here.jobs("wf.torc").at("c")["state"], "ready");
}

TEST(Terminal, a_window_that_was_made_smaller_gets_shorter_lines) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  write_workflow(here);
  Terminal terminal;
  Process process(terminal.on(here.torc({"run", "wf.yaml", "--num-cpus", "1"})));
  ASSERT_TRUE(wait_until({&process, &terminal, &record}, [&] { return record.has("b"); }));
  terminal.resize(30);
  gate.open_gate(1);
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] { return terminal.shows(" 66 %  2/3"); }))
      << terminal.text();
  (void)process.wait();
  terminal.pump();  // what is printed after the progress line is not cut
  const std::size_t end = terminal.text().find(" 66 %  2/3");
  ASSERT_NE(end, std::string::npos);
  const std::string line = terminal.text().substr(terminal.text().rfind("\x1b[K", end) + 3);
  EXPECT_LT(line.find_first_of("\r\n"), 30U) << line;
}

TEST(Terminal, quiet_shows_nothing) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: 'true'}]\n");
  Terminal terminal;
  Process process(terminal.on(here.torc({"run", "-q", "wf.yaml"})));
  (void)process.wait();
  terminal.pump();
  EXPECT_EQ(terminal.text(), "");
}

TEST(Terminal, without_one_there_are_plain_lines) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: exit 1}]\n");
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.out.find('\r'), std::string::npos) << ended;
  EXPECT_EQ(ended.out.find('\x1b'), std::string::npos) << ended;
  EXPECT_TRUE(ended.says("failed: a: exit code 1\n")) << ended;
}

TEST(Terminal, output_of_exec_is_not_written_over_by_its_progress) {
  const Workplace here;
  Terminal terminal;
  Process process(terminal.on(
      here.torc({"exec", "--progress", "-j1", "-k", "-c", "printf 'out %s' {}", "a", "b"})));
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] { return terminal.shows("2 of 2 job(s)"); }))
      << terminal.text();
  (void)process.wait();
  EXPECT_TRUE(terminal.shows("100 %  2/2")) << terminal.text();
  // Each begins at the start of an empty line and ends its line.
  for (const std::string out : {"out a\r\n", "out b\r\n"}) {
    const std::size_t at = terminal.text().find(out);
    ASSERT_NE(at, std::string::npos) << terminal.text();
    EXPECT_TRUE(at == 0 || terminal.text()[at - 1] == '\n' || terminal.text()[at - 1] == 'K')
        << terminal.text();
  }
}

}  // namespace
}  // namespace torc::itest
