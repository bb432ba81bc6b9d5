// Which stores that were found, rather than named, may be used.
//
// A store says what is run. Whoever may write into a directory could put one there for others to
// find: `torc run` beside a planted store would run the planter's commands as the user. So, as git
// does with repositories (safe.directory), a store that nobody named is used only if it and its
// META belong to the user or to root, or the user has said once that he trusts it (`torc trust`). A
// store that is named on the command line or by TORC_STORE is the user's own choice.
#pragma once

#include <string>
#include <vector>

#include "bin/app.h"
#include "lib/base/result.h"

namespace torc::cli {

// A store that the user trusts: this owner's, with this id, at this place. One that somebody else
// puts in its place is another one.
struct TrustedStore {
  std::uint32_t owner = 0;
  std::string id;  // hex
  Path path;       // absolute, without symbolic links
  auto operator<=>(const TrustedStore&) const = default;
};

// $XDG_CONFIG_HOME/torc/trusted, or ~/.config/torc/trusted. Error invalid: neither is set.
Result<Path> trusted_file(const App& app);
// Empty where there is no such file. Lines that mean nothing are passed over.
Result<std::vector<TrustedStore>> read_trusted(const App& app);
Result<void> write_trusted(const App& app, const std::vector<TrustedStore>& stores);

// What has to be trusted of the store at `path`. Errors: not_found and the like of META.
Result<TrustedStore> describe_store(const App& app, const Path& path);

// Error permission: it is not to be used unless it is named. `path`: as it was found. What cannot
// be looked at, or is no store, passes: opening it tells.
Result<void> check_found_store(const App& app, const Path& path);

}  // namespace torc::cli
