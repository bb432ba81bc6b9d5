#include "lib/workflow/plan/workflow_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "lib/base/codec.h"
#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/rules/learned_time.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/slurm/refusals.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/context/file_search.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/cpu_advice.h"
#include "lib/workflow/plan/kept_launcher.h"
#include "lib/workflow/plan/plan_actions.h"
#include "lib/workflow/plan/plan_dependencies.h"
#include "lib/workflow/plan/plan_schedulers.h"

namespace torc::workflow {
namespace {

// Grows only with format changes of the settings value.
constexpr std::uint8_t kSettingsFormat = 2;

// Of recipes as stored; decoded they take some five times as much.
constexpr std::size_t kMostKept = std::size_t{8} << 20U;

// Begins the remedy of what this version cannot run (spec::Session::planned).
constexpr std::string_view kRefusal = "'torc init' refuses it";

// What a batch script could not be made of. Who wrote the same default once shall read it once.
void check_slurm(const spec::Workflow& draft, spec::Report& report) {
  if (!draft.launcher.empty()) return;
  std::set<std::string> told;
  for (const spec::SlurmScheduler& scheduler : draft.slurm_schedulers) {
    if (scheduler.name.empty()) continue;  // it could not be read
    const auto tell = [&](const std::vector<slurm::Refusal>& refusals, const auto& places) {
      for (const slurm::Refusal& refusal : refusals) {
        const auto place = places.find(refusal.key);
        report.error(place == places.end() ? scheduler.place : place->second, refusal.error.what,
                     refusal.error.remedy);
      }
    };
    tell(slurm::refusals_of_extra(scheduler), scheduler.places);
    std::vector<slurm::Refusal> defaults =
        slurm::refusals_of_defaults(scheduler, draft.slurm_defaults);
    std::erase_if(defaults, [&](const auto& r) { return !told.insert(r.error.what).second; });
    tell(defaults, draft.slurm_default_places);
  }
}

std::vector<claim::Handler> handlers_of(const spec::Workflow& workflow) {
  std::vector<claim::Handler> handlers;
  for (const spec::FailureHandler& from : workflow.failure_handlers) {
    claim::Handler& to = handlers.emplace_back();
    to.rules.assign(from.rules.begin(), from.rules.end());
    const Ceilings most = ceilings_of(workflow);
    to.memory_ceiling = most.memory;
    to.runtime_ceiling = most.runtime;
  }
  return handlers;
}

// From 1; 0: none.
std::uint32_t handler_number(const spec::Workflow& workflow, const std::string& name) {
  const auto& all = workflow.failure_handlers;
  const auto found = std::ranges::find(all, name, &spec::FailureHandler::name);
  return found == all.end() ? 0 : static_cast<std::uint32_t>(found - all.begin() + 1);
}

// The handlers of a plan. Where the workflow recovers by itself each entry has one, which says how
// often, and what its scheduler offers at most.
class Handlers {
 public:
  Handlers(const spec::Workflow& workflow, std::vector<claim::Handler>& all)
      : workflow_(workflow), all_(all) {
    all_ = handlers_of(workflow);
  }

  std::uint32_t number_of(const std::string& name, const std::string& scheduler) {
    const std::uint32_t named = handler_number(workflow_, name);
    if (workflow_.recoveries == 0) return named;
    const auto [it, added] = recovering_.try_emplace({named, scheduler}, 0);
    if (!added) return it->second;
    claim::Handler handler = named == 0 ? claim::Handler{} : all_[named - 1];
    const Ceilings most = ceilings_of(workflow_, scheduler);
    handler.memory_ceiling = most.memory;
    handler.runtime_ceiling = most.runtime;
    handler.recoveries = workflow_.recoveries;
    const auto same = std::ranges::find(all_, handler);
    it->second = static_cast<std::uint32_t>(same - all_.begin() + 1);
    if (same == all_.end()) all_.push_back(std::move(handler));
    return it->second;
  }

 private:
  const spec::Workflow& workflow_;
  std::vector<claim::Handler>& all_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> recovering_;
};

}  // namespace

Ceilings ceilings_of(const spec::Workflow& workflow, const std::string& scheduler) {
  Ceilings most;
  bool memory = true;
  bool runtime = true;
  const KeptFree kept = workflow.kept_free();
  for (const spec::SlurmScheduler& s : workflow.slurm_schedulers) {
    if (!scheduler.empty() && s.name != scheduler) continue;
    const auto mem = parse_slurm_memory(s.mem);
    memory = memory && mem.has_value();
    if (mem) most.memory = std::max(most.memory, *mem);
    const auto limit = parse_walltime(s.walltime);
    const bool limited = !s.walltime.empty() && limit.ok() && limit->has_value();
    const auto longest = limited ? longest_runtime(**limit, kept) : std::chrono::seconds(0);
    runtime = runtime && longest.count() > 0;
    most.runtime = std::max(most.runtime, longest);
  }
  if (!memory) most.memory = {};
  if (!runtime) most.runtime = {};
  return most;
}

bool refuse_what_cannot_run(std::vector<spec::Diagnostic>& all) {
  bool any = false;
  for (spec::Diagnostic& d : all) {
    if (!d.blocks_run) continue;
    any = true;
    d.severity = spec::Severity::error;
    // Who looks is told what init does. Here it does it: what is left to say is what to do instead.
    if (!d.remedy.starts_with(kRefusal)) continue;
    d.remedy.replace(0, kRefusal.size(), "leave it out to run the workflow with this version");
  }
  return any;
}

namespace {

// `loaded` has the text, and the name that is told.
void read_spec(const Context& context, LoadedSpec& loaded, const Path& path, const Path& base,
               std::optional<spec::StdioMode> mode) {
  const Path directory = base.empty() ? path.parent_path() : base;
  spec::ReadFile read = [&context, &loaded, directory](const std::string& name) {
    auto bytes = read_value_file(context, directory, name);
    std::vector<std::string>& all = loaded.value_files;
    if (bytes && std::ranges::find(all, name) == all.end()) all.push_back(name);
    return bytes;
  };
  SearchRoom room;
  read.find = [&context, &base, &room](const std::string& pattern) {
    return find_files(context.world.disk, base.empty() ? context.directory : base, pattern, room);
  };
  std::vector<spec::Diagnostic> of_definition;
  const auto check = [&](const spec::Workflow& draft, spec::Report& report) {
    check_slurm(draft, report);
    if (base.empty())
      loaded.launcher = find_definition(context, draft, directory, report, of_definition);
  };
  spec::Loaded checked = spec::load(loaded.text, loaded.file, read, check, mode);
  loaded.workflow = std::move(checked.workflow);
  loaded.expansion = std::move(checked.expansion);
  loaded.diagnostics = std::move(checked.diagnostics);
  loaded.yaml = std::move(checked.yaml);
  std::ranges::move(of_definition, std::back_inserter(loaded.diagnostics));
  advise_of_cpus(loaded);
}

}  // namespace

Result<LoadedSpec> load_spec(const Context& context, const std::string& file, Purpose purpose,
                             const Path& base, std::optional<spec::StdioMode> mode) {
  LoadedSpec loaded;
  // What is run names its store after its file, and can be read again.
  const bool from_stdin = is_stdin(file) && purpose == Purpose::look;
  loaded.file = from_stdin ? stdin_name(file) : file;
  const Path path = (context.directory / file).lexically_normal();
  // That of a store is a file; what the user has named may be a pipe.
  auto text = from_stdin     ? read_spec_stream(stdin)
              : base.empty() ? read_spec_text(context, path)
                             : store::read_file(context.world.disk, path);
  if (!text) {
    return unreadable(std::move(text).error(), file,
                      "name a workflow file; `torc check FILE` tells what is wrong with one");
  }
  loaded.text = *std::move(text);
  read_spec(context, loaded, path, base, mode);
  if (purpose == Purpose::run && refuse_what_cannot_run(loaded.diagnostics)) {
    loaded.workflow.reset();
    loaded.expansion.reset();
  }
  return loaded;
}

LoadedSpec load_spec_text(const Context& context, const std::string& file, std::string text) {
  LoadedSpec loaded;
  loaded.file = file;
  loaded.text = std::move(text);
  read_spec(context, loaded, (context.directory / file).lexically_normal(), {}, {});
  return loaded;
}

std::string encode(const WorkflowSettings& settings) {
  return Encoder()
      .u8(kSettingsFormat)
      .text(settings.directory.path.string())
      .text(spec::encode(settings.run))
      .u8(settings.sums == Sums::yes ? 1 : 0)
      .text(settings.directory.store.string())
      .text(settings.directory.file)
      .varint(settings.directory.inode)
      .bytes();
}

Result<WorkflowSettings> decode_workflow_settings(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint8_t format = in.u8();
  WorkingDirectory directory{in.text()};
  const std::string_view run = in.text();
  const Sums sums = in.u8() == 0 ? Sums::no : Sums::yes;
  // The first version ended here; it passes over what follows.
  if (!in.at_end()) {
    directory.store = in.text();
    directory.file = in.text();
    directory.inode = in.varint();
  }
  if (!in.ok() || format != kSettingsFormat) {
    return Error{ErrorKind::unsupported,
                 "the workflow's settings are not of a form that this version reads",
                 "use the version of torc that made the store"};
  }
  TORC_ASSIGN(spec::RunSettings settings, spec::decode_settings(run));
  return WorkflowSettings{std::move(directory), std::move(settings), sums};
}

Result<WorkflowSettings> read_settings(store::Store& store) {
  std::string settings;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(claim::WorkflowState workflow, claim::read_workflow(reader));
    settings = std::move(workflow.settings);
    return {};
  }));
  return decode_workflow_settings(settings);
}

std::string job_word(std::string_view name, JobId id) {
  if (name.starts_with('-') || name.starts_with('#')) return fmt::format("'#{}'", raw(id));
  return shell_word(name);
}

claim::Plan make_plan(const LoadedSpec& loaded, const WorkingDirectory& directory, Sums sums) {
  const spec::Workflow& workflow = *loaded.workflow;
  claim::Plan plan;
  plan.name = workflow.name;
  plan.settings =
      encode(WorkflowSettings{directory, static_cast<const spec::RunSettings&>(workflow), sums});
  plan.pending_failed = workflow.use_pending_failed;
  plan.sort = workflow.sort;
  plan.max_failures = workflow.max_failures.value_or(0);
  plan.budget = plan_budget(workflow.budget);
  plan.schedulers = plan_schedulers(workflow);
  add_expansion(plan, workflow, *loaded.expansion);
  add_actions(plan, workflow, *loaded.expansion);
  return plan;
}

void add_expansion(claim::Plan& plan, const spec::Workflow& workflow,
                   const spec::Expansion& expansion) {
  Handlers handlers(workflow, plan.handlers);
  PlannedLimits limits = plan_limits(workflow, expansion);
  plan.limits = std::move(limits.limits);
  std::map<claim::JobClass, std::uint32_t> classes;
  plan.templates.reserve(expansion.entries.size());
  for (std::size_t e = 0; e < expansion.entries.size(); ++e) {
    const spec::ExpandedEntry& entry = expansion.entries[e];
    claim::JobClass job_class;
    const Resources& need = entry.resources;
    job_class.need = need;
    if (const auto& all = entry.resources.one_of; !all.empty()) {
      job_class.weight = all.front().weight;
      for (auto one = std::next(all.begin()); one != all.end(); ++one)
        job_class.others.push_back({one->needs, one->weight});
    }
    job_class.scheduler = entry.scheduler;
    job_class.labels = entry.labels;
    job_class.limits = limits.of_entry[e];
    // A shorter one never ends enough jobs, and would only have a class of its own.
    if (workflow.learn_runtimes && entry.count >= claim::kEnoughTimes)
      job_class.learns_from = entry.first;
    const auto [it, added] =
        classes.try_emplace(job_class, static_cast<std::uint32_t>(classes.size()));
    if (added) plan.classes.push_back(job_class);
    const spec::JobEntry& source = workflow.jobs[entry.source];
    claim::Template t;
    t.first = JobId{entry.first};
    t.count = entry.count;
    t.job_class = it->second;
    t.priority = entry.priority;
    t.handler = handlers.number_of(source.failure_handler, entry.scheduler);
    t.crash_limit = source.crash_limit.value_or(0);
    t.recipe = entry.recipe;
    if (entry.count == 1) {
      if (auto recipe = spec::Recipe::decode(entry.recipe))
        t.name_hash = claim::name_hash(recipe->name(0));
    }
    plan.templates.push_back(std::move(t));
  }
  plan.dependencies = plan_dependencies(workflow, expansion);
  for (const spec::Definition& d : expansion.definitions)
    plan.definitions.push_back({d.key, d.value});
}

std::vector<claim::UserDatum> user_data_of(const spec::Expansion& expansion) {
  std::vector<claim::UserDatum> all;
  for (const spec::ExpandedUserData& d : expansion.user_data) {
    claim::UserDatum datum;
    datum.name = d.name;
    datum.initial = d.data;
    datum.is_ephemeral = d.is_ephemeral;
    datum.maker = JobId{d.maker};
    datum.is_declared = !d.is_elsewhere;
    all.push_back(std::move(datum));
  }
  return all;
}

// What a transaction itself has changed is of an edition that another commit may get.
void RecipeBook::look_at_edition(const claim::Reader& reader) {
  const bool may_come_to_nothing = dynamic_cast<const claim::Transaction*>(&reader) != nullptr;
  if (!may_come_to_nothing && reader.sequence() == seen_) return;
  seen_ = may_come_to_nothing ? kNone : reader.sequence();
  const std::uint64_t edition = claim::read_edition(reader);
  const bool is_its_own = may_come_to_nothing && edition == reader.sequence();
  if (edition != edition_ || is_its_own) {
    sweeps_.clear();
    kept_ = 0;
  }
  edition_ = is_its_own ? kNone : edition;
}

std::shared_ptr<const RecipeBook::Page> RecipeBook::find(const claim::Reader& reader, JobId id) {
  look_at_edition(reader);
  if (auto it = sweeps_.upper_bound(raw(id)); it != sweeps_.begin()) {
    --it;
    if (raw(id) - it->first < it->second->job_template.count) return it->second;
  }
  auto job_template = claim::read_template(reader, id);
  if (!job_template) return nullptr;
  auto recipe = recipe_of(*job_template);
  if (!recipe) return nullptr;
  const std::size_t bytes = std::exchange(job_template->recipe, {}).size();
  std::shared_ptr<const claim::Handler> handler;
  if (job_template->handler != 0) {
    auto found = claim::read_handler(reader, *job_template);
    if (!found) return nullptr;
    handler = std::make_shared<const claim::Handler>(*std::move(found));
  }
  const bool has_alternatives = !claim::read_class(reader, job_template->job_class).others.empty();
  auto page = std::make_shared<const Page>(
      Page{*std::move(job_template), *std::move(recipe), std::move(handler), has_alternatives});
  if (page->job_template.count > 1) {
    if (kept_ + bytes > kMostKept) {
      sweeps_.clear();
      kept_ = 0;
    }
    kept_ += bytes;
    sweeps_.emplace(raw(page->job_template.first), page);
  }
  return page;
}

std::string job_name(RecipeBook& book, const claim::Reader& reader, JobId id) {
  const auto page = book.find(reader, id);
  return page ? page->recipe.name(raw(id) - raw(page->job_template.first)) : "?";
}

Result<spec::Recipe> recipe_of(const claim::Template& job_template) {
  TORC_ASSIGN(spec::Recipe recipe, spec::Recipe::decode(job_template.recipe));
  if (recipe.count() == job_template.count) return recipe;
  return Error{ErrorKind::corrupt,
               fmt::format("the store has {} jobs from job {} on, and a recipe for {} of them",
                           job_template.count, raw(job_template.first), recipe.count()),
               "run `torc verify` on the store"};
}

Result<std::optional<JobId>> find_job(RecipeBook& book, const claim::Reader& reader,
                                      std::string_view name) {
  TORC_ASSIGN(const auto named, claim::find_by_name_hash(reader, claim::name_hash(name)));
  for (const JobId id : named) {
    if (job_name(book, reader, id) == name) return std::optional(id);
  }
  std::optional<JobId> found;
  TORC_TRY(claim::scan_sweeps(reader, [&](const claim::Template& t) {
    if (auto recipe = recipe_of(t)) {
      if (auto index = recipe->find(name)) found = JobId{raw(t.first) + *index};
    }
    return !found;
  }));
  if (found || !name.starts_with('#')) return found;
  const auto number = whole_number<std::uint64_t>(std::string_view(name).substr(1));
  if (number && claim::read_template(reader, JobId{*number})) found = JobId{*number};
  return found;
}

Error no_such_job(std::string_view name) {
  constexpr std::size_t kMostOfAName = 100;  // cells
  return invalid(fmt::format("there is no job '{}'", shortened(printable(name), kMostOfAName)),
                 "`torc jobs --name REGEX` searches; #17 means job number 17");
}

Error damaged_job(std::string_view name) {
  return Error{ErrorKind::corrupt,
               fmt::format("what the store has of job '{}' cannot be read", printable(name)),
               "run `torc verify` on the store"};
}

}  // namespace torc::workflow
