// Stores that belong to a group of users (`torc init --group`). Such a store shows it by its mode:
// writable for its group and set-group-ID, so that everything made in it belongs to the group. What
// is left to do is to make files that the group may use, whatever the user's umask: a process that
// works for such a store sets its own accordingly. Jobs, and what is made elsewhere, keep the
// user's (Context::umask, OwnUmask, exec::OutputRoot).
#pragma once

#include <cstdint>
#include <string>

#include "lib/workflow/context/context.h"

namespace torc::workflow {

// The number of a group that is named or given by number. Error invalid: there is none.
Result<std::uint32_t> group_number(const std::string& group);

// Whether a directory of that mode (stat(2)) is such a store.
[[nodiscard]] bool is_of_a_group(std::uint32_t mode);

// From now on this process makes files that members of the group may write and others may not use.
void write_for_group();

// The same if `store` is there and belongs to a group. Where others may read the store, they may go
// on reading as far as the user's umask lets them.
void write_for_group_of(const Context& context, const Path& store);

// While it lives, files are made as the user's own umask says: what is made outside of a store is
// none of its group's. For moments in which no other thread makes files.
class OwnUmask {
 public:
  explicit OwnUmask(const Context& context);
  ~OwnUmask();
  OwnUmask(const OwnUmask&) = delete;
  OwnUmask& operator=(const OwnUmask&) = delete;

 private:
  unsigned before_;
};

}  // namespace torc::workflow
