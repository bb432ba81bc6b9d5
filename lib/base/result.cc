#include "lib/base/result.h"

#include <cerrno>
#include <cstring>

#include "lib/base/text/text.h"

namespace torc {
namespace {

ErrorKind kind_of(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::not_found;
    case ENOSPC:
    case EDQUOT:
    case EROFS:
      return ErrorKind::no_space;
    case EACCES:
    case EPERM:
      return ErrorKind::permission;
    case EEXIST:
      return ErrorKind::exists;
    default:
      return ErrorKind::io;
  }
}

// Of what nobody knows better: what people do about it is the same wherever it happens.
std::string usual_remedy(int os_errno) {
  switch (os_errno) {
    case ENOSPC:
      return "make room on that filesystem: `df -h` and `df -i` say what is left";
    case EDQUOT:
      return "make room within your quota there: `quota -s` says what is left";
    case EROFS:
      return "the filesystem is mounted read-only: have it mounted for writing";
    default:
      return {};
  }
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  constexpr std::string_view kWords[] = {"invalid",  "not found", "exists",      "permission",
                                         "no space", "corrupt",   "unsupported", "unknown outcome",
                                         "fenced",   "busy",      "i/o"};
  return word_of(kind, kWords);
}

std::string Error::text() const {
  return remedy.empty() ? what : what + "\n  " + remedy;
}

Error invalid(std::string what, std::string remedy) {
  return {ErrorKind::invalid, std::move(what), std::move(remedy)};
}

Error os_error(int os_errno, std::string what, std::string remedy) {
  if (remedy.empty()) remedy = usual_remedy(os_errno);
  return Error{kind_of(os_errno), std::move(what) + ": " + std::strerror(os_errno),
               std::move(remedy), os_errno};
}

}  // namespace torc
