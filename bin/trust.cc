#include "bin/trust.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/base/text/quote.h"
#include "lib/store/engine/engines.h"
#include "lib/workflow/context/sharing.h"

namespace torc::cli {
namespace {

constexpr std::size_t kMostOfFile = std::size_t{1} << 20;

// Whose the store and its META are; a store without one counts as its own. Error: it cannot be
// looked at, which says nothing of whose it is.
struct Owner {
  uid_t store = 0;
  uid_t meta = 0;
  std::optional<uid_t> link;  // of the symbolic link that it was found by
  Descriptor directory;       // which was looked at
};
Result<Owner> owner_of(const Path& path) {
  struct stat link {};
  struct stat store {};
  struct stat meta {};
  Descriptor at(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!at || ::fstat(at.get(), &link) != 0)
    return os_error(errno, "cannot look at " + path.string());
  if (!S_ISDIR(link.st_mode))
    at = Descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at || ::fstat(at.get(), &store) != 0)
    return os_error(errno, "cannot look at " + path.string());
  const bool has_meta = ::fstatat(at.get(), "META", &meta, AT_SYMLINK_NOFOLLOW) == 0;
  if (!has_meta && errno != ENOENT)
    return os_error(errno, "cannot look at " + (path / "META").string());
  return Owner{store.st_uid, has_meta ? meta.st_uid : store.st_uid,
               S_ISLNK(link.st_mode) ? std::optional(link.st_uid) : std::nullopt, std::move(at)};
}

std::string line_of(const TrustedStore& s) {
  return fmt::format("{} {} {}\n", s.owner, s.id, s.path.string());
}

std::optional<TrustedStore> parse_line(std::string_view line) {
  TrustedStore out;
  const auto number = std::from_chars(line.data(), line.data() + line.size(), out.owner);
  if (number.ec != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(number.ptr - line.data()));
  if (line.size() < 35 || line[0] != ' ' || line[33] != ' ') return std::nullopt;
  out.id = line.substr(1, 32);
  out.path = line.substr(34);
  return out;
}

}  // namespace

Result<Path> trusted_file(const App& app) {
  const auto config = app.env("XDG_CONFIG_HOME");
  if (config && config->starts_with('/')) return Path(*config) / "torc" / "trusted";
  const auto home = app.env("HOME");
  if (home && home->starts_with('/')) return Path(*home) / ".config" / "torc" / "trusted";
  return Error{ErrorKind::invalid, "neither XDG_CONFIG_HOME nor HOME says where to remember it",
               "set HOME"};
}

Result<std::vector<TrustedStore>> read_trusted(const App& app) {
  std::vector<TrustedStore> out;
  const auto file = trusted_file(app);
  if (!file.ok()) return out;
  const auto text = store::read_file(app.world.disk, *file, kMostOfFile);
  if (!text.ok()) {
    if (text.error().kind == ErrorKind::not_found) return out;
    return text.error();
  }
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (auto store = parse_line(rest.substr(0, end))) out.push_back(*std::move(store));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

Result<void> write_trusted(const App& app, const std::vector<TrustedStore>& stores) {
  TORC_ASSIGN(const Path file, trusted_file(app));
  const workflow::OwnUmask outside(app);
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) return os_error(error.value(), "cannot make " + file.parent_path().string());
  std::string text;
  for (const TrustedStore& store : stores) text += line_of(store);
  const Path aside = fmt::format("{}.{}", file.string(), app.world.entropy.next());
  TORC_TRY(store::write_file(app.world.disk, aside, text, store::Durable::yes));
  return app.world.disk.rename(aside, file, store::Replace::yes);
}

Result<TrustedStore> describe_store(const App& app, const Path& path) {
  TORC_ASSIGN(const store::Meta meta, store::look_at_meta(app.world, path));
  TORC_ASSIGN(const Owner owner, owner_of(path));
  return TrustedStore{owner.store, meta.identity.id_hex(), app.world.disk.resolved(path)};
}

Result<void> check_found_store(const App& app, const Path& path) {
  TORC_ASSIGN(Owner owner, owner_of(path));
  // What is opened later is what was looked at, or nothing.
  TORC_TRY(app.world.disk.protect_opened(path, std::move(owner.directory)));
  const uid_t self = ::geteuid();
  const auto is_safe = [&](uid_t uid) { return uid == self || uid == 0; };
  // It could lead to any other store of the user's own.
  if (owner.link && !is_safe(*owner.link)) {
    return Error{ErrorKind::permission,
                 fmt::format("{} was found, not named, and is a symbolic link that user {} made",
                             path.string(), *owner.link),
                 "remove the link, or name the store that you mean"};
  }
  if (is_safe(owner.store) && is_safe(owner.meta)) return {};
  const auto description = describe_store(app, path);
  if (description.ok()) {
    TORC_ASSIGN(const std::vector<TrustedStore> trusted, read_trusted(app));
    if (std::find(trusted.begin(), trusted.end(), *description) != trusted.end()) return {};
  }
  const std::string name = shell_word(path.string());
  return Error{ErrorKind::permission,
               fmt::format("{} was found, not named, and belongs to user {}: its commands would be "
                           "run, or believed, as yours",
                           path.string(), is_safe(owner.store) ? owner.meta : owner.store),
               fmt::format("if you know whose it is: name it, or say once `torc trust {}`", name)};
}

}  // namespace torc::cli
