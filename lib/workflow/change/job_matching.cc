#include "lib/workflow/change/job_matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reshape_parts.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/workflow/change/difference.h"
#include "lib/workflow/change/new_dependencies.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using claim::JobRange;

// Numbers of the store that are in some of `ranges`, which are sorted and disjoint.
std::vector<JobRange> common(const std::vector<JobRange>& a, const std::vector<JobRange>& b) {
  std::vector<JobRange> both;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const std::uint64_t from = std::max(raw(x->first), raw(y->first));
    const std::uint64_t x_end = raw(x->first) + x->count;
    const std::uint64_t y_end = raw(y->first) + y->count;
    const std::uint64_t to = std::min(x_end, y_end);
    if (from < to) both.push_back({JobId{from}, to - from});
    x_end <= y_end ? ++x : ++y;
  }
  return both;
}

std::vector<JobRange> complement(const std::vector<JobRange>& of, std::uint64_t jobs) {
  std::vector<JobRange> rest;
  std::uint64_t at = 1;
  for (const JobRange& r : of) {
    if (raw(r.first) > at) rest.push_back({JobId{at}, raw(r.first) - at});
    at = std::max(at, raw(r.first) + r.count);
  }
  if (at <= jobs) rest.push_back({JobId{at}, jobs - at + 1});
  return rest;
}

bool has(const std::vector<JobRange>& sorted, std::uint64_t id) {
  const auto after = std::ranges::upper_bound(sorted, JobId{id}, {}, &JobRange::first);
  return after != sorted.begin() && id - raw(std::prev(after)->first) < std::prev(after)->count;
}

class JobMatcher {
 public:
  JobMatcher(const claim::Reader& reader, const claim::Plan& plan, const FormerNames& former)
      : reader_(reader), plan_(plan), former_(former) {}

  Result<JobMatching> run() {
    found_.entries.resize(plan_.templates.size());
    TORC_TRY(find_out());
    TORC_TRY(by_recipe());
    TORC_TRY(by_part());
    TORC_TRY(by_name());
    TORC_TRY(find_removed());
    return std::move(found_);
  }

 private:
  // Those that are out of the workflow already.
  Result<void> find_out() {
    claim::State state(reader_);
    reader_.scan_prefix(claim::Key(claim::Table::removed), [&](const store::Entry& e) {
      const auto id = claim::id_in(claim::Table::removed, e.key);
      if (id) out_.push_back({JobId{*id}, 1});
      if (!id) state.damaged(e.key);
      return id.has_value();
    });
    out_ = joined(std::move(out_));
    return state.sound();
  }

  // Whether the former names of an entry decide which of its jobs are these, not what they run.
  [[nodiscard]] bool asks_for_names(std::size_t entry, const claim::Template& t) const {
    return former_.contains(entry) && !common({{t.first, t.count}}, out_).empty();
  }

  void take(std::size_t entry, const Segment& segment) {
    found_.entries[entry].push_back(segment);
    if (segment.there != 0) matched_.push_back({JobId{segment.there}, segment.count});
  }

  // Most entries are as they were.
  Result<void> by_recipe() {
    std::unordered_map<std::string_view, std::size_t> of_file;
    for (std::size_t i = 0; i < plan_.templates.size(); ++i)
      of_file.emplace(plan_.templates[i].recipe, i);
    return claim::scan_templates(reader_, [&](const claim::Template& t) {
      const auto at = of_file.find(t.recipe);
      if (at != of_file.end() && found_.entries[at->second].empty() &&
          plan_.templates[at->second].count == t.count && !asks_for_names(at->second, t)) {
        take(at->second, {0, t.count, raw(t.first), false, true});
      } else {
        left_.push_back(t);
      }
      return true;
    });
  }

  // Those that came to the store bit by bit, or of which a worker had some when they changed.
  Result<void> by_part() {
    std::unordered_map<std::string, std::vector<std::pair<spec::RecipePart, std::size_t>>> parts;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      TORC_ASSIGN(const spec::RecipePart part, spec::part_in(left_[k].recipe));
      if (part.is_whole) continue;
      parts[left_[k].recipe.substr(0, part.whole)].emplace_back(part, k);
    }
    std::vector<bool> taken(left_.size());
    for (std::size_t i = 0; i < plan_.templates.size() && !parts.empty(); ++i) {
      if (!found_.entries[i].empty()) continue;
      const auto at = parts.find(plan_.templates[i].recipe);
      if (at == parts.end()) continue;
      std::ranges::sort(at->second, {}, [](const auto& p) { return p.first.from; });
      std::uint64_t next = 0;
      for (const auto& [part, k] : at->second) {
        if (part.from == next) next += part.count;
      }
      if (next != plan_.templates[i].count || at->second.back().first.end() != next) continue;
      if (std::ranges::any_of(at->second,
                              [&](const auto& p) { return asks_for_names(i, left_[p.second]); }))
        continue;
      for (const auto& [part, k] : at->second) {
        take(i, {part.from, part.count, raw(left_[k].first), false, true});
        taken[k] = true;
      }
    }
    std::vector<claim::Template> still;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      if (!taken[k]) still.push_back(std::move(left_[k]));
    }
    left_ = std::move(still);
    return {};
  }

  struct Sweep {
    std::uint64_t first = 0;
    spec::Recipe recipe;
  };

  Result<void> by_name() {
    for (const claim::Template& t : left_) {
      TORC_ASSIGN(spec::Recipe recipe, recipe_of(t));
      if (t.count == 1) {
        singles_.emplace(recipe.name(0), raw(t.first));
      } else {
        sweeps_.push_back({raw(t.first), std::move(recipe)});
      }
    }
    for (std::size_t i = 0; i < plan_.templates.size(); ++i) {
      if (!found_.entries[i].empty() || former_.contains(i)) continue;
      TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(plan_.templates[i].recipe));
      match(i, [&](std::uint64_t k) { return number_of(recipe.name(k)); });
    }
    return by_former_name();
  }

  Result<void> by_former_name() {
    struct Renamed {
      std::size_t entry = 0;
      spec::Recipe now;
      spec::Recipe before;
    };
    std::vector<Renamed> all;
    std::vector<JobRange> there = matched_;
    for (const auto& [i, names] : former_) {
      if (!found_.entries[i].empty()) continue;
      TORC_ASSIGN(spec::Recipe now, spec::Recipe::decode(plan_.templates[i].recipe));
      TORC_ASSIGN(spec::Recipe before, spec::Recipe::decode(names));
      for (std::uint64_t k = 0; k < plan_.templates[i].count; ++k) {
        if (const std::uint64_t id = number_of(now.name(k)); id != 0)
          there.push_back({JobId{id}, 1});
      }
      all.push_back({i, std::move(now), std::move(before)});
    }
    there = joined(std::move(there));
    std::set<std::uint64_t> taken;
    for (const Renamed& r : all) {
      match(r.entry, [&](std::uint64_t k) -> std::uint64_t {
        const std::uint64_t own = number_of(r.now.name(k));
        if (own != 0 && !has(out_, own)) return own;
        const std::uint64_t id = number_of(r.before.name(k));
        if (own != 0 && has(out_, id)) return own;
        // Nobody else has it.
        if (id != 0 && !has(there, id) && taken.insert(id).second) {
          if (own != 0) found_.displaced.push_back({JobId{own}, 1});
          return id;
        }
        if (own == 0 && k == 0 && is_in_store(r.before.name(k))) found_.taken_names.insert(r.entry);
        return own;
      });
    }
    found_.displaced = joined(std::move(found_.displaced));
    return {};
  }

  // Also of an entry that is as it was, whose names nobody has asked for.
  [[nodiscard]] bool is_in_store(const std::string& name) const {
    RecipeBook book;
    const auto found = find_job(book, reader_, name);
    return found && *found;
  }

  template <class NumberOf>
  void match(std::size_t entry, const NumberOf& number) {
    const std::uint64_t count = plan_.templates[entry].count;
    Segment open;
    const auto close = [&] {
      if (open.count > 0) take(entry, open);
      open = {};
    };
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t there = number(k);
      const bool follows =
          open.count > 0 &&
          (there == 0 ? open.there == 0 : open.there != 0 && there == open.there + open.count);
      if (!follows) {
        close();
        open = {k, 0, there, false, false};
      }
      ++open.count;
    }
    close();
  }

  // Of the sweeps that was asked last first: names follow each other there as here.
  std::uint64_t number_of(const std::string& name) {
    if (const auto single = singles_.find(name); single != singles_.end()) return single->second;
    for (std::size_t n = 0; n < sweeps_.size(); ++n) {
      const std::size_t at = (last_ + n) % sweeps_.size();
      const auto index = sweeps_[at].recipe.find(name);
      if (!index) continue;
      last_ = at;
      return sweeps_[at].first + *index;
    }
    return 0;
  }

  Result<void> find_removed() {
    TORC_ASSIGN(const std::uint64_t jobs, claim::count_jobs(reader_));
    matched_ = joined(std::move(matched_));
    TORC_ASSIGN(std::vector<JobRange> ours, of_the_file(jobs));
    std::vector<JobRange> spawned;
    for (const claim::Origin& origin : spawned_) spawned.push_back(origin.jobs);
    found_.adopted = common(joined(std::move(spawned)), matched_);
    found_.returned = common(matched_, out_);
    const std::vector<JobRange> unmatched = common(ours, complement(matched_, jobs));
    found_.removed = common(unmatched, complement(out_, jobs));
    found_.added = common(complement(joined(std::move(ours)), jobs), complement(matched_, jobs));
    return follow_spawners(jobs);
  }

  // What jobs spawned that are out of the workflow now goes with them, and comes back with them.
  Result<void> follow_spawners(std::uint64_t jobs) {
    std::vector<JobRange> gone = claim::without(out_, found_.returned);
    gone.insert(gone.end(), found_.removed.begin(), found_.removed.end());
    std::vector<JobRange> back = found_.returned;
    claim::State state(reader_);
    const std::vector<JobRange> strange = complement(matched_, jobs);
    const std::vector<JobRange> inside = complement(out_, jobs);
    // A spawner may have the higher number.
    for (std::size_t known = 0;;) {
      gone = claim::joined_ranges(std::move(gone));
      back = claim::joined_ranges(std::move(back));
      const std::size_t now = claim::jobs_in(gone) + claim::jobs_in(back);
      if (now == known) break;
      known = now;
      std::vector<JobRange> going;
      std::vector<JobRange> coming;
      for (const claim::Origin& origin : spawned_) {
        const std::uint64_t parent = raw(origin.parent);
        if (claim::has_job(gone, parent) || claim::has_job(going, parent)) {
          for (const JobRange& r : common({origin.jobs}, strange)) going.push_back(r);
        } else if (claim::has_job(back, parent) || claim::has_job(coming, parent)) {
          const auto spawner = state.job(parent);
          if (!spawner || spawner->attempt != origin.attempt) continue;
          for (const JobRange& r : common(common({origin.jobs}, strange), out_))
            add_unless_withdrawn(state, r, coming);
        }
      }
      gone.insert(gone.end(), going.begin(), going.end());
      back.insert(back.end(), coming.begin(), coming.end());
    }
    TORC_TRY(state.sound());
    found_.removed = common(gone, inside);
    found_.returned = std::move(back);
    found_.added = claim::without(found_.added, found_.removed);
    return {};
  }

  // What was withdrawn comes back with the result of its spawner.
  static void add_unless_withdrawn(claim::State& state, const JobRange& jobs,
                                   std::vector<JobRange>& to) {
    for (std::uint64_t id = raw(jobs.first); id < raw(jobs.first) + jobs.count; ++id) {
      const auto job = state.job(id);
      if (job && !claim::is_withdrawn(*job)) claim::add_to(to, id);
    }
  }

  // What was there from the beginning, or came with a newer version of the file.
  Result<std::vector<JobRange>> of_the_file(std::uint64_t jobs) {
    TORC_ASSIGN(const std::uint64_t first, claim::first_addition(reader_, jobs));
    std::vector<JobRange> ours;
    if (first > 1) ours.push_back({JobId{1}, first - 1});
    for (std::uint64_t at = first; at <= jobs;) {
      TORC_ASSIGN(const auto origin, claim::read_origin(reader_, JobId{at}));
      if (!origin || origin->jobs.count == 0)
        return Error{ErrorKind::corrupt, fmt::format("nobody knows where job {} comes from", at),
                     "run `torc verify` on the store"};
      if (raw(origin->parent) == 0 && origin->state == kOfFile) ours.push_back(origin->jobs);
      if (raw(origin->parent) != 0) {
        spawned_.push_back(*origin);
        spawned_.back().state = {};  // what was handed on may be large
      }
      at = raw(origin->jobs.first) + origin->jobs.count;
    }
    return joined(std::move(ours));
  }

  const claim::Reader& reader_;
  const claim::Plan& plan_;
  const FormerNames& former_;
  std::vector<claim::Template> left_;  // of the store
  std::unordered_map<std::string, std::uint64_t> singles_;
  std::vector<Sweep> sweeps_;
  std::size_t last_ = 0;
  std::vector<JobRange> matched_;
  std::vector<JobRange> out_;  // sorted
  std::vector<claim::Origin> spawned_;
  JobMatching found_;
};

}  // namespace

Result<JobMatching> match_jobs(const claim::Reader& reader, const claim::Plan& plan,
                               const FormerNames& former) {
  return JobMatcher(reader, plan, former).run();
}

}  // namespace torc::workflow
