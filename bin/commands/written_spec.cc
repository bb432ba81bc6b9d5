#include "bin/commands/written_spec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lib/base/file/beneath.h"

namespace torc::cli {
namespace {

Error exists_already(const std::string& output) {
  return {ErrorKind::invalid, fmt::format("{} exists already", output),
          "name a new file, or leave --output out to change the workflow file itself"};
}

// Whether it holds this text and nothing else.
bool holds(int fd, std::string_view text) {
  std::string there(text.size() + 1, '\0');
  std::size_t size = 0;
  while (size < there.size()) {
    const ssize_t n = ::read(fd, there.data() + size, there.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  return std::string_view(there).substr(0, size) == text;
}

// Not over what has come there meanwhile.
Result<void> write_new(const beneath::Root& root, const Path& name, std::string_view text,
                       const std::string& output) {
  {
    auto made = beneath::open_file(root, name, O_WRONLY | O_CREAT | O_EXCL);
    if (!made.ok() && made.error().os_errno == EEXIST) return exists_already(output);
    if (!made.ok()) return made.error();
  }
  auto written = beneath::replace_file(root, name, text);
  if (written.ok()) return written;
  if (const auto at = beneath::entry(root, name); at.ok())
    (void)::unlinkat(at->directory.get(), at->name.c_str(), 0);
  return written;
}

}  // namespace

Result<Path> place_to_write(const App& app, const std::string& spec, const std::string& output) {
  std::error_code error;
  if (output.empty()) {
    Path path = std::filesystem::canonical(app.directory / spec, error);
    if (error) return os_error(error.value(), fmt::format("cannot find {}", spec));
    return path;
  }
  Path path = (app.directory / output).lexically_normal();
  if (std::filesystem::exists(std::filesystem::symlink_status(path, error)))
    return exists_already(output);
  return path;
}

Result<void> write_spec(const workflow::LoadedSpec& loaded, const Path& to, std::string_view text,
                        const std::string& output) {
  const beneath::Root root(to.parent_path());
  const Path name = to.filename();
  if (!output.empty()) return write_new(root, name, text, output);
  const auto before = beneath::open_file(root, name, O_RDONLY);
  struct stat about {};
  if (!before.ok())
    return invalid(before.error().what, "nothing was written; name the file itself");
  if (::fstat(before->get(), &about) != 0) return os_error(errno, "cannot look at " + to.string());
  if (!holds(before->get(), loaded.text))
    return invalid(fmt::format("{} has changed since it was read", loaded.file),
                   "nothing was written; run the command again");
  return beneath::replace_file(root, name, text, about);
}

}  // namespace torc::cli
