#include "tests/property/nfs_history.h"

#include <algorithm>
#include <functional>

namespace torc::store::testing {
namespace {

constexpr std::size_t kLongestTrail = 40;

std::string numbered(const std::string& what, std::uint64_t n) {
  return what + " " + std::to_string(n);
}

}  // namespace

std::string longer_trail(std::string_view before, const std::string& tag) {
  std::string next = std::string(before) + "," + tag;
  if (next.size() > kLongestTrail) next.erase(0, next.size() - kLongestTrail);
  return next;
}

// Summed, so that it does not depend on the order and follows each write.
std::uint64_t History::entry_hash(std::string_view key, std::string_view value) {
  const std::hash<std::string_view> hash;
  std::uint64_t both = hash(key) * 0x9e3779b97f4a7c15ULL + hash(value);
  both ^= both >> 29U;
  return both * 0xbf58476d1ce4e5b9ULL;
}

bool History::is_commit_directory(const FileServer& files, FileServer::Inode directory) {
  if (commit_directories_.contains(directory)) return true;
  const auto journal = files.walk(state_ / "journal");
  if (!journal.ok()) return false;
  const auto entries = files.list(*journal);
  for (const auto& [name, inode] : *entries) commit_directories_.insert(inode);
  return commit_directories_.contains(directory);
}

void History::named(const FileServer& files, FileServer::Inode directory, const std::string& name,
                    const std::string& content) {
  if (const auto number = number_of(name)) {
    if (is_commit_directory(files, directory)) commit_named(*number, content);
    return;
  }
  if (const auto snapshot = snapshot_name_of(name)) {
    const bool known = snapshot->sequence > 0 && snapshot->sequence <= length();
    if (!known || after_[snapshot->sequence - 1] != snapshot->chain)
      violate("snapshot " + name + " is of no state of this history");
    snapshots_.insert(snapshot->sequence);
  }
  // A directory of commits that is collected: a snapshot must cover all in it.
  if (name.starts_with(".dead-")) {
    const auto first = number_of(name.substr(6));
    if (!first) return;
    const std::uint64_t last = *first + kPerDirectory - 1;
    if (snapshots_.empty() || *snapshots_.rbegin() < last)
      violate("directory " + name + " was collected and is needed");
  }
}

void History::unnamed(const FileServer& files, FileServer::Inode, const std::string& name) {
  const auto snapshot = snapshot_name_of(name);
  if (!snapshot || !snapshots_.contains(snapshot->sequence)) return;
  const auto directory = files.walk(state_ / "snapshot");
  if (directory.ok() && files.lookup(*directory, name).ok()) return;
  if (snapshot->sequence == *snapshots_.rbegin())
    violate(numbered("the newest snapshot went:", snapshot->sequence));
  snapshots_.erase(snapshot->sequence);
}

void History::commit_named(std::uint64_t number, const std::string& content) {
  const auto file = decode_commit(id_, number, content, "named");
  if (!file.ok()) return violate(numbered("a name was given without its content:", number));
  if (number == length() + 1) return append(*file);
  if (number > length()) return violate(numbered("a commit has a number too high:", number));
  if (file->after == after_[number - 1]) return;
  // A stray: legitimate on a number that was collected, and nobody may believe it.
  if (snapshots_.empty() || *snapshots_.rbegin() < number)
    violate(numbered("two contents for number", number));
}

void History::append(const CommitFile& file) {
  const Hash128 before = after_.empty() ? Hash128{} : after_.back();
  if (file.header.before != before)
    return violate(numbered("a commit continues another history:", file.header.sequence));
  std::string tag;
  bool good = replay(
      file.writes,
      [&](std::string_view key, std::string_view value) {
        if (key == kTagKey) tag = value;
      },
      [](std::string_view) {});
  good = good && replay(
                     file.writes,
                     [&](std::string_view key, std::string_view value) {
                       const auto old = entries_.find(key);
                       const std::string was = old == entries_.end() ? "" : old->second;
                       if (key.starts_with(kTrailPrefix) && value != longer_trail(was, tag))
                         violate("commit " + std::to_string(file.header.sequence) +
                                 " was computed on an old state");
                       put(key, value);
                     },
                     [&](std::string_view key) {
                       if (const auto old = entries_.find(key); old != entries_.end()) {
                         hash_ -= entry_hash(key, old->second);
                         entries_.erase(old);
                       }
                     });
  if (!good) violate(numbered("the write set is not one, of commit", file.header.sequence));
  if (refused_.contains(tag)) violate("commit " + tag + " was refused and is in the chain");
  if (!tag.empty() && std::find(tags_.begin(), tags_.end(), tag) != tags_.end())
    violate("commit " + tag + " happened twice");
  after_.push_back(file.after);
  state_hashes_.push_back(hash_);
  tags_.push_back(tag);
}

void History::put(std::string_view key, std::string_view value) {
  const auto old = entries_.find(key);
  if (old != entries_.end()) hash_ -= entry_hash(key, old->second);
  hash_ += entry_hash(key, value);
  entries_.insert_or_assign(std::string(key), std::string(value));
}

void History::acknowledged(const std::string& tag, std::uint64_t number) {
  if (number == 0 || number > length() || tags_[number - 1] != tag)
    return violate("commit " + tag + " was acknowledged as " + std::to_string(number) +
                   " and is not there");
  acknowledged_[tag] = number;
  newest_acknowledged_ = std::max(newest_acknowledged_, number);
}

void History::refused(const std::string& tag) {
  refused_.insert(tag);
  if (std::find(tags_.begin(), tags_.end(), tag) != tags_.end())
    violate("commit " + tag + " was refused and is in the chain");
}

void History::seen(std::uint64_t number, std::uint64_t state_hash) {
  if (number == 0 || number > length())
    return violate(numbered("a state was shown that never was:", number));
  if (state_hashes_[number - 1] != state_hash)
    violate(numbered("a wrong state was shown for commit", number));
}

void History::completed(std::uint64_t job) {
  if (++completions_[job] > 1) violate(numbered("two accepted results of job", job));
}

}  // namespace torc::store::testing
