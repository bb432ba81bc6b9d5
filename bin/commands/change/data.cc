// torc data: the small JSON values of a workflow, from anywhere and from inside its jobs.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/change/json_input.h"
#include "bin/commands/commands.h"
#include "bin/commands/ringing.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/limits.h"
#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/report/job_view.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

struct DataOptions {
  std::string action;              // get, set, list, delete
  std::vector<std::string> words;  // [STORE] NAME [VALUE]
  bool text = false;    // get: a JSON string without its quotes; set: VALUE is plain text
  bool create = false;  // set: also a name that the workflow file does not declare
  bool json = false;
};

using claim::UserDatum;
using nlohmann::ordered_json;

constexpr std::size_t kShownValue = 60;

Error bad_words(std::string_view usage) {
  return Error{ErrorKind::invalid, "these are not the arguments of torc data",
               fmt::format("torc data {}", usage)};
}

// A mistake in what was asked for is no fault of the store.
Exit fail(const App& app, const Error& error) {
  const Exit exit = report(app, error);
  return error.kind == ErrorKind::fenced ? Exit::usage : exit;
}

std::optional<std::uint64_t> number_in(const std::optional<std::string>& text) {
  return text ? whole_number<std::uint64_t>(*text) : std::nullopt;
}

// The job that this process belongs to, when it belongs to one of this very store.
claim::Setter setter_of(const App& app, const Path& store) {
  const auto own = app.env("TORC_STORE");
  const auto job = number_in(app.env("TORC_JOB_ID"));
  if (!own || !job || Path(*own).lexically_normal() != store) return {};
  // A job that does not say which attempt it is is none that counts, but no person either.
  const auto attempt = number_in(app.env("TORC_ATTEMPT_ID")).value_or(0);
  const auto claim = number_in(app.env("TORC_CLAIM_ID")).value_or(0);
  return {{JobId{*job}, static_cast<std::uint32_t>(attempt), claim}};
}

Error no_such(const claim::Reader& reader, const std::string& name) {
  std::vector<std::string> known;
  const auto read = claim::scan_user_data(reader, [&](const UserDatum& d) {
    known.push_back(d.name);
    return known.size() < 10'000;
  });
  if (!read) return read.error();
  const std::string near = spec::nearest(name, known);
  return Error{ErrorKind::invalid, fmt::format("there is no user data '{}'", printable(name)),
               near.empty() ? "`torc data list` shows what there is; --create makes it"
                            : fmt::format("did you mean '{}'?", printable(near))};
}

Result<UserDatum> read(const claim::Reader& reader, const std::string& name) {
  TORC_ASSIGN(std::optional<UserDatum> datum, claim::read_user_datum(reader, name));
  if (!datum) return no_such(reader, name);
  return *std::move(datum);
}

ordered_json value_json(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json::parse(text, nullptr, false);
}

ordered_json to_json(workflow::RecipeBook& book, const claim::Reader& reader, const UserDatum& d) {
  return {{"name", d.name},
          {"data", value_json(d.value)},
          {"set", !d.value.empty()},
          {"ephemeral", d.is_ephemeral},
          {"declared", d.is_declared},
          {"output_of", report::job_name_json(reader, book, d.maker)},
          {"set_by", report::job_name_json(reader, book, d.by)},
          {"commit", json_or_null(d.changed)}};
}

Result<Exit> get(const App& app, const DataOptions& o) {
  if (o.words.empty() || o.words.size() > 2) return bad_words("get [STORE] NAME");
  const std::string name = o.words.back();
  TORC_ASSIGN(const auto store, open_store(app, o.words.size() == 2 ? o.words[0] : ""));
  std::string out;
  const auto seen =
      store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
        TORC_ASSIGN(const UserDatum datum, read(reader, name));
        workflow::RecipeBook book;
        if (o.json) {
          out = report::json_text(to_json(book, reader, datum));
        } else if (const ordered_json value = value_json(datum.value);
                   o.text && value.is_string()) {
          out = value.get<std::string>();
        } else {
          out = datum.value.empty() ? "null" : datum.value;
        }
        return {};
      });
  if (!seen) return fail(app, seen.error());
  say(app.out, "{}\n", out);
  return Exit::ok;
}

Result<Exit> list(const App& app, const DataOptions& o) {
  if (o.words.size() > 1) return bad_words("list [STORE]");
  TORC_ASSIGN(const auto store, open_store(app, o.words.empty() ? "" : o.words[0]));
  ordered_json all = ordered_json::array();
  Table table({{"name", Align::left, Shorten::yes},
               {"value", Align::left, Shorten::yes},
               {"bytes", Align::right},
               {"output of", Align::left, Shorten::yes},
               {"ephemeral"}});
  const auto seen =
      store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
        workflow::RecipeBook book;
        return claim::scan_user_data(reader, [&](const UserDatum& d) {
          if (o.json) {
            all.push_back(to_json(book, reader, d));
            return true;
          }
          const bool cut = d.value.size() > kShownValue;
          table.add(
              {printable(d.name),
               d.value.empty() ? "-" : printable(d.value.substr(0, kShownValue)) + (cut ? "…" : ""),
               show_count(d.value.size()),
               raw(d.maker) == 0 ? "-" : printable(workflow::job_name(book, reader, d.maker)),
               d.is_ephemeral ? "yes" : "-"});
          return true;
        });
      });
  TORC_TRY(seen);
  if (o.json)
    say(app.out, "{}\n", report::json_text(all));
  else
    say_table(app, table);
  return Exit::ok;
}

// What VALUE says: JSON, @FILE, or - for standard input.
Result<std::string> value_of(const App& app, const std::string& word, bool text) {
  std::string from = "the value";
  std::string bytes = word;
  if (word == "-") {
    from = "standard input";
    TORC_ASSIGN(bytes, read_stream(stdin, kMaxUserDataBytes * 4));
  } else if (word.starts_with('@')) {
    from = word.substr(1);
    TORC_ASSIGN(bytes, store::read_file(app.world.disk, (app.directory / from).lexically_normal()));
  }
  if (text) {
    if (bytes.ends_with('\n') && (word == "-" || word.starts_with('@'))) bytes.pop_back();
    return json_string(bytes, from);
  }
  return minified_json(bytes, from);
}

Error not_its_output(const claim::Reader& reader, const UserDatum& d, JobId job) {
  workflow::RecipeBook book;
  return Error{ErrorKind::invalid,
               fmt::format("user data '{}' is the output of job '{}', and this is job '{}'",
                           printable(d.name), printable(workflow::job_name(book, reader, d.maker)),
                           printable(workflow::job_name(book, reader, job))),
               "let that job set it, or declare another one as output_user_data of this job"};
}

Result<Exit> set(const App& app, const DataOptions& o) {
  if (o.words.size() < 2 || o.words.size() > 3) {
    return bad_words("set [STORE] NAME JSON|@FILE|-");
  }
  const std::string name = o.words[o.words.size() - 2];
  auto value = value_of(app, o.words.back(), o.text);
  if (!value) {
    Error error = std::move(value).error();
    error.kind = ErrorKind::invalid;
    return report(app, error);
  }
  TORC_ASSIGN(const auto store, open_store(app, o.words.size() == 3 ? o.words[0] : ""));
  const claim::Setter setter = setter_of(app, store->directory());
  bool changed = false;
  const Keeping keeping{.is_kept = raw(setter.token.job) == 0};
  const auto set_it = [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const std::optional<UserDatum> before, claim::read_user_datum(tx, name));
    if (!before && !o.create) return no_such(tx, name);
    if (before && raw(setter.token.job) != 0 && raw(before->maker) != 0 &&
        before->maker != setter.token.job)
      return not_its_output(tx, *before, setter.token.job);
    TORC_ASSIGN(changed, claim::set_user_datum(tx, name, *value, setter,
                                               o.create ? claim::Create::yes : claim::Create::no));
    return {};
  };
  const auto done = change_and_ring(app, *store, false, set_it, {}, keeping);
  if (!done) return fail(app, done.error());
  if (o.json) {
    const ordered_json out = {{"store", store->directory().string()},
                              {"name", name},
                              {"changed", changed},
                              {"data", value_json(*value)}};
    say(app.out, "{}\n", report::json_text(out));
  }
  return Exit::ok;
}

Result<Exit> remove(const App& app, const DataOptions& o) {
  if (o.words.empty() || o.words.size() > 2) return bad_words("delete [STORE] NAME");
  const std::string name = o.words.back();
  TORC_ASSIGN(const auto store, open_store(app, o.words.size() == 2 ? o.words[0] : ""));
  bool changed = false;
  const Keeping keeping{.is_kept = raw(setter_of(app, store->directory()).token.job) == 0};
  const auto remove_it = [&](store::Transaction& tx) -> Result<void> {
    TORC_TRY(read(tx, name));
    TORC_ASSIGN(changed, claim::delete_user_datum(tx, name));
    return {};
  };
  const auto done = change_and_ring(app, *store, false, remove_it, {}, keeping);
  if (!done) return fail(app, done.error());
  if (o.json) {
    const ordered_json out = {
        {"store", store->directory().string()}, {"name", name}, {"changed", changed}};
    say(app.out, "{}\n", report::json_text(out));
  }
  return Exit::ok;
}

Result<Exit> run(const App& app, const DataOptions& options) {
  if (options.action == "get") return get(app, options);
  if (options.action == "set") return set(app, options);
  if (options.action == "delete") return remove(app, options);
  return list(app, options);
}

}  // namespace

void add_data(Command& c) {
  auto& o = c.options<DataOptions>();
  c.about("Read and write user data: small JSON values in the store");
  c.argument("ACTION", o.action,
             "get [STORE] NAME; set [STORE] NAME JSON|@FILE|-; list [STORE]; delete [STORE] NAME")
      .required()
      .value("get|set|list|delete")
      .choices({"get", "set", "list", "delete"});
  c.argument("WORDS", o.words, "as the action takes them").value("…");
  c.flag("--text", o.text,
         "set: the value is plain text, kept as a JSON string; get: a string without quotes");
  c.flag("--create", o.create, "set: also a name that the workflow file does not declare");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
