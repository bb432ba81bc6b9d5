#include "tests/integration/harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <system_error>

#include "tests/integration/harness_internal.h"

namespace torc::itest {
namespace fs = std::filesystem;

void give_up(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

Scratch::Scratch() {
  const char* root = std::getenv("TMPDIR");
  std::string name =
      std::string(root != nullptr && root[0] == '/' ? root : "/tmp") + "/torc-itest-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) give_up("cannot make " + name);
  path_ = fs::canonical(name);
  fs::permissions(path_, fs::perms(0755));
}

Scratch::~Scratch() {
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) std::fprintf(stderr, "cannot remove %s: %s\n", path_.c_str(), error.message().c_str());
}

std::string read_text(const Path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void write_text(const Path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) give_up("cannot write " + file.string());
}

std::map<std::string, std::string> contents(const Path& directory) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    // Shared memory of whoever has the store open; no part of its state.
    const std::string name = entry.path().filename();
    if (name == "lock.mdb" || name == "open.lock" || name.starts_with("gate-")) continue;
    all[entry.path().lexically_relative(directory)] =
        entry.is_regular_file() ? read_text(entry.path()) : "";
  }
  return all;
}

Workplace::Workplace() : directory_(scratch_.path() / "work") {
  fs::create_directory(directory_);
  new_tmpdir("tmp");
}

Path Workplace::write(const std::string& name, std::string_view text) const {
  const Path file = directory_ / name;
  fs::create_directories(file.parent_path());
  write_text(file, text);
  return file;
}

Path Workplace::new_tmpdir(const std::string& name) const {
  const Path directory = scratch_.path() / name;
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms(01777));  // as a temporary directory is: other users, too
  return directory;
}

Launch Workplace::torc(std::vector<std::string> arguments) const {
  Launch launch;
  launch.argv = {TORC_PROGRAM};
  launch.argv.insert(launch.argv.end(), arguments.begin(), arguments.end());
  launch.env["TMPDIR"] = scratch_.path() / "tmp";
  launch.env["SLURM_CONF"] = "/dev/null";
  launch.env["XDG_CACHE_HOME"] = scratch_.path() / "caches";
  launch.directory = directory_;
  return launch;
}

Ended Workplace::run(std::vector<std::string> arguments) const {
  return itest::run(torc(std::move(arguments)));
}

std::unique_ptr<Process> Workplace::start(std::vector<std::string> arguments) const {
  return std::make_unique<Process>(torc(std::move(arguments)));
}

nlohmann::json Workplace::json(std::vector<std::string> arguments) const {
  arguments.emplace_back("--json");
  const Ended ended = run(arguments);
  auto value = nlohmann::json::parse(ended.out, nullptr, false);
  if (!value.is_discarded()) return value;
  ADD_FAILURE() << "no JSON from torc " << arguments.front() << ": " << ended;
  return nullptr;
}

std::map<std::string, nlohmann::json> Workplace::jobs(const std::string& store) const {
  std::map<std::string, nlohmann::json> jobs;
  for (const nlohmann::json& job : json({"jobs", store})) jobs[job.value("job", "")] = job;
  return jobs;
}

Path Workplace::journal(const std::string& store) const {
  for (const auto& entry : fs::directory_iterator(directory_ / store)) {
    if (entry.path().filename().string().starts_with("state-")) return entry.path() / "journal";
  }
  ADD_FAILURE() << "there is no state in the store " << store;
  return {};
}

bool Workplace::wait_for_state(const std::string& store, const std::string& job,
                               std::string_view state) const {
  NewNames commits(journal(store));
  return wait_until({&commits}, [&] {
    return json({"job", store, job}).value("state", "") == state;
  });
}

bool own_mounts() {
  // As root the mounts alone; else as the root of a user namespace, where small disks can be
  // mounted, too.
  const uid_t user = geteuid();
  const gid_t group = getegid();
  const int flags = user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
  if (unshare(flags) == 0) {
    if (user != 0) {
      write_text("/proc/self/setgroups", "deny");
      write_text("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
      write_text("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
    }
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return true;
  }
  const std::string why = std::string("no mount namespace for this test: ") + strerror(errno);
  if (std::getenv("TORC_TEST_SKIP_NAMESPACES") != nullptr) {
    std::printf("skipped: %s\n", why.c_str());
  } else {
    ADD_FAILURE() << why
                  << "; set TORC_TEST_SKIP_NAMESPACES=1 to leave out the tests that need one";
  }
  return false;
}

void mount_small_disk(const Path& directory, std::size_t bytes) {
  fs::create_directories(directory);
  const std::string options = "mode=0777,size=" + std::to_string(bytes);
  if (mount("none", directory.c_str(), "tmpfs", 0, options.c_str()) != 0)
    give_up("cannot mount a tmpfs");
}

void unmount(const Path& directory) {
  if (umount2(directory.c_str(), MNT_DETACH) != 0) give_up("cannot unmount " + directory.string());
}

void fill_disk(const Path& file) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) give_up("cannot make " + file.string());
  const std::string block(4096, 'x');
  while (write(fd, block.data(), block.size()) > 0) {
  }
  const bool full = errno == ENOSPC;
  close(fd);
  if (!full) give_up("cannot fill the disk of " + file.string());
}

std::uint64_t test_seed() {
  const char* given = std::getenv("TORC_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu (repeat with TORC_TEST_SEED=%llu)\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace torc::itest
