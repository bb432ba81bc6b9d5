#include "lib/workflow/change/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/live.h"
#include "lib/workflow/change/action_difference.h"
#include "lib/workflow/change/beside_file.h"
#include "lib/workflow/change/job_matching.h"
#include "lib/workflow/change/limit_terms.h"
#include "lib/workflow/change/new_dependencies.h"
#include "lib/workflow/change/redefinition.h"
#include "lib/workflow/change/valid_again.h"
#include "lib/workflow/change/whole_workflow.h"

namespace torc::workflow {
namespace {

using claim::JobRange;

std::uint64_t end_of(const JobRange& range) {
  return raw(range.first) + range.count;
}

// How many of them are over, and how many a worker has.
struct Held {
  std::uint64_t over = 0;
  std::uint64_t spared = 0;
  std::uint64_t live = 0;
  std::uint64_t failed = 0;  // of both
};
Held held_in(claim::State& state, const JobRange& jobs, const Sparing* sparing) {
  Held held;
  for (auto at = state.next_record(raw(jobs.first)); at && *at < end_of(jobs);
       at = state.next_record(*at + 1)) {
    const auto job = state.open_record(*at);
    if (!job) break;
    if (claim::is_occupied(*job)) {
      ++held.live;
    } else if (const auto end = end_of_job(state.reader(), JobId{*at}, *job)) {
      const bool spared = sparing != nullptr && sparing->has(JobId{*at}, *end);
      ++(spared ? held.spared : held.over);
      if (*end != claim::JobState::completed) ++held.failed;
    }
  }
  return held;
}

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

// Bytes of recipes that are written anew, each for a piece of an entry.
constexpr std::size_t kMostWritten = std::size_t{64} << 20U;

class DifferenceSearch {
 public:
  DifferenceSearch(const claim::Reader& reader, const claim::Plan& plan,
                   std::vector<claim::UserDatum> user_data, const Sparing& sparing,
                   const FormerNames& former)
      : reader_(reader),
        plan_(plan),
        sparing_(sparing),
        former_(former),
        state_(reader),
        user_data_(std::move(user_data)) {}

  Result<Difference> run() {
    TORC_ASSIGN(found_.jobs, claim::count_jobs(reader_));
    found_.edition = claim::read_edition(reader_);
    TORC_ASSIGN(matching_, match_jobs(reader_, plan_, former_));
    found_.adopted = matching_.adopted;
    TORC_TRY(look_at_entries());
    TORC_TRY(look_at_dependencies());
    TORC_TRY(look_at_removed());
    TORC_TRY(look_at_displaced());
    TORC_TRY(look_at_user_data());
    TORC_TRY(compare_whole(reader_, plan_, found_));
    TORC_ASSIGN(found_.retired, valid_again(reader_, plan_, matching_, found_.env));
    TORC_TRY(look_at_actions());
    TORC_TRY(state_.sound());
    finish();
    return std::move(found_);
  }

 private:
  // --- entries ---

  Result<void> look_at_entries() {
    std::uint64_t next = found_.jobs + 1;
    classes_ = plan_.classes;
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      const claim::Template& entry = plan_.templates[i];
      std::vector<Segment>& segments = matching_.entries[i];
      for (Segment& s : segments) {
        if (s.there == 0) {
          s.is_new = true;
          s.there = next;
          next += s.count;
        }
        numbers_.add({raw(entry.first) + s.from, s.count, s.there, s.is_new});
      }
      TORC_TRY(learn_as_before(entry, segments));
    }
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      std::optional<spec::Recipe> recipe;
      // An entry that nobody had before, also not by the name that it says it had.
      const bool is_unknown =
          former_.contains(i) && std::ranges::all_of(matching_.entries[i], &Segment::is_new);
      for (const Segment& s : matching_.entries[i])
        TORC_TRY(look_at_segment(i, s, recipe, is_unknown));
    }
    return {};
  }

  // What a class learns from is a template of the store.
  Result<void> learn_as_before(const claim::Template& entry, const std::vector<Segment>& segments) {
    claim::JobClass& now = classes_[entry.job_class];
    if (now.learns_from != raw(entry.first)) return {};
    std::uint64_t learns_from = segments.front().there;
    for (const Segment& s : segments) {
      if (s.is_new) continue;
      const auto t = claim::read_template(reader_, JobId{s.there});
      if (!t) return damaged_job("?");
      const std::uint64_t before = state_.job_class(t->job_class).learns_from;
      if (before == 0) continue;
      learns_from = before;
      break;
    }
    now.learns_from = learns_from;
    return {};
  }

  Result<claim::Template> template_of(const claim::Template& entry, const Segment& s) {
    TORC_ASSIGN(claim::Template part, part_of_template(entry, s.from, s.count));
    part.first = JobId{s.there};
    return part;
  }

  Result<void> look_at_segment(std::size_t i, const Segment& s, std::optional<spec::Recipe>& now,
                               bool is_unknown) {
    const claim::Template& entry = plan_.templates[i];
    if (s.is_new) {
      TORC_ASSIGN(claim::Template t, template_of(entry, s));
      TORC_TRY(note(Edit::Kind::added, t, {t.first, t.count},
                    !is_unknown ? ""
                    : matching_.taken_names.contains(i)
                        ? "the job that its `was:` names is another one of the file"
                        : "no job here has the name that its `was:` says"));
      added_.push_back(std::move(t));
      return {};
    }
    bool differs = false;
    for (std::uint64_t at = s.there; at < s.there + s.count;) {
      const auto t = claim::read_template(reader_, JobId{at});
      if (!t) return damaged_job(fmt::format("#{}", at));
      const std::uint64_t to = std::min(s.there + s.count, raw(t->first) + t->count);
      const JobRange part{JobId{at}, to - at};
      const Segment piece{s.from + (at - s.there), part.count, at, false, s.is_same};
      if (!s.is_same) {
        if (!now) {
          TORC_ASSIGN(now, spec::Recipe::decode(entry.recipe));
        }
        TORC_ASSIGN(const bool redefined, compare_jobs(entry, *t, piece, *now));
        differs = differs || redefined;
      }
      TORC_ASSIGN(const bool other, compare_terms(entry, *t, part));
      differs = differs || other;
      at = to;
    }
    if (!differs) return {};
    TORC_ASSIGN(claim::Template t, template_of(entry, s));
    written_ += t.recipe.size();
    if (written_ > kMostWritten) {
      return invalid(
          fmt::format("the jobs of '{}' and others stand in another order than in the store, in so "
                      "many pieces that the store would become too large",
                      printable(found_.edits.empty() ? "?" : found_.edits.back().entry)),
          "keep the order of the values and add new ones at the end, or make a new store with "
          "`torc "
          "init --force`, which keeps the old one");
    }
    found_.recipes.changed.push_back({t.first, t.count, t.recipe});
    found_.reshape.entries.push_back(std::move(t));
    return {};
  }

  // Runs of jobs whose definition differs, each told once. Whether anything is made otherwise.
  Result<bool> compare_jobs(const claim::Template& entry, const claim::Template& before,
                            const Segment& s, const spec::Recipe& now) {
    TORC_ASSIGN(const spec::Recipe old, recipe_of(before));
    const spec::RenderedJob was = old.render(s.there - raw(before.first));
    const spec::RenderedJob is = now.render(s.from);
    const JobRange jobs_of_both{JobId{s.there}, s.count};
    bool differs = false;
    const auto note_terms = [&](const char* word) {
      differs = true;
      return note(Edit::Kind::terms, before, jobs_of_both, word);
    };
    if (was.stdio.mode != is.stdio.mode ||
        was.stdio.delete_on_success != is.stdio.delete_on_success)
      TORC_TRY(note_terms("stdio"));
    if (was.checkpoint_exit_code != is.checkpoint_exit_code)
      TORC_TRY(note_terms("checkpoint_exit_code"));
    if (was.allow_missing_outputs != is.allow_missing_outputs)
      TORC_TRY(note_terms("allow_missing_outputs"));
    std::vector<JobRange> redefined;
    std::vector<JobRange> without_trigger;
    std::string what;
    std::string what_without;
    bool is_renamed = false;
    for (std::uint64_t k = 0; k < s.count; ++k) {
      const spec::RenderedJob had = old.render(s.there - raw(before.first) + k);
      const spec::RenderedJob has = now.render(s.from + k);
      is_renamed = is_renamed || had.name != has.name;
      const std::vector<Redefinition> all = redefinitions(had, has);
      if (all.empty()) continue;
      const std::vector<std::string> reasons = sentences(all, sparing_.triggers);
      const bool counts = !reasons.empty();
      std::string& told = counts ? what : what_without;
      if (told.empty())
        told = listed(counts ? reasons : sentences(all, spec::RerunTriggers::all()));
      claim::add_to(counts ? redefined : without_trigger, s.there + k);
    }
    if (redefined.empty() && without_trigger.empty() && !is_renamed) return differs;
    TORC_ASSIGN(const claim::Template t, template_of(entry, s));
    if (is_renamed) {
      TORC_TRY(note(Edit::Kind::terms, t, jobs_of_both,
                    fmt::format("its name was '{}'", old.entry_name())));
    }
    for (const JobRange& jobs : without_trigger)
      TORC_TRY(note(Edit::Kind::terms, t, jobs, what_without));
    for (const JobRange& jobs : redefined) {
      TORC_TRY(note(Edit::Kind::redefined, t, jobs, what));
      note_stale(jobs);
    }
    return true;
  }

  // Whether there is one.
  Result<bool> compare_terms(const claim::Template& entry, const claim::Template& before,
                             const JobRange& jobs) {
    std::vector<std::string> words;
    const claim::JobClass was = state_.job_class(before.job_class);
    const claim::JobClass& is = classes_[entry.job_class];
    for (const ResourceKind& kind : kResourceKinds) {
      if (kind.get(was.need) != kind.get(is.need)) words.emplace_back(kind.key);
    }
    if (was.need.named != is.need.named) words.emplace_back("resources");
    if (was.others != is.others || was.weight != is.weight) words.emplace_back("one_of");
    if (was.scheduler != is.scheduler) words.emplace_back("scheduler");
    if (was.labels != is.labels) words.emplace_back("labels");
    if (limit_terms(reader_, was) != limit_terms(plan_, is)) words.emplace_back("limits");
    if (before.priority != entry.priority) words.emplace_back("priority");
    if (before.crash_limit != entry.crash_limit) words.emplace_back("crash_limit");
    const auto handler =
        before.handler == 0 ? claim::Handler{} : claim::read_handler(reader_, before);
    if (!handler) return damaged_job(fmt::format("#{}", raw(before.first)));
    if (*handler != (entry.handler == 0 ? claim::Handler{} : plan_.handlers[entry.handler - 1]))
      words.emplace_back("failure handler");
    const bool learns = (was.learns_from != 0) != (is.learns_from != 0);
    if (words.empty()) return learns;
    TORC_TRY(note(Edit::Kind::terms, before, jobs, listed(words)));
    return true;
  }

  // `of`: a template that has these jobs.
  Result<void> note(Edit::Kind kind, const claim::Template& of, const JobRange& jobs,
                    std::string what) {
    TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(of.recipe));
    const std::string entry = recipe.entry_name();
    const bool may_spare = kind == Edit::Kind::redefined || kind == Edit::Kind::rewired;
    const Held held =
        kind == Edit::Kind::added ? Held{} : held_in(state_, jobs, may_spare ? &sparing_ : nullptr);
    const auto name = [&](std::uint64_t id) { return recipe.name(id - raw(of.first)); };
    const auto [at, is_new] = edits_.try_emplace({kind, entry}, found_.edits.size());
    if (is_new) {
      found_.edits.push_back({kind, entry, name(raw(jobs.first)), name(end_of(jobs) - 1),
                              jobs.count, held.over, held.spared, held.live, held.failed,
                              std::move(what)});
      return {};
    }
    Edit& edit = found_.edits[at->second];
    edit.last = name(end_of(jobs) - 1);
    edit.jobs += jobs.count;
    edit.over += held.over;
    edit.spared += held.spared;
    edit.live += held.live;
    edit.failed += held.failed;
    if (edit.what.empty()) edit.what = std::move(what);
    return {};
  }

  // --- who waits for whom ---

  Result<void> look_at_dependencies() {
    TORC_ASSIGN(const DifferingDependencies differing,
                differing_dependencies(reader_, plan_, numbers_));
    const std::vector<JobRange>& rewired = differing.all;
    found_.reshape.plan.dependencies = dependencies_of(plan_, numbers_, rewired);
    std::vector<JobRange> bound;
    for (const claim::DependencySet& set : found_.reshape.plan.dependencies)
      bound.insert(bound.end(), set.members.begin(), set.members.end());
    bound = joined(std::move(bound));
    const bool counts = sparing_.triggers.has(spec::RerunTrigger::upstream);
    const auto rewire = [&](const claim::Template& t, const JobRange& part) -> Result<void> {
      TORC_TRY(note(counts ? Edit::Kind::rewired : Edit::Kind::terms, t, part,
                    "it waits for other jobs"));
      if (counts) note_stale(part);
      return {};
    };
    const auto cancel = [&](const claim::Template& t, const JobRange& part) {
      return note(Edit::Kind::terms, t, part, "cancel_on_blocking_job_failure");
    };
    TORC_TRY(each_part(claim::without(rewired, differing.only_cancels), rewire));
    TORC_TRY(each_part(differing.only_cancels, cancel));
    found_.reshape.unbound = claim::without(joined(rewired), bound);
    return {};
  }

  // Of each template that has some of the jobs, these.
  Result<void> each_part(
      const std::vector<JobRange>& ranges,
      const std::function<Result<void>(const claim::Template&, const JobRange&)>& visit) {
    for (const JobRange& range : ranges) {
      for (std::uint64_t at = raw(range.first); at < end_of(range);) {
        const auto t = claim::read_template(reader_, JobId{at});
        if (!t) return damaged_job(fmt::format("#{}", at));
        const JobRange part{JobId{at}, std::min(end_of(range), raw(t->first) + t->count) - at};
        TORC_TRY(visit(*t, part));
        at = end_of(part);
      }
    }
    return {};
  }

  // What ended did so on other results.
  void note_stale(const JobRange& jobs) {
    found_.outdated.push_back(jobs);
    for (auto at = state_.next_record(raw(jobs.first)); at && *at < end_of(jobs);
         at = state_.next_record(*at + 1)) {
      const auto job = state_.open_record(*at);
      if (!job) return;
      if (claim::is_live(job->state)) found_.running.push_back({JobId{*at}, 1});
      const auto end = end_of_job(reader_, JobId{*at}, *job);
      if (!end || sparing_.has(JobId{*at}, *end)) continue;
      found_.reshape.stale.push_back({JobId{*at}, 1});
    }
  }

  // --- jobs that the file has no more, and those that it has again ---

  Result<void> look_at_removed() {
    found_.reshape.removed = matching_.removed;
    found_.reshape.returned = matching_.returned;
    TORC_TRY(note_each(matching_.removed, Edit::Kind::removed));
    TORC_TRY(note_each(matching_.returned, Edit::Kind::returned));
    TORC_ASSIGN(const auto beside, first_beside_file(reader_, matching_.added, Failed::is_over));
    if (!beside) return {};
    const auto t = claim::read_template(reader_, *beside);
    if (!t) return damaged_job(fmt::format("#{}", raw(*beside)));
    TORC_ASSIGN(const spec::Recipe recipe, recipe_of(*t));
    spec::RenderedJob shown = recipe.render(raw(*beside) - raw(t->first));
    found_.alone = {std::move(shown.name), std::move(shown.command)};
    return {};
  }

  Result<void> note_each(const std::vector<JobRange>& ranges, Edit::Kind kind) {
    return each_part(ranges, [&](const claim::Template& t, const JobRange& part) {
      return note(kind, t, part, "");
    });
  }

  // No two jobs of a store have one name. One with a number behind it nobody else has.
  Result<void> look_at_displaced() {
    return each_part(matching_.displaced, [&](const claim::Template& t, const JobRange& part) {
      return rename(t, part);
    });
  }

  Result<void> rename(const claim::Template& t, const JobRange& jobs) {
    TORC_ASSIGN(claim::Template part,
                part_of_template(t, raw(jobs.first) - raw(t.first), jobs.count));
    TORC_ASSIGN(const spec::Recipe before, recipe_of(part));
    TORC_ASSIGN(part.recipe,
                spec::renamed_recipe(part.recipe, fmt::format("#{}", raw(jobs.first))));
    TORC_ASSIGN(const spec::Recipe now, recipe_of(part));
    if (jobs.count == 1) part.name_hash = claim::name_hash(now.name(0));
    Edit edit;
    edit.kind = Edit::Kind::terms;
    edit.entry = now.entry_name();
    edit.first = now.name(0);
    edit.last = now.name(jobs.count - 1);
    edit.jobs = jobs.count;
    edit.what = fmt::format("removed before; its name was '{}', which is another job's now",
                            before.entry_name());
    found_.edits.push_back(std::move(edit));
    found_.reshape.renamed.push_back(std::move(part));
    return {};
  }

  // --- the workflow as a whole ---

  Result<void> look_at_user_data() {
    for (claim::UserDatum& d : user_data_) {
      d.maker = numbers_.number_of(d.maker);
      TORC_ASSIGN(const auto before, claim::read_user_datum(reader_, d.name));
      if (before && before->is_declared && before->initial == d.initial &&
          before->is_ephemeral == d.is_ephemeral)
        continue;
      const char* const what = !before || !before->is_declared ? "is new"
                               : before->initial != d.initial  ? "has another initial value"
                                                               : "has another is_ephemeral";
      note_setting(found_, fmt::format("user data {}", d.name), what);
    }
    found_.user_data = std::move(user_data_);
    found_.recipes.user_data = found_.user_data;
    return {};
  }

  // They may have been set off already, by jobs that the file has no more.
  Result<void> look_at_actions() {
    TORC_ASSIGN(const ActionDifference actions, compare_actions(reader_, plan_, numbers_));
    for (const ActionDifference::Other& other : actions.others) {
      note_setting(found_, fmt::format("action {}", other.now.number), other.what);
      found_.actions.push_back(other.now);
    }
    if (!actions.refused) return {};
    return Error{
        ErrorKind::invalid,
        fmt::format("of the actions of a workflow only the commands can change while it lives: {}",
                    *actions.refused),
        "leave the rest of `actions:` as it was, or make a new store with `torc init --force`, "
        "which keeps the old one"};
  }

  void finish() {
    claim::Plan& plan = found_.reshape.plan;
    plan.name = plan_.name;
    plan.classes = std::move(classes_);
    plan.handlers = plan_.handlers;
    plan.limits = plan_.limits;
    plan.definitions = plan_.definitions;
    found_.recipes.added = added_;
    found_.recipes.removed = found_.reshape.removed;
    found_.recipes.returned = found_.reshape.returned;
    plan.templates = std::move(added_);
    plan.few_classes = plan_.few_classes;
    std::ranges::sort(found_.reshape.entries, {}, &claim::Template::first);
    std::ranges::sort(found_.recipes.changed, {}, &NewRecipes::Entry::first);
    std::ranges::stable_sort(found_.edits, {}, &Edit::kind);
    if (found_.has_other_environment && sparing_.triggers.has(spec::RerunTrigger::params))
      note_all_stale();
    std::ranges::sort(found_.outdated, {}, &JobRange::first);
  }

  void note_all_stale() {
    for (const JobNumberMap::Entry& e : numbers_.entries()) {
      if (!e.is_new) note_stale({JobId{e.there}, e.count});
    }
    found_.reshape.stale = joined(std::move(found_.reshape.stale));
  }

  const claim::Reader& reader_;
  const claim::Plan& plan_;
  const Sparing& sparing_;
  const FormerNames& former_;
  claim::State state_;
  std::vector<claim::UserDatum> user_data_;
  JobMatching matching_;
  JobNumberMap numbers_;
  std::vector<claim::JobClass> classes_;  // of the file, as they are in the store
  std::vector<claim::Template> added_;
  std::map<std::pair<Edit::Kind, std::string>, std::size_t> edits_;
  std::size_t written_ = 0;  // bytes of recipes
  Difference found_;
};

}  // namespace

Result<Difference> difference(const claim::Reader& reader, const claim::Plan& plan,
                              std::vector<claim::UserDatum> user_data, const Sparing& sparing,
                              const FormerNames& former) {
  return DifferenceSearch(reader, plan, std::move(user_data), sparing, former).run();
}

Result<claim::Template> part_of_template(const claim::Template& of, std::uint64_t from,
                                         std::uint64_t count) {
  claim::Template part = of;
  part.first = JobId{raw(of.first) + from};
  part.count = count;
  if (from == 0 && count == of.count) return part;
  TORC_ASSIGN(part.recipe, spec::part_of_recipe(of.recipe, from, count));
  part.name_hash = 0;
  if (count > 1) return part;
  TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(part.recipe));
  part.name_hash = claim::name_hash(recipe.name(0));
  return part;
}

claim::DefinitionOf definitions_in(const claim::Reader& reader, const spec::Environment& env) {
  struct Known {
    std::uint64_t edition = 0;
    std::unique_ptr<RecipeBook> book = std::make_unique<RecipeBook>();
  };
  const auto known = std::make_shared<Known>();
  return [&reader, known, env](JobId id) -> std::uint64_t {
    const std::uint64_t edition = claim::read_edition(reader);
    if (edition != known->edition) *known = {edition};
    const auto page = known->book->find(reader, id);
    if (page == nullptr) return 0;
    return definition_hash(page->recipe.render(raw(id) - raw(page->job_template.first)), env);
  };
}

std::optional<claim::JobState> end_of_job(const claim::Reader& reader, JobId id,
                                          const claim::Job& job) {
  using Ended = std::optional<claim::JobState>;
  if (claim::is_removed(job)) {
    const auto failed = claim::kept_failure(reader, id);
    return failed ? Ended(failed->state) : Ended();
  }
  const bool has_ended = claim::is_over(job.state) && job.state != claim::JobState::canceled;
  return has_ended ? Ended(job.state) : Ended();
}

Result<void> check_unchanged(const claim::Reader& reader, const Difference& found) {
  TORC_ASSIGN(const std::uint64_t jobs, claim::count_jobs(reader));
  if (jobs == found.jobs && claim::read_edition(reader) == found.edition) return {};
  return Error{ErrorKind::busy, "somebody else changed the workflow at the same moment",
               "try again; nothing was changed"};
}

}  // namespace torc::workflow
