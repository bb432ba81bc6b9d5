#include "lib/workflow/context/spec_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "lib/spec/text/form.h"
#include "lib/spec/yaml/yaml_tree.h"
#include "lib/store/disk/disk.h"

namespace torc::workflow {
namespace {

constexpr spec::Form kForms[] = {spec::Form::yaml, spec::Form::json5, spec::Form::kdl};

std::string copy_name(spec::Form form) {
  return fmt::format("spec{}", spec::ending_of(form));
}

Error too_long(const NamedText& named) {
  return invalid(fmt::format("a {} of more than {} MiB", named.what, spec::kMaxSpecBytes >> 20U),
                 std::string(named.where_too_long));
}

}  // namespace

bool is_stdin(std::string_view file) {
  return file == "-" || file == "json5:-" || file == "kdl:-";
}

std::string stdin_name(std::string_view file) {
  const std::string_view form = file.substr(0, file.find(':'));
  return form == "-" ? "<stdin>" : fmt::format("<stdin>.{}", form);
}

std::string spec_copy_name(std::string_view file) {
  return copy_name(spec::form_of(file));
}

Path spec_copy_in(const Context& context, const Path& store) {
  for (const spec::Form form : kForms) {
    Path copy = store / copy_name(form);
    const auto status = context.world.disk.status(copy);
    if (status || status.error().kind != ErrorKind::not_found) return copy;  // who reads it tells
  }
  return store / copy_name(spec::Form::yaml);
}

Result<void> replace_spec_copy(const Context& context, const Path& store, const std::string& file,
                               const std::string& text) {
  store::Disk& disk = context.world.disk;
  const Path copy = store / spec_copy_name(file);
  Path fresh = copy;
  fresh += fmt::format(".{}.new", ::getpid());  // another one may be at it
  (void)disk.unlink(fresh);
  TORC_TRY(store::write_file(disk, fresh, text, store::Durable::yes));
  TORC_TRY(disk.rename(fresh, copy, store::Replace::yes));
  for (const spec::Form form : kForms) {
    if (store / copy_name(form) != copy) (void)disk.unlink(store / copy_name(form));
  }
  return {};
}

Result<std::string> read_value_file(const Context& context, const Path& directory,
                                    const std::string& name) {
  const Path path = (directory / name).lexically_normal();
  const Path other = (context.directory / name).lexically_normal();
  Result<std::string> bytes = store::read_file(context.world.disk, path);
  if (bytes.ok() || bytes.error().kind != ErrorKind::not_found || other == path) return bytes;
  Result<std::string> there = store::read_file(context.world.disk, other);
  return there.ok() ? std::move(there) : std::move(bytes);
}

Result<std::string> read_spec_copy(const Context& context, const Path& copy) {
  return store::read_file(context.world.disk, copy, spec::kMaxSpecBytes);
}

Result<std::string> read_spec_text(const Context& context, const Path& path,
                                   const NamedText& named) {
  Result<std::string> bytes = store::read_file(context.world.disk, path, spec::kMaxSpecBytes);
  if (!bytes.ok() && bytes.error().what == store::too_large(path, spec::kMaxSpecBytes).what) {
    Error error = too_long(named);
    error.what = fmt::format("'{}' is {}", path.string(), error.what);
    return error;
  }
  if (bytes.ok() || bytes.error().os_errno != ESPIPE) return bytes;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(path.c_str(), "rbe"),
                                                               std::fclose);
  if (!stream) return os_error(errno, fmt::format("cannot open {}", path.string()));
  return read_spec_stream(stream.get(), named);
}

Error unreadable(Error error, const std::string& file, std::string remedy, const NamedText& named) {
  if (error.kind == ErrorKind::not_found)
    return invalid(fmt::format("there is no file '{}'", file), std::move(remedy));
  if (error.os_errno == EISDIR)
    return invalid(fmt::format("'{}' is a directory, not a {}", file, named.what),
                   std::move(remedy));
  error.kind = ErrorKind::invalid;
  return error;
}

Result<std::string> read_spec_stream(std::FILE* stream, const NamedText& named) {
  std::string all;
  std::array<char, 65536> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), stream)) {
    all.append(buffer.data(), n);
    if (all.size() > spec::kMaxSpecBytes) return too_long(named);
  }
  if (std::ferror(stream) != 0)
    return os_error(errno, fmt::format("cannot read the {}", named.what));
  return all;
}

}  // namespace torc::workflow
