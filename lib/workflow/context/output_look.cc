#include "lib/workflow/context/output_look.h"

#include <dirent.h>
#include <sys/vfs.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/store/disk/filesystem.h"

namespace torc::workflow {
namespace {

// What a listing may take of a large directory: its beginning asks the server all the same.
constexpr int kMostEntries = 10'000;

void list(const Path& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open) return;
  for (int n = 0; n < kMostEntries && readdir(open.get()) != nullptr; ++n) {
  }
}

// Of the nearest directory above it that is there.
bool is_shared(Path path) {
  while (path.has_relative_path()) {
    path = path.parent_path();
    struct statfs fs {};
    if (statfs(path.c_str(), &fs) != 0) continue;
    return store::filesystem_type(static_cast<std::uint64_t>(fs.f_type)).sharing ==
           store::Sharing::shared;
  }
  return true;
}

std::uint32_t first_missing(const std::vector<claim::FileFingerprint>& seen) {
  const auto found = std::ranges::find(seen, false, &claim::FileFingerprint::exists);
  return found == seen.end() ? 0 : static_cast<std::uint32_t>(found - seen.begin()) + 1;
}

}  // namespace

OutputLook look_at_outputs(const Path& directory, const std::vector<std::string>& paths,
                           Sums sums) {
  OutputLook look;
  auto seen = fingerprints_of(directory, paths, sums);
  if (!seen) return look;
  look.missing = first_missing(*seen);
  if (look.missing != 0) {
    for (std::size_t i = look.missing - 1; i < paths.size(); ++i) {
      if (!(*seen)[i].exists) list((directory / paths[i]).parent_path());
    }
    seen = fingerprints_of(directory, paths, sums);
    if (!seen) return OutputLook{};
    look.missing = first_missing(*seen);
  }
  if (look.missing != 0) look.may_come = is_shared(directory / paths[look.missing - 1]);
  look.seen = *std::move(seen);
  return look;
}

}  // namespace torc::workflow
