// torc trust: which stores of other users may be found, see trust.h.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/trust.h"
#include "lib/base/text/quote.h"
#include "lib/report/job_view.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {
namespace {

struct TrustOptions {
  std::string store;  // empty: lists
  bool forget = false;
  bool json = false;
};

using nlohmann::ordered_json;

ordered_json json_of(const TrustedStore& s) {
  return {{"store", s.path.string()}, {"store_id", s.id}, {"owner_uid", s.owner}};
}

Exit list(const App& app, const TrustOptions& o, const std::vector<TrustedStore>& trusted) {
  if (o.json) {
    ordered_json all = ordered_json::array();
    for (const TrustedStore& s : trusted) all.push_back(json_of(s));
    say(app.out, "{}\n", report::json_text(all));
    return Exit::ok;
  }
  for (const TrustedStore& s : trusted)
    say(app.out, "{}  (user {})\n", printable(s.path.string()), s.owner);
  if (trusted.empty()) say(app.out, "no store is trusted; your own stores need no trust\n");
  return Exit::ok;
}

Exit done(const App& app, const TrustOptions& o, const TrustedStore& store, bool is_trusted) {
  if (o.json) {
    ordered_json answer = json_of(store);
    answer["trusted"] = is_trusted;
    say(app.out, "{}\n", report::json_text(answer));
  } else {
    say(app.out, "{} {}\n", printable(store.path.string()),
        is_trusted ? "is trusted from now on" : "is not trusted any more");
  }
  return Exit::ok;
}

Result<Exit> run(const App& app, const TrustOptions& o) {
  TORC_ASSIGN(auto trusted, read_trusted(app));
  if (o.store.empty()) return list(app, o, trusted);
  const Path path = (app.directory / o.store).lexically_normal();
  if (o.forget) {
    const Path place = app.world.disk.resolved(path);
    const auto found = std::find_if(trusted.begin(), trusted.end(),
                                    [&](const TrustedStore& s) { return s.path == place; });
    if (found == trusted.end()) {
      return Error{ErrorKind::invalid,
                   fmt::format("{} is not among the trusted stores", path.string()),
                   "`torc trust` lists them"};
    }
    const TrustedStore store = *found;
    trusted.erase(found);
    TORC_TRY(write_trusted(app, trusted));
    return done(app, o, store, false);
  }
  TORC_ASSIGN(auto store, describe_store(app, path));
  std::erase_if(trusted, [&](const TrustedStore& s) { return s.path == store.path; });
  trusted.push_back(store);
  TORC_TRY(write_trusted(app, trusted));
  return done(app, o, store, true);
}

}  // namespace

void add_trust(Command& c) {
  auto& o = c.options<TrustOptions>();
  c.about("Let a store of another user be found, not only named");
  const Flag store =
      c.argument("STORE", o.store, "store; without one, those that are trusted are listed");
  c.flag("--forget", o.forget, "do not trust it any more").needs(store);
  c.flag("--json", o.json, "machine-readable output");
  c.footer(
      "\nA store says what is run. One that nobody named, the only *.torc here, the one beside a\n"
      "workflow file, the newest of `torc exec`, is used only if it belongs to you or root, or is\n"
      "trusted. What you name is your own choice and needs no trust.\n"
      "Exit codes: 0 done; 2 wrong flags, or it was not trusted; 4 it cannot be read.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
