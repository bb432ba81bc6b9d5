#include "lib/clean/exec_stores.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"

namespace torc::clean {
namespace {

// When the last of it ended; 0: it has not, or nobody knows.
Result<WallTime> end_of(const claim::Reader& reader) {
  WallTime end{};
  bool is_over = true;
  TORC_TRY(claim::scan_jobs(reader, std::nullopt, [&](JobId, const claim::Job& job) {
    is_over = claim::is_terminal(job.state) && !claim::is_occupied(job);
    end = std::max(end, job.outcome.ended_at);
    return is_over;
  }));
  if (!is_over) return WallTime{};
  TORC_TRY(claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
    is_over = worker.status != claim::WorkerStatus::registered;
    end = std::max(end, worker.gone_at);
    return is_over;
  }));
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  return is_over && workflow.finished() ? end : WallTime{};
}

class ExecCleaner {
 public:
  ExecCleaner(const workflow::Context& context, const Path& directory, WallTime before, Act act)
      : context_(context), root_(directory, O_NOFOLLOW), before_(before), act_(act) {}

  Result<Cleaned> run(const std::function<Result<void>(const Path&)>& is_trusted) {
    Result<Descriptor> opened = root_.open();
    if (!opened && opened.error().os_errno == ENOENT) return std::move(cleaned_);
    TORC_ASSIGN(const Descriptor at, std::move(opened));
    directory_ = Descriptor(beneath::open_at(at.get(), ".", O_RDONLY | O_DIRECTORY));
    Descriptor listed(beneath::open_at(at.get(), ".", O_RDONLY | O_DIRECTORY));
    if (!directory_ || !listed) return beneath::open_error(errno, "list", root_.path());
    TORC_ASSIGN(std::vector<std::string> names, beneath::list(std::move(listed), root_.path()));
    std::ranges::sort(names);
    if (std::ranges::find(names, removing_) != names.end()) {
      const auto done = clear_removing();
      if (!done) cleaned_.left.push_back(done.error());
    }
    for (const std::string& name : names) {
      const auto done = clean(name, is_trusted);
      if (!done) cleaned_.left.push_back(done.error());
    }
    // Empty by now, unless something of it could not be removed.
    if (act_ == Act::remove) (void)::unlinkat(directory_.get(), removing_.c_str(), AT_REMOVEDIR);
    return std::move(cleaned_);
  }

 private:
  Result<void> clean(const std::string& name,
                     const std::function<Result<void>(const Path&)>& is_trusted) {
    if (!is_exec_store(name)) return {};
    const Path path = root_.path() / name;
    const Descriptor opened(
        beneath::open_at(directory_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (!opened) return beneath::open_error(errno, "open", path);
    TORC_TRY(is_trusted(path));
    TORC_ASSIGN(const auto store, store::Store::open(context_.world, path, store::Tuning{}));
    WallTime end{};
    TORC_TRY(
        store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          TORC_ASSIGN(end, end_of(reader));
          return {};
        }));
    if (end.count() == 0 || end >= before_) return {};
    TORC_TRY(check_content(opened, name));
    if (act_ == Act::look) return take(place(act_), name);
    store->forget_copy();
    return move_and_take(opened, name);
  }

  // What lies there was judged by this user: others could rename a store, but not into it.
  Result<Descriptor> open_removing() const {
    const Path shown = root_.path() / removing_;
    Descriptor opened(
        beneath::open_at(directory_.get(), removing_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    struct stat s {};
    if (!opened || ::fstat(opened.get(), &s) != 0) return beneath::open_error(errno, "open", shown);
    constexpr mode_t kOfOthers = S_IWGRP | S_IWOTH;
    if (s.st_uid != context_.world.uid || (s.st_mode & kOfOthers) != 0) {
      return Error{ErrorKind::permission,
                   fmt::format("{} may be written by others", shown.string()),
                   "see what it holds, remove it, and clean again"};
    }
    return opened;
  }

  // What an earlier clean has left.
  Result<void> clear_removing() {
    TORC_ASSIGN(Descriptor at, open_removing());
    const Place inside{at.get(), root_.path() / removing_, context_.world.uid, act_};
    Descriptor listed(beneath::open_at(at.get(), ".", O_RDONLY | O_DIRECTORY));
    if (!listed) return beneath::open_error(errno, "list", inside.shown);
    TORC_ASSIGN(const auto names, beneath::list(std::move(listed), inside.shown));
    for (const std::string& name : names) TORC_TRY(take(inside, name));
    return {};
  }

  [[nodiscard]] Place place(Act act) const {
    return {directory_.get(), root_.path(), context_.world.uid, act};
  }

  // Whatever a person has put right below a store is his.
  [[nodiscard]] Result<void> check_content(const Descriptor& opened,
                                           const std::string& name) const {
    const Path shown = root_.path() / name;
    Descriptor listed(beneath::open_at(opened.get(), ".", O_RDONLY | O_DIRECTORY));
    if (!listed) return beneath::open_error(errno, "list", shown);
    TORC_ASSIGN(const auto names, beneath::list(std::move(listed), shown));
    for (const std::string& one : names) {
      if (is_in_store(one)) continue;
      return Error{ErrorKind::permission,
                   fmt::format("{} is not a file of a store", (shown / one).string()),
                   "move it to where it belongs, and clean again"};
    }
    return {};
  }

  // What was looked at is what goes: under its new name nobody opens it any more.
  Result<void> move_and_take(const Descriptor& opened, const std::string& name) {
    TORC_TRY(take_tree(place(Act::look), name));
    struct stat looked {};
    struct stat named {};
    const Path shown = root_.path() / name;
    if (::fstat(opened.get(), &looked) != 0 ||
        ::fstatat(directory_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0)
      return os_error(errno, "cannot look at " + shown.string());
    if (looked.st_ino != named.st_ino || looked.st_dev != named.st_dev)
      return Error{ErrorKind::fenced, shown.string() + " was replaced by another directory", ""};
    constexpr mode_t kMine = 0700;
    if (::mkdirat(directory_.get(), removing_.c_str(), kMine) != 0 && errno != EEXIST)
      return os_error(errno, "cannot make " + (root_.path() / removing_).string());
    TORC_ASSIGN(const Descriptor removing, open_removing());
    if (::renameat2(directory_.get(), name.c_str(), removing.get(), name.c_str(),
                    RENAME_NOREPLACE) != 0)
      return os_error(errno, "cannot rename " + shown.string());
    // Between the look at its name and this it may have been exchanged.
    if (::fstatat(removing.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        looked.st_ino != named.st_ino || looked.st_dev != named.st_dev) {
      (void)::renameat2(removing.get(), name.c_str(), directory_.get(), name.c_str(),
                        RENAME_NOREPLACE);
      return Error{ErrorKind::fenced, shown.string() + " was replaced by another directory", ""};
    }
    return take({removing.get(), root_.path() / removing_, context_.world.uid, act_}, name);
  }

  Result<void> take(const Place& from, const std::string& name) {
    TORC_ASSIGN(const Freed freed, take_tree(from, name));
    cleaned_.stores += freed;
    ++cleaned_.store_count;
    return {};
  }

  const workflow::Context& context_;
  const std::string removing_ = fmt::format("{}{}", kRemoving, context_.world.uid);
  beneath::Root root_;
  Descriptor directory_;
  WallTime before_;
  Act act_;
  Cleaned cleaned_;
};

}  // namespace

Result<Cleaned> clean_exec_stores(const workflow::Context& context, const Path& directory,
                                  WallTime before, Act act,
                                  const std::function<Result<void>(const Path&)>& is_trusted) {
  return ExecCleaner(context, directory, before, act).run(is_trusted);
}

}  // namespace torc::clean
