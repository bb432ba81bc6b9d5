#include "lib/cluster/kept_profile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/cluster/profile.h"

namespace torc::cluster {
namespace {

Result<std::string> read_all(int fd, const Path& file) {
  std::string text(kMostProfileBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(fd, text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, "cannot read " + file.string());
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > kMostProfileBytes)
    return Error{ErrorKind::corrupt,
                 fmt::format("{} is larger than any profile of a cluster", file.string()),
                 "remove it"};
  text.resize(size);
  return text;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

bool is_fresh(const Cluster& kept, WallTime now) {
  return kept.read_at <= now && now - kept.read_at < kFresh;
}

std::string configured_name(std::string_view slurm_conf) {
  for (std::string_view line : split(slurm_conf, '\n')) {
    line = trimmed(line.substr(0, line.find('#')));
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos) continue;
    if (!same_word(trimmed(line.substr(0, sign)), "ClusterName")) continue;
    // Slurm makes it lower case; quotes, and what else is in the line, are not of it.
    std::string_view value = trimmed(line.substr(sign + 1));
    const bool is_quoted = value.starts_with('"');
    if (is_quoted) value.remove_prefix(1);
    std::string name(value.substr(0, value.find_first_of(is_quoted ? "\"" : " \t")));
    std::ranges::transform(name, name.begin(), lower);
    return name;
  }
  return {};
}

Path kept_file(const std::string& cluster) {
  const auto plain = [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
  };
  const bool fine = !cluster.empty() && cluster.size() <= 100 && cluster.front() != '.' &&
                    std::ranges::all_of(cluster, plain);
  return fine ? Path("torc") / "clusters" / (cluster + ".yaml") : Path();
}

Result<void> keep(const Path& caches, const Cluster& cluster) {
  const Path file = kept_file(cluster.name);
  if (file.empty())
    return Error{
        ErrorKind::invalid,
        fmt::format("no file can be called as the cluster, {}", torc::quoted(cluster.name)), ""};
  // It may be a link of the user's own, which is as good.
  (void)beneath::make_directories(beneath::Root(caches.parent_path()), caches.filename(), 0700);
  const beneath::Root root(caches);
  TORC_TRY(beneath::make_directories(root, file.parent_path(), 0700));
  return beneath::replace_file(root, file, to_profile(cluster, Passing::yes), 0600);
}

Result<Cluster> kept(const Path& caches, const std::string& cluster, std::uint32_t uid,
                     WallTime now) {
  const Path name = kept_file(cluster);
  const Path file = caches / name;
  if (name.empty()) return Error{ErrorKind::not_found, "no profile is kept", ""};
  TORC_ASSIGN(const Descriptor fd, beneath::open_file(beneath::Root(caches), name, O_RDONLY));
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return os_error(errno, "cannot look at " + file.string());
  if (about.st_uid != uid || (about.st_mode & 022) != 0)
    return Error{ErrorKind::permission,
                 fmt::format("{} may have been written by others than you", file.string()),
                 "remove it"};
  TORC_ASSIGN(const std::string text, read_all(fd.get(), file));
  const spec::Source source(text, file.string());
  spec::Report mistakes(source);
  auto read = read_profile(source, mistakes);
  if (!read || read->name != cluster)
    return Error{
        ErrorKind::corrupt,
        fmt::format("{} is not a profile of cluster {}", file.string(), torc::quoted(cluster)),
        "remove it"};
  if (!is_fresh(*read, now)) {
    for (Partition& one : read->partitions) {
      for (NodeGroup& kind : one.nodes) kind.usable = kind.idle = std::nullopt;
    }
  }
  return *std::move(read);
}

}  // namespace torc::cluster
