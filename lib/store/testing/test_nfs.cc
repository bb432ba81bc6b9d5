#include "lib/store/testing/test_nfs.h"

#include <algorithm>
#include <cerrno>

namespace torc::store::testing {
namespace {

constexpr std::chrono::nanoseconds kAttributesKnown = std::chrono::seconds(3);
constexpr std::uint64_t kReadWhole = std::uint64_t{1} << 20U;  // a file that is read as a whole

Error refused(int e, const std::string& what) {
  return os_error(e, what);
}
// What a process that was killed is told, which nobody hears.
Error gone() {
  return refused(EIO, "this process is gone");
}

}  // namespace

// --- client: requests and caches ---

NfsDisk::NfsDisk(NfsServer& server, const Clock& clock, Network& network, NfsOptions options)
    : server_(server), clock_(clock), network_(network), options_(options) {
  server_.clients_.insert(this);
  if (!options_.close_sends) server_.keepers_.insert(this);
}

NfsDisk::~NfsDisk() {
  server_.clients_.erase(this);
  server_.keepers_.erase(this);
}

// `act` may run later or twice: it captures by value.
template <class T>
Result<T> NfsDisk::ask(const Request& request, std::function<Result<T>()> act) {
  ++requests_;
  if (request.changes) ++changing_;
  const RequestFate fate = network_.fate(request);
  switch (fate) {
    case RequestFate::gone:
      return gone();
    case RequestFate::lost:
      return refused(network_.error(), std::string(request.name) + " got lost");
    case RequestFate::late:
      network_.later([act = std::move(act)] { (void)act(); });
      return refused(network_.error(), std::string(request.name) + " was not answered in time");
    case RequestFate::reply_lost:
      (void)act();
      return refused(network_.error(), "the reply to " + std::string(request.name) + " got lost");
    case RequestFate::repeated:
      (void)act();
      break;
    case RequestFate::carried:
      break;
  }
  Result<T> done = act();
  network_.answered();
  if (!network_.alive()) return gone();
  return done;
}

// A call that names a path is tried once more by the kernel when it meets a handle that is stale.
template <class T>
Result<T> NfsDisk::by_path(const std::function<Result<T>(Known)>& act) {
  if (!network_.alive()) return gone();
  Result<T> done = act(Known::believed);
  if (!done.ok() && done.error().os_errno == ESTALE && options_.retries_stale)
    done = act(Known::asked_again);
  return done;
}

void NfsDisk::know(const Target& at, std::optional<Inode> inode) {
  names_[{at.directory, at.name}] = {inode, clock_.boot_now() + options_.name_cache};
}

void NfsDisk::forget_directory(Inode directory) {
  names_.erase(names_.lower_bound({directory, ""}), names_.lower_bound({directory + 1, ""}));
}

// A handle that turned out to be stale is not used again: the next walk asks for its name.
void NfsDisk::forget_stale(const Error& error, Inode inode) {
  if (error.os_errno != ESTALE) return;
  std::erase_if(names_, [&](const auto& known) { return known.second.inode == inode; });
}

Result<FileServer::Inode> NfsDisk::lookup(Inode directory, const std::string& name, Known known) {
  const auto found = names_.find({directory, name});
  if (known == Known::believed && found != names_.end() &&
      clock_.boot_now() < found->second.until) {
    if (found->second.inode) return *found->second.inode;
    return refused(ENOENT, name + " was not there a while ago");
  }
  NfsServer* const server = &server_;
  Result<Inode> asked =
      ask<Inode>({"LOOKUP", false}, [=] { return server->files.lookup(directory, name); });
  const Target at{directory, name};
  if (asked.ok()) know(at, *asked);
  if (!asked.ok() && asked.error().os_errno == ENOENT) know(at, std::nullopt);
  if (!asked.ok()) forget_stale(asked.error(), directory);
  return asked;
}

Result<FileServer::Inode> NfsDisk::walk(const Path& path, Known known) {
  Inode at = FileServer::kRoot;
  for (const Path& part : path.relative_path()) {
    TORC_ASSIGN(at, lookup(at, part.string(), known));
  }
  return at;
}

Result<NfsDisk::Target> NfsDisk::target(const Path& path, Known known) {
  TORC_ASSIGN(const Inode directory, walk(path.parent_path(), known));
  return Target{directory, path.filename().string()};
}

Result<FileServer::Attributes> NfsDisk::attributes(Inode inode) {
  NfsServer* const server = &server_;
  const NfsDisk* const self = this;
  Result<Attributes> now = ask<Attributes>({"GETATTR", false}, [=] {
    server->recall(inode, self);
    return server->files.attributes(inode);
  });
  if (now.ok()) attributes_[inode] = {*now, clock_.boot_now() + kAttributesKnown};
  if (!now.ok()) forget_stale(now.error(), inode);
  return now;
}

Result<NfsDisk::Part> NfsDisk::content(Inode inode, std::uint64_t offset, std::uint64_t size) {
  const auto unsent = unsent_.find(inode);
  if (unsent != unsent_.end() && unsent->second->extent.has(offset, size))
    return Part{{unsent->second, &unsent->second->content}, unsent->second->extent};
  const auto held = data_.find(inode);
  if (unsent == unsent_.end() && held != data_.end() && held->second.bytes &&
      held->second.extent.has(offset, size))
    return Part{held->second.bytes, held->second.extent};
  NfsServer* const server = &server_;
  const NfsDisk* const self = this;
  TORC_ASSIGN(auto bytes, ask<std::shared_ptr<const FileContent>>({"READ", false}, [=] {
                server->recall(inode, self);
                return server->files.content(inode);
              }));
  Extent extent;
  if (bytes->size() > kReadWhole) {
    extent = {offset / FileContent::kPage * FileContent::kPage, offset + size};
    bytes =
        std::make_shared<const FileContent>(bytes->part(extent.first, extent.end - extent.first));
  }
  // What was written here meanwhile, or before, is newer.
  if (const auto newer = unsent_.find(inode); newer != unsent_.end()) {
    FileContent both = *bytes;
    for (const std::uint64_t page : newer->second->pages)
      both.take_page(newer->second->content, page);
    return Part{std::make_shared<const FileContent>(std::move(both)), extent};
  }
  data_[inode].bytes = bytes;
  data_[inode].extent = extent;
  return Part{bytes, extent};
}

// All that was written and not sent, durably. What cannot be sent is lost, and the error told once.
Result<void> NfsDisk::send(Inode inode) {
  const auto held = unsent_.find(inode);
  if (held == unsent_.end()) return {};
  NfsServer* const server = &server_;
  const auto unsent = held->second;
  // The change that the server had seen last before this one.
  const Result<std::uint64_t> sent =
      ask<std::uint64_t>({"WRITE", true}, [=]() -> Result<std::uint64_t> {
        TORC_ASSIGN(const Attributes before, server->files.attributes(inode));
        unsent->send_to(server->files, inode);
        server->files.sync(inode, Sync::data);
        return before.change;
      });
  if (const auto now = unsent_.find(inode); now != unsent_.end() && now->second == unsent)
    unsent_.erase(now);
  if (!sent.ok()) {
    data_.erase(inode);
    return sent.error();
  }
  written_.insert(inode);
  const std::uint64_t known = data_[inode].change;
  data_.erase(inode);
  // Where others have written meanwhile, what is held of their pages is old.
  if (known != 0 && known != *sent && !options_.keeps_own_pages) return {};
  data_[inode].bytes = std::shared_ptr<const FileContent>(unsent, &unsent->content);
  data_[inode].extent = unsent->extent;
  if (const auto a = server_.files.attributes(inode); a.ok()) data_[inode].change = a->change;
  return {};
}

// --- client: handles ---

Result<FileHandle> NfsDisk::open_read(const Path& file) {
  return by_path<FileHandle>([&](Known known) -> Result<FileHandle> {
    TORC_ASSIGN(const Target at, target(file, known));
    TORC_ASSIGN(const Inode inode, lookup(at.directory, at.name, known));
    const Result<Attributes> now = attributes(inode);
    if (!now.ok()) return now.error();
    if (now->status.kind == FileKind::directory) return refused(EISDIR, file.string());
    if (const auto held = data_.find(inode);
        held != data_.end() && held->second.change != now->change &&
        !(options_.keeps_own_pages && written_.contains(inode)))
      data_.erase(held);
    data_[inode].change = now->change;
    return hand_out(inode);
  });
}

Result<FileHandle> NfsDisk::open_update(const Path& file) {
  Result<FileHandle> there = open_read(file);
  if (there.ok() || there.error().os_errno != ENOENT) return there;
  Result<FileHandle> made = create(file);
  // A name that was known not to be there, and is.
  if (!made.ok() && made.error().os_errno == EEXIST) return open_read(file);
  return made;
}

Result<FileHandle> NfsDisk::create(const Path& file) {
  return by_path<FileHandle>([&](Known known) -> Result<FileHandle> {
    TORC_ASSIGN(const Target at, target(file, known));
    NfsServer* const server = &server_;
    const auto lag = options_.listing_lag;
    Result<Inode> made = ask<Inode>({"CREATE", true}, [=]() -> Result<Inode> {
      server->remember(at.directory, at.name, lag);
      return server->files.create(at.directory, at.name);
    });
    forget(at);
    if (!made.ok()) return std::move(made).error();
    know(at, *made);
    data_[*made].bytes = std::make_shared<const FileContent>();
    return hand_out(*made);
  });
}

Result<FileHandle> NfsDisk::create_unnamed(const Path&) {
  return refused(EOPNOTSUPP, "no unnamed files here");
}

Result<std::string> NfsDisk::read(FileHandle file, std::uint64_t offset, std::size_t size) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  TORC_ASSIGN(const Part part, content(inode, offset, size));
  return part.bytes->read(offset, size);
}

Result<void> NfsDisk::write(FileHandle file, std::uint64_t offset, std::string_view bytes) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  TORC_ASSIGN(const Part before, content(inode, offset, bytes.size()));
  Unsent now;
  if (const auto held = unsent_.find(inode); held != unsent_.end()) now.pages = held->second->pages;
  now.content = *before.bytes;
  now.extent = before.extent;
  now.content.write(offset, bytes);
  for (std::uint64_t at = offset; at < offset + bytes.size(); at += FileContent::kPage)
    now.pages.insert(at / FileContent::kPage);
  if (!bytes.empty()) now.pages.insert((offset + bytes.size() - 1) / FileContent::kPage);
  unsent_[inode] = std::make_shared<const Unsent>(std::move(now));
  return {};
}

Result<void> NfsDisk::sync(FileHandle file, Sync) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  return send(inode);
}

Result<void> NfsDisk::close(FileHandle file) {
  const auto inode = inode_of(file);
  if (!inode.ok()) return inode.error();
  Result<void> sent = options_.close_sends ? send(*inode) : Result<void>();
  close_now(file.fd);
  return sent;
}

// --- client: names ---

Result<void> NfsDisk::change_entry(const char* request, const Target& at,
                                   const std::function<Result<void>()>& act) {
  NfsServer* const server = &server_;
  const auto lag = options_.listing_lag;
  Result<void> done = ask<void>({request, true}, [=]() -> Result<void> {
    server->remember(at.directory, at.name, lag);
    return act();
  });
  forget(at);  // whatever came of it: the next lookup asks
  if (!done.ok()) forget_stale(done.error(), at.directory);
  return done;
}

Result<void> NfsDisk::link(const Path& from, const Path& to) {
  if (!options_.hard_links) return refused(EPERM, "no hard links here");
  return by_path<void>([&](Known known) -> Result<void> {
    TORC_ASSIGN(const Inode inode, walk(from, known));
    TORC_ASSIGN(const Target at, target(to, known));
    NfsServer* const server = &server_;
    return change_entry("LINK", at, [=]() -> Result<void> {
      TORC_TRY(server->files.link(inode, at.directory, at.name));
      if (server->named) server->named(at.directory, at.name, inode);
      return {};
    });
  });
}

Result<void> NfsDisk::link_unnamed(FileHandle, const Path&) {
  return refused(EOPNOTSUPP, "no unnamed files here");
}

Result<void> NfsDisk::remove_or_hide(const Target& at) {
  NfsServer* const server = &server_;
  const auto found = names_.find({at.directory, at.name});
  const std::optional<Inode> inode = found != names_.end() ? found->second.inode : std::nullopt;
  if (inode && is_open(*inode)) {
    const Target hidden{at.directory,
                        ".nfs" + std::to_string(next_) + "-" + std::to_string(++hidden_names_)};
    Result<void> renamed = change_entry("RENAME", at, [=] {
      return server->files.rename(at.directory, at.name, hidden.directory, hidden.name,
                                  Replace::yes);
    });
    if (renamed.ok()) hidden_[*inode] = hidden;
    return renamed;
  }
  return change_entry("REMOVE", at, [=]() -> Result<void> {
    TORC_TRY(server->files.unlink(at.directory, at.name));
    if (server->unnamed) server->unnamed(at.directory, at.name);
    return {};
  });
}

Result<void> NfsDisk::unlink(const Path& file) {
  return by_path<void>([&](Known known) -> Result<void> {
    TORC_ASSIGN(const Target at, target(file, known));
    return remove_or_hide(at);
  });
}

Result<void> NfsDisk::make_directory(const Path& directory) {
  return by_path<void>([&](Known known) -> Result<void> {
    TORC_ASSIGN(const Target at, target(directory, known));
    NfsServer* const server = &server_;
    return change_entry("MKDIR", at, [=]() -> Result<void> {
      TORC_TRY(server->files.make_directory(at.directory, at.name));
      return {};
    });
  });
}

Result<void> NfsDisk::remove_directory(const Path& directory) {
  return by_path<void>([&](Known known) -> Result<void> {
    TORC_ASSIGN(const Target at, target(directory, known));
    NfsServer* const server = &server_;
    return change_entry("RMDIR", at,
                        [=] { return server->files.remove_directory(at.directory, at.name); });
  });
}

// The protocol knows no rename that spares what is there: PosixDisk falls back on the plain one.
Result<void> NfsDisk::rename(const Path& from, const Path& to, Replace) {
  return by_path<void>([&](Known known) -> Result<void> {
    TORC_ASSIGN(const Target source, target(from, known));
    TORC_ASSIGN(const Target at, target(to, known));
    NfsServer* const server = &server_;
    const auto lag = options_.listing_lag;
    Result<void> done = change_entry("RENAME", at, [=]() -> Result<void> {
      server->remember(source.directory, source.name, lag);
      TORC_ASSIGN(const Inode inode, server->files.lookup(source.directory, source.name));
      TORC_TRY(
          server->files.rename(source.directory, source.name, at.directory, at.name, Replace::yes));
      if (server->named) server->named(at.directory, at.name, inode);
      return {};
    });
    forget(source);
    return done;
  });
}

Result<void> NfsDisk::sync_directory(const Path& directory) {
  return by_path<void>([&](Known known) -> Result<void> {
    TORC_TRY(walk(directory, known));
    return {};
  });
}

Result<std::vector<std::string>> NfsDisk::list(const Path& directory) {
  return by_path<std::vector<std::string>>([&](Known known) -> Result<std::vector<std::string>> {
    TORC_ASSIGN(const Inode inode, walk(directory, known));
    TORC_ASSIGN(const Attributes now, attributes(inode));  // opening it revalidates it
    const auto held = listings_.find(inode);
    if (options_.listing_lag.count() == 0 && held != listings_.end() &&
        held->second.first == now.change)
      return held->second.second;
    NfsServer* const server = &server_;
    const auto lag = options_.listing_lag;
    Network* const network = &network_;
    TORC_ASSIGN(const auto entries, (ask<std::map<std::string, Inode>>({"READDIR", false}, [=] {
                  return server->list(inode, lag, *network);
                })));
    forget_directory(inode);
    std::vector<std::string> names;
    for (const auto& [name, at] : entries) {
      names.push_back(name);
      if (lag.count() == 0) know({inode, name}, at);  // READDIRPLUS
    }
    listings_[inode] = {now.change, names};
    return names;
  });
}

Result<FileStatus> NfsDisk::status(const Path& path) {
  if (path.string().starts_with("/proc/")) return FileStatus{FileKind::directory, {}};
  return by_path<FileStatus>([&](Known known) -> Result<FileStatus> {
    TORC_ASSIGN(const Inode inode, walk(path, known));
    const auto held = attributes_.find(inode);
    if (known == Known::believed && held != attributes_.end() &&
        clock_.boot_now() < held->second.second)
      return held->second.first.status;
    TORC_ASSIGN(const Attributes now, attributes(inode));
    return now.status;
  });
}

Result<std::uint64_t> NfsDisk::filesystem(const Path& path) {
  return by_path<std::uint64_t>([&](Known known) -> Result<std::uint64_t> {
    TORC_TRY(walk(path, known));
    return options_.magic;
  });
}

Result<bool> NfsDisk::try_lock(FileHandle file) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  if (options_.locks == NfsLocks::always_fail) return refused(ENOLCK, "no locks available");
  if (options_.locks == NfsLocks::always_succeed) return true;
  NfsServer* const server = &server_;
  const std::pair<const NfsDisk*, int> me(this, file.fd);
  return ask<bool>({"LOCK", false}, [=]() -> Result<bool> {
    return server->locks_.emplace(inode, me).first->second == me;
  });
}

Result<void> NfsDisk::unlock(FileHandle file) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  if (options_.locks != NfsLocks::real) return {};
  NfsServer* const server = &server_;
  const std::pair<const NfsDisk*, int> me(this, file.fd);
  return ask<void>({"UNLOCK", false}, [=]() -> Result<void> {
    if (const auto held = server->locks_.find(inode);
        held != server->locks_.end() && held->second == me)
      server->locks_.erase(held);
    return {};
  });
}

}  // namespace torc::store::testing
