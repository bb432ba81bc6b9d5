// What the simulation knows of a store that the hosts do not: the chain as the server saw it come
// to be, the state after each commit of it, and what each process was told. Says what contradicts
// the promises of the store.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/store/engine/commit_file.h"
#include "lib/store/format/journal.h"
#include "lib/store/testing/test_file_server.h"

namespace torc::store::testing {

inline constexpr std::string_view kTagKey = "\x7ftag";     // whose commit this is
inline constexpr std::string_view kTrailPrefix = "\x7fk";  // keys that grow by what was read there

// What a trail becomes: computed by the bodies, and checked by the history against the state
// before.
[[nodiscard]] std::string longer_trail(std::string_view before, const std::string& tag);

class History {
 public:
  History(const StoreId& id, Path state) : id_(id), state_(std::move(state)) {}

  // The server's files after a name was given or taken away.
  void named(const FileServer& files, FileServer::Inode directory, const std::string& name,
             const std::string& content);
  void unnamed(const FileServer& files, FileServer::Inode directory, const std::string& name);

  // What processes were told.
  void acknowledged(const std::string& tag, std::uint64_t number);
  void refused(const std::string& tag);
  void seen(std::uint64_t number, std::uint64_t state_hash);
  void completed(std::uint64_t job);  // an acknowledged completion that was accepted

  [[nodiscard]] std::uint64_t length() const { return after_.size(); }
  [[nodiscard]] std::uint64_t newest_acknowledged() const { return newest_acknowledged_; }
  // The first contradiction; empty: none.
  [[nodiscard]] const std::string& violation() const { return violation_; }
  void violate(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }
  [[nodiscard]] static std::uint64_t entry_hash(std::string_view key, std::string_view value);

 private:
  void commit_named(std::uint64_t number, const std::string& content);
  void append(const CommitFile& file);
  void put(std::string_view key, std::string_view value);
  [[nodiscard]] bool is_commit_directory(const FileServer& files, FileServer::Inode directory);

  StoreId id_;
  Path state_;
  std::set<FileServer::Inode> commit_directories_;
  std::map<std::string, std::string, std::less<>> entries_;
  std::uint64_t hash_ = 0;
  std::vector<Hash128> after_;  // chain hash after commit i + 1
  std::vector<std::uint64_t> state_hashes_;
  std::vector<std::string> tags_;
  std::set<std::uint64_t> snapshots_;  // on the server now
  std::map<std::string, std::uint64_t> acknowledged_;
  std::set<std::string> refused_;
  std::map<std::uint64_t, int> completions_;
  std::uint64_t newest_acknowledged_ = 0;
  std::string violation_;
};

}  // namespace torc::store::testing
