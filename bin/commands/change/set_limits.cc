#include "bin/commands/change/set_limits.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bin/commands/ringing.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/claim/transactions/set_limit.h"
#include "lib/report/job_view.h"
#include "lib/report/quota_view.h"
#include "lib/workflow/change/limit_words.h"

namespace torc::cli {
namespace {

using Changes = std::vector<claim::LimitChange>;
using nlohmann::ordered_json;

Result<std::vector<workflow::LimitWord>> parse(const std::vector<std::string>& words) {
  std::vector<workflow::LimitWord> limits;
  std::set<std::string> given;
  for (const std::string& word : words) {
    TORC_ASSIGN(auto limit, workflow::parse_limit(word));
    if (!given.insert(limit.name).second)
      return invalid(fmt::format("limit '{}' is set twice", printable(limit.name)), "once");
    limits.push_back(std::move(limit));
  }
  return limits;
}

std::string what_follows(const claim::LimitChange& change) {
  const claim::LimitState& now = change.after;
  const std::string used = fmt::format("{} in use", show_count(now.used));
  if (now.used > now.limit.most)
    return used +
           ": these go on, and no further job that needs some of it starts before there is room";
  return used;
}

void print(const App& app, const Changes& changes, bool dry_run) {
  for (const claim::LimitChange& change : changes) {
    say(app.out, "{}{}: {}, was {}; {}\n", dry_run ? "would set " : "",
        report::show_limit(change.before), show_count(change.after.limit.most),
        show_count(change.before.most), what_follows(change));
    if (change.too_large == 0) continue;
    say(app.out, "{} need more than that, and wait until it is raised\n",
        change.too_large == 1 ? "one ready job would"
                              : fmt::format("{} ready jobs", show_count(change.too_large)));
  }
}

void print_json(const App& app, const store::Store& store, const Changes& changes, bool dry_run) {
  ordered_json limits = ordered_json::array();
  for (const claim::LimitChange& change : changes) {
    const claim::Limit& limit = change.before;
    limits.push_back({{"entry", json_if(limit.kind == claim::LimitKind::entry, limit.name)},
                      {"resource", json_if(limit.kind == claim::LimitKind::named, limit.name)},
                      {"limit", change.after.limit.most},
                      {"limit_before", limit.most},
                      {"limit_of_file", limit.of_file()},
                      {"in_use", change.after.used},
                      {"too_large_jobs", change.too_large}});
  }
  const ordered_json out = {
      {"store", store.directory().string()}, {"dry_run", dry_run}, {"limits", std::move(limits)}};
  say(app.out, "{}\n", report::json_text(out));
}

}  // namespace

Result<Exit> set_limits(const App& app, const ChangeOptions& options,
                        const std::vector<std::string>& words) {
  TORC_ASSIGN(const auto limits, parse(words));
  TORC_ASSIGN(auto where, locate_store_and_names(app, options.jobs.words));
  if (!where.names.empty() || options.jobs.all || !options.jobs.name.empty() ||
      !options.jobs.state.empty()) {
    return invalid("--limit is for the whole workflow, but jobs were named too",
                   "set limits in a separate command: torc set [STORE] --limit NAME=NUMBER");
  }
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  Changes changes;
  const auto body = [&](store::Transaction& tx) -> Result<void> {
    changes.clear();
    for (const workflow::LimitWord& limit : limits) {
      TORC_ASSIGN(const std::uint32_t number, workflow::find_limit(tx, limit.name));
      TORC_ASSIGN(auto change, claim::set_limit(tx, number, limit.most));
      changes.push_back(std::move(change));
    }
    return {};
  };
  TORC_TRY(change_and_ring(app, *store, options.dry_run, body, [&] {
    std::uint64_t freed = 0;
    for (const claim::LimitChange& change : changes) freed = std::max(freed, change.freed());
    return freed;
  }));
  if (options.json) {
    print_json(app, *store, changes, options.dry_run);
  } else {
    print(app, changes, options.dry_run);
  }
  return Exit::ok;
}

}  // namespace torc::cli
