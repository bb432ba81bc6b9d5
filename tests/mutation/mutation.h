// One change to the files of a store, chosen at random, as an attacker, a bad disk or a clumsy hand
// could make it.
#pragma once

#include <string>

#include "tests/mutation/command_run.h"
#include "tests/mutation/random.h"

namespace torc::mutation {

// What a mutation may point to from within a store. It has to stay as it is.
struct Outside {
  Path file;
  Path directory;
};

struct Target {
  Path store;
  Path round;  // what a user and a node keep of the store is below it, see kKeepingPlaces
  Outside outside;
  std::optional<uid_t> user;       // whose everything in the store shall be
  bool bytes_of_data_file = true;  // those of data.mdb may be changed, too
};

// What was done, in words; empty: this store has nothing that the choice can be applied to.
using Mutation = std::string (*)(const Target&, Random&);
struct MutationKind {
  const char* name;
  Mutation mutate;
  std::size_t weight;  // how often it is chosen
  // The first words of commands that read what was changed.
  std::vector<std::string> readers = {};
};
[[nodiscard]] const std::vector<MutationKind>& mutation_kinds();
// Of the kind with this name; of any when it is empty.
[[nodiscard]] const MutationKind& any_kind(const std::string& name, Random& random);

// Below the directory of a round: the copies that a node has of stores, its ledger, and what a user
// keeps for himself.
inline constexpr const char* kKeepingPlaces[] = {"tmp", "node", "home"};

// The kinds.
// The bytes of one file, or those of two.
[[nodiscard]] std::string mutate_bytes(const Target& target, Random& random);
// Something else that has the name of a file or a directory.
[[nodiscard]] std::string replace_entry(const Target& target, Random& random);
// Something that has a name which torc will want to make.
[[nodiscard]] std::string plant_entry(const Target& target, Random& random);
// Whole and well-formed, as only torc writes it, with contents that it would never write
// (forged_files.cc).
[[nodiscard]] std::string forge_meta(const Target& target, Random& random);
[[nodiscard]] std::string forge_commit(const Target& target, Random& random);
[[nodiscard]] std::string forge_packed(const Target& target, Random& random);
[[nodiscard]] std::string forge_snapshot(const Target& target, Random& random);
// Of engine lmdb, in data.mdb.
[[nodiscard]] std::string forge_record(const Target& target, Random& random);
// A commit in the middle, in the segments that have it and perhaps in its own file, with all that
// follow chained to it (forged_history.cc).
[[nodiscard]] std::string forge_segment(const Target& target, Random& random);
// What workers say of themselves and of their jobs (forged_measures.cc).
[[nodiscard]] std::string forge_heartbeat(const Target& target, Random& random);
[[nodiscard]] std::string forge_series(const Target& target, Random& random);
// What a node and a user keep (forged_node.cc).
[[nodiscard]] std::string forge_gate(const Target& target, Random& random);
[[nodiscard]] std::string forge_ledger(const Target& target, Random& random);
[[nodiscard]] std::string forge_trusted(const Target& target, Random& random);

// A ledger with a worker that lives, as it is: what may be changed then.
void put_ledger(const Target& target);
// Numbers at which something may turn over.
[[nodiscard]] std::uint64_t any_number(Random& random);
// Makes it the user's whose everything shall be.
void own(const Target& target, const Path& path);

// Whole files, also such as a harness like this one has just made unreadable.
void put_file(const Target& target, const Path& file, std::string_view bytes);

}  // namespace torc::mutation
