// What a filesystem says that does not answer: the error of a call tells of the mount, not of the
// file. Nothing is known of a file whose mount does not answer; it is asked again later.
#pragma once

namespace torc {

// A FUSE daemon that died (ENOTCONN, ECONNABORTED), a connection that was cut (ESHUTDOWN,
// EHOSTDOWN, ETIMEDOUT, …), a server that was replaced (ESTALE), a device that went (ENODEV, EIO).
[[nodiscard]] bool is_of_dead_mount(int os_errno);

}  // namespace torc
