// A new version of a workflow file against the store that was made from an older one.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/tables.h"
#include "lib/workflow/change/limit_terms.h"
#include "lib/workflow/change/new_dependencies.h"
#include "lib/workflow/change/stale.h"

namespace torc::workflow {
namespace {

// Everything that is wrong with one request, told at once: whoever mends the first thing should not
// have to find the second one by asking again.
class Refusals {
 public:
  // So many are told; the others are counted.
  static constexpr std::size_t kShown = 20;

  void add(std::string what, std::string remedy);
  [[nodiscard]] bool none() const { return count_ == 0; }
  // Error invalid: the one refusal as it is, or all of them behind `summary` ("the file cannot be
  // taken over"), those with the same remedy together. Precondition: !none().
  [[nodiscard]] Error error(const std::string& summary) const;

 private:
  struct Group {
    std::string remedy;
    std::vector<std::string> facts;
  };
  std::vector<Group> groups_;
  std::size_t count_ = 0;
};

void Refusals::add(std::string what, std::string remedy) {
  if (++count_ > kShown) return;
  auto group = std::ranges::find(groups_, remedy, &Group::remedy);
  if (group == groups_.end()) group = groups_.insert(groups_.end(), Group{std::move(remedy), {}});
  group->facts.push_back(std::move(what));
}

Error Refusals::error(const std::string& summary) const {
  if (count_ == 1) return invalid(groups_.front().facts.front(), groups_.front().remedy);
  std::string text;
  for (const Group& group : groups_) {
    for (const std::string& fact : group.facts)
      text += fmt::format("{}- {}", text.empty() ? "" : "\n  ", fact);
    text += fmt::format("\n    {}", group.remedy);
  }
  if (count_ > kShown) text += fmt::format("\n  and {} more", show_count(count_ - kShown));
  return invalid(fmt::format("{}, for {} reasons", summary, show_count(count_)), std::move(text));
}

constexpr const char* kElse = "or say `torc apply FILE`, which takes it over";

class RecipeComparison {
 public:
  RecipeComparison(const claim::Reader& reader, const claim::Plan& plan)
      : reader_(reader), plan_(plan) {}

  Result<NewRecipes> run(std::vector<claim::UserDatum> user_data) {
    TORC_ASSIGN(const std::uint64_t jobs, claim::count_jobs(reader_));
    found_.jobs_before = jobs;
    TORC_TRY(match_in_place());
    TORC_TRY(match_by_name());
    TORC_TRY(check_left_out(jobs));
    TORC_TRY(check_new_names());
    number_entries(jobs + 1);
    if (!has_other_sizes_) TORC_TRY(refuse_other_dependencies());
    std::ranges::sort(found_.changed, {}, &NewRecipes::Entry::first);
    add_new_jobs();
    for (claim::UserDatum& d : user_data) d.maker = numbers_.number_of(d.maker);
    found_.user_data = std::move(user_data);
    TORC_TRY(check_user_data());
    if (!refusals_.none()) return refusals_.error("the new workflow file cannot be taken over");
    return std::move(found_);
  }

 private:
  // Entry by entry in the same order: all of them when nothing but texts changed.
  Result<void> match_in_place() {
    there_.resize(plan_.templates.size());
    std::size_t next = 0;
    Result<void> compared;
    TORC_TRY(claim::scan_templates(reader_, [&](const claim::Template& t) {
      if (next < plan_.templates.size() && plan_.templates[next].count == t.count) {
        compared = [&]() -> Result<void> {
          TORC_ASSIGN(const bool same, is_same_entry(t, plan_.templates[next]));
          if (same) return take(next, t);
          left_.push_back(t);
          return {};
        }();
      } else {
        left_.push_back(t);
      }
      ++next;
      return compared.ok();
    }));
    return compared;
  }

  Result<bool> is_same_entry(const claim::Template& t, const claim::Template& now) {
    if (t.recipe == now.recipe) return true;
    TORC_ASSIGN(const spec::Recipe before, recipe_of(t));
    TORC_ASSIGN(const spec::Recipe after, spec::Recipe::decode(now.recipe));
    return before.name(0) == after.name(0);
  }

  Result<void> match_by_name() {
    std::unordered_map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(left_[i].recipe));
      by_name.emplace(recipe.name(0), i);
    }
    std::set<JobId> taken;
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      if (there_[i] != 0) continue;
      TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(plan_.templates[i].recipe));
      const auto at = by_name.find(recipe.name(0));
      if (at == by_name.end()) continue;
      const claim::Template& t = left_[at->second];
      if (t.count == plan_.templates[i].count) {
        TORC_TRY(take(i, t));
      } else {
        refuse_size(recipe.name(0), t, i);
      }
      taken.insert(t.first);
    }
    std::erase_if(left_, [&](const claim::Template& t) { return taken.contains(t.first); });
    return {};
  }

  void refuse_size(const std::string& name, const claim::Template& before, std::size_t at) {
    there_[at] = raw(before.first);
    has_other_sizes_ = true;
    refusals_.add(fmt::format("the entry of job '{}' has {} job(s) in the new workflow file, and "
                              "{} in the store",
                              printable(name), plan_.templates[at].count, before.count),
                  fmt::format("leave the entry as it is and write further jobs as an entry of "
                              "their own, {}",
                              kElse));
  }

  // Entry `i` of the file is `t` of the store.
  Result<void> take(std::size_t i, const claim::Template& t) {
    const claim::Template& now = plan_.templates[i];
    there_[i] = raw(t.first);
    if (has_other_needs(plan_.classes[now.job_class], claim::read_class(reader_, t.job_class)) ||
        now.priority != t.priority)
      ++found_.other_needs;
    if (now.recipe == t.recipe) return {};
    TORC_ASSIGN(const spec::Recipe before, recipe_of(t));
    TORC_ASSIGN(const spec::Recipe after, spec::Recipe::decode(now.recipe));
    for (std::uint64_t k = 0; k < t.count; ++k) {
      const std::string was = before.name(k);
      const std::string is = after.name(k);
      if (was == is) continue;
      refusals_.add(fmt::format("in the new workflow file the job '{}' is called '{}'",
                                printable(was), printable(is)),
                    fmt::format("keep the names and the order of an entry's jobs, {}", kElse));
      return {};
    }
    found_.changed.push_back({t.first, t.count, now.recipe});
    return {};
  }

  // The numbers of limits are those of one file.
  bool has_other_needs(claim::JobClass now, claim::JobClass before) const {
    if (limit_terms(plan_, now) != limit_terms(reader_, before)) return true;
    if ((now.learns_from == 0) != (before.learns_from == 0)) return true;
    now.limits = before.limits = {};
    now.learns_from = before.learns_from = 0;
    return now != before;
  }

  // Jobs of the old file that the new one has no more. What was added since is none of its
  // business.
  Result<void> check_left_out(std::uint64_t jobs) {
    TORC_ASSIGN(const std::uint64_t added, claim::first_addition(reader_, jobs));
    for (const claim::Template& t : left_) {
      if (raw(t.first) >= added) continue;
      TORC_ASSIGN(const spec::Recipe recipe, recipe_of(t));
      for (std::uint64_t id = raw(t.first); id < raw(t.first) + t.count; ++id) {
        const auto job = claim::read_job(reader_, JobId{id});
        const std::string name = recipe.name(id - raw(t.first));
        if (!job) return damaged_job(name);
        if (claim::is_terminal(job->state)) {
          leave_out(name);
        } else {
          refusals_.add(
              fmt::format("the job '{}' ({}) is not in the new workflow file", printable(name),
                          claim::to_string(job->state)),
              fmt::format("`torc cancel` what is not to run, or keep it in the file, {}", kElse));
        }
      }
    }
    return {};
  }

  void leave_out(const std::string& name) {
    ++found_.left_out;
    if (found_.left_out_names.size() < NewRecipes::kNames) found_.left_out_names.push_back(name);
  }

  Result<void> check_new_names() {
    RecipeBook book;
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      if (there_[i] != 0) continue;
      const claim::Template& t = plan_.templates[i];
      TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(t.recipe));
      for (std::uint64_t k = 0; k < t.count; ++k) {
        const std::string name = recipe.name(k);
        TORC_ASSIGN(const auto there, find_job(book, reader_, name));
        if (there && job_name(book, reader_, *there) == name) {
          refusals_.add(fmt::format("the job '{}' is in the store already, in another entry",
                                    printable(name)),
                        fmt::format("keep the entries as they were, {}", kElse));
          continue;
        }
        if (found_.added_names.size() < NewRecipes::kNames) found_.added_names.push_back(name);
      }
    }
    return {};
  }

  void number_entries(std::uint64_t next) {
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      const claim::Template& t = plan_.templates[i];
      const bool is_new = there_[i] == 0;
      numbers_.add({raw(t.first), t.count, is_new ? next : there_[i], is_new});
      if (is_new) next += t.count;
    }
  }

  Result<void> refuse_other_dependencies() {
    TORC_ASSIGN(const std::vector<claim::JobRange> all,
                differing_dependencies(reader_, plan_, numbers_));
    RecipeBook book;
    for (const claim::JobRange& jobs : all) {
      const JobId id = jobs.first;
      refusals_.add(
          fmt::format("'{}' waits for other jobs in the new workflow file, or on other conditions",
                      printable(job_name(book, reader_, id))),
          "what is there goes on waiting for what it waits for: give the job another name, which "
          "adds it (`torc cancel` the old one unless it is over), or make a new store with `torc "
          "init`");
    }
    return {};
  }

  void add_new_jobs() {
    claim::Plan& added = found_.added;
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      const JobNumberMap::Entry& entry = numbers_.entries()[i];
      if (!entry.is_new) continue;
      claim::Template& t = added.templates.emplace_back(plan_.templates[i]);
      t.first = JobId{entry.there};
    }
    if (added.templates.empty()) return;
    added.name = plan_.name;
    added.classes = plan_.classes;
    added.handlers = plan_.handlers;
    added.limits = plan_.limits;
    added.definitions = plan_.definitions;
    added.dependencies = dependencies_of(plan_, numbers_, {});
  }

  Result<void> check_user_data() {
    std::set<std::string> names;
    for (const claim::UserDatum& d : found_.user_data) names.insert(d.name);
    Result<void> sound;
    TORC_TRY(claim::scan_user_data(reader_, [&](const claim::UserDatum& d) {
      if (!d.is_declared || names.contains(d.name)) return true;
      const auto added = is_of_addition(d);
      if (!added.ok()) sound = added.error();
      if (!added.ok() || *added) return added.ok();
      refusals_.add(
          fmt::format("the user data '{}' is not in the new workflow file", printable(d.name)),
          fmt::format("keep it there, or `torc data delete` it, {}", kElse));
      return true;
    }));
    return sound;
  }
  Result<bool> is_of_addition(const claim::UserDatum& d) const {
    if (raw(d.maker) == 0) return false;
    TORC_ASSIGN(const auto origin, claim::read_origin(reader_, d.maker));
    return origin.has_value();
  }

  const claim::Reader& reader_;
  const claim::Plan& plan_;
  std::vector<std::uint64_t> there_;   // by entry of the file: its first job in the store; 0: none
  std::vector<claim::Template> left_;  // of the store, not in the file
  JobNumberMap numbers_;
  Refusals refusals_;
  bool has_other_sizes_ = false;  // then nobody can say who waits for whom
  NewRecipes found_;
};

}  // namespace

Result<NewRecipes> compare_with_store(const claim::Reader& reader, const claim::Plan& plan,
                                      std::vector<claim::UserDatum> user_data) {
  return RecipeComparison(reader, plan).run(std::move(user_data));
}

}  // namespace torc::workflow
