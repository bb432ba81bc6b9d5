#include "lib/exec/machine/cgroup.h"

#include <algorithm>
#include <vector>

#include "lib/base/number.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

// A mounted hierarchy and where this process is in it.
struct Place {
  bool version2 = false;
  std::vector<std::string> controllers;  // of version 1
  std::string mount;                     // directory below `root`
  std::string group;                     // relative to the mount: "" or "/a/b"
};

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The group of this process in the hierarchy of `place`, as /proc/self/cgroup has it:
// "4:memory:/a", "0::/b".
std::optional<std::string> group_in(const Place& place, const std::string& self) {
  for (const std::string& line : split(self, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    const bool same = place.version2 ? controllers.empty()
                                     : std::any_of(controllers.begin(), controllers.end(),
                                                   [&](const std::string& controller) {
                                                     return contains(place.controllers, controller);
                                                   });
    if (same) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Of a line of mountinfo: "30 23 0:26 ROOT MOUNT options optional… - cgroup2 source superoptions".
std::optional<Place> place_of(const std::string& line, const std::string& self) {
  const auto words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 7 || words.end() - dash < 4) return std::nullopt;
  Place place;
  place.version2 = dash[1] == "cgroup2";
  if (!place.version2 && dash[1] != "cgroup") return std::nullopt;
  if (!place.version2) place.controllers = split(dash[3], ',');
  place.mount = words[4];
  const auto group = group_in(place, self);
  if (!group) return std::nullopt;
  // A container may see a part of the hierarchy: the mount's root is then a group, and names begin
  // above it.
  const std::string& top = words[3];
  place.group = *group;
  if (top != "/") place.group = group->starts_with(top) ? group->substr(top.size()) : "";
  if (place.group == "/") place.group.clear();
  return place;
}

// Of all hierarchies that are mounted.
std::vector<Place> places_in(const std::string& root) {
  std::vector<Place> places;
  const auto self = read_small_file(root + "/proc/self/cgroup");
  const auto mounts = read_small_file(root + "/proc/self/mountinfo");
  if (!self || !mounts) return places;
  for (const std::string& line : split(*mounts, '\n')) {
    if (auto place = place_of(line, *self)) places.push_back(*std::move(place));
  }
  return places;
}

std::optional<std::uint64_t> number_in(const std::optional<std::string>& text) {
  return text ? leading_number<std::uint64_t>(*text) : std::nullopt;  // of "max", "-1" none
}

std::optional<std::uint32_t> whole_cpus(std::optional<std::uint64_t> quota,
                                        std::optional<std::uint64_t> period) {
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(*quota / *period, 1, 1U << 20));
}

std::optional<std::uint32_t> cpus_at(const Place& place, const std::string& directory) {
  if (!place.version2) {
    return whole_cpus(number_in(read_small_file(directory + "/cpu.cfs_quota_us")),
                      number_in(read_small_file(directory + "/cpu.cfs_period_us")));
  }
  const auto text = read_small_file(directory + "/cpu.max");  // "200000 100000", "max 100000"
  const auto blank = text ? text->find(' ') : std::string::npos;
  if (blank == std::string::npos) return std::nullopt;
  return whole_cpus(number_in(text), number_in(text->substr(blank + 1)));
}

std::optional<ByteCount> memory_at(const Place& place, const std::string& directory) {
  const char* name = place.version2 ? "/memory.max" : "/memory.limit_in_bytes";
  const auto bytes = number_in(read_small_file(directory + name));
  // Version 1 says "no limit" by a number near 2^63.
  if (!bytes || *bytes >= (std::uint64_t{1} << 62)) return std::nullopt;
  return ByteCount{*bytes};
}

template <class T>
void keep_smaller(std::optional<T>& limit, const std::optional<T>& other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

void read_upwards(const Place& place, const std::string& root, std::vector<CgroupLevel>& levels) {
  const bool cpu = place.version2 || contains(place.controllers, "cpu");
  const bool memory = place.version2 || contains(place.controllers, "memory");
  if (!cpu && !memory) return;
  std::string group = place.group;
  for (;;) {
    std::string directory = root;
    directory.append(place.mount).append(group);
    CgroupLimits limits;
    if (cpu) limits.cpus = cpus_at(place, directory);
    if (memory) limits.memory = memory_at(place, directory);
    if (limits.cpus || limits.memory) levels.push_back({place.mount + group, limits});
    const auto slash = group.rfind('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

}  // namespace

std::vector<CgroupLevel> cgroup_levels(const std::string& root) {
  std::vector<CgroupLevel> levels;
  for (const Place& place : places_in(root)) read_upwards(place, root, levels);
  return levels;
}

CgroupLimits cgroup_limits(const std::string& root) {
  CgroupLimits least;
  for (const CgroupLevel& level : cgroup_levels(root)) {
    keep_smaller(least.cpus, level.limits.cpus);
    keep_smaller(least.memory, level.limits.memory);
  }
  return least;
}

std::optional<std::string> own_group(const std::string& root) {
  for (const Place& place : places_in(root)) {
    if (place.version2) return root + place.mount + place.group;
  }
  return std::nullopt;
}

OomKills::OomKills(const std::string& root) {
  for (const Place& place : places_in(root)) {
    if (!place.version2 && !contains(place.controllers, "memory")) continue;
    const std::string file = root + place.mount + place.group +
                             (place.version2 ? "/memory.events" : "/memory.oom_control");
    if (read_small_file(file)) file_ = file;
  }
  counted_ = count();
}

std::uint64_t OomKills::count() const {
  if (file_.empty()) return 0;
  return line_number(read_small_file(file_).value_or(""), "oom_kill ").value_or(0);
}

void OomKills::look(BootTime now) {
  const std::uint64_t all = count();
  for (; counted_ < all; ++counted_) {
    if (explained_ > 0) {
      --explained_;
    } else {
      open_.push_back(now);
    }
  }
  while (!open_.empty() && now - open_.front() > kRemembered) open_.pop_front();
}

bool OomKills::take_one(BootTime now) {
  look(now);
  if (open_.empty()) return false;
  open_.pop_front();
  return true;
}

// The count may be behind the one of the group below.
void OomKills::take(std::uint64_t kills, BootTime now) {
  for (; kills > 0; --kills) {
    if (!take_one(now)) ++explained_;
  }
}

}  // namespace torc::exec
