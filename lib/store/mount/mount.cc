#include "lib/store/mount/mount.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>

namespace torc::store {
namespace {

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(by), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

// Blanks and backslashes are written as three octal digits.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                        is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escape) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                    (text[i + 3] - '0')));
    i += 3;
  }
  return out;
}

void add_options(std::string_view list, std::vector<std::string>& to) {
  for (const std::string_view option : split(list, ',')) {
    const std::string text = unescaped(option);
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
  }
}

std::uint64_t device_of(std::string_view text) {
  unsigned major = 0;
  unsigned minor = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  return second.ec == std::errc{} && second.ptr == end ? makedev(major, minor) : 0;
}

// 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::optional<Mount> parse(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, dash), ' ');
  const auto after = split(line.substr(dash + 3), ' ');
  if (before.size() < 6 || after.size() < 2) return std::nullopt;
  Mount out;
  out.device = device_of(before[2]);
  out.root = unescaped(before[3]);
  out.point = unescaped(before[4]);
  out.type = unescaped(after[0]);
  out.source = unescaped(after[1]);
  add_options(before[5], out.options);
  if (after.size() > 2) add_options(after[2], out.options);
  return out;
}

bool is_above(const Path& point, const Path& path) {
  const auto [end, at] = std::mismatch(point.begin(), point.end(), path.begin(), path.end());
  return end == point.end() || (std::next(end) == point.end() && end->empty());
}

using Findings = std::vector<Finding>;

void add(Findings& out, Severity severity, std::string text, std::string remedy = {}) {
  out.push_back({severity, "mount", std::move(text), std::move(remedy)});
}

void judge_nfs(const Mount& mount, Findings& out) {
  const std::string local = mount.value("local_lock");
  if (mount.has("nolock") || (!local.empty() && local != "none")) {
    add(out, Severity::warning,
        "locks are kept by each node alone (" +
            (mount.has("nolock") ? std::string("nolock") : "local_lock=" + local) +
            "): every node gets every lock",
        "torc does not need them; for other programs mount without it");
  }
  if (mount.has("soft") || mount.has("softerr")) {
    add(out, Severity::warning,
        "soft: an operation that takes long fails although the server may still do it",
        "torc reads back what became of it; jobs that write here may lose data: mount it hard");
  }
  if (mount.has("noac")) {
    add(out, Severity::note, "noac: every look at a file asks the server, so everything is slower");
  }
  if (mount.has("nocto")) {
    add(out, Severity::warning,
        "nocto: a file that is opened again may show old content, so heartbeats arrive late",
        "mount without nocto: torc watches each lease for so much longer (acregmax)");
  }
  const std::string version = mount.value("vers");
  if (version.starts_with("2") || version.starts_with("3")) {
    add(out, Severity::note,
        "NFS version " + version +
            ": the lock of a node that died may never become free; torc goes on without it");
  }
}

void judge_lustre(const Mount& mount, Findings& out) {
  if (mount.has("localflock")) {
    add(out, Severity::warning, "localflock: locks are kept by each node alone",
        "torc does not need them; for other programs mount with -o flock");
  } else if (!mount.has("flock")) {
    add(out, Severity::note, "mounted without flock: locks are refused; torc goes on without them");
  }
}

void judge_scratch(const Mount& mount, Findings& out) {
  const bool overlay = mount.type == "overlay";
  add(out, Severity::warning,
      mount.type + ": only this host sees it, and it does not outlive " +
          (overlay ? "its container" : "a reboot"),
      "fine to try things out; put the store of real work on a disk, of several nodes on a shared "
      "filesystem");
}

}  // namespace

bool Mount::has(std::string_view option) const {
  return std::any_of(options.begin(), options.end(), [&](const std::string& o) {
    return o.starts_with(option) && (o.size() == option.size() || o[option.size()] == '=');
  });
}

std::string Mount::value(std::string_view option) const {
  for (const std::string& o : options) {
    if (o.size() > option.size() && o.starts_with(option) && o[option.size()] == '=')
      return o.substr(option.size() + 1);
  }
  return {};
}

std::optional<Mount> mount_of(std::string_view mountinfo, const Path& path) {
  std::optional<Mount> best;
  for (const std::string_view line : split(mountinfo, '\n')) {
    std::optional<Mount> mount = parse(line);
    if (!mount || !is_above(mount->point, path)) continue;
    const auto depth = [](const Path& p) { return std::distance(p.begin(), p.end()); };
    if (!best || depth(mount->point) >= depth(best->point)) best = std::move(mount);
  }
  return best;
}

std::optional<Path> missing_mount(const MountTables& tables, const Path& path) {
  const auto depth = [](const Path& p) { return std::distance(p.begin(), p.end()); };
  const std::optional<Mount> over = mount_of(tables.mounted, path);
  if (!over) return std::nullopt;
  std::optional<Path> out;
  if (over->type == "autofs") out = over->point;
  for (const std::string_view line : split(tables.wanted, '\n')) {
    std::vector<std::string_view> fields;
    for (const std::string_view part : split(line, '\t')) {
      for (const std::string_view field : split(part, ' ')) fields.push_back(field);
    }
    if (fields.size() < 3 || fields[0].starts_with('#') || fields[2] == "swap") continue;
    const Path point = unescaped(fields[1]);
    if (!point.is_absolute() || !is_above(point, path)) continue;
    // What is mounted at the point, or below it, is there.
    if (depth(over->point) >= depth(point)) continue;
    if (!out || depth(point) > depth(*out)) out = point;
  }
  return out;
}

std::vector<Finding> judge_mount(const Mount& mount) {
  Findings out;
  if (mount.has("ro"))
    add(out, Severity::unfit, "it is mounted read-only", "mount it read-write, or use another");
  if (mount.type == "nfs" || mount.type == "nfs4") judge_nfs(mount, out);
  if (mount.type == "lustre") judge_lustre(mount, out);
  if (mount.type == "tmpfs" || mount.type == "ramfs" || mount.type == "overlay")
    judge_scratch(mount, out);
  if (mount.type == "beegfs") {
    add(out, Severity::note,
        "BeeGFS keeps locks on each node alone unless tuneUseGlobalFileLocks is set; torc does not "
        "need them");
  }
  if (mount.type == "fuse.sshfs") {
    add(out, Severity::warning, "sshfs: locks are kept by each node alone",
        "torc does not need them; other programs must not rely on them");
    add(out, Severity::warning,
        "sshfs keeps listings and attributes for 20 s unless it is told not to, and the mount "
        "table "
        "does not say",
        "mount with -o dir_cache=no,attr_timeout=0,entry_timeout=0 on every node; --two-node tells "
        "how old listings are");
  } else if (mount.type.starts_with("fuse")) {
    add(out, Severity::note,
        mount.type + ": what it promises is up to the program behind it; --two-node tells");
  }
  if (mount.type.starts_with("cifs") || mount.type.starts_with("smb")) {
    if (mount.has("nobrl"))
      add(out, Severity::warning, "nobrl: locks are kept by each node alone",
          "torc does not need them; other programs must not rely on them");
  }
  if (mount.has("nobarrier") || mount.value("barrier") == "0") {
    add(out, Severity::warning, "nobarrier: what was synced may be lost when the power fails",
        "mount with barriers unless the disk's cache has a battery");
  }
  if (mount.has("sync") || mount.has("dirsync"))
    add(out, Severity::note, "mounted with sync: every change is slower");
  return out;
}

}  // namespace torc::store
