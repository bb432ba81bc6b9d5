#include "lib/workflow/change/stale.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/reshape.h"
#include "lib/workflow/change/redefinition.h"

namespace torc::workflow {
namespace {

using claim::FileFingerprint;
using claim::JobState;

constexpr std::size_t kPart = 4096;  // jobs a view

bool has_ended(JobState state) {
  return claim::is_over(state) && state != JobState::canceled;
}

std::string show_change(std::string_view kind, const std::string& path,
                        const FileFingerprint& before, const FileFingerprint& now) {
  const std::string file = fmt::format("{} {}", kind, printable(path));
  if (!now.exists) return file + " is not there";
  if (!before.exists) return file + " was not there";
  if (before.size != now.size) {
    return fmt::format("{} changed: it has {} bytes and had {}", file, show_count(now.size),
                       show_count(before.size));
  }
  return before.sum != 0 && now.sum != 0 ? file + " has another content"
                                         : file + " was written again";
}

void compare_files(std::string_view kind, const std::vector<std::string>& paths,
                   const std::vector<FileFingerprint>& before,
                   const std::vector<FileFingerprint>& now, std::vector<std::string>& reasons) {
  if (paths.size() > claim::Signature::kMostFiles) {
    const std::vector<FileFingerprint> one = claim::folded(now);
    if (before.size() == 1 && !claim::looks_alike(before[0], one[0]))
      reasons.push_back(
          fmt::format("one of its {} {} files changed", show_count(paths.size()), kind));
    return;
  }
  for (std::size_t i = 0; i < paths.size() && i < before.size(); ++i) {
    if (!claim::looks_alike(before[i], now[i]))
      reasons.push_back(show_change(kind, paths[i], before[i], now[i]));
  }
}

// Fingerprints of the files `was` become those of `is`. False: these are others, or too many to
// have one each.
bool put_in_order(const std::vector<std::string>& was, const std::vector<std::string>& is,
                  std::vector<FileFingerprint>& fingerprints) {
  if (file_set(was) != file_set(is) || fingerprints.size() != was.size()) return false;
  std::map<std::string, FileFingerprint> by_path;
  for (std::size_t i = 0; i < was.size(); ++i) by_path.emplace(plain_path(was[i]), fingerprints[i]);
  for (std::size_t i = 0; i < is.size(); ++i) fingerprints[i] = by_path.at(plain_path(is[i]));
  return true;
}

Error lacks_its_output(const std::string& name, const std::vector<std::string>& reasons) {
  return Error{ErrorKind::invalid,
               fmt::format("there is no result of '{}' to accept: {}", printable(name),
                           fmt::join(reasons, "; ")),
               "put the file there, or let the job run again; nothing was changed"};
}

}  // namespace

bool Sparing::has(JobId id, claim::JobState state) const {
  if (all || (completed && state == claim::JobState::completed)) return true;
  const auto after = std::ranges::upper_bound(jobs, id, {}, &claim::JobRange::first);
  return after != jobs.begin() && raw(id) - raw(std::prev(after)->first) < std::prev(after)->count;
}

const NewRecipes::Entry* StaleSearch::new_entry(JobId id) const {
  if (recipes_ == nullptr) return nullptr;
  const auto& all = recipes_->changed;
  const auto after = std::ranges::upper_bound(all, id, {}, &NewRecipes::Entry::first);
  if (after == all.begin()) return nullptr;
  const NewRecipes::Entry& entry = *std::prev(after);
  return raw(id) - raw(entry.first) < entry.count ? &entry : nullptr;
}

bool StaleSearch::is_there(const claim::Reader& reader, JobId id) const {
  if (recipes_ != nullptr && claim::has_job(recipes_->removed, raw(id))) return false;
  if (recipes_ != nullptr && claim::has_job(recipes_->returned, raw(id))) return true;
  return !claim::is_removed(reader, id);
}

std::vector<StaleSearch::Piece> StaleSearch::pieces_of(const claim::Template& t) const {
  const std::uint64_t end = raw(t.first) + t.count;
  std::vector<Piece> pieces;
  const std::vector<NewRecipes::Entry> none;
  const auto& changed = recipes_ != nullptr ? recipes_->changed : none;
  auto next = std::ranges::upper_bound(changed, t.first, {}, &NewRecipes::Entry::first);
  for (std::uint64_t at = raw(t.first); at < end;) {
    const NewRecipes::Entry* const entry = new_entry(JobId{at});
    while (next != changed.end() && raw(next->first) <= at) ++next;
    std::uint64_t to = next == changed.end() ? end : std::min(end, raw(next->first));
    if (entry != nullptr) to = std::min(to, raw(entry->first) + entry->count);
    pieces.push_back({{JobId{at}, to - at}, entry});
    at = to;
  }
  return pieces;
}

bool StaleSearch::has_new_entry(std::uint64_t first, std::uint64_t end) const {
  if (recipes_ == nullptr) return false;
  const auto& all = recipes_->changed;
  const auto after = std::ranges::lower_bound(all, JobId{end}, {}, &NewRecipes::Entry::first);
  if (after == all.begin()) return false;
  const NewRecipes::Entry& last = *std::prev(after);
  return raw(last.first) + last.count > first;
}

Result<std::uint64_t> StaleSearch::fingerprint_of(const claim::Reader& reader,
                                                  const std::string& name) {
  const auto known = fingerprints_.find(name);
  if (known != fingerprints_.end()) return known->second;
  TORC_ASSIGN(const auto datum, claim::read_user_datum(reader, name));
  std::string value = datum ? datum->value : "";
  // What a new version of the workflow file will set.
  if (recipes_ != nullptr) {
    for (const claim::UserDatum& d : recipes_->user_data) {
      if (d.name == name && (!datum || datum->initial != d.initial)) value = d.initial;
    }
  }
  return fingerprints_.emplace(name, claim::user_data_fingerprint(value)).first->second;
}

Result<void> StaleSearch::look_at_user_data(const claim::Reader& reader, Candidate& c) {
  for (const std::string& name : c.now.input_user_data) {
    TORC_ASSIGN(const std::uint64_t fingerprint, fingerprint_of(reader, name));
    c.user_data.push_back(fingerprint);
  }
  for (const std::string& name : c.now.output_user_data) {
    TORC_ASSIGN(const std::uint64_t fingerprint, fingerprint_of(reader, name));
    c.outputs_set.push_back(fingerprint != 0);
  }
  return {};
}

void StaleSearch::compare_recipes(const spec::RenderedJob& before, Candidate& c) const {
  const std::vector<Redefinition> all = redefinitions(before, c.now);
  c.reasons = sentences(all, sparing_.triggers);
  c.is_redefined = !all.empty();
  c.has_other_data = before.input_user_data != c.now.input_user_data;
  claim::Signature none;
  claim::Signature& kept = c.before ? *c.before : none;
  for (const auto& [was, is, fingerprints, differs] :
       {std::tie(before.input_files, c.now.input_files, kept.inputs, c.has_other_inputs),
        std::tie(before.output_files, c.now.output_files, kept.outputs, c.has_other_outputs)}) {
    if (was == is) continue;
    c.is_reordered = true;
    differs = !put_in_order(was, is, fingerprints);
  }
}

Result<void> StaleSearch::gather_from(const claim::Reader& reader, const claim::Template& t) {
  TORC_ASSIGN(const spec::Recipe old, recipe_of(t));
  const std::uint64_t end = raw(t.first) + t.count;
  if (!old.takes_or_makes() && !has_new_entry(raw(t.first), end)) {
    next_ = end;
    return {};
  }
  const NewRecipes::Entry* replaced = nullptr;
  std::optional<spec::Recipe> fresh;
  claim::State state(reader);
  auto at = state.next_record(std::max(next_, raw(t.first)));
  for (; at && *at < end && part_.size() < kPart; at = state.next_record(*at + 1)) {
    next_ = *at + 1;
    const NewRecipes::Entry* const now = new_entry(JobId{*at});
    if (now != replaced) {
      replaced = now;
      fresh.reset();
      if (now != nullptr) {
        TORC_ASSIGN(fresh, spec::Recipe::decode(now->recipe));
      }
    }
    if (!fresh && !old.takes_or_makes()) continue;
    const auto job = state.record(*at);
    if (!job || !(has_ended(job->state) || (fresh && claim::is_live(job->state)))) continue;
    if (!is_there(reader, JobId{*at})) continue;  // whatever became of its files
    Candidate c;
    c.id = JobId{*at};
    c.state = job->state;
    c.claim = job->claim;
    const std::uint64_t index = *at - raw(t.first);
    c.now = fresh ? fresh->render(*at - raw(replaced->first)) : old.render(index);
    TORC_ASSIGN(c.before, claim::read_signature(reader, c.id));
    if (fresh) compare_recipes(old.render(index), c);
    if (claim::is_live(job->state) && c.reasons.empty()) continue;
    TORC_TRY(look_at_user_data(reader, c));
    part_.push_back(std::move(c));
  }
  if (!at || *at >= end) next_ = end;
  return state.sound();
}

Result<void> StaleSearch::gather(const claim::Reader& reader) {
  fingerprints_.clear();  // of another state
  while (part_.size() < kPart) {
    const auto t = claim::read_template(reader, JobId{next_});
    if (!t) {
      more_ = false;
      return {};
    }
    TORC_TRY(gather_from(reader, *t));
  }
  return {};
}

Result<std::vector<FileFingerprint>> StaleSearch::look_at(
    const std::vector<std::string>& paths, const std::vector<FileFingerprint>& before) const {
  // Sums cost a reading of the file: only where there is something to compare them with.
  const bool has_sums =
      std::ranges::any_of(before, [](const FileFingerprint& f) { return f.sum != 0; });
  if (!has_sums || contents_ == Contents::by_time)
    return fingerprints_of(directory_, paths, Sums::no);
  if (contents_ == Contents::where_times_differ) {
    TORC_ASSIGN(auto now, fingerprints_of(directory_, paths, Sums::no));
    const auto seen = paths.size() > claim::Signature::kMostFiles ? claim::folded(now) : now;
    if (std::ranges::equal(seen, before, claim::looks_alike)) return now;
  }
  return fingerprints_of(directory_, paths, Sums::yes);
}

Result<std::vector<std::string>> StaleSearch::reasons_of(Candidate& c) const {
  std::vector<std::string> reasons = std::move(c.reasons);
  if (!reasons.empty() && !is_spared(c)) return reasons;
  const bool completed = c.state == JobState::completed;
  if (c.before && !c.has_other_inputs && sparing_.triggers.has(spec::RerunTrigger::inputs)) {
    TORC_ASSIGN(const std::vector<FileFingerprint> inputs,
                look_at(c.now.input_files, c.before->inputs));
    compare_files("input", c.now.input_files, c.before->inputs, inputs, reasons);
  }
  if (c.before && !c.has_other_data && sparing_.triggers.has(spec::RerunTrigger::params)) {
    for (std::size_t i = 0; i < c.user_data.size() && i < c.before->user_data.size(); ++i) {
      if (c.user_data[i] != c.before->user_data[i])
        reasons.push_back(fmt::format("user data {} changed", printable(c.now.input_user_data[i])));
    }
  }
  if (!completed) return reasons;
  const std::vector<FileFingerprint> none;
  const std::vector<FileFingerprint>& before = c.before ? c.before->outputs : none;
  TORC_ASSIGN(const std::vector<FileFingerprint> outputs, look_at(c.now.output_files, before));
  // What it need not make, and had not made then, is as it was.
  const auto may_lack = [&](std::size_t i) {
    return c.now.allow_missing_outputs && (before.size() != outputs.size() || !before[i].exists);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].exists || may_lack(i)) continue;
    c.lacks_output = true;
    reasons.push_back(fmt::format("output {} is not there", printable(c.now.output_files[i])));
  }
  if (reasons.empty() && !c.has_other_outputs)
    compare_files("output", c.now.output_files, before, outputs, reasons);
  for (std::size_t i = 0; i < c.outputs_set.size(); ++i) {
    if (!c.outputs_set[i])
      reasons.push_back(
          fmt::format("user data {} holds nothing", printable(c.now.output_user_data[i])));
  }
  return reasons;
}

bool StaleSearch::is_spared(const Candidate& c) const {
  return has_ended(c.state) && sparing_.has(c.id, c.state);
}

Result<void> StaleSearch::spare(Candidate& c, bool was_stale) {
  if (!has_ended(c.state)) return {};
  SparedJob spared{c.id, c.claim, {}, was_stale};
  const auto sums = [&](const std::vector<FileFingerprint>& before) {
    const bool any =
        std::ranges::any_of(before, [](const FileFingerprint& f) { return f.sum != 0; });
    return any ? Sums::yes : Sums::no;
  };
  const claim::Signature before = c.before.value_or(claim::Signature{});
  TORC_ASSIGN(spared.now.inputs,
              fingerprints_of(directory_, c.now.input_files, sums(before.inputs)));
  if (c.state == JobState::completed) {
    TORC_ASSIGN(spared.now.outputs,
                fingerprints_of(directory_, c.now.output_files, sums(before.outputs)));
  }
  spared.now.inputs = claim::folded(std::move(spared.now.inputs));
  spared.now.outputs = claim::folded(std::move(spared.now.outputs));
  spared.now.user_data = c.user_data;
  if (spared.now == before && !c.is_reordered) return {};
  spared_.push_back(std::move(spared));
  return {};
}

Result<std::vector<StaleJob>> StaleSearch::run() {
  std::vector<StaleJob> stale;
  while (more_) {
    const std::uint64_t from = next_;
    TORC_TRY(
        store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          next_ = from;
          part_.clear();
          return gather(reader);
        }));
    for (Candidate& c : part_) {
      const std::uint64_t claim = c.reasons.empty() ? c.claim : 0;
      TORC_ASSIGN(std::vector<std::string> reasons, reasons_of(c));
      if (!reasons.empty() && (!is_spared(c) || c.lacks_output)) {
        if (is_spared(c) && !sparing_.all && !sparing_.completed)
          return lacks_its_output(c.now.name, reasons);
        stale.push_back(
            {c.id, claim, std::move(c.now.name), std::move(reasons), claim::is_live(c.state)});
      } else if (!reasons.empty() || c.is_redefined || c.is_reordered) {
        TORC_TRY(spare(c, !reasons.empty()));
      }
    }
  }
  return stale;
}

Result<std::vector<claim::JobRange>> StaleSearch::unchanged(const std::vector<JobId>& jobs) {
  std::vector<claim::JobRange> same;
  std::vector<Candidate> all;
  TORC_TRY(store_.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    all.clear();
    fingerprints_.clear();
    claim::JobRange of{};  // those of the recipe
    std::optional<spec::Recipe> recipe;
    for (const JobId id : jobs) {
      if (!recipe || raw(id) - raw(of.first) >= of.count) {
        const auto t = claim::read_template(reader, id);
        if (!t) continue;
        const NewRecipes::Entry* const now = new_entry(id);
        TORC_ASSIGN(recipe, now != nullptr ? spec::Recipe::decode(now->recipe) : recipe_of(*t));
        of = now != nullptr ? claim::JobRange{now->first, now->count}
                            : claim::JobRange{t->first, t->count};
      }
      Candidate c;
      c.id = id;
      c.state = JobState::completed;
      c.now = recipe->render(raw(id) - raw(of.first));
      TORC_ASSIGN(c.before, claim::read_signature(reader, id));
      if (auto looked = look_at_user_data(reader, c); !looked) return looked;
      all.push_back(std::move(c));
    }
    return {};
  }));
  for (Candidate& c : all) {
    TORC_ASSIGN(const std::vector<std::string> reasons, reasons_of(c));
    if (reasons.empty()) same.push_back({c.id, 1});
  }
  return same;
}

Result<std::vector<MissingInput>> StaleSearch::missing_inputs(
    const std::vector<claim::JobRange>& jobs, const std::vector<claim::JobRange>& named,
    std::size_t most) {
  std::vector<MissingInput> missing;
  std::set<Path> wanted;
  const auto place = [&](const std::string& path) {
    return (directory_ / path).lexically_normal();
  };
  using Visit = std::function<void(const claim::JobRange&, const spec::Recipe&, std::uint64_t)>;
  const auto each = [&](const claim::Reader& reader, const Visit& visit) -> Result<void> {
    Result<void> readable;
    const auto scanned = claim::scan_templates(reader, [&](const claim::Template& t) {
      for (const Piece& piece : pieces_of(t)) {
        const auto recipe =
            piece.entry != nullptr ? spec::Recipe::decode(piece.entry->recipe) : recipe_of(t);
        if (!recipe.ok()) {
          readable = recipe.error();
          return false;
        }
        const JobId first = piece.entry != nullptr ? piece.entry->first : t.first;
        if (recipe->takes_or_makes()) visit(piece.jobs, *recipe, raw(first));
      }
      return true;
    });
    return scanned ? readable : scanned;
  };
  struct Taken {
    std::string job;
    std::vector<std::string> paths;
  };
  std::vector<Taken> taken;
  const auto take = [&](const claim::Reader& reader) -> Result<void> {
    taken.clear();
    claim::State state(reader);
    const auto scanned = each(
        reader, [&](const claim::JobRange& of, const spec::Recipe& recipe, std::uint64_t base) {
          const std::uint64_t of_end = raw(of.first) + of.count;
          auto r = std::ranges::partition_point(jobs, [&](const auto& range) {
            return raw(range.first) + range.count <= raw(of.first);
          });
          for (; r != jobs.end() && raw(r->first) < of_end; ++r) {
            const std::uint64_t end = std::min(of_end, raw(r->first) + r->count);
            for (auto id = state.next_record(std::max(raw(of.first), raw(r->first)));
                 id && *id < end; id = state.next_record(*id + 1)) {
              const auto record = state.record(*id);
              if (!record || !is_there(reader, JobId{*id})) continue;
              if (record->state == JobState::canceled && !claim::has_job(named, *id)) continue;
              spec::RenderedJob job = recipe.render(*id - base);
              if (!job.input_files.empty())
                taken.push_back({std::move(job.name), std::move(job.input_files)});
            }
          }
        });
    return scanned ? state.sound() : scanned;
  };
  TORC_TRY(store_.view(store::Freshness::cached, take));
  for (const Taken& t : taken) {
    TORC_ASSIGN(const std::vector<FileFingerprint> fingerprints,
                fingerprints_of(directory_, t.paths, Sums::no));
    for (std::size_t i = 0; i < fingerprints.size(); ++i) {
      if (fingerprints[i].exists) continue;
      missing.push_back({t.job, t.paths[i]});
      wanted.insert(place(t.paths[i]));
    }
  }
  if (missing.empty()) return missing;
  TORC_TRY(store_.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    return each(reader,
                [&](const claim::JobRange& of, const spec::Recipe& recipe, std::uint64_t base) {
                  if (!recipe.makes_files()) return;
                  for (std::uint64_t k = 0; k < of.count && !wanted.empty(); ++k) {
                    const std::uint64_t id = raw(of.first) + k;
                    for (const std::string& path : recipe.output_files(id - base)) {
                      const auto found = wanted.find(place(path));
                      if (found != wanted.end() && is_there(reader, JobId{id})) wanted.erase(found);
                    }
                  }
                });
  }));
  if (recipes_ != nullptr) {  // jobs that are yet to come may make them
    for (const claim::Template& t : recipes_->added) {
      TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(t.recipe));
      if (!recipe.takes_or_makes()) continue;
      for (std::uint64_t k = 0; k < recipe.count() && !wanted.empty(); ++k) {
        for (const std::string& path : recipe.render(k).output_files) wanted.erase(place(path));
      }
    }
  }
  std::erase_if(missing, [&](const MissingInput& m) { return !wanted.contains(place(m.path)); });
  if (missing.size() > most) missing.resize(most);
  return missing;
}

Result<std::vector<StaleJob>> still_stale(const claim::Reader& reader,
                                          const std::vector<StaleJob>& stale) {
  std::vector<StaleJob> left;
  for (const StaleJob& s : stale) {
    const auto job = claim::read_job(reader, s.id);
    if (!job) continue;
    const bool over = has_ended(job->state);
    // With another command it does not matter which attempt it was.
    if (s.claim == 0 ? over || claim::is_live(job->state) : over && job->claim == s.claim)
      left.push_back(s);
  }
  return left;
}

}  // namespace torc::workflow
