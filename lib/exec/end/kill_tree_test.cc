// Ending what a worker left behind: what was not looked at is not said to be gone.
#include "lib/exec/end/kill_tree.h"

#include <cstdio>

#include "lib/exec/testing/other_process.h"

namespace torc::exec {
namespace {

// Other tests run beside this one, on the same machine.
const std::vector<std::string> kTags{"TORC_TEST_MARK=" + std::to_string(getpid()),
                                     "TORC_TEST_OTHER=" + std::to_string(getpid())};

int number(Leftovers left) {
  return static_cast<int>(left);
}
constexpr int kNone = static_cast<int>(Leftovers::none);
constexpr int kUnknownLeftovers = static_cast<int>(Leftovers::unknown);
constexpr int kHiddenLeftovers = static_cast<int>(Leftovers::hidden);

TEST(KillTagged, ends_those_that_have_all_tags_and_no_others) {
  const Sleeper tagged({kTags[0], "A=b", kTags[1]});
  const Sleeper half({kTags[0], "A=" + kTags[1]});
  const Sleeper bare({});
  EXPECT_NE(kill_tagged(kTags, {tagged.identity().start, {}}), Leftovers::some);
  EXPECT_FALSE(tagged.lives());
  EXPECT_TRUE(half.lives());
  EXPECT_TRUE(bare.lives());
}

// A shell with the tags that runs `line`, which writes numbers of processes.
class Shell {
 public:
  explicit Shell(const std::string& line) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      std::vector<std::string> env = kTags;
      env.emplace_back("PATH=/usr/bin:/bin");
      std::vector<char*> entries;
      for (std::string& entry : env) entries.push_back(entry.data());
      entries.push_back(nullptr);
      execle("/bin/sh", "sh", "-c", line.c_str(), nullptr, entries.data());
      _exit(127);
    }
    close(ends[1]);
    out_ = fdopen(ends[0], "r");
  }
  ~Shell() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    if (out_ != nullptr) std::fclose(out_);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // The next one that it wrote.
  [[nodiscard]] ProcessIdentity next() {
    int pid = 0;
    EXPECT_EQ(std::fscanf(out_, "%d", &pid), 1);
    const auto stat = read_stat(pid);
    EXPECT_TRUE(stat.has_value());
    return {static_cast<std::uint64_t>(pid), stat ? stat->start : 0};
  }

 private:
  pid_t pid_ = -1;
  FILE* out_ = nullptr;
};

TEST(KillTagged, ends_what_has_left_its_session_and_what_nobody_is_the_parent_of) {
  const Sleeper first({});
  Shell shell("setsid sh -c 'echo $$; exec sleep 1000' & (sleep 1000 & echo $!); wait");
  const ProcessIdentity left_session = shell.next();
  const ProcessIdentity orphan = shell.next();
  EXPECT_NE(kill_tagged(kTags, {first.identity().start, {}}), Leftovers::some);
  EXPECT_NE(presence_of(left_session), Presence::here);
  EXPECT_NE(presence_of(orphan), Presence::here);
}

TEST(KillTagged, ends_what_a_tagged_process_started_without_an_environment) {
  const Sleeper first({});
  Shell shell(
      "env -i /bin/sh -c 'echo $$; /usr/bin/setsid /bin/sleep 1000 & echo $!; wait' & wait");
  const ProcessIdentity bare = shell.next();
  const ProcessIdentity below = shell.next();
  EXPECT_NE(kill_tagged(kTags, {first.identity().start, {}}), Leftovers::some);
  EXPECT_NE(presence_of(bare), Presence::here);
  EXPECT_NE(presence_of(below), Presence::here);
}

TEST(KillTagged, what_a_tagged_process_submitted_is_not_its_own) {
  const Sleeper first({});
  Shell shell("env -i SLURM_JOB_ID=8 /bin/sh -c 'echo $$; exec /bin/sleep 1000' & wait");
  const ProcessIdentity submitted = shell.next();
  (void)kill_tagged(kTags, {first.identity().start, {}, "7"});
  EXPECT_EQ(presence_of(submitted), Presence::here);
  ::kill(static_cast<pid_t>(submitted.pid), SIGKILL);
}

TEST(KillTagged, what_is_older_than_its_worker_is_not_of_it) {
  const Sleeper tagged(kTags);
  EXPECT_NE(kill_tagged(kTags, {tagged.identity().start + 1, {}}), Leftovers::some);
  EXPECT_TRUE(tagged.lives());
}

// sbatch passes on the variables of the job that called it, and Slurm may choose the same node;
// what salloc starts there is a part of the job.
TEST(KillTagged, what_names_another_allocation_is_left_alone_and_may_be_left_behind) {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.end(), kTags.begin(), kTags.end());
    return more;
  };
  while (Sleeper({}).identity().start == this_process().start) {
  }  // within one tick of the clock this process is none that may have adopted what was left
  const Sleeper submitted(with({"SLURM_JOB_ID=8"}));
  const Sleeper left(with({"SLURM_JOB_ID=7"}));
  const Sleeper hides(with({}));
  EXPECT_EQ(kill_tagged(kTags, {submitted.identity().start, {}, "7"}), Leftovers::unknown);
  EXPECT_TRUE(submitted.lives());
  EXPECT_FALSE(left.lives());
  EXPECT_FALSE(hides.lives());
  const Sleeper of_array(with({"SLURM_JOB_ID=7", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3"}));
  // What sbatch passed on to a job that is of no array.
  const Sleeper below(with({"SLURM_JOB_ID=9", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3"}));
  EXPECT_EQ(kill_tagged(kTags, {submitted.identity().start, {}, "7_3"}), Leftovers::unknown);
  EXPECT_FALSE(of_array.lives());
  EXPECT_TRUE(below.lives());
  EXPECT_TRUE(submitted.lives());
}

// All of its parts are told the number of the first one; what was submitted from there is no part.
TEST(KillTagged, what_a_part_of_a_heterogeneous_job_left_is_of_it) {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.end(), kTags.begin(), kTags.end());
    more.insert(more.end(), {"SLURM_HET_SIZE=2", "SLURM_JOB_ID_HET_GROUP_0=7",
                             "SLURM_JOB_ID_HET_GROUP_1=8", "SLURM_JOB_ID_HET_GROUP_2=11"});
    return more;
  };
  const Sleeper submitted(with({"SLURM_JOB_ID=9"}));
  const Sleeper left(with({"SLURM_JOB_ID=7"}));
  (void)kill_tagged(kTags, {submitted.identity().start, {}, "11"});
  EXPECT_TRUE(left.lives()) << "there are two parts";
  (void)kill_tagged(kTags, {submitted.identity().start, {}, "8"});
  EXPECT_FALSE(left.lives());
  EXPECT_TRUE(submitted.lives());
}

TEST(KillTagged, what_names_another_allocation_and_came_from_elsewhere_was_submitted) {
  if (geteuid() != 0) GTEST_SKIP() << "a user without other processes needs root";
  EXPECT_EQ(
      in_namespace(
          "",
          [] {
            return in_child([] {
              while (Sleeper({}).identity().start == this_process().start) {
              }
              const Sleeper submitted({kTags[0], kTags[1], "SLURM_JOB_ID=8"});
              const int found = number(kill_tagged(kTags, {submitted.identity().start, {1}, "7"}));
              return submitted.lives() ? found : 95;
            });
          }),
      kNone);
}

TEST(KillTagged, who_is_tagged_itself_is_a_leftover) {
  const Sleeper tagged(kTags);
  const auto own = environment_of(getpid());
  ASSERT_TRUE(own && !own->empty());
  EXPECT_EQ(kill_tagged({own->substr(0, own->find('\0'))}, {}), Leftovers::some);
  EXPECT_TRUE(tagged.lives());
}

TEST(KillTagged, without_a_descriptor_nothing_is_known) {
  const Sleeper tagged(kTags);
  EXPECT_EQ(in_child([] {
              use_up_descriptors();
              return number(kill_tagged(kTags, {}));
            }),
            kUnknownLeftovers);
}

// As a user without any other process: a process that cannot be read, its parent, and what is found
// out of what is asked for.
using Ask = std::function<Leftovers(const ProcessIdentity& hidden, const ProcessIdentity& parent)>;
int with_hidden_process(const Ask& ask) {
  return in_namespace("", [&] {
    return in_child([&] {
      if (!become_somebody()) return 96;
      const ProcessIdentity parent = this_process();
      for (int tries = 0; tries < 10'000; ++tries) {
        const Sleeper hidden(kTags, Sleeper::Dumpable::no);
        if (hidden.identity().start == parent.start) continue;  // within one tick of the clock
        if (environment_of(static_cast<pid_t>(hidden.identity().pid))) return 95;
        return number(ask(hidden.identity(), parent));
      }
      return 94;
    });
  });
}

// Root may read everything.
TEST(KillTagged, what_cannot_be_read_and_may_be_a_leftover_leaves_it_unknown) {
  if (geteuid() != 0) GTEST_SKIP() << "a user without other processes needs root";
  EXPECT_EQ(with_hidden_process([](const auto& hidden, const auto&) {
              return kill_tagged(kTags, {hidden.start, {}});
            }),
            kUnknownLeftovers)
      << "who was above is not known: anybody may have adopted it";
  EXPECT_EQ(with_hidden_process([](const auto& hidden, const auto& parent) {
              return kill_tagged(kTags, {hidden.start, {parent.pid, 1}});
            }),
            kUnknownLeftovers)
      << "its parent may have adopted it";
}

TEST(KillTagged, what_cannot_be_read_is_no_leftover_by_its_age_or_its_parent) {
  if (geteuid() != 0) GTEST_SKIP() << "a user without other processes needs root";
  EXPECT_EQ(with_hidden_process([](const auto& hidden, const auto&) {
              return kill_tagged(kTags, {hidden.start + 1, {}});
            }),
            kNone);
  EXPECT_EQ(with_hidden_process([](const auto& hidden, const auto&) {
              return kill_tagged(kTags, {hidden.start, {1}});
            }),
            kNone)
      << "its parent is older than what is looked for, and was not above it";
  EXPECT_EQ(with_hidden_process([](const auto&, const auto& parent) {
              return kill_tagged(kTags, {parent.start, {}});
            }),
            kNone)
      << "its parent is not marked";
}

TEST(KillTagged, processes_of_other_users_are_theirs) {
  if (geteuid() != 0) GTEST_SKIP() << "another user needs root";
  EXPECT_EQ(in_namespace("",
                         [] {
                           const Sleeper roots(kTags);
                           return in_child([] {
                             if (!become_somebody()) return 96;
                             return number(kill_tagged(kTags, {}));
                           });
                         }),
            kNone);
}

TEST(KillTagged, where_processes_are_hidden_what_is_seen_is_ended_and_nobody_knows_of_the_rest) {
  if (geteuid() != 0) GTEST_SKIP() << "another user, and a /proc with hidepid, need root";
  for (const char* hidden : {"hidepid=1", "hidepid=2"}) {
    EXPECT_EQ(
        in_namespace(hidden,
                     [] {
                       return in_child([] {
                         if (!become_somebody()) return 96;
                         const Sleeper tagged(kTags);
                         const int seen = number(kill_tagged(kTags, {tagged.identity().start, {}}));
                         return tagged.lives() ? 95 : seen;  // what is seen is ended
                       });
                     }),
        kHiddenLeftovers)
        << hidden;
  }
}

TEST(KillTagged, by_a_proc_of_another_namespace_nobody_is_killed) {
  if (geteuid() != 0) GTEST_SKIP() << "a pid namespace needs root";
  const Sleeper tagged(kTags);
  EXPECT_EQ(in_namespace(nullptr, [] { return number(kill_tagged(kTags, {})); }),
            kUnknownLeftovers);
  EXPECT_TRUE(tagged.lives());
}

TEST(KillBelow, says_that_nothing_is_left_only_when_it_could_look) {
  EXPECT_EQ(in_child([] { return number(kill_below(getpid())); }), kNone);
  EXPECT_EQ(in_child([] {
              const Sleeper below({});
              use_up_descriptors();
              return number(kill_below(getpid()));
            }),
            kUnknownLeftovers);
}

char state_of_process(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? stat->state : '-';
}

TEST(StopBelow, says_that_all_were_told_when_it_saw_all) {
  const Sleeper below({});
  const auto pid = static_cast<pid_t>(below.identity().pid);
  StoppedProcesses stopped;
  ASSERT_EQ(stopped.stop_below(getpid()), Told::all);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  EXPECT_EQ(state_of_process(pid), 'T');
  stopped.go_on();
  EXPECT_NE(state_of_process(pid), 'T');
}

// As Slurm does to all processes after a suspension.
TEST(StopBelow, what_somebody_else_continues_is_stopped_again) {
  const Sleeper below({});
  const auto pid = static_cast<pid_t>(below.identity().pid);
  StoppedProcesses stopped;
  int status = 0;
  for (int times = 0; times < 2; ++times) {
    ASSERT_EQ(stopped.stop_below(getpid()), Told::all);
    ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_EQ(state_of_process(pid), 'T');
    if (times == 0) kill(pid, SIGCONT);
  }
  stopped.go_on();
  EXPECT_NE(state_of_process(pid), 'T');
}

// As a command that is being started: it gets a session of its own before it executes.
TEST(StopBelow, what_is_just_started_is_stopped_once_it_would_end_with_its_parent) {
  std::array<int, 2> go_on{};
  std::array<int, 2> has{};
  ASSERT_EQ(pipe(go_on.data()), 0);
  ASSERT_EQ(pipe(has.data()), 0);
  const pid_t started = fork();
  if (started == 0) {
    char word = 0;
    (void)!read(go_on[0], &word, 1);
    setsid();
    (void)!write(has[1], &word, 1);
    for (;;) pause();
  }
  StoppedProcesses stopped;
  EXPECT_EQ(stopped.stop_below(getpid()), Told::but_one_that_starts);
  EXPECT_TRUE(stopped.empty());
  kill(started, SIGCONT);  // were it stopped nevertheless
  char word = 's';
  ASSERT_EQ(write(go_on[1], &word, 1), 1);
  ASSERT_EQ(read(has[0], &word, 1), 1);
  EXPECT_EQ(stopped.stop_below(getpid()), Told::all);
  EXPECT_FALSE(stopped.empty());
  kill(started, SIGKILL);
  waitpid(started, nullptr, 0);
  for (const int fd : {go_on[0], go_on[1], has[0], has[1]}) close(fd);
}

// A process below it is listed, and all else of it is hidden.
TEST(StopBelow, what_cannot_be_looked_at_is_not_taken_for_stopped) {
  if (geteuid() != 0) GTEST_SKIP() << "another user, and a /proc with hidepid, need root";
  EXPECT_EQ(
      in_namespace("hidepid=2",
                   [] {
                     return in_child([] {
                       const Sleeper roots({});
                       if (!become_somebody()) return 96;
                       const Family below = children_of(getpid());
                       if (below.pids.size() != 1) return 95;
                       if (read_stat(below.pids.front())) return 94;
                       StoppedProcesses stopped;
                       // Not by the end of `roots`, which is not to be killed any more.
                       _exit(stopped.stop_below(getpid()) == Told::but_what_was_not_seen ? 0 : 1);
                       return 1;
                     });
                   }),
      0);
}

}  // namespace
}  // namespace torc::exec
