#include "lib/store/disk/file_parts.h"

#include <cerrno>

namespace torc::store {
namespace {

constexpr int kTriesOfStalePart = 4;

}  // namespace

Result<std::string> FileParts::next() {
  if (ended_) return std::string();
  for (int tries = 1;; ++tries) {
    Result<std::string> part = read();
    if (!part.ok() && part.error().os_errno == ESTALE && tries < kTriesOfStalePart) {
      open_.reset();
      continue;
    }
    if (!part.ok()) return part;
    at_ += part->size();
    ended_ = part->size() < kPart;
    if (at_ > most_) return too_large(file_, most_);
    return part;
  }
}

Result<std::string> FileParts::read() {
  if (!open_) {
    TORC_ASSIGN(const FileHandle handle, disk_.open_read(file_));
    open_.emplace(disk_, handle, file_);
  }
  return open_->read(at_, kPart);
}

}  // namespace torc::store
