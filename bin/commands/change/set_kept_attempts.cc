#include "bin/commands/change/set_kept_attempts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bin/commands/ringing.h"
#include "lib/base/quantities.h"
#include "lib/claim/tables/past_attempts.h"
#include "lib/report/job_view.h"

namespace torc::cli {

Result<Exit> set_kept_attempts(const App& app, const ChangeOptions& options,
                               std::uint32_t attempts) {
  if (attempts > claim::kMostKeptAttempts)
    return invalid(
        fmt::format("--keep-attempts {}: that many attempts of each job are not kept", attempts),
        fmt::format("give it {} at most", claim::kMostKeptAttempts));
  TORC_ASSIGN(const auto where, locate_store_and_names(app, options.jobs.words));
  if (!where.names.empty() || options.jobs.all || !options.jobs.name.empty() ||
      !options.jobs.state.empty()) {
    return invalid("--keep-attempts is of the whole workflow, and jobs are named beside it",
                   "set it by a command of its own: torc set [STORE] --keep-attempts N");
  }
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  std::uint32_t before = 0;
  TORC_TRY(
      change_and_ring(app, *store, options.dry_run, [&](store::Transaction& tx) -> Result<void> {
        before = claim::kept_attempts(tx);
        if (before != attempts) claim::keep_attempts(tx, attempts);
        return {};
      }));
  if (options.json) {
    const nlohmann::ordered_json out = {{"store", store->directory().string()},
                                        {"dry_run", options.dry_run},
                                        {"kept_attempts", attempts},
                                        {"kept_attempts_before", before}};
    say(app.out, "{}\n", report::json_text(out));
    return Exit::ok;
  }
  say(app.out, "attempts before the newest that {} kept of each job: {} (were {}){}\n",
      options.dry_run ? "would be" : "are", show_count(attempts), show_count(before),
      attempts < before ? "; what a job has more is forgotten when a further attempt of it ends"
                        : "");
  return Exit::ok;
}

}  // namespace torc::cli
