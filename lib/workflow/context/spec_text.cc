#include "lib/workflow/context/spec_text.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <memory>

#include "lib/spec/yaml/yaml_tree.h"
#include "lib/store/disk/disk.h"

namespace torc::workflow {

Result<std::string> read_spec_text(const Context& context, const Path& path) {
  Result<std::string> bytes = store::read_file(context.world.disk, path);
  if (bytes.ok() || bytes.error().os_errno != ESPIPE) return bytes;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(path.c_str(), "rbe"),
                                                               std::fclose);
  if (!stream) return os_error(errno, fmt::format("cannot open {}", path.string()));
  return read_spec_stream(stream.get());
}

Error unreadable(Error error, const std::string& file, std::string remedy) {
  if (error.kind == ErrorKind::not_found)
    return invalid(fmt::format("there is no file '{}'", file), std::move(remedy));
  if (error.os_errno == EISDIR)
    return invalid(fmt::format("'{}' is a directory, not a workflow file", file),
                   std::move(remedy));
  error.kind = ErrorKind::invalid;
  return error;
}

Result<std::string> read_spec_stream(std::FILE* stream) {
  std::string all;
  std::array<char, 65536> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), stream)) {
    all.append(buffer.data(), n);
    if (all.size() > spec::kMaxSpecBytes) {
      return invalid(fmt::format("a workflow file of more than {} MiB", spec::kMaxSpecBytes >> 20U),
                     "write many similar jobs as one with parameters");
    }
  }
  if (std::ferror(stream) != 0) return os_error(errno, "cannot read the workflow file");
  return all;
}

}  // namespace torc::workflow
