#include "lib/workflow/plan/script_template.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/file/beneath.h"
#include "lib/base/text/quote.h"

namespace torc::workflow {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 20;  // bytes of a template
constexpr const char* kDefault = "worker";
constexpr const char* kExtension = ".sbatch";

// Where templates are looked for, the user's own first.
std::vector<Path> places(const Context& context) {
  std::vector<Path> out;
  const auto config = context.env("XDG_CONFIG_HOME");
  const auto home = context.env("HOME");
  if (config && config->starts_with('/')) {
    out.push_back(Path(*config) / "torc" / "templates");
  } else if (home && home->starts_with('/')) {
    out.push_back(Path(*home) / ".config" / "torc" / "templates");
  }
  if (context.program.is_absolute())
    out.push_back(context.program.parent_path().parent_path() / "share" / "torc" / "templates");
  return out;
}

Result<std::string> read_all(int fd, const Path& file) {
  std::string text(kMost + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(fd, text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, fmt::format("cannot read {}", file.string()));
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > kMost) {
    return invalid(fmt::format("{} is longer than a batch script may be: 1 MiB", file.string()),
                   "name a template of batch scripts");
  }
  text.resize(size);
  return text;
}

enum class By : std::uint8_t { the_user, looking };

// Who may say what the user runs.
Result<void> check_owner(const Context& context, int fd, const Path& file) {
  struct stat about {};
  struct stat program {};
  if (::fstat(fd, &about) != 0) return os_error(errno, "cannot look at " + file.string());
  if (about.st_uid == context.world.uid || about.st_uid == 0) return {};
  if (::stat(context.program.c_str(), &program) == 0 && about.st_uid == program.st_uid) return {};
  return Error{ErrorKind::permission,
               fmt::format("{} was found, not named, and belongs to user {}: what it says would be "
                           "run as yours",
                           file.string(), about.st_uid),
               fmt::format("if you know whose it is: --template {}", shell_word(file.string()))};
}

// Error not_found: there is no such file.
Result<FoundTemplate> read_template(const Context& context, const Path& file, By found) {
  auto fd = beneath::open_named(file, O_RDONLY);
  if (!fd) {
    Error error = std::move(fd).error();
    if (error.kind != ErrorKind::corrupt) return error;
    return invalid(error.what, "name a template of batch scripts");
  }
  if (found == By::looking) TORC_TRY(check_owner(context, fd->get(), file));
  TORC_ASSIGN(std::string text, read_all(fd->get(), file));
  const bool same = text == slurm::built_in_template().text;
  return FoundTemplate{{file.string(), std::move(text)}, same ? Path() : file};
}

// "worker (built in), gpu (/opt/share/torc/templates/gpu.sbatch)"
std::string names_there_are(const std::vector<Path>& places) {
  std::string out = fmt::format("{} (built in)", kDefault);
  std::set<std::string> told;
  for (const Path& place : places) {
    auto names = beneath::list(beneath::Root(place.parent_path()), place.filename());
    if (!names) continue;
    std::ranges::sort(*names);
    for (const std::string& name : *names) {
      const Path file = place / name;
      if (file.extension() != kExtension || !told.insert(file.stem().string()).second) continue;
      out += fmt::format(", {} ({})", printable(file.stem().string()), printable(file.string()));
    }
  }
  return out;
}

}  // namespace

Result<FoundTemplate> find_template(const Context& context, const std::string& named) {
  if (named.find('/') != std::string::npos || Path(named).extension() == kExtension) {
    const Path file = (context.directory / named).lexically_normal();
    auto read = read_template(context, file, By::the_user);
    if (read.ok() || read.error().kind != ErrorKind::not_found) return read;
    return invalid(fmt::format("there is no file '{}'", printable(named)),
                   "--template names a template of batch scripts; without it one is looked for");
  }
  const std::string name = named.empty() ? kDefault : named;
  const std::vector<Path> looked = places(context);
  for (const Path& place : looked) {
    auto read = read_template(context, place / (name + kExtension), By::looking);
    if (read.ok() || read.error().kind != ErrorKind::not_found) return read;
  }
  if (name == kDefault) return FoundTemplate{slurm::built_in_template(), {}};
  return invalid(fmt::format("there is no template '{}' of batch scripts", printable(name)),
                 fmt::format("there are {}; a file is named with its directory: ./{}",
                             names_there_are(looked), printable(name)));
}

}  // namespace torc::workflow
