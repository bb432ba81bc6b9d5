// torc verify: the store's chain and the claims' accounts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/claim/audit/verify.h"
#include "lib/report/job_view.h"

namespace torc::cli {

namespace {

struct VerifyOptions {
  std::string store;
  bool json = false;
};

Error with_remedy(Error error, const Path& store) {
  const std::string repair = fmt::format(
      "end all workers and keep a copy of the directory; `torc repair {}` shows how much of it is "
      "good, a backup (`torc backup`) can take its place",
      store.string());
  error.remedy = repair;
  return error;
}

Result<Exit> run(const App& app, const VerifyOptions& options) {
  TORC_ASSIGN(auto path, locate_store(app, options.store));
  auto verified = store::verify(app.world, path, claim::verify_state);
  if (!verified && verified.error().kind == ErrorKind::corrupt)
    verified = with_remedy(verified.error(), path);
  if (options.json) {
    const store::Verified seen = verified ? *verified : store::Verified{};
    const nlohmann::ordered_json out = {
        {"store", path.string()},
        {"clean", verified.ok()},
        {"first_commit", json_or_null(seen.first_sequence)},
        {"last_commit", json_if(verified.ok(), seen.last_sequence)},
        {"snapshot_commit", json_or_null(seen.newest_snapshot)},
        {"files", json_if(verified.ok(), seen.files)},
        {"error", json_or_null(verified ? std::string() : verified.error().text())}};
    say(app.out, "{}\n", report::json_text(out));
    return verified ? Exit::ok : Exit::store;
  }
  if (!verified) return verified.error();
  say(app.out, "{}: clean; commits up to {}, {} checked, newest snapshot {}\n", path.string(),
      verified->last_sequence, plural(verified->files, "file"), verified->newest_snapshot);
  return Exit::ok;
}

}  // namespace

void add_verify(Command& c) {
  auto& o = c.options<VerifyOptions>();
  c.about("Walk the whole store, recount everything, name the first wrong thing");
  c.argument("STORE", o.store, "store");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
