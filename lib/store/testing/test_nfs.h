// A network filesystem as its clients see it: one NfsServer, and for each host an NfsDisk with the
// caches of that host's kernel. What a Linux client does, and what was seen of it:
//
//   - Names that were looked up are remembered, also that they were *not* there: for 30 s such a
//   name
//     stays absent for this client, whoever makes it meanwhile. Listing its directory clears that;
//     link, exclusive creation and the like always ask the server.
//   - A directory is known by its handle. Who has looked up `journal/64` goes on working in that
//   very
//     directory when another client has renamed it.
//   - Close-to-open: opening a file asks for its attributes and drops data of an earlier version;
//     close sends what was written. With `close_sends` false data stay in the client until they are
//     synced, or another client asks (Lustre and the like). A host that dies loses what is in it.
//   - Opening a name whose file is gone: ESTALE. Removing a file that a process of this host has
//     open renames it to .nfs….
//   - A listing may lack what was made, or show what was removed, within `listing_lag`.
//   - Requests and replies get lost: see RequestFate.
//
// Nothing here sleeps or decides by chance; a Network does that for the test. Single-threaded, but
// a Network may switch to another user of the same server in the middle of any request.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/store/disk/disk.h"
#include "lib/store/testing/test_file_server.h"

namespace torc::store::testing {

class NfsDisk;

enum class NfsLocks : std::uint8_t {
  real,
  always_fail,
  always_succeed,  // on every host at once
  never_released   // the first one who has it has it for ever
};

struct NfsOptions {
  std::uint64_t magic = 0x6969;
  bool hard_links = true;
  bool close_sends = true;
  // GlusterFS: what a client wrote into a file keeps its pages of that file valid, whoever else
  // writes there.
  bool keeps_own_pages = false;
  bool retries_stale = true;  // as the kernel does, once, for calls that name a path
  NfsLocks locks = NfsLocks::real;
  std::chrono::nanoseconds name_cache = std::chrono::seconds(30);
  std::chrono::nanoseconds listing_lag{0};
};

enum class RequestFate : std::uint8_t {
  carried,
  lost,        // never arrives; an error is told
  reply_lost,  // done; an error is told
  repeated,  // done, and sent again when the reply was late: the answer is that of the second time
  late,      // an error is told, and it is done at some later time
  gone       // the process that asks does not live any more
};

struct Request {
  const char* name;
  bool changes;  // something on the server
};

// Between a client and the server.
class Network {
 public:
  virtual ~Network() = default;
  virtual RequestFate fate(const Request& request) = 0;
  virtual void answered() = 0;  // just before the process learns of a reply
  virtual int error() = 0;      // what is told where a fate says so
  virtual void later(std::function<void()> act) = 0;
  [[nodiscard]] virtual bool alive() = 0;   // the process that calls now
  [[nodiscard]] virtual int process() = 0;  // its number
  virtual bool coin() = 0;                  // for names that a listing may show or not
};

class NfsServer {
 public:
  NfsServer(FileServer from, const Clock& time) : files(std::move(from)), clock_(time) {}

  FileServer files;
  // Called after a name was given to a file or directory by link or rename, and after one was
  // removed, with the directory it is in.
  std::function<void(FileServer::Inode directory, const std::string& name, FileServer::Inode inode)>
      named = {};
  std::function<void(FileServer::Inode directory, const std::string& name)> unnamed = {};

  // What a client that reads must see: data that other clients still hold are fetched first.
  void recall(FileServer::Inode file, const NfsDisk* reader);
  // As `recall` would give it now.
  [[nodiscard]] std::string content(FileServer::Inode file) const;
  // Notes what a name stands for before that changes.
  void remember(FileServer::Inode directory, const std::string& name, std::chrono::nanoseconds lag);
  // As a client may see them that lags by no more than `lag`.
  Result<std::map<std::string, FileServer::Inode>> list(FileServer::Inode directory,
                                                        std::chrono::nanoseconds lag,
                                                        Network& network) const;

 private:
  friend class NfsDisk;
  struct Past {
    BootTime until;  // when it changed
    std::string name;
    std::optional<FileServer::Inode> before;
  };
  const Clock& clock_;
  std::set<NfsDisk*> clients_;
  std::set<NfsDisk*> keepers_;  // of these, those that keep what was written when they close
  std::map<FileServer::Inode, std::deque<Past>> past_;
  std::map<FileServer::Inode, std::pair<const NfsDisk*, int>> locks_;
};

class NfsDisk final : public Disk {
 public:
  NfsDisk(NfsServer& server, const Clock& clock, Network& network, NfsOptions options);
  ~NfsDisk() override;
  NfsDisk(const NfsDisk&) = delete;
  NfsDisk& operator=(const NfsDisk&) = delete;

  Result<FileHandle> open_read(const Path& file) override;
  Result<FileHandle> open_update(const Path& file) override;
  Result<FileHandle> create(const Path& file) override;
  Result<FileHandle> create_unnamed(const Path& directory) override;
  Result<std::string> read(FileHandle file, std::uint64_t offset, std::size_t size) override;
  Result<void> write(FileHandle file, std::uint64_t offset, std::string_view bytes) override;
  Result<void> sync(FileHandle file, Sync what) override;
  Result<void> close(FileHandle file) override;
  Result<void> link(const Path& from, const Path& to) override;
  Result<void> link_unnamed(FileHandle file, const Path& to) override;
  Result<void> unlink(const Path& file) override;
  Result<void> make_directory(const Path& directory) override;
  Result<void> remove_directory(const Path& directory) override;
  Result<void> rename(const Path& from, const Path& to, Replace replace) override;
  Result<void> sync_directory(const Path& directory) override;
  Result<std::vector<std::string>> list(const Path& directory) override;
  Result<FileStatus> status(const Path& path) override;
  Result<std::uint64_t> filesystem(const Path& path) override;
  Result<bool> try_lock(FileHandle file) override;
  Result<void> unlock(FileHandle file) override;

  // The kernel closes what a dead process had open.
  void process_ended(int process);
  // The host is dead: whatever had not reached the server is lost.
  void power_off();

  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t changing_requests() const { return changing_; }

 private:
  friend class NfsServer;
  using Inode = FileServer::Inode;
  using Attributes = FileServer::Attributes;
  struct KnownName {
    std::optional<Inode> inode;  // none: known not to be there
    BootTime until;
  };
  // What a client has of a file: all of a small one, of a large one what was asked for.
  struct Extent {
    std::uint64_t first = 0;
    std::uint64_t end = UINT64_MAX;
    [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t size) const {
      return offset >= first && offset + size <= end;
    }
  };
  struct KnownData {
    std::uint64_t change = 0;
    std::shared_ptr<const FileContent> bytes;
    Extent extent;
  };
  // Written and not sent: of the content, these pages. Nothing else of the file is sent, so
  // that what others wrote into other pages meanwhile stays.
  struct Unsent {
    FileContent content;
    Extent extent;
    std::set<std::uint64_t> pages;
    void send_to(FileServer& files, Inode inode) const;
  };
  struct Open {
    Inode inode = 0;
    int process = 0;
  };
  struct Target {  // a name in a directory
    Inode directory = 0;
    std::string name;
  };

  template <class T>
  Result<T> ask(const Request& request, std::function<Result<T>()> act);
  // Whether names that are known are believed.
  enum class Known : std::uint8_t { believed, asked_again };
  template <class T>
  Result<T> by_path(const std::function<Result<T>(Known)>& act);
  Result<Inode> lookup(Inode directory, const std::string& name, Known known);
  Result<Inode> walk(const Path& path, Known known);
  Result<Target> target(const Path& path, Known known);
  Result<Attributes> attributes(Inode inode);
  struct Part {
    std::shared_ptr<const FileContent> bytes;
    Extent extent;
  };
  Result<Part> content(Inode inode, std::uint64_t offset, std::uint64_t size);
  Result<void> send(Inode inode);
  Result<void> change_entry(const char* request, const Target& at,
                            const std::function<Result<void>()>& act);
  Result<void> remove_or_hide(const Target& at);
  void know(const Target& at, std::optional<Inode> inode);
  void forget(const Target& at) { names_.erase({at.directory, at.name}); }
  void forget_directory(Inode directory);
  void forget_stale(const Error& error, Inode inode);
  FileHandle hand_out(Inode inode);
  Result<Inode> inode_of(FileHandle file);
  [[nodiscard]] bool is_open(Inode inode) const;
  void close_now(int fd);

  NfsServer& server_;
  const Clock& clock_;
  Network& network_;
  NfsOptions options_;
  std::map<std::pair<Inode, std::string>, KnownName> names_;
  std::map<Inode, KnownData> data_;
  std::map<Inode, std::shared_ptr<const Unsent>> unsent_;
  std::set<Inode> written_;  // into which this client wrote
  std::map<Inode, std::pair<std::uint64_t, std::vector<std::string>>> listings_;
  std::map<Inode, std::pair<Attributes, BootTime>> attributes_;
  std::map<Inode, Target> hidden_;  // .nfs… files, removed with the last close
  std::map<int, Open> open_;
  int next_ = 3;
  std::uint64_t hidden_names_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t changing_ = 0;
};

}  // namespace torc::store::testing
