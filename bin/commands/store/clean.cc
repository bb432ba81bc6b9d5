// torc clean: removes what a workflow no longer needs of what its workers wrote below its store.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/exec/store.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/trust.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/clean/exec_stores.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

constexpr std::size_t kMostToldLeft = 10;  // of what was left alone

struct CleanOptions {
  std::string place;  // store, or a .torc-exec
  bool completed = false;
  std::optional<std::chrono::seconds> older_than;
  bool exec = false;
  bool dry_run = false;
  bool json = false;
};

// What was cleaned: a store, or a directory of stores.
struct Cleared {
  Path path;
  bool is_exec = false;
  clean::Cleaned done;
};

std::string number(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", show_count(count), count == 1 ? one : many);
}

std::vector<std::string> parts_of(const clean::Cleaned& done) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint64_t count, std::string_view one, std::string_view many,
                       const clean::Freed& freed) {
    if (count != 0)
      parts.push_back(
          fmt::format("{} ({})", number(count, one, many), show_bytes(ByteCount{freed.bytes})));
  };
  add(done.output.files, "output file", "output files", done.output);
  add(done.packed.files, "file of packed output", "files of packed output", done.packed);
  add(done.directory_count, "attempt directory", "attempt directories", done.directories);
  add(done.logs.files, "worker log", "worker logs", done.logs);
  add(done.store_count, "store of torc exec", "stores of torc exec", done.stores);
  return parts;
}

void print_text(const App& app, const Cleared& cleared, bool dry_run) {
  const clean::Cleaned& done = cleared.done;
  const std::vector<std::string> parts = parts_of(done);
  const std::string path = printable(workflow::shown_path(app, cleared.path));
  if (parts.empty()) {
    say(app.out, "{}: nothing to remove\n", path);
  } else {
    say(app.out, "{}: {}{}\n", path, dry_run ? "would remove " : "removed ",
        fmt::format("{}", fmt::join(parts, ", ")));
    say(app.out, "{} {}\n", show_bytes(ByteCount{done.total().bytes}),
        dry_run ? "would be freed" : "freed");
  }
  for (std::size_t i = 0; i < std::min(done.left.size(), kMostToldLeft); ++i)
    say(app.err, "torc: left alone: {}\n", printable(done.left[i].what));
  if (done.left.size() > kMostToldLeft)
    say(app.err, "torc: left alone: {} more\n", show_count(done.left.size() - kMostToldLeft));
}

void print_json(const App& app, const Cleared& cleared, bool dry_run) {
  using nlohmann::ordered_json;
  const clean::Cleaned& done = cleared.done;
  const auto freed = [](const clean::Freed& f) {
    return ordered_json{{"files", f.files}, {"size_bytes", f.bytes}};
  };
  auto left = ordered_json::array();
  for (const Error& error : done.left) left.push_back(error.text());
  const ordered_json out = {{"store", json_if(!cleared.is_exec, cleared.path.string())},
                            {"exec_directory", json_if(cleared.is_exec, cleared.path.string())},
                            {"dry_run", dry_run},
                            {"freed", freed(done.total())},
                            {"freed_output", freed(done.output)},
                            {"freed_packed_output", freed(done.packed)},
                            {"freed_attempt_directories", freed(done.directories)},
                            {"attempt_directories", done.directory_count},
                            {"freed_worker_logs", freed(done.logs)},
                            {"freed_exec_stores", freed(done.stores)},
                            {"exec_stores", done.store_count},
                            {"left_alone", left}};
  say(app.out, "{}\n", report::json_text(out));
}

// nullopt: it is about a store. A .torc-exec may be named as it is, or the directory that has it.
std::optional<Path> exec_directory(const App& app, const CleanOptions& o) {
  Path path = (app.directory / o.place / "").lexically_normal().parent_path();
  const bool is_named = path.filename() == kExecDirectory;
  if (!o.exec && (o.place.empty() || !is_named)) return std::nullopt;
  return is_named ? path : path / kExecDirectory;
}

Result<clean::Cleaned> clean_exec(const App& app, const Path& directory, WallTime before,
                                  clean::Act act) {
  const auto usable = check_found_store(app, directory);
  if (!usable && usable.error().os_errno == ENOENT) return clean::Cleaned{};
  TORC_TRY(usable);
  return clean::clean_exec_stores(app, directory, before, act,
                                  [&](const Path& path) { return check_found_store(app, path); });
}

Result<Cleared> act_on(const App& app, const CleanOptions& o) {
  const clean::Act act = o.dry_run ? clean::Act::look : clean::Act::remove;
  clean::Wishes wishes;
  wishes.completed = o.completed;
  if (o.older_than) wishes.before = app.clock.wall_now() - *o.older_than;
  Cleared cleared;
  if (const auto exec = exec_directory(app, o)) {
    if (!wishes.before || o.completed) {
      return Error{ErrorKind::invalid, "whole stores of torc exec go by their age alone",
                   "torc clean --exec --older-than 7d"};
    }
    cleared.path = *exec;
    cleared.is_exec = true;
    TORC_ASSIGN(cleared.done, clean_exec(app, *exec, *wishes.before, act));
    return cleared;
  }
  TORC_ASSIGN(cleared.path, locate_store(app, o.place));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, cleared.path, store::Tuning{}));
  TORC_ASSIGN(cleared.done, clean::clean_store(app, *store, wishes, act));
  return cleared;
}

Result<Exit> run(const App& app, const CleanOptions& o) {
  TORC_ASSIGN(const Cleared cleared, act_on(app, o));
  if (o.json) {
    print_json(app, cleared, o.dry_run);
  } else {
    print_text(app, cleared, o.dry_run);
  }
  return Exit::ok;
}

}  // namespace

void add_clean(Command& c) {
  auto& o = c.options<CleanOptions>();
  c.about("Remove what a workflow no longer needs of what was written below its store");
  c.argument("STORE", o.place, "store; with --exec the directory with the .torc-exec");
  c.flag("--completed", o.completed, "also the output of jobs that have completed");
  c.option("--older-than", o.older_than, parse_duration, "only what ended longer ago than that")
      .value("TIME");
  c.flag("--exec", o.exec, "whole finished stores of torc exec; needs --older-than");
  c.flag("-n,--dry-run", o.dry_run, "only say what would be removed");
  c.flag("--json", o.json, "machine-readable output");
  c.footer(R"(
Without --completed: the output of attempts that are not the newest of their job, the directories of attempts that are
over (TORC_ATTEMPT_DIR), and the logs of workers that are gone. Nothing of a job that a worker holds, nothing that the
store does not know to be over, no files of jobs, and nothing outside of the store.

Examples:
  torc clean --dry-run                  what it would free
  torc clean wf.torc --completed --older-than 7d
  torc clean --exec --older-than 30d    stores that `torc exec` has left in .torc-exec)");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
