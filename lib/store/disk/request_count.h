// What the operations of a Disk cost on a network filesystem, in requests as an NFSv3 client of
// Linux sends them for files of a commit's size. NFSv4 adds an OPEN and a CLOSE here and there.
//
//   list        READDIR (GETATTR alone when nothing changed)
//   open_read   LOOKUP;  read  READ;  close  nothing
//   create, open_update, make_directory   one, which changes something
//   write       WRITE, when the file is synced or closed; a sync right after it is in the same
//   request
//               (stable writes, since all of it fits into one)
//   link, unlink, rename, remove_directory   one, which changes something
//   lock, unlock   one each
#pragma once

#include <cstdint>
#include <string_view>

namespace torc::store {

struct RequestCount {
  std::uint64_t all = 0;
  std::uint64_t modifying = 0;

  void add(std::string_view operation) {
    if (operation == "close" || operation == "sync") return;
    ++all;
    const bool asks = operation == "list" || operation == "open_read" || operation == "read" ||
                      operation == "status" || operation == "filesystem" ||
                      operation == "try_lock" || operation == "unlock";
    if (!asks) ++modifying;
  }
  [[nodiscard]] RequestCount operator-(const RequestCount& before) const {
    return {all - before.all, modifying - before.modifying};
  }
};

}  // namespace torc::store
