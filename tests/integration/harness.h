// What the integration tests stand on: scratch directories, the built torc as a real process, and
// events to wait for. Nothing here sleeps: everything that can happen to a test (a line written by
// a job, a file that goes away, a process that ends) is a descriptor, and wait_until() polls them
// all until the condition holds or a time limit passes, which is a failure of the test. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/path.h"

namespace torc::itest {

// Longer than anything takes that works, also under a sanitizer on a busy machine.
inline constexpr std::chrono::seconds kLongEnough{90};

// A new directory under $TMPDIR (else /tmp), open to every user; removed with everything in it at
// the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  Path path_;
};

[[nodiscard]] std::string read_text(const Path& file);  // empty when it cannot be read
[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);
void write_text(const Path& file, std::string_view text);
// Every file below `directory` with its content, by relative path: to see that nothing changed.
[[nodiscard]] std::map<std::string, std::string> contents(const Path& directory);

// Something that can happen.
class Source {
 public:
  virtual ~Source() = default;
  virtual void pump() = 0;  // takes in what is there, without blocking
  // Readable when there is more to take in. Empty: nothing will come any more.
  [[nodiscard]] virtual std::vector<int> fds() const = 0;
};

// True as soon as `done` holds; false when `limit` passed or no source can change anything any
// more.
[[nodiscard]] bool wait_until(const std::vector<Source*>& sources,
                              const std::function<bool()>& done,
                              std::chrono::seconds limit = kLongEnough);

// A fifo that jobs write lines to ("echo … > FIFO": one write, so lines stay whole and the order in
// which they arrive is the order in which they were written), or read from, as a gate ("read x <
// FIFO").
class Fifo final : public Source {
 public:
  explicit Fifo(Path path);
  ~Fifo() override;
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  void pump() override;
  [[nodiscard]] std::vector<int> fds() const override { return {fd_}; }
  [[nodiscard]] const Path& path() const { return path_; }
  // All lines so far, without their ends.
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] bool has(std::string_view line) const;
  // As a gate: lets `readers` readers pass, those that wait and those that come. Never pump() a
  // gate.
  void open_gate(std::size_t readers);

 private:
  Path path_;
  int fd_ = -1;
  std::string rest_;
  std::vector<std::string> lines_;
};

// Names that come to a directory or to one in it.
class NewNames final : public Source {
 public:
  explicit NewNames(const Path& directory);
  ~NewNames() override;
  NewNames(const NewNames&) = delete;
  NewNames& operator=(const NewNames&) = delete;

  void pump() override;
  [[nodiscard]] std::vector<int> fds() const override { return {fd_}; }
  // Whether any came since the last call.
  [[nodiscard]] bool take() { return std::exchange(any_, false); }

 private:
  void watch();

  Path directory_;
  int fd_ = -1;
  bool any_ = false;
};

// A program as it shall be started.
struct Launch {
  std::vector<std::string> argv;           // an absolute path first
  std::map<std::string, std::string> env;  // on top of the test's own, without TORC_* and SLURM_*
  Path directory;
  std::optional<uid_t> user;       // as this user and group; needs root
  std::string hostname;            // in a UTS namespace of its own; needs root. Empty: as it is
  std::vector<gid_t> groups = {};  // further ones of `user`
  Path etc = {};  // mounted over /etc in a mount namespace of its own; needs root. Empty: as it is
  std::optional<mode_t> umask = {};  // none: as it is
  // It may execute, make, change and remove nothing: a system call that could is its end by SIGSYS.
  bool only_looks = false;
};

// How a program ended, and what it printed.
struct Ended {
  int exit_code = -1;  // -1: by a signal, or not at all
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;
  [[nodiscard]] bool says(std::string_view text) const;  // on either stream
};
std::ostream& operator<<(std::ostream& stream, const Ended& ended);

// A process of the test. Ended with SIGKILL by the destructor, and by the kernel when the test
// itself dies. A torc that works for a store is two: the one that was started is the watchdog, its
// child the worker.
class Process final : public Source {
 public:
  explicit Process(const Launch& launch);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // To this process; SIGKILL, SIGSTOP and SIGCONT to a worker below it too, as if both were one.
  // Nothing when it has ended.
  void kill(int signal) const;
  // The worker below a watchdog; 0: there is none (yet).
  [[nodiscard]] pid_t worker() const;
  [[nodiscard]] bool running() const { return !ended_; }
  // Printed so far, on either stream.
  [[nodiscard]] const std::string& out() const { return out_.text; }
  [[nodiscard]] const std::string& err() const { return err_.text; }
  // Waits for the end; past the limit it is killed and timed_out is set.
  Ended wait(std::chrono::seconds limit = kLongEnough);
  // Waits until `text` was printed on stdout.
  [[nodiscard]] bool wait_for_output(std::string_view text,
                                     std::chrono::seconds limit = kLongEnough);

  void pump() override;
  [[nodiscard]] std::vector<int> fds() const override;

 private:
  struct Stream {
    int fd = -1;
    std::string text;
    void drain();
  };
  Stream out_;
  Stream err_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

// Any process of this machine, to learn of its end. Made while it surely exists.
class Witness final : public Source {
 public:
  explicit Witness(pid_t pid);
  ~Witness() override;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  void pump() override;
  [[nodiscard]] std::vector<int> fds() const override;
  [[nodiscard]] bool gone() const { return gone_; }

 private:
  int fd_ = -1;
  bool gone_ = false;
};

// That so much time has passed, where time itself is what makes the difference for real processes.
class Timer final : public Source {
 public:
  explicit Timer(std::chrono::nanoseconds duration);
  ~Timer() override;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  void pump() override;
  [[nodiscard]] std::vector<int> fds() const override { return {fd_}; }
  [[nodiscard]] bool passed() const { return passed_; }

 private:
  int fd_ = -1;
  bool passed_ = false;
};

// Waits until `line` was written; false when `writer`, that shall bring it about, ends before.
[[nodiscard]] bool wait_for_line(Fifo& fifo, std::string_view line, Process& writer);

// A directory to work in, as a user has it: torc is run there, its replicas go to a $TMPDIR inside,
// and all of it is removed at the end. Where this machine has a Slurm it is not asked: its commands
// find no configuration.
class Workplace {
 public:
  Workplace();
  [[nodiscard]] const Path& path() const { return directory_; }
  Path write(const std::string& name, std::string_view text) const;
  // A further $TMPDIR: whoever uses it has a replica of its own, like on another node.
  Path new_tmpdir(const std::string& name) const;

  [[nodiscard]] Launch torc(std::vector<std::string> arguments) const;
  [[nodiscard]] Ended run(std::vector<std::string> arguments) const;
  [[nodiscard]] std::unique_ptr<Process> start(std::vector<std::string> arguments) const;
  // Runs it with --json; a failure to run or to parse fails the test and gives null.
  [[nodiscard]] nlohmann::json json(std::vector<std::string> arguments) const;
  // {name: record} of `torc jobs`.
  [[nodiscard]] std::map<std::string, nlohmann::json> jobs(const std::string& store) const;
  // Where the commits of a store are, in one with a journal.
  [[nodiscard]] Path journal(const std::string& store) const;
  // Waits until the job is in this state, in a store with a journal. A job that runs is reported a
  // moment after its start.
  [[nodiscard]] bool wait_for_state(const std::string& store, const std::string& job,
                                    std::string_view state) const;

 private:
  Scratch scratch_;
  Path directory_;
};

[[nodiscard]] Ended run(const Launch& launch, std::chrono::seconds limit = kLongEnough);

// A mount namespace for the rest of this test process, in which mounts of the test can do no harm.
// False: this machine does not allow it; the reason was reported as a failure of the test, or, with
// TORC_TEST_SKIP_NAMESPACES set, as the reason for skipping it.
[[nodiscard]] bool own_mounts();
// A tmpfs of so many bytes at `directory`, which is made. Precondition: own_mounts().
void mount_small_disk(const Path& directory, std::size_t bytes);
void unmount(const Path& directory);
// Writes a file until the disk is full.
void fill_disk(const Path& file);

// A seed for this run: TORC_TEST_SEED, else a fresh one. Printed, so that a failure can be
// repeated.
[[nodiscard]] std::uint64_t test_seed();

}  // namespace torc::itest
