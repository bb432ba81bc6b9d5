// torc why: what keeps a job from running, and what would let it run.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/quote.h"
#include "lib/report/job_view.h"
#include "lib/report/why.h"

namespace torc::cli {
namespace {

struct WhyOptions {
  std::vector<std::string> words;  // NAME, or STORE NAME
  bool json = false;
};

using nlohmann::ordered_json;

// Lines of at most `columns`, broken between words; a longer word stays whole.
std::string wrapped(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && used + 1 + word.size() > columns) {
      out += '\n';
      used = 0;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    first = false;
  }
  return out;
}

void print(const App& app, const report::Explanation& found) {
  const auto columns = static_cast<std::size_t>(std::max(app.terminal_columns, 40));
  say(app.out, "{} (#{}) is {}\n", printable(found.name), raw(found.id),
      claim::to_string(found.job.state));
  for (const report::Reason& r : found.reasons) {
    say(app.out, "\n{}\n  what helps: {}\n", wrapped(r.text, columns), r.remedy);
  }
}

ordered_json to_json(const claim::Reader& reader, workflow::RecipeBook& book,
                     const report::Explanation& found) {
  ordered_json out = report::job_json(reader, book, found.id, found.job);
  ordered_json reasons = ordered_json::array();
  for (const report::Reason& r : found.reasons)
    reasons.push_back({{"kind", r.kind}, {"text", r.text}, {"remedy", r.remedy}});
  out["reasons"] = std::move(reasons);
  return out;
}

Exit run(const App& app, const WhyOptions& options) {
  auto where = locate_store_and_name(app, options.words);
  if (!where) return report(app, where.error());
  auto store = store::Store::open(app.world, where->store, store::Tuning{});
  if (!store) return report(app, store.error());
  const std::string shown = workflow::shown_path(app, where->store);
  auto viewed =
      (*store)->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
        workflow::RecipeBook book;
        TORC_ASSIGN(const auto id, workflow::find_job(book, reader, where->name));
        if (!id) return workflow::no_such_job(where->name);
        TORC_ASSIGN(const auto found, report::explain(app, reader, book, shown, *id));
        if (!found) return workflow::damaged_job(where->name);
        if (options.json) {
          say(app.out, "{}\n", report::json_text(to_json(reader, book, *found)));
        } else {
          print(app, *found);
        }
        return {};
      });
  return viewed ? Exit::ok : report(app, viewed.error());
}

}  // namespace

void add_why(Command& c) {
  auto& o = c.options<WhyOptions>();
  c.about("Tell what keeps a job from running, and what would let it run");
  c.argument("NAME", o.words, "[STORE] NAME, or #NUMBER")
      .required()
      .words(1, 2)
      .value("[STORE] NAME");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
