#include "lib/exec/run/process_host.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

class ProcessHostTest : public HostTest {};

TEST_F(ProcessHostTest, an_exit_code_is_reported) {
  const Ended ended = run("exit 7");
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_EQ(ended.signal, 0);
  EXPECT_GT(ended.started_at.count(), 0);
  EXPECT_GE(ended.ended_at, ended.started_at);
  EXPECT_EQ(host_->running(), 0u);
}

TEST_F(ProcessHostTest, a_signal_that_ended_the_command_is_reported) {
  const Ended ended = run("kill -SEGV $$");
  EXPECT_EQ(ended.how, Ending::signaled);
  EXPECT_EQ(ended.signal, SIGSEGV);
  EXPECT_EQ(ended.exit_code, -1);
}

TEST_F(ProcessHostTest, output_goes_to_two_files_that_are_emptied_before) {
  write_file("out", "from an earlier attempt, and longer");
  run("echo good; echo bad >&2");
  EXPECT_EQ(text_of("out"), "good\n");
  EXPECT_EQ(text_of("err"), "bad\n");
}

TEST_F(ProcessHostTest, combined_output_keeps_its_order) {
  Command both = command("echo 1; echo 2 >&2; echo 3; echo 4 >&2");
  both.stderr_path = both.stdout_path;
  end_of(start(both));
  EXPECT_EQ(text_of("out"), "1\n2\n3\n4\n");
}

TEST_F(ProcessHostTest, output_without_a_path_goes_nowhere_and_input_is_empty) {
  Command silent = command("cat; echo lost; echo lost >&2");
  silent.stdout_path = silent.stderr_path = "";
  EXPECT_EQ(end_of(start(silent)).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

TEST_F(ProcessHostTest, a_command_runs_in_its_directory) {
  write_file("below/here", "");
  Command listing = command("ls");
  listing.directory = directory_ / "below";
  end_of(start(listing));
  EXPECT_EQ(text_of("out"), "here\n");
}

TEST_F(ProcessHostTest, the_environment_is_the_given_one_and_the_tag) {
  Command printing = command("env");
  printing.env.push_back("GREETING=hello world");
  end_of(start(printing));
  const std::string out = text_of("out");
  const auto tag = out.find("TORC_RUN_ID=");
  ASSERT_NE(tag, std::string::npos);
  EXPECT_EQ(out.substr(0, tag), "PATH=/usr/local/bin:/usr/bin:/bin\nGREETING=hello world\n");
}

TEST_F(ProcessHostTest, what_commands_have_in_common_is_added_unless_they_set_it_themselves) {
  Command printing = command("env");
  printing.env = {"GREETING=hello", "GREETINGS=many", "TORC_RUN_ID=9-9.9"};
  printing.common_env = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"PATH=/usr/local/bin:/usr/bin:/bin", "GREETING=not this",
                               "GREET=short", "TORC_RUN_ID=nor this", "TORC_STORE=/s"});
  end_of(start(printing));
  const std::string out = text_of("out");
  const auto tag = out.find("TORC_RUN_ID=9-9.9/");
  ASSERT_NE(tag, std::string::npos) << out;
  EXPECT_EQ(out.substr(0, tag),
            "GREETING=hello\nGREETINGS=many\nPATH=/usr/local/bin:/usr/bin:/bin\nGREET=short\n"
            "TORC_STORE=/s\n");
  EXPECT_EQ(out.find("TORC_RUN_ID=", tag + 1), std::string::npos);
}

TEST_F(ProcessHostTest, the_tag_of_an_outer_torc_is_kept_before_the_own) {
  Command nested = command("printenv TORC_RUN_ID");
  nested.env.push_back("TORC_RUN_ID=12-34.5");
  end_of(start(nested));
  EXPECT_TRUE(text_of("out").starts_with("12-34.5/" + std::to_string(getpid()) + "-"));
}

TEST_F(ProcessHostTest, a_command_leads_a_session_of_its_own) {
  const RunId id = start("exec 9>fifo; echo ready >&9; exec sleep 1000");
  wait_for("ready");
  const pid_t leader = host_->leader(id);
  EXPECT_EQ(getsid(leader), leader);
  EXPECT_EQ(getpgid(leader), leader);
  host_->kill(id);
  end_of(id);
  EXPECT_EQ(host_->leader(id), 0);
}

TEST_F(ProcessHostTest, no_descriptor_is_inherited) {
  const int leaky = open("/dev/null", O_RDONLY);
  const int high = fcntl(leaky, F_DUPFD, 500);
  run("ls /proc/self/fd");
  EXPECT_EQ(text_of("out"), "0\n1\n2\n3\n");  // 3 is the directory that it lists
  close(leaky);
  close(high);
}

TEST_F(ProcessHostTest, signals_are_neither_ignored_nor_blocked) {
  // As torc may have been started: nohup, background shells and batch systems ignore signals.
  std::vector<int> ignored = {SIGHUP, SIGINT, SIGPIPE, SIGRTMIN, SIGRTMAX};
  std::vector<sighandler_t> before;
  for (const int number : ignored) before.push_back(signal(number, SIG_IGN));
  open_host(system_clock_);
  Command grep = command("grep -E 'Sig(Ign|Blk)' /proc/self/status");
  end_of(start(grep));
  EXPECT_EQ(text_of("out"), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  for (size_t i = 0; i < ignored.size(); ++i) signal(ignored[i], before[i]);
}

TEST_F(ProcessHostTest, ends_are_told_also_where_whoever_started_this_ignored_them) {
  host_.reset();
  signal(SIGCHLD, SIG_IGN);
  open_host(system_clock_);
  EXPECT_EQ(run("exit 3").exit_code, 3);
}

TEST_F(ProcessHostTest, a_missing_program_is_not_started) {
  const Ended ended = run("no-such-program --at all");
  EXPECT_EQ(ended.how, Ending::not_started);
  EXPECT_EQ(ended.os_errno, ENOENT);
  EXPECT_EQ(ended.failed_at, StartStep::execute);
  EXPECT_EQ(host_->running(), 0u);
}

TEST_F(ProcessHostTest, a_file_that_may_not_be_executed_is_not_started) {
  write_file("data", "text");
  const Ended ended = run("./data");
  EXPECT_EQ(ended.how, Ending::not_started);
  EXPECT_EQ(ended.os_errno, EACCES);
}

TEST_F(ProcessHostTest, a_missing_working_directory_is_not_started) {
  Command lost = command("true");
  lost.directory = directory_ / "missing";
  const Ended ended = end_of(start(lost));
  EXPECT_EQ(ended.how, Ending::not_started);
  EXPECT_EQ(ended.os_errno, ENOENT);
  EXPECT_EQ(ended.failed_at, StartStep::directory);
}

TEST_F(ProcessHostTest, output_that_cannot_be_opened_is_not_started) {
  Command lost = command("true");
  lost.stdout_path = directory_ / "missing" / "out";
  EXPECT_EQ(end_of(start(lost)).failed_at, StartStep::stdout_file);
  lost = command("true");
  lost.stderr_path = directory_;
  const Ended ended = end_of(start(lost));
  EXPECT_EQ(ended.failed_at, StartStep::stderr_file);
  EXPECT_EQ(ended.os_errno, EISDIR);
}

TEST_F(ProcessHostTest, a_command_with_a_zero_byte_is_not_started) {
  EXPECT_EQ(run(std::string("true\0false", 10)).os_errno, EINVAL);
}

TEST_F(ProcessHostTest, a_script_without_an_interpreter_line_is_run_by_sh) {
  write_file("script", "echo \"$#: $2\"\nexit 4\n", 0755);
  const Ended ended = run("./script one 'two words'");
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_EQ(text_of("out"), "2: two words\n");
}

TEST_F(ProcessHostTest, a_program_is_looked_for_along_the_path_of_the_job) {
  write_file("a/tool", "#!/bin/sh\nexit 11\n", 0755);
  write_file("b/tool", "#!/bin/sh\nexit 12\n", 0755);
  Command tool = command("tool");
  tool.env = {"PATH=" + (directory_ / "a").string() + ":" + (directory_ / "b").string()};
  EXPECT_EQ(end_of(start(tool)).exit_code, 11);
  std::filesystem::remove(directory_ / "a" / "tool");
  EXPECT_EQ(end_of(start(tool)).exit_code, 12)
      << "a remembered path that is gone is looked for again";
  tool.env = {"PATH=" + (directory_ / "b").string()};
  EXPECT_EQ(end_of(start(tool)).exit_code, 12);
  std::filesystem::remove(directory_ / "b" / "tool");
  EXPECT_EQ(end_of(start(tool)).os_errno, ENOENT);
}

TEST_F(ProcessHostTest, a_relative_directory_of_the_path_is_below_the_working_directory) {
  write_file("tools/tool", "#!/bin/sh\nexit 13\n", 0755);
  Command tool = command("tool");
  tool.env = {"PATH=tools"};
  EXPECT_EQ(end_of(start(tool)).exit_code, 13);
}

TEST_F(ProcessHostTest, processor_time_and_memory_of_the_tree_are_counted) {
  const Ended ended = run("head -c 200000000 /dev/zero | tail -n 1 | wc -c");
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_GT(ended.max_rss, mebibytes(180)) << "tail holds a line of 200 MB";
  EXPECT_GT(ended.cpu_time.count(), 0);
}

TEST_F(ProcessHostTest, a_readable_descriptor_wakes_the_waiting) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_TRUE(host_->watch(ends[0]).ok());
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  auto wakeup = host_->wait(std::nullopt);
  ASSERT_TRUE(wakeup.ok());
  EXPECT_EQ(wakeup->readable, std::vector<int>{ends[0]});
  host_->unwatch(ends[0]);
  wakeup = host_->wait(system_clock_.boot_now() + 1ms);
  ASSERT_TRUE(wakeup.ok());
  EXPECT_TRUE(wakeup->readable.empty());
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ProcessHostTest, waiting_ends_at_its_deadline_and_not_before) {
  const BootTime deadline = system_clock_.boot_now() + 3ms;
  auto wakeup = host_->wait(deadline);
  ASSERT_TRUE(wakeup.ok());
  EXPECT_TRUE(wakeup->ended.empty());
  EXPECT_GE(system_clock_.boot_now(), deadline);
}

TEST_F(ProcessHostTest, thousands_of_commands_leave_nothing_behind) {
  constexpr int kJobs = 2000;
  Command quick = command("true");
  quick.stdout_path = quick.stderr_path = "";
  int started = 0;
  for (int ended = 0; ended < kJobs;) {
    for (; started < kJobs && started - ended < 4; ++started) start(quick);
    auto wakeup = host_->wait(std::nullopt);
    ASSERT_TRUE(wakeup.ok());
    for (const Ended& one : wakeup->ended) ASSERT_EQ(one.exit_code, 0);
    ended += static_cast<int>(wakeup->ended.size());
  }
  EXPECT_EQ(host_->running(), 0u);
  EXPECT_TRUE(children_of(getpid()).pids.empty());
}

// In a process of its own, as a user for whom the limit holds.
TEST_F(ProcessHostTest, a_host_that_cannot_have_more_processes_says_busy) {
  host_.reset();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(1);
    auto host = ProcessHost::create(system_clock_);
    if (!host.ok() || setrlimit(RLIMIT_NPROC, &none) != 0) _exit(2);
    const auto id = (*host)->start(Command{});
    _exit(!id.ok() && id.error().kind == ErrorKind::busy ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ProcessHostTest, a_host_without_descriptors_says_busy_and_recovers) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{3, before.rlim_max};  // 0, 1 and 2 remain: no output file can be opened
  setrlimit(RLIMIT_NOFILE, &few);
  const auto id = host_->start(command("/bin/true"));
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.error().kind, ErrorKind::busy);
  EXPECT_EQ(run("true").exit_code, 0);
}

}  // namespace
}  // namespace torc::exec
