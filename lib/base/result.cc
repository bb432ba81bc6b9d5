#include "lib/base/result.h"

#include <cerrno>
#include <cstring>

namespace torc {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
      return "invalid";
    case ErrorKind::not_found:
      return "not found";
    case ErrorKind::exists:
      return "exists";
    case ErrorKind::permission:
      return "permission";
    case ErrorKind::no_space:
      return "no space";
    case ErrorKind::corrupt:
      return "corrupt";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::unknown:
      return "unknown outcome";
    case ErrorKind::fenced:
      return "fenced";
    case ErrorKind::busy:
      return "busy";
    case ErrorKind::io:
      return "i/o";
  }
  return "?";
}

std::string Error::text() const {
  return remedy.empty() ? what : what + "\n  " + remedy;
}

namespace {

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

Error os_error(int os_errno, std::string what, std::string remedy) {
  if (remedy.empty()) remedy = usual_remedy(os_errno);
  ErrorKind kind = ErrorKind::io;
  switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
      kind = ErrorKind::not_found;
      break;
    case ENOSPC:
    case EDQUOT:
    case EROFS:
      kind = ErrorKind::no_space;
      break;
    case EACCES:
    case EPERM:
      kind = ErrorKind::permission;
      break;
    case EEXIST:
      kind = ErrorKind::exists;
      break;
    default:
      break;
  }
  return Error{kind, std::move(what) + ": " + std::strerror(os_errno), std::move(remedy), os_errno};
}

}  // namespace torc
