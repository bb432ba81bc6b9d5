// How a worker says its last words: with a store that cannot be written, and when its lease is
// lost.
#include <sys/inotify.h>

#include <fstream>
#include <set>

#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::JobState;

constexpr const char* kOne = "jobs: [{name: a, command: x}]\n";

class Leaving : public SignaledSession {
 protected:
  void make_journal(const std::string& jobs) { make(jobs, store::Engine::journal); }
  [[nodiscard]] std::function<void()> fill(bool full) {
    return [this, full] { disk_.full = full; };
  }
  [[nodiscard]] std::function<void()> wait(std::chrono::nanoseconds time) {
    return [this, time] { clock_.sleep_for(time); };
  }
  [[nodiscard]] std::function<void()> complete() {
    return [this] { end_it(ScriptedHost::ended_by_itself(0)); };
  }
  [[nodiscard]] static std::function<void()> send(int signal) {
    return [signal] { signal_to_worker(signal); };
  }
  // Runs while the disk is full from the end of the job until `until`, and tells what an Error of
  // the session was.
  Result<WorkerSummary> try_to_run() {
    auto store = open();
    Session session(context_, setup_, events_, host_, nullptr);
    host_.awaits_store = [&] { return session.awaits_store(); };
    return session.run(std::move(store));
  }
};

TEST_F(Leaving, after_ctrl_c_results_wait_for_a_store_that_cannot_be_written_for_a_while) {
  make_journal("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:3\"}}]\n");
  setup_.max_parallel_jobs = 3;
  const auto nothing = [] {};
  const WorkerSummary summary =
      run_with({send(SIGINT), fill(true), complete(), wait(2s), nothing, wait(2s), complete(),
                wait(2s), nothing, wait(20s), fill(false), wait(2s), complete()});
  EXPECT_EQ(summary.completed, 3U);
  for (const std::uint64_t id : {1U, 2U, 3U}) EXPECT_EQ(job(id).state, JobState::completed) << id;
  EXPECT_TRUE(said("the store cannot be written now, trying again"));
  EXPECT_FALSE(said("gave up"));
}

TEST_F(Leaving, the_last_commit_of_a_worker_is_tried_again_too) {
  make_journal(kOne);
  std::optional<BootTime> ended;
  host_.meanwhile = [&](BootTime) {
    if (!host_.running_now.empty()) {
      if (!disk_.full) signal_to_worker(SIGTERM);
      disk_.full = true;
      ended = clock_.boot_now();
      end_it(ScriptedHost::ended_by_itself(0));
      return true;
    }
    if (ended && clock_.boot_now() - *ended > 5s) disk_.full = false;
    return false;
  };
  EXPECT_EQ(run().completed, 1U);
  EXPECT_EQ(job(1).state, JobState::completed);
  EXPECT_EQ(seen_.back().of(JobState::completed), 1U);
}

TEST_F(Leaving, the_last_result_and_the_release_are_one_commit) {
  make(kOne);
  std::uint64_t before = 0;
  const auto newest = [&] {
    std::uint64_t n = 0;
    const auto seen =
        open()->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          n = reader.sequence();
          return {};
        });
    EXPECT_TRUE(seen.ok());
    return n;
  };
  before = newest();
  run_with({send(SIGINT), complete()});
  // It registers, claims, and says the rest at once.
  EXPECT_EQ(newest() - before, 3U);
  EXPECT_EQ(job(1).state, JobState::completed);
}

TEST_F(Leaving, after_a_termination_signal_it_gives_up_on_a_dead_store_and_counts_nothing) {
  make_journal(kOne);
  std::optional<BootTime> ended;
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    if (!disk_.full) {
      disk_.full = true;
      signal_to_worker(SIGTERM);
      return true;
    }
    if (host_.stops.empty()) return false;
    ended = clock_.boot_now();
    end_it(ScriptedHost::ended_by_itself(0));
    return true;
  };
  const auto summary = try_to_run();
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->failure);  // it is not tried again
  ASSERT_TRUE(ended);
  EXPECT_GE(clock_.boot_now() - *ended, 19s);
  EXPECT_LT(clock_.boot_now() - *ended, 30s);
  EXPECT_TRUE(said("gave up on reporting 1 result, those jobs will run again"));
}

TEST_F(Leaving, a_third_signal_gives_up_on_a_dead_store_at_once) {
  make_journal(kOne);
  const auto summary = [&] {
    std::vector<std::function<void()>> steps{send(SIGINT), fill(true), complete(),
                                             wait(1s),     [] {},      wait(40s),
                                             send(SIGINT), wait(1s),   send(SIGINT)};
    std::size_t next = 0;
    host_.meanwhile = [&, steps](BootTime) {
      if (host_.running_now.empty() && next == 0) return false;
      if (next >= steps.size()) return false;
      steps[next++]();
      return true;
    };
    return try_to_run();
  }();
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->failure);
  EXPECT_TRUE(said("1 result not reported yet: trying for 20 s more"));
  EXPECT_TRUE(said("gave up on reporting 1 result"));
}

// The store answers again just when the worker has given up waiting for it.
TEST_F(Leaving, what_was_started_is_never_given_back_as_if_it_had_not_been) {
  make_journal(kOne);
  std::optional<BootTime> ended;
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    if (!disk_.full) {
      disk_.full = true;  // before the start was told
      signal_to_worker(SIGTERM);
      return true;
    }
    if (host_.stops.empty()) return false;
    ended = clock_.boot_now();
    end_it(stopped_by(SIGTERM));
    return true;
  };
  host_.readable = [&](int) {
    if (ended && clock_.boot_now() - *ended >= 20s) disk_.full = false;
  };
  const auto summary = try_to_run();
  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(job(1).state, JobState::ready);
  EXPECT_EQ(job(1).attempt, 1U) << "its next attempt must not have the number of this one";
  EXPECT_EQ(job(1).stopped, 1U);
}

// --- a lost lease ---

TEST_F(Leaving, what_was_not_committed_when_the_lease_was_lost_does_not_count) {
  make_journal("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:2\"}}]\n");
  setup_.max_parallel_jobs = 2;
  const WorkerSummary summary =
      run_with({complete(), wait(1s), [] {}, fill(true), complete(), wait(1s), wait(10'000h)});
  EXPECT_EQ(summary.end, WorkerEnd::lease_lost);
  EXPECT_EQ(summary.completed, 1U);
}

std::size_t open_files_below(const Path& directory) {
  std::size_t count = 0;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const Path target = std::filesystem::read_symlink(fd, error);
    if (!error && target.string().starts_with(directory.string() + "/")) ++count;
  }
  return count;
}

TEST_F(Leaving, a_worker_that_lost_its_lease_leaves_no_file_of_its_jobs_open_nor_empty) {
  make_journal("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:3\"}}]\n");
  setup_.max_parallel_jobs = 3;
  std::size_t open_before = 0;
  const WorkerSummary summary = run_with({[&] {
    open_before = open_files_below(setup_.output_dir);
    disk_.full = true;
    clock_.sleep_for(std::chrono::hours(10'000));
  }});
  EXPECT_EQ(summary.end, WorkerEnd::lease_lost);
  EXPECT_EQ(open_before, 6U);
  EXPECT_EQ(open_files_below(setup_.output_dir), 0U);
  for (const auto& file : std::filesystem::recursive_directory_iterator(setup_.output_dir))
    EXPECT_TRUE(file.is_directory()) << file.path();
}

// The names of what is opened in a directory.
class Opened {
 public:
  explicit Opened(const Path& directory) : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(fd_, directory.c_str(), IN_OPEN), 0);
  }
  ~Opened() { close(fd_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  [[nodiscard]] std::set<std::string> names() const {
    alignas(inotify_event) char buffer[65536];
    std::set<std::string> found;
    for (ssize_t n = 0; (n = read(fd_, buffer, sizeof buffer)) > 0;) {
      for (const char* at = buffer; at < buffer + n;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if (event->len > 0) found.insert(event->name);
        at += sizeof(inotify_event) + event->len;
      }
    }
    return found;
  }

 private:
  int fd_;
};

TEST_F(Leaving, the_files_of_jobs_that_it_stops_are_not_looked_at) {
  make(
      "files: [{name: f1, path: made1}, {name: f2, path: made2}]\n"
      "jobs:\n"
      "  - {name: a, command: a, output_files: [f1]}\n"
      "  - {name: b, command: b, output_files: [f2]}\n");
  setup_.max_parallel_jobs = 2;
  for (const char* name : {"made1", "made2"}) std::ofstream(directory_ / name) << "text";
  const Opened opened(directory_);
  run_with(
      {complete(), send(SIGTERM), wait(1s), send(SIGTERM), [&] { end_it(stopped_by(SIGTERM)); }});
  EXPECT_EQ(job(1).state, JobState::completed);
  EXPECT_EQ(job(2).state, JobState::ready);
  const std::set<std::string> names = opened.names();
  EXPECT_TRUE(names.contains("made1"));
  EXPECT_FALSE(names.contains("made2"));
}

}  // namespace
}  // namespace torc::worker
