// The stores that are mutated: made once a run by torc itself, each with another past, and copied
// for each round.
#pragma once

#include <string>
#include <vector>

#include "tests/mutation/command_run.h"

namespace torc::mutation {

struct StoreTemplate {
  std::string past;  // in words: "finished"
  Path store;
};

// In directories of their own below `directory`. Throws std::runtime_error when torc does not do
// what it shall: then there is nothing to mutate.
[[nodiscard]] std::vector<StoreTemplate> make_templates(const Path& program, const Path& directory,
                                                        const std::string& engine,
                                                        std::optional<uid_t> user);

// What `torc add` of a round adds.
[[nodiscard]] std::string_view more_jobs();

// A directory of `user`, with the ones above it.
void make_directory(const Path& directory, std::optional<uid_t> user);
// Of `from`, which a round may change: `user`'s own, like the original.
void copy_store(const Path& from, const Path& to, std::optional<uid_t> user);
// Writes into META that the store lies where it lies, as if it had been made there: else it is a
// copy that nobody has adopted (docs/maintainer/store-protocol.md), whose META is replaced by the
// first commit.
void settle(const Path& store);

}  // namespace torc::mutation
