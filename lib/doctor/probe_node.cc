#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>

#include "lib/doctor/probe.h"
#include "lib/store/replica/replica.h"

namespace torc::doctor {
namespace {

store::StoreId nobodys_id(Entropy& entropy) {
  store::StoreId id{};
  for (std::uint8_t& byte : id) byte = static_cast<std::uint8_t>(entropy.next());
  return id;
}

std::optional<std::uint64_t> number_in(const Path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

}  // namespace

std::vector<ReplicaPlace> probe_replica_places(const store::World& world) {
  std::vector<ReplicaPlace> out;
  for (const Path& root : world.replica_roots) {
    ReplicaPlace place;
    place.root = root;
    struct statvfs fs {};
    if (::statvfs(root.c_str(), &fs) == 0) place.free = {fs.f_bavail * fs.f_frsize};
    Result<store::Replica> opened = open_replica(world, root, nobodys_id(world.entropy), "none", 0);
    if (!opened.ok()) {
      place.refusal = std::move(opened).error();
      out.push_back(std::move(place));
      continue;
    }
    const Path copy = opened->environment->directory();
    *opened = {};
    std::error_code ignored;
    std::filesystem::remove_all(copy, ignored);
    (void)::rmdir(copy.parent_path().c_str());  // only when it is empty: made just now
    out.push_back(std::move(place));
    break;
  }
  return out;
}

std::vector<Limit> read_limits(const Path& proc_sys) {
  std::vector<Limit> out;
  const auto add = [&](const char* name, __rlimit_resource resource, bool is_in_bytes = false) {
    rlimit limit{};
    const bool known = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    out.push_back(
        {name, known ? std::optional<std::uint64_t>(limit.rlim_cur) : std::nullopt, is_in_bytes});
  };
  add("open files", RLIMIT_NOFILE);
  add("address space", RLIMIT_AS, true);
  add("file size", RLIMIT_FSIZE, true);
  add("processes", RLIMIT_NPROC);
  out.push_back({"inotify instances", number_in(proc_sys / "fs/inotify/max_user_instances")});
  out.push_back({"inotify watches", number_in(proc_sys / "fs/inotify/max_user_watches")});
  return out;
}

}  // namespace torc::doctor
