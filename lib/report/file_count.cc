#include "lib/report/file_count.h"

#include <filesystem>
#include <system_error>

namespace torc::report {

FileCount count_files(const Path& directory, std::uint64_t most) {
  namespace fs = std::filesystem;
  FileCount count;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(directory, options, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;
    if (at->is_symlink(unknown) || !at->is_regular_file(unknown)) continue;
    if (count.files == most) {
      count.is_all = false;
      break;
    }
    ++count.files;
  }
  return count;
}

}  // namespace torc::report
