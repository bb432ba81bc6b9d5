#include "lib/exec/step/step_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace torc::exec {
namespace {

std::string name_of_test() {
  return "torc-step-test-" + std::to_string(getpid());
}

Ended some_end() {
  Ended end;
  end.how = Ending::timed_out;
  end.exit_code = 3;
  end.signal = SIGTERM;
  end.os_errno = 5;
  end.failed_at = StartStep::stderr_file;
  end.started_at = WallTime(7);
  end.ended_at = WallTime(11);
  end.max_rss = {13};
  end.cpu_time = std::chrono::microseconds(17);
  end.activity = {Traffic{{19}, {23}}, {{29}, {31}}, 37, 41};
  return end;
}

TEST(StepMessage, what_a_command_is_to_be_run_with_arrives) {
  StepBegin sent;
  sent.command.line = "echo 'a  b'";
  sent.command.directory = "/tmp/x y";
  sent.command.stdout_path = "/o";
  sent.command.stderr_fd = 9;
  sent.command.stdout_errno = 28;
  sent.command.umask = 027;
  sent.command.time_limit = std::chrono::seconds(5);
  sent.command.memory_limit = {1 << 20};
  sent.command.sample_every = std::chrono::seconds(2);
  sent.command.termination_signal = SIGUSR1;
  sent.command.termination_lead = std::chrono::seconds(120);
  sent.launcher = 4711;
  const auto got = decode_begin(encode(sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->command.line, sent.command.line);
  EXPECT_EQ(got->command.directory, sent.command.directory);
  EXPECT_EQ(got->command.stdout_path, sent.command.stdout_path);
  EXPECT_EQ(got->command.stdout_fd, -1);
  EXPECT_EQ(got->command.stderr_fd, 0);  // its number is another one there
  EXPECT_EQ(got->command.stdout_errno, 28);
  EXPECT_EQ(got->command.umask, 027U);
  EXPECT_EQ(got->command.time_limit, sent.command.time_limit);
  EXPECT_EQ(got->command.memory_limit, sent.command.memory_limit);
  EXPECT_EQ(got->command.sample_every, sent.command.sample_every);
  EXPECT_EQ(got->command.termination_signal, SIGUSR1);
  EXPECT_EQ(got->command.termination_lead, sent.command.termination_lead);
  EXPECT_EQ(got->launcher, 4711);
}

TEST(StepMessage, an_end_arrives_with_all_its_figures) {
  const Ended sent = some_end();
  const auto got = decode_ended(encode(StepEnded{sent}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->how.how, sent.how);
  EXPECT_EQ(got->how.exit_code, sent.exit_code);
  EXPECT_EQ(got->how.signal, sent.signal);
  EXPECT_EQ(got->how.os_errno, sent.os_errno);
  EXPECT_EQ(got->how.failed_at, sent.failed_at);
  EXPECT_EQ(got->how.started_at, sent.started_at);
  EXPECT_EQ(got->how.ended_at, sent.ended_at);
  EXPECT_EQ(got->how.max_rss, sent.max_rss);
  EXPECT_EQ(got->how.cpu_time, sent.cpu_time);
  EXPECT_EQ(got->how.activity, sent.activity);
}

TEST(StepMessage, that_a_command_begins_is_no_other_message) {
  EXPECT_TRUE(is_begun(encode(StepBegun{})));
  EXPECT_FALSE(is_begun(encode(StepKill{})));
  EXPECT_FALSE(is_begun(""));
  EXPECT_FALSE(is_kill(encode(StepBegun{})));
}

TEST(StepMessage, a_sample_and_a_stop_arrive) {
  const auto sample = decode_sample(encode(
      StepSample{{RunId{}, WallTime(3), {5}, std::chrono::microseconds(7), Traffic{{1}, {2}}, 4}}));
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->sample.memory, ByteCount{5});
  EXPECT_EQ(sample->sample.processes, 4U);
  EXPECT_EQ(sample->sample.io, (Traffic{{1}, {2}}));
  EXPECT_EQ(decode_stop(encode(StepStop{std::chrono::seconds(4)}))->lead, std::chrono::seconds(4));
  EXPECT_TRUE(is_kill(encode(StepKill{})));
}

TEST(StepMessage, what_is_cut_or_of_another_kind_is_none) {
  const std::string end = encode(StepEnded{some_end()});
  for (std::size_t size = 0; size < end.size(); ++size)
    EXPECT_FALSE(decode_ended(end.substr(0, size))) << size;
  EXPECT_FALSE(decode_ended(end + "x"));
  EXPECT_FALSE(decode_hello(end));
  EXPECT_FALSE(decode_begin(encode(StepHello{1})));
  EXPECT_FALSE(is_kill(encode(StepHello{1})));
}

TEST(StepSocket, messages_stay_apart_and_open_files_come_with_them) {
  const std::string name = name_of_test();
  const auto listener = listen_for_steps(name);
  ASSERT_TRUE(listener.ok());
  EXPECT_FALSE(accept_step(listener->get()));
  EXPECT_FALSE(listen_for_steps(name).ok()) << "a name is one worker's";
  const auto keeper = connect_to_worker(name);
  ASSERT_TRUE(keeper.ok());
  const Descriptor worker = accept_step(listener->get());
  ASSERT_TRUE(worker);
  EXPECT_EQ(receive_message(worker.get()).what, Received::What::nothing);
  const Descriptor null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(send_message(worker.get(), "one", {null.get()}), Sent::yes);
  EXPECT_EQ(send_message(worker.get(), "two"), Sent::yes);
  const Received one = receive_message(keeper->get());
  EXPECT_EQ(one.bytes, "one");
  ASSERT_EQ(one.files.size(), 1U);
  EXPECT_GT(one.files[0].get(), 2);
  struct stat there {};
  EXPECT_EQ(fstat(one.files[0].get(), &there), 0);
  EXPECT_TRUE(S_ISCHR(there.st_mode));
  EXPECT_EQ(receive_message(keeper->get()).bytes, "two");
}

TEST(StepSocket, an_end_that_has_gone_is_seen_by_the_other_one) {
  const std::string name = name_of_test();
  const auto listener = listen_for_steps(name);
  ASSERT_TRUE(listener.ok());
  auto keeper = connect_to_worker(name);
  ASSERT_TRUE(keeper.ok());
  Descriptor worker = accept_step(listener->get());
  worker.reset();
  EXPECT_EQ(receive_message(keeper->get()).what, Received::What::end);
  EXPECT_EQ(send_message(keeper->get(), "x"), Sent::gone);
}

TEST(StepSocket, an_end_that_does_not_read_keeps_the_other_one_from_nothing) {
  const std::string name = name_of_test();
  const auto listener = listen_for_steps(name);
  ASSERT_TRUE(listener.ok());
  const auto keeper = connect_to_worker(name);
  ASSERT_TRUE(keeper.ok());
  const Descriptor worker = accept_step(listener->get());
  const std::string sample = encode(StepSample{});
  int sent = 0;
  while (sent < 1'000'000 && send_message(keeper->get(), sample) == Sent::yes) ++sent;
  EXPECT_EQ(send_message(keeper->get(), sample), Sent::full);
  for (int i = 0; i < sent; ++i) EXPECT_TRUE(decode_sample(receive_message(worker.get()).bytes));
  EXPECT_EQ(send_message(keeper->get(), encode(StepEnded{some_end()})), Sent::yes);
  EXPECT_TRUE(decode_ended(receive_message(worker.get()).bytes));
}

TEST(StepSocket, without_a_worker_there_is_nothing_to_call) {
  EXPECT_FALSE(connect_to_worker(name_of_test()).ok());
}

TEST(StepSocket, other_users_who_call_keep_no_keeper_waiting) {
  if (geteuid() != 0) GTEST_SKIP() << "another user needs root";
  const std::string name = name_of_test();
  const auto listener = listen_for_steps(name);
  ASSERT_TRUE(listener.ok());
  const pid_t stranger = fork();
  if (stranger == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(2);
    std::vector<Descriptor> calls;
    for (int i = 0; i < 40; ++i) {
      calls.emplace_back(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(&address.sun_path[1], name.data(), name.size());
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      if (connect(calls.back().get(), reinterpret_cast<sockaddr*>(&address), size) != 0) _exit(3);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(stranger, &status, 0), stranger);
  ASSERT_EQ(status, 0);
  const auto keeper = connect_to_worker(name);
  ASSERT_TRUE(keeper.ok());
  const Descriptor worker = accept_step(listener->get());
  ASSERT_TRUE(worker) << "the first of this user";
  EXPECT_EQ(send_message(keeper->get(), encode(StepHello{7})), Sent::yes);
  EXPECT_TRUE(decode_hello(receive_message(worker.get()).bytes));
}

}  // namespace
}  // namespace torc::exec
