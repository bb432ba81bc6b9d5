#include "lib/base/dead_mount.h"

#include <cerrno>

namespace torc {

bool is_of_dead_mount(int os_errno) {
  switch (os_errno) {
    case EIO:
    case EREMOTEIO:
    case ENODEV:
    case ENXIO:
    case ESTALE:
    case ENOTCONN:
    case ESHUTDOWN:
    case ECONNABORTED:
    case ECONNRESET:
    case ECONNREFUSED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace torc
