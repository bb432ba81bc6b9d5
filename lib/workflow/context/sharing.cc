#include "lib/workflow/context/sharing.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>

#include "lib/base/number.h"

namespace torc::workflow {
namespace {

constexpr unsigned kNothingForOthers = 007;

}  // namespace

Result<std::uint32_t> group_number(const std::string& group) {
  if (const struct group* found = ::getgrnam(group.c_str()); found != nullptr) return found->gr_gid;
  const auto number = whole_number<std::uint32_t>(group);
  if (number && *number != static_cast<gid_t>(-1)) return *number;
  return invalid(fmt::format("there is no group '{}' here", group),
                 "`id` lists the groups you are a member of");
}

bool is_of_a_group(std::uint32_t mode) {
  constexpr std::uint32_t kShared = S_ISGID | S_IWGRP;
  return S_ISDIR(mode) && (mode & kShared) == kShared;
}

void write_for_group() {
  ::umask(kNothingForOthers);
}

void write_for_group_of(const Context& context, const Path& store) {
  struct stat now {};
  if (::stat(store.c_str(), &now) < 0 || !is_of_a_group(now.st_mode)) return;
  ::umask((now.st_mode & S_IROTH) != 0 ? context.umask & kNothingForOthers : kNothingForOthers);
}

OwnUmask::OwnUmask(const Context& context) : before_(::umask(context.umask)) {}

OwnUmask::~OwnUmask() {
  ::umask(before_);
}

}  // namespace torc::workflow
