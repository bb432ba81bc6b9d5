#include "tests/mutation/round.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <cstdlib>
#include <set>
#include <system_error>

#include "tests/integration/harness.h"
#include "tests/mutation/mutation.h"

namespace torc::mutation {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrecious = "do not lose me\n";
constexpr int kCommands = 3;

// What lies around the store, and how it was before the first command.
class Around {
 public:
  Around(const Path& directory, std::optional<uid_t> user)
      : directory_(directory),
        outside_{directory / "outside/precious", directory / "outside/directory"} {
    make_directory(directory, user);
    for (const char* name : {"out", "outside", "outside/directory"})
      make_directory(directory / name, user);
    for (const char* name : kKeepingPlaces) make_directory(directory / name, user);
    itest::write_text(directory / "more.yaml", more_jobs());
    itest::write_text(outside_.file, kPrecious);
    if (user && chown(outside_.file.c_str(), *user, *user) != 0)
      throw std::system_error(errno, std::generic_category(), "chown");
  }
  [[nodiscard]] const Outside& outside() const { return outside_; }
  void remember() { before_ = look(); }
  // Empty: all is as it was.
  [[nodiscard]] std::string changes() const {
    const std::set<std::string> now = look();
    std::string out;
    for (const std::string& line : now) {
      if (!before_.contains(line)) out += " +[" + line + "]";
    }
    for (const std::string& line : before_) {
      if (!now.contains(line)) out += " -[" + line + "]";
    }
    return out;
  }

 private:
  // Names beside the store, and all there is to know of what it may point to. The number of names
  // is left out, since a command may delete one that is in the store.
  [[nodiscard]] std::set<std::string> look() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(directory_))
      out.insert(entry.path().filename().string());
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / "outside")) {
      struct stat status {};
      if (lstat(entry.path().c_str(), &status) != 0) continue;
      const bool regular = S_ISREG(status.st_mode);
      out.insert(fmt::format("{} mode {:o} user {} size {} changed {}.{} '{}'",
                             entry.path().lexically_relative(directory_).string(), status.st_mode,
                             status.st_uid, regular ? status.st_size : 0, status.st_mtim.tv_sec,
                             status.st_mtim.tv_nsec,
                             regular ? itest::read_text(entry.path()).substr(0, 200) : ""));
    }
    return out;
  }

  Path directory_;
  Outside outside_;
  std::set<std::string> before_;
};

void keep_store(const Path& store, const Path& into) {
  fs::create_directories(into);
  const std::string command =
      fmt::format("cp -a --sparse=always '{}' '{}/'", store.parent_path().string(), into.string());
  if (std::system(command.c_str()) != 0) fmt::print("cannot keep {}\n", store.string());
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text;
}

}  // namespace

RoundEnd run_round(const RoundPlace& place, const std::vector<StoreTemplate>& templates,
                   std::uint64_t seed) {
  Random random(seed);
  RoundEnd end;
  const StoreTemplate& from = random.pick(templates);
  Around around(place.directory, place.user);
  const Path store = place.directory / "wf.torc";
  copy_store(from.store, store, place.user);
  const bool settled = random.one_in(2);
  if (settled) settle(store);
  const Surroundings where{place.program,
                           place.directory,
                           place.directory / "tmp",
                           place.directory / "node",
                           place.directory / "home",
                           place.user};
  const MutationKind& kind = any_kind(place.kind, random);
  const Target target{store, place.directory, around.outside(), place.user,
                      place.bytes_of_data_file};
  // With the node's copy of it as it was before; or without.
  const bool was_open = random.one_in(kind.mutate == forge_gate ? 1 : 3);
  if (was_open) (void)run_command(where, {"status", "wf.torc"});
  // What else a node and a user may have of it.
  if (random.one_in(4)) {
    (void)run_command(where, {"trust", "wf.torc"});
    put_ledger(target);
  }
  const std::string mutation = printable(kind.mutate(target, random));
  if (!mutation.empty()) {
    end.mutation = fmt::format("{}{}{}: {}", from.past, settled ? "" : ", a copy",
                               was_open ? ", was open on this node" : "", mutation);
    const Path kept = place.keep / place.directory.filename();
    if (!place.keep.empty()) keep_store(store, kept);
    around.remember();
    std::vector<std::string> before;
    for (int i = 0; i < kCommands; ++i) {
      Command command = any_command(kind.readers, random);
      for (std::string& word : command.words) {
        if (word == "STORE") word = "wf.torc";
        if (word == "OUT") word = "out/" + std::to_string(i);
      }
      const CommandEnd ended = run_command(where, command.words);
      ++end.commands;
      const std::string line = fmt::format("torc {}", fmt::join(command.words, " "));
      if (place.shows_commands) {
        fmt::print("{}\n{}{}-> {} {}, {:.2f} s, {} MiB\n", line,
                   printable(ended.out.substr(0, 2000)), ended.err, ended.exit_code, ended.signal,
                   ended.wall_seconds, ended.peak_memory >> 20);
      }
      std::vector<Broken> broken = judge(command, ended);
      if (const std::string changes = around.changes(); !changes.empty()) {
        broken.push_back({"something outside changed", changes});
        around.remember();
      }
      const bool of_data_file = mutation.find("data.mdb") != std::string::npos &&
                                mutation.find("data.mdb with") == std::string::npos;
      for (const Broken& one : broken) {
        if (of_data_file && one.rule == kExplainedCrash) continue;
        end.violations.push_back(
            {one.rule,
             fmt::format(
                 "{}\n    {}\n    {}{}", end.mutation, line, one.what,
                 before.empty() ? "" : fmt::format("\n    after: {}", fmt::join(before, "; ")))});
      }
      before.push_back(fmt::format("{} ({})", line, ended.exit_code));
    }
    if (!place.keep.empty() && end.violations.empty() && !place.shows_commands)
      fs::remove_all(kept);
  }
  fs::remove_all(place.directory);
  return end;
}

}  // namespace torc::mutation
