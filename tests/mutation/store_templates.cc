#include "tests/mutation/store_templates.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <system_error>

#include "lib/store/engine/meta.h"
#include "tests/integration/harness.h"

namespace torc::mutation {
namespace {

namespace fs = std::filesystem;
using itest::read_text;
using itest::write_text;

// Everything that a store can have something of. The jobs do no harm, whatever runs them: also
// where a mutation has brought one back. `killer` takes the worker with it, while a file says so,
// and so leaves a store that is still being worked on.
constexpr std::string_view kWorkflow = R"(name: wf
user_data:
  - {name: shared, data: {some: [1, 2, 3]}}
failure_handlers:
  - name: again
    rules: [{match_all_exit_codes: true, max_retries: 1, recovery_script: echo mending}]
actions:
  - {trigger_type: on_workflow_start, action_type: run_commands, commands: [echo begun]}
  - {trigger_type: on_jobs_complete, action_type: run_commands, jobs: [a], commands: [echo over]}
resource_monitor: {granularity: time_series, sample_interval_seconds: 1}
jobs:
  - {name: a, command: echo hello}
  - {name: "s{i}", command: "echo {i}", parameters: {i: "1:12"}, depends_on: [a]}
  - {name: fails, command: "false"}
  - {name: mended, command: "exit 3", failure_handler: again}
  - {name: packed, command: echo packed, stdio: {mode: packed}}
  - {name: killer, command: "test ! -e die || kill -9 $PPID"}
  - {name: last, command: sleep 0.15, depends_on: [s1, s2]}
  - {name: mourner, command: echo sad, depends: {afternotok: fails}}
)";

class Maker {
 public:
  Maker(const Path& program, const Path& directory, const std::string& engine,
        std::optional<uid_t> user)
      : where_{program, directory, directory / "tmp", directory / "node", directory / "home",
               user} {
    make_directory(directory, user);
    make_directory(where_.tmpdir, user);
    make_directory(where_.node, user);
    make_directory(where_.home, user);
    write_text(directory / "wf.yaml", kWorkflow);
    write_text(directory / "more.yaml", more_jobs());
    run({"init", "wf.yaml", "--engine", engine}, 0);
  }

  void run(const std::vector<std::string>& words, int exit_code) const {
    const CommandEnd end = run_command(where_, words);
    if (end.exit_code == exit_code) return;
    throw std::runtime_error(fmt::format("torc {} of a template ended with {}: {}{}", words[0],
                                         end.exit_code, end.out, end.err));
  }
  void work() const { run({"run", "wf.torc"}, 1); }  // `fails` does
  void be_killed() const {
    write_text(where_.directory / "die", "");
    run({"run", "wf.torc"}, -1);
    fs::remove(where_.directory / "die");
  }
  // Many commits, so that the files of a journal fill more than one directory.
  void commit_often() const {
    for (int i = 0; i < 70; ++i)
      run({"data", "set", "--create", "wf.torc", "many", std::to_string(i)}, 0);
  }
  [[nodiscard]] Path store() const { return where_.directory / "wf.torc"; }

 private:
  Surroundings where_;
};

}  // namespace

std::string_view more_jobs() {
  return "jobs:\n  - {name: \"more{i}\", command: \"true\", parameters: {i: \"1:5\"}}\n";
}

void make_directory(const Path& directory, std::optional<uid_t> user) {
  fs::create_directories(directory);
  if (user && chown(directory.c_str(), *user, *user) != 0)
    throw std::system_error(errno, std::generic_category(), "chown");
}

std::vector<StoreTemplate> make_templates(const Path& program, const Path& directory,
                                          const std::string& engine, std::optional<uid_t> user) {
  std::vector<StoreTemplate> out;
  const auto add = [&](const std::string& past, const auto& live) {
    const Maker maker(program, directory / std::to_string(out.size()), engine, user);
    live(maker);
    out.push_back({past, maker.store()});
  };
  add("fresh", [](const Maker&) {});
  add("half-run", [](const Maker& maker) { maker.be_killed(); });
  add("finished", [](const Maker& maker) { maker.work(); });
  add("reset and held", [](const Maker& maker) {
    maker.work();
    maker.run({"reset", "wf.torc", "--all", "--yes"}, 0);
    maker.run({"hold", "wf.torc", "s3", "s4"}, 0);
    maker.run({"cancel", "wf.torc", "s5"}, 0);
  });
  add("with added jobs and many commits", [](const Maker& maker) {
    maker.work();
    maker.commit_often();
    maker.run({"add", "wf.torc", "more.yaml"}, 0);
  });
  add("compacted", [](const Maker& maker) {
    maker.work();
    maker.commit_often();
    maker.run({"compact", "wf.torc"}, 0);
    maker.run({"add", "wf.torc", "more.yaml"}, 0);
  });
  return out;
}

void copy_store(const Path& from, const Path& to, std::optional<uid_t> user) {
  fs::copy(from, to, fs::copy_options::recursive);
  if (!user) return;
  const auto give = [user](const Path& path) {
    if (lchown(path.c_str(), *user, *user) != 0)
      throw std::system_error(errno, std::generic_category(), "chown");
  };
  give(to);
  for (const auto& entry : fs::recursive_directory_iterator(to)) give(entry.path());
}

void settle(const Path& store) {
  const Path file = store / "META";
  const Result<store::Meta> read = store::decode_meta(read_text(file), file);
  if (!read.ok()) throw std::runtime_error("META of a template cannot be read");
  store::Meta meta = *read;
  struct statx status {};
  if (statx(AT_FDCWD, meta.identity.state_directory(store).c_str(), 0, STATX_INO | STATX_BTIME,
            &status) != 0)
    throw std::system_error(errno, std::generic_category(), "statx");
  if ((status.stx_mask & STATX_BTIME) == 0) return;
  meta.inode = status.stx_ino;
  meta.born = status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec;
  write_text(file, store::encode_meta(meta));
}

}  // namespace torc::mutation
