#include "lib/store/disk/publisher.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/store/disk/filesystem.h"
#include "lib/store/disk/hash.h"

namespace torc::store {
namespace {

constexpr std::string_view kInside = "c";  // the file inside a published directory
constexpr int kPrepareTries = 2;

std::string temporary_name(Entropy& entropy) {
  return std::string(Publisher::kTemporary) + to_hex(random_bytes(entropy)).substr(0, 16);
}

// What open(2) answers where O_TMPFILE is not known.
bool means_no_unnamed_files(int os_errno) {
  return os_errno == EOPNOTSUPP || os_errno == ENOSYS || os_errno == EISDIR || os_errno == EINVAL;
}

// Retrying after a failed sync makes sense only with a new file, and not for these.
bool may_try_again(const Error& error) {
  return error.os_errno == EIO || error.os_errno == ESTALE;
}

// It may have been made all the same.
Error with_unknown_outcome(Error error) {
  error.kind = ErrorKind::unknown;
  return error;
}

}  // namespace

std::string_view to_string(Primitive p) {
  static constexpr std::string_view kNames[] = {"tmpfile-link", "link", "rename-dir"};
  return kNames[static_cast<std::size_t>(p)];
}

std::string_view to_string(DurableName d) {
  static constexpr std::string_view kNames[] = {"file", "directory", "server"};
  return kNames[static_cast<std::size_t>(d)];
}

std::string_view to_string(Names n) {
  return n == Names::linked ? "link" : "rename-dir";
}

std::optional<Names> names_of(std::string_view text) {
  for (const Names n : {Names::linked, Names::renamed_directory}) {
    if (to_string(n) == text) return n;
  }
  return std::nullopt;
}

Names names_of(Primitive p) {
  return p == Primitive::rename_directory ? Names::renamed_directory : Names::linked;
}

PublishMethod method_for(Names names, const FilesystemType& type) {
  const bool unnamed = names == Names::linked && type.sharing != Sharing::shared;
  return {names == Names::renamed_directory ? Primitive::rename_directory
          : unnamed                         ? Primitive::tmpfile_link
                                            : Primitive::link,
          type.names_are_durable         ? DurableName::server
          : unnamed && type.orders_names ? DurableName::file
                                         : DurableName::directory};
}

// What is ready to be given its name. `path` is empty for an unnamed file, whose handle is still
// open then.
struct Publisher::Prepared {
  Path path;
  std::optional<OpenFile> open;
};

Path Publisher::content(const Path& directory, const std::string& name) const {
  return method_.primitive == Primitive::rename_directory ? directory / name / kInside
                                                          : directory / name;
}

Result<void> Publisher::choose_again(const Path& directory) {
  TORC_ASSIGN(const std::uint64_t magic, disk_->filesystem(directory));
  method_ = method_for(names_of(method_.primitive), filesystem_type(magic));
  return {};
}

Result<void> Publisher::remove(const Path& directory, const std::string& name) {
  if (method_.primitive != Primitive::rename_directory) return disk_->unlink(directory / name);
  const Result<void> inside = disk_->unlink(directory / name / kInside);
  if (!inside.ok() && inside.error().os_errno != ENOENT) return inside;
  return disk_->remove_directory(directory / name);
}

Result<Publisher::Prepared> Publisher::prepare(const Path& directory, std::string_view bytes) {
  Prepared out;
  if (method_.primitive == Primitive::tmpfile_link) {
    Result<FileHandle> handle = disk_->create_unnamed(directory);
    if (!handle.ok()) return std::move(handle).error();
    out.open.emplace(*disk_, *handle, directory);
    TORC_TRY(out.open->write(0, bytes));
    if (durable_ == Durable::yes) TORC_TRY(out.open->sync(Sync::data));
    return out;
  }
  out.path = directory / temporary_name(*entropy_);
  Path file = out.path;
  if (method_.primitive == Primitive::rename_directory) {
    TORC_TRY(disk_->make_directory(out.path));
    file /= kInside;
  }
  Result<void> written = write_file(*disk_, file, bytes, durable_);
  if (written.ok() && durable_ == Durable::yes &&
      method_.primitive == Primitive::rename_directory && method_.name != DurableName::server) {
    written = disk_->sync_directory(out.path);
  }
  if (written.ok()) return out;
  (void)discard(out);
  return std::move(written).error();
}

Result<void> Publisher::give_name(const Prepared& prepared, const Path& final_path) {
  if (prepared.open) return disk_->link_unnamed(prepared.open->handle(), final_path);
  if (method_.primitive == Primitive::link) return disk_->link(prepared.path, final_path);
  // A plain rename: the flag that forbids replacing is refused by most filesystems that need this
  // primitive, and a directory that is not empty refuses by itself.
  return disk_->rename(prepared.path, final_path, Replace::yes);
}

Result<void> Publisher::make_name_durable(const Prepared& prepared, const Path& directory) {
  if (durable_ == Durable::no || method_.name == DurableName::server) return {};
  if (method_.name == DurableName::file && prepared.open) {
    return prepared.open->sync(Sync::all);
  }
  return disk_->sync_directory(directory);
}

Result<void> Publisher::discard(Prepared& prepared) {
  if (prepared.open) {
    (void)prepared.open->close();
    prepared.open.reset();
    return {};
  }
  Result<void> gone = {};
  if (method_.primitive == Primitive::rename_directory) {
    // Taken away in one step: a late request of ours must find all of it or nothing.
    const Path aside = prepared.path.parent_path() / temporary_name(*entropy_);
    gone = disk_->rename(prepared.path, aside, Replace::no);
    if (gone.ok()) {
      (void)disk_->unlink(aside / kInside);
      (void)disk_->remove_directory(aside);  // what stays is collected later
    }
  } else {
    gone = disk_->unlink(prepared.path);
  }
  if (!gone.ok() && gone.error().os_errno == ENOENT) return {};
  return gone;
}

// nullopt: nobody has the name.
Result<std::optional<bool>> Publisher::holds_ours(const Path& file, std::string_view bytes) {
  Result<std::string> there = read_file(*disk_, file);
  if (there.ok()) return std::optional<bool>(*there == bytes);
  if (there.error().os_errno == ENOENT) return std::optional<bool>();
  return with_unknown_outcome(std::move(there).error());
}

Result<bool> Publisher::is_listed(const Path& directory, const std::string& name) {
  Result<std::vector<std::string>> names = list_directory(*disk_, directory);
  if (names.ok()) return std::find(names->begin(), names->end(), name) != names->end();
  if (names.error().os_errno == ENOENT) return false;  // nor is its directory there
  return with_unknown_outcome(std::move(names).error());
}

// The name was not given, or so it seems: look who has it. Who looks for a name that is not there
// may be told so for half a minute, whatever happens meanwhile (NFS), until he lists its directory:
// so nobody opens a name before it was listed or said to be taken, but at the very last, right
// after a listing.
Result<Publication> Publisher::settle(Prepared& prepared, const Path& directory,
                                      const std::string& name, std::string_view bytes,
                                      Error error) {
  const Path file = content(directory, name);
  bool open_it = error.os_errno == EEXIST || error.os_errno == ENOTEMPTY;
  if (!open_it) {
    TORC_ASSIGN(open_it, is_listed(directory, name));
  }
  std::optional<bool> ours;
  if (open_it) {
    TORC_ASSIGN(ours, holds_ours(file, bytes));
  }
  if (!ours.has_value()) {
    // A request of ours may still be on its way to the server. Without its source it cannot succeed
    // any more; only after that is "nobody has it" final.
    Result<void> gone = discard(prepared);
    if (!gone.ok()) return with_unknown_outcome(std::move(gone).error());
    TORC_TRY(is_listed(directory, name));
    TORC_ASSIGN(ours, holds_ours(file, bytes));
    if (!ours.has_value()) return Publication{Publication::State::absent, std::move(error)};
  }
  if (!*ours) (void)discard(prepared);
  return Publication{*ours ? Publication::State::done : Publication::State::taken, {}};
}

Result<Publication> Publisher::publish(const Path& directory, const std::string& name,
                                       std::string_view bytes) {
  const auto prepare_somehow = [&]() -> Result<Prepared> {
    Result<Prepared> prepared = prepare(directory, bytes);
    if (prepared.ok() || method_.primitive != Primitive::tmpfile_link ||
        !means_no_unnamed_files(prepared.error().os_errno))
      return prepared;
    method_ = {Primitive::link, DurableName::directory};
    return prepare(directory, bytes);
  };
  Result<Prepared> prepared = prepare_somehow();
  for (int tries = 1; !prepared.ok() && tries < kPrepareTries; ++tries) {
    if (!may_try_again(prepared.error())) break;
    if (prepared.error().os_errno == ESTALE && !choose_again(directory).ok()) break;
    prepared = prepare_somehow();
  }
  // Nothing was given a name: surely not published.
  if (!prepared.ok())
    return Publication{Publication::State::absent, std::move(prepared).error(), false};

  Result<void> named = give_name(*prepared, directory / name);
  if (!named.ok() && prepared->open && named.error().os_errno == ENOENT &&
      !disk_->status("/proc/self/fd").ok()) {
    method_ = {Primitive::link, DurableName::directory};  // a container without /proc
    return publish(directory, name, bytes);
  }
  if (!named.ok()) {
    if (named.error().os_errno == ESTALE) (void)choose_again(directory);
    Result<Publication> settled =
        settle(*prepared, directory, name, bytes, std::move(named).error());
    if (!settled.ok()) (void)discard(*prepared);
    if (!settled.ok() || settled->state != Publication::State::done) return settled;
  }
  // Visible now, so others may build on it; but until the name is durable nobody may be told that
  // it will stay.
  if (Result<void> durable = make_name_durable(*prepared, directory); !durable.ok()) {
    (void)discard(*prepared);
    return with_unknown_outcome(std::move(durable).error());
  }
  // After a rename nothing is left to delete. A temporary that cannot be deleted is collected
  // later.
  if (method_.primitive != Primitive::rename_directory) (void)discard(*prepared);
  return Publication{Publication::State::done, {}};
}

Result<void> Publisher::replace(const Path& directory, const std::string& name,
                                std::string_view bytes) {
  const Path aside = directory / temporary_name(*entropy_);
  TORC_TRY(write_file(*disk_, aside, bytes, durable_));
  Result<void> named = disk_->rename(aside, directory / name, Replace::yes);
  if (!named.ok()) (void)disk_->unlink(aside);
  return named;
}

Result<void> Publisher::touch(const Path& directory) {
  const Path name = directory / temporary_name(*entropy_);
  TORC_TRY(write_file(*disk_, name, {}, Durable::no));
  return disk_->unlink(name);
}

Result<PublishMethod> probe_publish(Disk& disk, Entropy& entropy, const Path& directory) {
  TORC_ASSIGN(const std::uint64_t magic, disk.filesystem(directory));
  const FilesystemType type = filesystem_type(magic);
  Error last;
  for (const Primitive primitive :
       {Primitive::tmpfile_link, Primitive::link, Primitive::rename_directory}) {
    if (primitive == Primitive::tmpfile_link && type.sharing == Sharing::shared) continue;
    PublishMethod method = method_for(names_of(primitive), type);
    if (method.primitive != primitive)
      method = {primitive, method_for(Names::renamed_directory, type).name};
    Publisher publisher(disk, entropy, method, Durable::no);
    const std::string name = "probe-" + std::string(to_string(primitive));
    Result<Publication> first = publisher.publish(directory, name, "1");
    if (publisher.method().primitive != primitive) {
      (void)publisher.remove(directory, name);
      continue;
    }
    bool works = first.ok() && first->state == Publication::State::done;
    if (works) {
      // It must also refuse the second time; a filesystem that replaces silently is worse than one
      // that fails.
      Result<Publication> second = publisher.publish(directory, name, "2");
      works = second.ok() && second->state == Publication::State::taken;
      first = std::move(second);  // it tells why not
    }
    (void)publisher.remove(directory, name);
    if (works) return method;
    last = first.ok() ? first->error : std::move(first).error();
    // EPERM is how a filesystem says that it has no hard links; these say that nothing can be made
    // at all.
    if (last.kind == ErrorKind::no_space || last.os_errno == EACCES) return last;
  }
  return Error{ErrorKind::unsupported,
               directory.string() + " (" + std::string(type.name) +
                   ") can neither link a file nor rename a directory onto a name that is taken" +
                   (last.what.empty() ? "" : ": " + last.what),
               "make the store on another filesystem"};
}

}  // namespace torc::store
