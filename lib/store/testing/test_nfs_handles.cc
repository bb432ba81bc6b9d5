// What a client of the simulated network filesystem does without asking the server: its open
// files, and what becomes of them when a process or the host ends.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <vector>

#include "lib/store/testing/test_nfs.h"

namespace torc::store::testing {

void NfsDisk::Unsent::send_to(FileServer& files, Inode inode) const {
  (void)files.write_pages(inode, content, pages);
}

FileHandle NfsDisk::hand_out(Inode inode) {
  open_[next_] = {inode, network_.process()};
  return {next_++};
}

Result<FileServer::Inode> NfsDisk::inode_of(FileHandle file) {
  if (!network_.alive()) return os_error(EIO, "this process is gone");
  const auto found = open_.find(file.fd);
  if (found == open_.end()) return os_error(EBADF, "not an open handle");
  return found->second.inode;
}

bool NfsDisk::is_open(Inode inode) const {
  return std::any_of(open_.begin(), open_.end(),
                     [&](const auto& o) { return o.second.inode == inode; });
}

void NfsDisk::close_now(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return;
  const Inode inode = found->second.inode;
  open_.erase(found);
  const auto lock = server_.locks_.find(inode);
  if (lock != server_.locks_.end() && lock->second == std::pair<const NfsDisk*, int>(this, fd) &&
      options_.locks != NfsLocks::never_released)
    server_.locks_.erase(lock);
  const auto hidden = hidden_.find(inode);
  if (hidden == hidden_.end() || is_open(inode)) return;
  (void)server_.files.unlink(hidden->second.directory, hidden->second.name);
  hidden_.erase(hidden);
}

void NfsDisk::process_ended(int process) {
  std::vector<int> its;
  for (const auto& [fd, open] : open_) {
    if (open.process == process) its.push_back(fd);
  }
  for (const int fd : its) {
    const Inode inode = open_.at(fd).inode;
    if (const auto held = unsent_.find(inode); held != unsent_.end() && options_.close_sends) {
      held->second->send_to(server_.files, inode);
      unsent_.erase(held);
    }
    close_now(fd);
  }
}

void NfsDisk::power_off() {
  for (auto lock = server_.locks_.begin(); lock != server_.locks_.end();) {
    const bool ours = lock->second.first == this && options_.locks != NfsLocks::never_released;
    lock = ours ? server_.locks_.erase(lock) : std::next(lock);
  }
  names_.clear();
  data_.clear();
  unsent_.clear();
  listings_.clear();
  attributes_.clear();
  hidden_.clear();  // .nfs… files stay for ever
  open_.clear();
}

}  // namespace torc::store::testing
