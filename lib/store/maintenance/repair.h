// `torc repair`: finds how far the history of a damaged store is good and lets the store go on from
// there. Nothing is deleted: what does not belong to the good part is moved aside. What follows is
// of engine `journal`; of engine `lmdb` see repair_lmdb.cc.
//
// The good part is the newest snapshot that is whole and the commits that follow it without a gap;
// or this node's copy of the state, when it has seen more of the same history. It is written as a
// new snapshot under a number R that no commit ever had, and the history continues at R + 1. So no
// number is ever used for two commits, and every process that still knows the lost ones, or this
// node's copies of them, is led to the new snapshot by the ordinary rules of reader and writer
// (docs/maintainer/store-protocol.md): a replica beyond the good part is reloaded, a writer's
// commit is not acknowledged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"

namespace torc::store {

struct LostCommit {
  std::uint64_t sequence = 0;
  Path file;           // of a copy on this node: the copy
  std::string damage;  // why it cannot be read; empty: it can, but what it builds on is lost
  std::uint64_t author = 0;
};

struct Damage {
  Path file;
  std::string what;
};

class Repair {
 public:
  // Looks; changes nothing in the store. Errors: corrupt (no beginning is left; engine lmdb:
  // neither state is whole), busy (it looks damaged, but workers changed it during every look),
  // others from the filesystem.
  static Result<std::unique_ptr<Repair>> examine(const World& world, const Path& directory);
  virtual ~Repair() = default;

  // Something is damaged or missing; otherwise there is nothing to do.
  [[nodiscard]] virtual bool needed() const = 0;
  // 0: nothing is left that the store could go on from.
  [[nodiscard]] virtual std::uint64_t last_good() const = 0;
  [[nodiscard]] virtual std::uint64_t continues_at() const = 0;  // R + 1
  // Empty: the good part comes from the store's files; else the node's copy it comes from, which
  // has commits of the same history that the files have no more.
  [[nodiscard]] virtual const Path& from_copy() const = 0;
  [[nodiscard]] virtual const std::vector<LostCommit>& lost() const = 0;
  // Others are or may be lost of which nothing is left that could be listed.
  [[nodiscard]] virtual bool lost_without_trace() const = 0;
  // The write set of one of them in lost() that can be read: read again, since all of them together
  // may be more than fits into memory.
  virtual Result<std::string> writes_of(const LostCommit& commit) = 0;
  [[nodiscard]] virtual const std::vector<Damage>& damages() const = 0;
  // The state of the good part.
  virtual Result<void> view(const std::function<Result<void>(const Reader&)>& body) = 0;

  // Copies on this node of which the newest commits are not part of the store's history, since
  // their numbers were used again after they were lost. Those commits are among lost().
  [[nodiscard]] virtual const std::vector<Path>& other_copies() const = 0;

  // Precondition: needed(). Returns the directory into which everything else was moved,
  // <store>/quarantine/<name>: also what other_copies() have of lost commits, before these copies
  // are deleted. Error corrupt: last_good() is 0. Error busy: the store changed since examine(), or
  // a copy on this node may have more than the good part and could not be looked at. After any
  // error it can be begun again: at each step the store holds the good part.
  virtual Result<Path> carry_out(const std::string& name) = 0;
};

}  // namespace torc::store
