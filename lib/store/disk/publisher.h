// Put-if-absent: make a file appear under a name, whole and durable, if and only if nobody has made
// that name before. The one thing that the journal asks of a filesystem.
//
//   tmpfile-link  an unnamed file (O_TMPFILE), given its name by linkat: no temporary name, nothing
//   to delete link          a temporary name in the same directory, link, unlink: the POSIX way,
//   exact on NFS too rename-dir    a temporary directory with the file inside, renamed onto the
//   final name, which fails when that is
//                 a directory with something in it: for mounts without hard links
//
// The first two make the same names and may be mixed on one store; a process falls back from the
// first to the second. So a store fixes the class of its names alone, and each process takes what
// its own mount can do: a store made on an NFS client may be used on the server's ext4, where a
// name is durable only after a sync.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/filesystem.h"

namespace torc::store {

enum class Primitive : std::uint8_t { tmpfile_link, link, rename_directory };
// What of it all processes of a store must have in common.
enum class Names : std::uint8_t { linked, renamed_directory };
// How a new name survives a power cut: fsync of the file carries it and all names before it (ext4,
// xfs, with tmpfile-link; not btrfs, whose log may keep the later of two names alone), or the
// directory must be synced, or the server has done so before it answers (NFS).
enum class DurableName : std::uint8_t { file, directory, server };

struct PublishMethod {
  Primitive primitive = Primitive::link;
  DurableName name = DurableName::directory;
};

[[nodiscard]] std::string_view to_string(Primitive p);
[[nodiscard]] std::string_view to_string(DurableName d);
[[nodiscard]] std::string_view to_string(Names n);
[[nodiscard]] std::optional<Names> names_of(std::string_view text);
[[nodiscard]] Names names_of(Primitive p);
// How this process makes such names on a filesystem of this type.
[[nodiscard]] PublishMethod method_for(Names names, const FilesystemType& type);

struct Publication {
  enum class State : std::uint8_t {
    done,   // the name holds our bytes, durably
    taken,  // the name holds other bytes
    absent  // the call failed (`error`), and afterwards nothing had the name and nothing of ours
            // can get it any more
  };
  State state = State::absent;
  Error error;
  bool asked = true;  // absent: false when the name was never asked for, so surely not published
};

class Publisher {
 public:
  Publisher(Disk& disk, Entropy& entropy, PublishMethod method, Durable durable)
      : disk_(&disk), entropy_(&entropy), method_(method), durable_(durable) {}

  // Makes directory/name hold `bytes`. `bytes` must differ from what anybody else would write under
  // that name, so that our own file is known again when a reply was lost. Error, kind unknown: it
  // may or may not hold them.
  Result<Publication> publish(const Path& directory, const std::string& name,
                              std::string_view bytes);

  // Makes directory/name a file that holds `bytes`, whatever it held: for content that follows from
  // the name, so that it does not matter who is first. After an error it holds them or what it
  // held.
  Result<void> replace(const Path& directory, const std::string& name, std::string_view bytes);

  // Makes and removes a temporary name. A client that has changed a directory itself asks the
  // server for its names from then on, whatever it remembers of them: listings that are seconds
  // old, names that were not there. Error: it could not, so what it sees may be old.
  Result<void> touch(const Path& directory);

  // Where the bytes of a published name are.
  [[nodiscard]] Path content(const Path& directory, const std::string& name) const;
  // Deletes a published name and what belongs to it.
  Result<void> remove(const Path& directory, const std::string& name);
  [[nodiscard]] PublishMethod method() const { return method_; }
  // What is mounted may have been replaced by something else: asks the filesystem of `directory`
  // what it is now.
  Result<void> choose_again(const Path& directory);
  void use(PublishMethod method) { method_ = method; }
  [[nodiscard]] Durable durable() const { return durable_; }

  // Names of temporary files and directories begin so; nothing else does.
  static constexpr std::string_view kTemporary = ".tmp-";

 private:
  struct Prepared;
  Result<Prepared> prepare(const Path& directory, std::string_view bytes);
  Result<void> give_name(const Prepared& prepared, const Path& final_path);
  Result<void> make_name_durable(const Prepared& prepared, const Path& directory);
  Result<void> discard(Prepared& prepared);
  Result<std::optional<bool>> holds_ours(const Path& file, std::string_view bytes);
  Result<bool> is_listed(const Path& directory, const std::string& name);
  Result<Publication> settle(Prepared& prepared, const Path& directory, const std::string& name,
                             std::string_view bytes, Error error);

  Disk* disk_;
  Entropy* entropy_;
  PublishMethod method_;
  Durable durable_;
};

// Finds the best primitive that works in `directory` (which is empty and private to the caller).
// Kind unsupported: none.
Result<PublishMethod> probe_publish(Disk& disk, Entropy& entropy, const Path& directory);

}  // namespace torc::store
