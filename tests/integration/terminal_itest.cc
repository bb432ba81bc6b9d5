// torc run, exec, redo, status, tables and --help on a terminal: a pty stands in for the person.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/text/utf8.h"
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
    launch.env.try_emplace("NO_COLOR", "1");
    return launch;
  }
  void type_line(const std::string& line) const {
    const std::string text = line + "\n";
    EXPECT_EQ(write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
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
using Words = std::vector<std::string>;

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
    return terminal.shows(" 66 %  2/3") && terminal.shows("2 of 3 jobs completed, 1 failed");
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
    return terminal.shows("finishing 1 running job; press Ctrl-C again to stop it");
  })) << terminal.text();
  gate.open_gate(1);
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] {
    return terminal.shows("go on with: torc run wf.yaml");
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

// Answers each question with what follows it; empty: Enter.
class Conversation {
 public:
  explicit Conversation(const Workplace& here) : process_(terminal_.on(here.torc({"new"}))) {}

  void answer(const std::string& question, const std::string& line) {
    const std::size_t from = seen_;
    EXPECT_TRUE(wait_until({&process_, &terminal_},
                           [&] {
                             const std::size_t at = terminal_.text().find(question, from);
                             if (at == std::string::npos) return false;
                             seen_ = at + question.size();
                             return true;
                           }))
        << question << " in " << terminal_.text();
    terminal_.type_line(line);
  }
  void end_input() { terminal_.type(4); }  // Ctrl-D
  Ended end() {
    Ended ended = process_.wait();
    terminal_.pump();
    return ended;
  }
  [[nodiscard]] const std::string& text() const { return terminal_.text(); }

 private:
  Terminal terminal_;
  Process process_;
  std::size_t seen_ = 0;
};

void expect_to_run(const Workplace& here, const std::string& file) {
  const Ended check = here.run({"check", "--no-slurm", file});
  EXPECT_EQ(check.exit_code, 0) << check;
  EXPECT_EQ(check.err, "");
  const Ended ended = here.run({"run", file, "-q"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

TEST(Terminal, new_asks_and_makes_a_file_that_runs_as_it_is) {
  const Workplace here;
  Conversation talk(here);
  talk.answer("Which [1]: ", "9");
  talk.answer("'9' is not one of these", "");
  talk.answer("Name [sweep]: ", "-x");
  talk.answer("'-x' cannot be the name", "mine");
  talk.answer("How many jobs [10]: ", "3");
  talk.answer("CPUs of each [1]: ", "none");
  talk.answer("'none' is not a number", "1");
  talk.answer("Memory of each [100m]: ", "8");
  talk.answer("Memory of each [100m]: ", "64m");
  talk.answer("Longest time of each [10m]: ", "");
  talk.answer("File [mine.yaml]: ", "");
  EXPECT_EQ(talk.end().exit_code, 0) << talk.text();
  EXPECT_NE(talk.text().find("next: torc check mine.yaml   # then torc run mine.yaml"),
            std::string::npos);
  expect_to_run(here, "mine.yaml");
  EXPECT_EQ(here.jobs("mine.torc").size(), 4U);
}

TEST(Terminal, new_makes_each_of_its_templates) {
  for (const std::string kind : {"sweep", "pipeline", "script", "array", "diamond"}) {
    SCOPED_TRACE(kind);
    const Workplace here;
    Conversation talk(here);
    talk.answer("Which [1]: ", kind);
    talk.answer("Name [" + kind + "]: ", "it");
    if (kind != "diamond") {
      talk.answer("How many ", "2");
      talk.answer("CPUs of each ", "");
      talk.answer("Memory of each ", "");
      talk.answer("Longest time of each ", "");
    }
    const std::string file = kind == "script" ? "it.sh" : "it.yaml";
    talk.answer("File [" + file + "]: ", "");
    EXPECT_EQ(talk.end().exit_code, 0) << talk.text();
    expect_to_run(here, file);
  }
}

TEST(Terminal, new_makes_an_mpi_program_that_says_when_there_is_no_mpirun) {
  const Workplace here;
  Conversation talk(here);
  talk.answer("Which [1]: ", "mpi");
  talk.answer("Name [mpi]: ", "");
  talk.answer("How many nodes [1]: ", "1");
  talk.answer("CPUs of each [2]: ", "1");
  talk.answer("Memory of each [100m]: ", "64m");
  talk.answer("Longest time of each [10m]: ", "1m");
  talk.answer("File [mpi.yaml]: ", "");
  EXPECT_EQ(talk.end().exit_code, 0) << talk.text();
  const Ended check = here.run({"check", "--no-slurm", "mpi.yaml"});
  EXPECT_EQ(check.exit_code, 0) << check;
  EXPECT_EQ(check.err, "");
  here.write("bin/mpirun", "");
  std::filesystem::remove(here.path() / "bin/mpirun");
  for (const char* program : {"sh", "hostname"})
    std::filesystem::create_symlink("/bin/" + std::string(program), here.path() / "bin" / program);
  Launch launch = here.torc({"run", "mpi.yaml"});
  launch.env["PATH"] = (here.path() / "bin").string();
  const Ended ended = run(launch);
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("there is no mpirun here: load its module")) << ended;
}

TEST(Terminal, new_writes_over_nothing_and_nothing_without_all_answers) {
  const Workplace here;
  here.write("sweep.yaml", "mine");
  Conversation talk(here);
  talk.answer("Which [1]: ", "sweep");
  talk.answer("Name [sweep]: ", "");
  for (const char* question : {"How many", "CPUs", "Memory", "Longest"}) talk.answer(question, "");
  talk.answer("File [sweep.yaml]: ", "");
  talk.answer("'sweep.yaml' exists already: name another file", "");
  talk.answer("File [sweep.yaml]: ", "");
  talk.end_input();
  const Ended ended = talk.end();
  EXPECT_EQ(ended.exit_code, 2) << talk.text();
  EXPECT_NE(talk.text().find("nothing was made"), std::string::npos) << talk.text();
  EXPECT_EQ(read_text(here.path() / "sweep.yaml"), "mine");
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
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] { return terminal.shows("2 of 2 jobs"); }))
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

TEST(Terminal, exec_waits_for_no_person_to_type_values) {
  const Workplace here;
  Terminal terminal;
  Process without(terminal.on(here.torc({"exec", "-c", "echo $((6*7))"})));
  EXPECT_TRUE(wait_until({&without, &terminal}, [&] { return terminal.shows("42"); }))
      << terminal.text();
  EXPECT_EQ(without.wait().exit_code, 0);
  Process with(terminal.on(here.torc({"exec", "-c", "echo {}"})));
  EXPECT_TRUE(wait_until({&with, &terminal}, [&] {
    return terminal.shows("the command has a place for a value, and there are no values");
  })) << terminal.text();
  EXPECT_EQ(with.wait().exit_code, 2);
}

// A person takes another multiplier for what ran out of memory, and leaves what is not known.
TEST(Terminal, recover_asks_for_each_kind_of_failure) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: hungry, command: "python3 -c 'x = bytearray(90000000); import time; time.sleep(1)'", memory: 60m}
  - {name: dark, command: exit 7}
)");
  ASSERT_EQ(here.run({"run", "wf.yaml", "--memory", "1g"}).exit_code, 1);
  Terminal terminal;
  Process recover(terminal.on(here.torc({"recover"})));
  const auto shows = [&](const std::string& text) {
    return wait_until({&terminal, &recover}, [&] { return terminal.shows(text); });
  };
  ASSERT_TRUE(shows("multiply by (1.5), [q]uit?")) << terminal.text();
  terminal.type('x');
  terminal.type('\n');
  ASSERT_TRUE(shows("please answer with one of these")) << terminal.text();
  terminal.type('4');
  terminal.type('\n');
  ASSERT_TRUE(shows("multiply by (4), [q]uit?")) << terminal.text();
  terminal.type('\n');
  ASSERT_TRUE(shows("not known, 1 job: [t]ry again as they are")) << terminal.text();
  terminal.type('\n');
  ASSERT_TRUE(shows("1 job runs again, 1 left as before")) << terminal.text();
  EXPECT_EQ(recover.wait().exit_code, 1);
  const auto jobs = here.jobs("wf.torc");
  EXPECT_EQ(jobs.at("hungry").at("state"), "ready");
  EXPECT_EQ(jobs.at("dark").at("state"), "failed");
  EXPECT_GE(here.json({"job", "wf.torc", "hungry"}).at("memory_bytes"), 4 * (60 << 20));
}

TEST(Terminal, shows_the_status_in_place_of_the_one_before) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  write_workflow(here);
  const auto worker = here.start({"run", "wf.yaml", "--num-cpus", "1"});
  ASSERT_TRUE(wait_for_line(record, "b", *worker)) << worker->err();
  Terminal terminal;
  Process watch(terminal.on(here.torc({"status", "--watch", "--every", "1s"})));
  EXPECT_TRUE(wait_until({&watch, &terminal}, [&] {
    return terminal.shows("\x1b[2J\x1b[H") && terminal.shows("\x1b[J\x1b[H");
  })) << terminal.text();
  gate.open_gate(1);
  EXPECT_TRUE(wait_until({&watch, &terminal}, [&] { return terminal.shows("wf  failed"); }))
      << terminal.text();
  EXPECT_EQ(watch.wait().exit_code, 0);
  (void)worker->wait();
}

TEST(Terminal, asks_before_it_redoes_what_completed) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: echo a >> ran}]\n");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  for (const char answer : {'n', 'y'}) {
    Terminal terminal;
    Process redo(terminal.on(here.torc({"redo", "a"})));
    EXPECT_TRUE(wait_until({&redo, &terminal}, [&] {
      return terminal.shows("run 1 completed job again? [y/N] ");
    })) << terminal.text();
    terminal.type(answer);
    terminal.type('\n');
    EXPECT_TRUE(wait_until({&redo, &terminal}, [&] {
      return terminal.shows(answer == 'n' ? "nothing was run" : "1 of 1 job completed");
    })) << terminal.text();
    EXPECT_EQ(redo.wait().exit_code, answer == 'n' ? 1 : 0);
    EXPECT_EQ(lines_of(read_text(here.path() / "ran")).size(), answer == 'n' ? 1U : 2U);
  }
}

// While the question waits, others complete what was built on the job: a yes to one result is none
// to six.
TEST(Terminal, no_more_results_are_thrown_away_than_were_asked_about) {
  const Words edited{"run", "wf.yaml"};
  for (const Words& words : {Words{"redo", "a"}, Words{"run", "wf.torc", "--force", "a"}, edited}) {
    const Workplace here;
    const std::string text = R"(name: wf
jobs:
  - {name: a, command: echo a >> ran}
  - {name: "b_{i}", command: echo b >> ran, parameters: {i: "1:5"}, depends_on: [a]}
)";
    here.write("wf.yaml", text);
    ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
    ASSERT_EQ(here.run({"hold", "stage:b"}).exit_code, 0);
    ASSERT_EQ(here.run({"run", "wf.torc"}).exit_code, 3);
    if (words == edited) {
      std::string other = text;
      here.write("wf.yaml", other.replace(other.find("echo a"), 6, "echo  a"));
    }
    Terminal terminal;
    Process asking(terminal.on(here.torc(words)));
    ASSERT_TRUE(wait_until({&asking, &terminal}, [&] {
      return terminal.shows("run 1 completed job again? [y/N] ");
    })) << terminal.text();
    ASSERT_EQ(here.run({"release", "--all"}).exit_code, 0);
    ASSERT_EQ(here.run({"run", "wf.torc"}).exit_code, 0);
    terminal.type_line("y");
    EXPECT_TRUE(wait_until({&asking, &terminal}, [&] {
      return terminal.shows("by now 6 completed jobs would run again, and one was confirmed");
    })) << terminal.text();
    EXPECT_EQ(asking.wait().exit_code, 1);
    EXPECT_EQ(lines_of(read_text(here.path() / "ran")).size(), 6U) << words.front();
    EXPECT_EQ(here.json({"status"})["jobs_by_state"]["completed"], 6) << words.front();
  }
}

// The lines that a command shows on a terminal so wide, once it has shown `last`.
std::vector<std::string> lines_on(int columns, const Launch& launch, std::string_view last) {
  Terminal terminal;
  terminal.resize(columns);
  Process process(terminal.on(launch));
  EXPECT_TRUE(wait_until({&process, &terminal}, [&] { return terminal.shows(last); }))
      << terminal.text();
  EXPECT_EQ(process.wait().exit_code, 0);
  terminal.pump();
  std::string text = terminal.text();
  std::erase(text, '\r');
  return lines_of(text);
}

std::size_t widest(const std::vector<std::string>& lines) {
  std::size_t most = 0;
  for (const std::string& line : lines) most = std::max(most, terminal_width(line));
  return most;
}

bool any_has(const std::vector<std::string>& lines, std::string_view text) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST(Terminal, a_table_is_fitted_to_it_by_the_middle_of_names) {
  const Workplace here;
  const std::string name =
      "first_" + std::string(40, 'x') + "_解析_" + std::string(30, 'y') + "_last";
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: " + name + ", command: \"true\"}\n");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  const auto fitted = lines_on(80, here.torc({"jobs"}), "completed");
  EXPECT_EQ(widest(fitted), 80U) << fitted.back();
  EXPECT_TRUE(any_has(fitted, "first_xxx") && any_has(fitted, "…")) << fitted.back();
  EXPECT_TRUE(any_has(fitted, "_last  completed")) << fitted.back();
  const auto wide = lines_on(80, here.torc({"jobs", "--wide"}), "completed");
  EXPECT_TRUE(any_has(wide, name)) << wide.back();
  const auto room = lines_on(200, here.torc({"jobs"}), "completed");
  EXPECT_TRUE(any_has(room, name)) << room.back();
  // Whoever reads a pipe looks for names.
  const Ended piped = here.run({"jobs"});
  EXPECT_TRUE(piped.says(name)) << piped;
}

TEST(Terminal, states_have_colors_there_and_nowhere_else_unless_it_is_said) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"true\"}\n");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  const std::string green = "\x1b[32mcompleted\x1b[0m";
  const auto shows = [&](std::vector<std::string> words, const std::string& no_color) {
    Launch launch = here.torc(std::move(words));
    launch.env["NO_COLOR"] = no_color;
    return any_has(lines_on(80, launch, "completed"), green);
  };
  EXPECT_TRUE(shows({"jobs"}, ""));
  EXPECT_TRUE(shows({"status"}, ""));
  EXPECT_FALSE(shows({"jobs"}, "1"));
  EXPECT_FALSE(shows({"jobs", "--color", "never"}, ""));
  EXPECT_TRUE(shows({"jobs", "--color", "always"}, "1"));
  EXPECT_FALSE(here.run({"jobs"}).says("\x1b"));
  EXPECT_TRUE(here.run({"jobs", "--color", "always"}).says(green));
  EXPECT_EQ(here.run({"jobs", "--color", "blue"}).exit_code, 2);
}

TEST(Terminal, help_is_as_wide_as_it_up_to_a_hundred_columns) {
  const Workplace here;
  for (const char* command : {"jobs", "run", "retry"}) {
    const Launch help = here.torc({command, "--help"});
    EXPECT_LE(widest(lines_on(60, help, "SIGHUP)")), 60U) << command;
    EXPECT_LE(widest(lines_on(150, help, "SIGHUP)")), 100U) << command;
    EXPECT_LE(widest(lines_of(here.run({command, "--help"}).out)), 80U) << command;
  }
}

}  // namespace
}  // namespace torc::itest
