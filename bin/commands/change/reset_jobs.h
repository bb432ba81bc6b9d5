// What `torc reset` and `torc redo` have in common: jobs, and everything built on them, go back to
// the start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/change/change_report.h"
#include "bin/commands/selection.h"

namespace torc::cli {

struct ResetOptions {
  SelectOptions jobs;
  bool yes = false;             // accepted results may be discarded
  std::uint64_t confirmed = 0;  // so many, where it is not yes
  bool force = false;           // what runs is canceled
  bool dry_run = false;
  bool json = false;
};

// The flags that both have.
void add_reset_flags(Command& c, ResetOptions& o);

[[nodiscard]] Selection selection_of(const ResetOptions& options, std::vector<std::string> names);

// In one transaction, of which `then` sees how it would be afterwards. Errors: invalid: no such
// job, or completed jobs would lose their results and may not (ResetOptions::yes); busy: some of
// them run (force).
Result<ChangeReport> reset_jobs(const App& app, store::Store& store, const Selection& selection,
                                const ResetOptions& options, const store::Store::Body& then = {});

// The same for `torc redo` and `torc run --force`: a person is asked first where results would be
// lost, if `asks`, and sees what they are. No more are lost than were asked about. nullopt: it was
// not confirmed, which was told, and nothing was changed.
Result<std::optional<ChangeReport>> reset_when_confirmed(const App& app, store::Store& store,
                                                         const Selection& selection,
                                                         ResetOptions options, bool asks);

// Tells of an error of it; of what is in the way, which is not the store, by exit code usage.
[[nodiscard]] Exit report_reset(const App& app, const Error& error);

}  // namespace torc::cli
