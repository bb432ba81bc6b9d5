#include <utility>

#include "lib/store/testing/test_nfs.h"

namespace torc::store::testing {

void NfsServer::recall(FileServer::Inode file, const NfsDisk* reader) {
  for (NfsDisk* client : keepers_) {
    const auto held = client->unsent_.find(file);
    if (client == reader || held == client->unsent_.end()) continue;
    held->second->send_to(files, file);
    client->unsent_.erase(held);
  }
}

std::string NfsServer::content(FileServer::Inode file) const {
  for (const NfsDisk* client : clients_) {
    if (const auto held = client->unsent_.find(file); held != client->unsent_.end())
      return held->second->content.text();
  }
  const auto bytes = files.content(file);
  return bytes.ok() ? (*bytes)->text() : std::string();
}

void NfsServer::remember(FileServer::Inode directory, const std::string& name,
                         std::chrono::nanoseconds lag) {
  if (lag.count() == 0) return;
  const auto before = files.lookup(directory, name);
  auto& past = past_[directory];
  const BootTime now = clock_.boot_now();
  past.push_back({now, name, before.ok() ? std::optional(*before) : std::nullopt});
  while (now - past.front().until > lag) past.pop_front();
}

Result<std::map<std::string, FileServer::Inode>> NfsServer::list(FileServer::Inode directory,
                                                                 std::chrono::nanoseconds lag,
                                                                 Network& network) const {
  TORC_ASSIGN(auto entries, files.list(directory));
  const auto past = past_.find(directory);
  if (lag.count() == 0 || past == past_.end()) return entries;
  // Each name on its own: a listing takes several requests and is no snapshot.
  const BootTime now = clock_.boot_now();
  for (auto change = past->second.rbegin(); change != past->second.rend(); ++change) {
    if (now - change->until > lag) break;
    if (!network.coin()) continue;
    if (change->before) {
      entries.insert_or_assign(change->name, *change->before);
    } else {
      entries.erase(change->name);
    }
  }
  return entries;
}

}  // namespace torc::store::testing
