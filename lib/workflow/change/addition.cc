#include "lib/workflow/change/addition.h"

#include <pwd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/spawn_again.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/spec/load/load.h"
#include "lib/spec/text/source.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/change/difference.h"
#include "lib/workflow/change/removal.h"
#include "lib/workflow/change/stored_workflow.h"
#include "lib/workflow/context/file_search.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::workflow {
namespace {

bool has_error(const std::vector<spec::Diagnostic>& all) {
  return std::ranges::any_of(
      all, [](const spec::Diagnostic& d) { return d.severity == spec::Severity::error; });
}

// User data that are there already and differ, each with its place in the addition.
std::vector<spec::Diagnostic> conflicts_of(store::Transaction& tx, const AdditionText& text,
                                           const spec::Workflow& workflow,
                                           const std::vector<claim::UserDatum>& user_data) {
  const spec::Source source(text.text, text.file);
  std::vector<spec::Diagnostic> found;
  for (const claim::UserDatum& d : user_data) {
    const auto added = claim::add_user_data(tx, {d});
    if (added.ok()) continue;
    spec::Diagnostic& one = found.emplace_back();
    one.file = text.file;
    one.message = added.error().what;
    one.remedy = added.error().remedy;
    for (const spec::UserDataEntry& entry : workflow.user_data) {
      if (entry.name == d.name) one.place = entry.place;
    }
    show_line(source, one);
  }
  return found;
}

class Attempt {
 public:
  Attempt(const Context& context, const Path& store, const AdditionText& text,
          const AdmitAddition& admit)
      : context_(context), store_(store), text_(text), admit_(admit) {}

  // An Error with diagnostics in added(): nothing is wrong with the store, but with the addition.
  Result<void> run(store::Transaction& tx) {
    added_ = {};
    AdditionText text = text_;
    TORC_ASSIGN(AdditionTerms terms, admit_(tx, text));
    TORC_ASSIGN(StoredWorkflow stored, StoredWorkflow::of(tx));
    stored.spawned_by(terms.origin);
    spec::ReadFile read = [&](const std::string& name) {
      return read_value_file(context_, text.directory, name);
    };
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(tx));
    TORC_ASSIGN(const WorkflowSettings settings, decode_workflow_settings(workflow.settings));
    SearchRoom room;
    read.find = [&](const std::string& pattern) -> Result<std::vector<std::string>> {
      TORC_ASSIGN(const Path directory, find_working_directory(settings.directory, store_));
      return find_files(context_.world.disk, directory, pattern, room);
    };
    spec::Loaded loaded =
        spec::load_addition(text.text, text.file, read, {stored, terms.after, terms.resources});
    TORC_TRY(stored.sound());
    (void)refuse_what_cannot_run(loaded.diagnostics);
    added_.good = loaded.expansion && !has_error(loaded.diagnostics);
    added_.diagnostics = std::move(loaded.diagnostics);
    if (!added_.good) return invalid("the addition has mistakes", "");
    const spec::Expansion& expansion = *loaded.expansion;
    TORC_ASSIGN(const auto returned, terms.brings_back ? taken_out(tx, expansion.there)
                                                       : std::vector<claim::JobRange>());
    tell_names(stored, expansion, returned);
    // First: what is added waits for what they are then.
    if (!returned.empty()) TORC_TRY(put_back(tx, returned, terms.origin));
    claim::Plan plan;
    add_expansion(plan, *loaded.workflow, expansion);
    if (added_.anew > 0) {
      TORC_TRY(claim::spawn_again(tx, std::move(plan), part_of_template, terms.origin));
    } else {
      TORC_TRY(claim::add_jobs(tx, std::move(plan), std::move(terms.origin)));
    }
    const std::vector<claim::UserDatum> user_data = user_data_of(expansion);
    Result<void> declared = claim::add_user_data(tx, user_data);
    if (declared.ok() || declared.error().kind != ErrorKind::invalid) return declared;
    added_.diagnostics = conflicts_of(tx, text, *loaded.workflow, user_data);
    added_.good = false;
    return declared;
  }
  Added take() { return std::move(added_); }
  [[nodiscard]] const Added& added() const { return added_; }

 private:
  // Of jobs that are there, those that the workflow has no more, and what these wait for of such.
  static Result<std::vector<claim::JobRange>> taken_out(const claim::Reader& reader,
                                                        const std::vector<spec::Range>& there) {
    std::vector<claim::JobRange> jobs;
    jobs.reserve(there.size());
    for (const spec::Range& r : there) jobs.push_back({JobId{r.first}, r.count});
    TORC_ASSIGN(const auto removed, claim::removed_jobs(reader, jobs));
    if (removed.empty()) return removed;
    TORC_ASSIGN(const auto all, claim::with_upstreams(reader, removed));
    return claim::removed_jobs(reader, all);
  }

  void tell_names(StoredWorkflow& stored, const spec::Expansion& expansion,
                  const std::vector<claim::JobRange>& returned) {
    for (const spec::ExpandedEntry& entry : expansion.entries) {
      const bool is_there = entry.first <= stored.jobs();
      (is_there ? added_.anew : added_.jobs) += entry.count;
      std::vector<std::string>& names = is_there ? added_.anew_names : added_.names;
      const auto recipe = spec::Recipe::decode(entry.recipe);
      for (std::uint64_t k = 0; recipe && k < entry.count && names.size() < Added::kNames; ++k)
        names.push_back(recipe->name(k));
    }
    std::vector<claim::JobRange> there;
    for (const spec::Range& r : expansion.there) there.push_back({JobId{r.first}, r.count});
    tell(stored, claim::without(there, returned), added_.there, added_.there_names);
    tell(stored, returned, added_.returned, added_.returned_names);
  }

  static void tell(StoredWorkflow& stored, const std::vector<claim::JobRange>& jobs,
                   std::uint64_t& count, std::vector<std::string>& names) {
    count = claim::jobs_in(jobs);
    for (const claim::JobRange& r : jobs) {
      for (std::uint64_t i = 0; i < r.count && names.size() < Added::kNames; ++i)
        names.push_back(stored.job(raw(r.first) + i).texts.name);
    }
  }

  const Context& context_;
  const Path& store_;
  const AdditionText& text_;
  const AdmitAddition& admit_;
  Added added_;
};

}  // namespace

Result<AdditionText> read_addition(const Context& context, const std::string& file) {
  const Path path = (context.directory / file).lexically_normal();
  const bool from_stdin = is_stdin(file);
  auto text = from_stdin ? read_spec_stream(stdin) : read_spec_text(context, path);
  if (!text)
    return unreadable(std::move(text).error(), file, "name a file with 'jobs:', or - for stdin");
  return AdditionText{from_stdin ? stdin_name(file) : file, *std::move(text),
                      from_stdin ? context.directory : path.parent_path()};
}

Result<Added> add_to(const Context& context, store::Store& store, const AdditionText& text,
                     const AdmitAddition& admit, const MakeChange& change) {
  Attempt attempt(context, store.directory(), text, admit);
  const auto done = change([&](store::Transaction& tx) { return attempt.run(tx); });
  const bool refused = !attempt.added().good && !attempt.added().diagnostics.empty();
  if (!done && !refused) return done.error();
  Added added = attempt.take();
  std::uint64_t live_workers = 0;
  const auto seen = store.view(store::Freshness::cached, [&](const claim::Reader& reader) {
    live_workers = 0;
    return claim::scan_workers(reader, true,
                               [&](const claim::Worker&) { return ++live_workers > 0; });
  });
  // What was committed counts, whatever can be seen of it now.
  if (seen.ok()) added.live_workers = live_workers;
  return added;
}

namespace {

std::string name_of_user(std::uint32_t uid) {
  constexpr std::size_t kMostBytes = 16384;
  std::string buffer(kMostBytes, '\0');
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return fmt::format("uid {}", uid);
}

}  // namespace

std::string who_asks(const Context& context) {
  std::string user = context.env("USER").value_or("");
  if (user.empty()) user = context.env("LOGNAME").value_or("");
  if (user.empty()) user = name_of_user(context.world.uid);
  return fmt::format("{}@{}", user, context.world.host);
}

}  // namespace torc::workflow
