#include "lib/store/disk/protected_roots.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/file/beneath.h"

namespace torc::store {
namespace {

// Somebody has the file under a lease (an NFS server of this machine, Samba): the first try asks
// him to give it back.
constexpr int kLeaseTries = 500;

// As the roots are spelled: without "//", "." and "..".
Path plain(const Path& path) {
  const std::string& text = path.native();
  const bool is_plain = text.find("//") == std::string::npos &&
                        text.find("/./") == std::string::npos &&
                        text.find("/../") == std::string::npos;
  return is_plain ? path : path.lexically_normal();
}

// A path that is walked by the kernel in one go is walked anew, asking the server for each name,
// when something in it turns out to be stale. A descriptor that was opened for a part of it is not.
void ask_anew(const Path& path) {
  struct stat ignored {};
  (void)::stat(path.parent_path().c_str(), &ignored);
}

// Precondition of all that take a path: it is spelled as plainly as the roots are, see plain().
Path spelled(const Path& root) {
  Path normal = root.lexically_normal();
  return normal.filename().empty() ? normal.parent_path() : normal;
}

Path below(const beneath::Root& root, const Path& path) {
  return path.native().substr(root.path().native().size() + 1);
}

}  // namespace

void ProtectedRoots::protect(const Path& root, int links) {
  const auto now = made_known(spelled(root), links);
  // Whoever opens a store anew takes what is there now, unless that was looked at already.
  if (links == 0 && !now->is_given()) (void)now->let_go();
}

void ProtectedRoots::keep(const Path& root) {
  if (const auto now = known(spelled(root))) now->keep();
}

Result<void> ProtectedRoots::protect_opened(const Path& root, Descriptor opened) {
  return made_known(spelled(root), 0)->hold(std::move(opened), beneath::Root::Until::the_end);
}

std::shared_ptr<beneath::Root> ProtectedRoots::made_known(const Path& root, int links) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (std::shared_ptr<beneath::Root>& had : roots_) {
    if (had->path() != root) continue;
    // What this process has made since is another one than what was there before.
    if (links != had->links() && links != 0) had = std::make_shared<beneath::Root>(root, links);
    return had;
  }
  return roots_.emplace_back(std::make_shared<beneath::Root>(root, links));
}

std::shared_ptr<beneath::Root> ProtectedRoots::known(const Path& root) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = std::find_if(roots_.begin(), roots_.end(),
                                  [&](const auto& had) { return had->path() == root; });
  return found != roots_.end() ? *found : nullptr;
}

void ProtectedRoots::note_moved(const Path& from, const Path& to) {
  const auto source = known(spelled(from));
  const auto target = known(spelled(to));
  Descriptor moved = source ? source->let_go() : Descriptor();
  // That it cannot be held only makes the next use of it the first one.
  if (target) (void)target->hold(std::move(moved), beneath::Root::Until::opened_anew);
}

void ProtectedRoots::note_removed(const Path& root) {
  if (const auto now = known(spelled(root))) (void)now->let_go();
}

std::shared_ptr<const beneath::Root> ProtectedRoots::above(const Path& path) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const std::string& text = path.native();
  std::shared_ptr<const beneath::Root> best;
  for (const std::shared_ptr<beneath::Root>& root : roots_) {
    const std::string& prefix = root->path().native();
    if (text.size() > prefix.size() + 1 && text.starts_with(prefix) && text[prefix.size()] == '/' &&
        (!best || prefix.size() > best->path().native().size()))
      best = root;
  }
  return best;
}

Result<ProtectedRoots::Spot> ProtectedRoots::spot(const Path& named, const char* verb) const {
  const Path path = plain(named);
  const auto root = above(path);
  if (!root) return Spot{Descriptor(), path.string()};
  Result<beneath::Entry> entry = beneath::entry(*root, below(*root, path));
  if (!entry.ok() && entry.error().os_errno == ESTALE) {
    ask_anew(path);
    entry = beneath::entry(*root, below(*root, path));
  }
  if (!entry.ok()) {
    Error error = std::move(entry).error();
    error.what = std::string("cannot ") + verb + " " + path.string() + ": " + error.what;
    return error;
  }
  return Spot{std::move(entry->directory), std::move(entry->name)};
}

// Outside of a protected root links are followed, as the user has named it, unless `outside` says
// O_NOFOLLOW.
Result<Descriptor> ProtectedRoots::open_named(const Path& path, int flags, int outside,
                                              const char* verb) const {
  const auto root = above(path);
  const auto open_once = [&]() -> Result<Descriptor> {
    if (!root) return Descriptor(::open(path.c_str(), flags | outside, 0666));
    TORC_ASSIGN(const Descriptor at, root->open());
    return Descriptor(beneath::open_at(at.get(), below(*root, path).c_str(), flags, 0666));
  };
  for (int tries = 0;; ++tries) {
    Result<Descriptor> out = open_once();
    const int e = !out.ok() ? out.error().os_errno : *out ? 0 : errno;
    if (e == ESTALE && tries == 0) {
      ask_anew(path);
    } else if (e == EAGAIN && tries < kLeaseTries) {
      beneath::pause_for_lease();
    } else if (e != EINTR) {
      if (out.ok() && e != 0) return beneath::open_error(e, verb, path);
      return out;
    }
  }
}

Result<Descriptor> ProtectedRoots::open(const Path& path, int flags, const char* verb) const {
  return open_named(plain(path), flags, 0, verb);
}

Result<Descriptor> ProtectedRoots::open_directory(const Path& named, const char* verb) const {
  const Path directory = plain(named);
  const auto root = known(directory);
  const int links = root ? root->links() : 0;
  return open_named(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, links, verb);
}

}  // namespace torc::store
