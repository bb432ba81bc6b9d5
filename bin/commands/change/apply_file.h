// A workflow file and its store: what `torc apply` and `torc run FILE` do about what differs, and
// how they tell it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bin/app.h"
#include "lib/workflow/change/apply.h"

namespace torc::cli {

// What a person has said yes to: that so many completed jobs run again, while so many earlier
// results count again.
struct Confirmed {
  std::uint64_t redone = 0;
  std::uint64_t taken_back = 0;
  std::optional<std::uint64_t> by_now = {};  // so many would be redone now: nothing was changed
};

// Makes the store what the file says, or tries to, and keeps the file's text in the store. Error
// busy, with Confirmed::by_now: more results would be lost than were confirmed.
Result<workflow::Applied> apply_file(const App& app, store::Store& store,
                                     const workflow::LoadedSpec& loaded,
                                     const workflow::ApplyTerms& terms, bool dry_run,
                                     Confirmed* confirmed = nullptr);

// What becomes of jobs that a worker has, and that the file describes otherwise: they end by what
// they were; so they do while whoever applies it stays, and applies it again then; they are ended.
enum class OldJobs : std::uint8_t { go_on, are_waited_for, are_restarted };

// At most a screen, the most important first. Of a dry run what would be.
void print_applied(const App& app, const workflow::Applied& applied, bool dry_run,
                   OldJobs old_jobs);
[[nodiscard]] nlohmann::ordered_json applied_json(const store::Store& store,
                                                  const workflow::Applied& applied, bool dry_run);

struct ApplyRequest {
  std::string file;
  std::string store;  // empty: the one that `torc run FILE` would use
  workflow::ApplyTerms terms;
  bool dry_run = false;
  bool json = false;
};
// All of `torc apply`, with what it prints.
Result<Exit> apply_and_tell(const App& app, const ApplyRequest& request);

}  // namespace torc::cli
