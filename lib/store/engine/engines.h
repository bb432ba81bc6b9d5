// The two engines, as open() and create() make them.
#pragma once

#include <memory>

#include "lib/store/engine/meta.h"
#include "lib/store/engine/store.h"

namespace torc::store {

class Repair;

Result<std::unique_ptr<Store>> open_lmdb_store(const World& world, const Path& directory,
                                               const Meta& meta, const Tuning& tuning);
Result<std::unique_ptr<Store>> open_journal_store(const World& world, const Path& directory,
                                                  const Meta& meta, const Tuning& tuning);

// Reads META, looks at the mount, and refuses what this machine or program cannot open. Error io:
// its filesystem is not mounted.
Result<Meta> read_meta(const World& world, const Path& directory);
// The same, whosever machine's it is.
Result<Meta> look_at_meta(const World& world, const Path& directory);
// Engine lmdb. Error unsupported: it is not this machine's, or nothing says so (judge_home()).
Result<void> check_home(const World& world, const Path& directory, const Meta& meta);

// Whether the store that was opened as `identity` in `place` is still what `directory` names. Kind
// fenced: it was deleted, or another one has its name; whoever worked on it has nothing to work on
// any more. That is said only of the filesystem on which it was, alive and asked about the
// directory. Kind io: it cannot be seen now, which says nothing of it: wait.
Result<void> check_still_there(const World& world, const Path& directory, const Identity& identity,
                               const Place& place);

// Before the first write: a copy gets an instance of its own, all of its processes the same one,
// and the user is told. `identity` becomes what it is then.
Result<void> adopt_copy(const World& world, const Path& directory, Identity& identity);

// Replaces META by `changed`, which was made from the one that is there; durable. An error is told
// only when META is not `changed` then.
Result<void> replace_meta(const World& world, const Path& directory, const Meta& changed);
// `meta` of a copy as it shall be: with an instance of its own. Follows from the copy, so all who
// make it at the same time come to the same.
[[nodiscard]] Meta with_own_instance(Meta meta);

// How long files must have been superfluous before they are collected: what META says (`least`), or
// the most that any host has asked for, by a file `retention-<seconds>` in the state directory. A
// name is only ever added, so hosts that ask at the same time all get what they asked for.
Result<std::chrono::seconds> agreed_retention(Disk& disk, const Path& state,
                                              std::chrono::seconds least);
// Asks for what this host's mount needs, if that is more than META says. Who may not write goes on:
// what it sees may be old, and what it cannot understand it looks at again.
Result<void> ask_for_retention(const World& world, const Path& directory, const Meta& meta);

// Repair::examine() of engine lmdb.
Result<std::unique_ptr<Repair>> examine_lmdb(const World& world, const Path& directory);

}  // namespace torc::store
