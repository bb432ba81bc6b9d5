#include "lib/workflow/change/stale.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/workflow/change/parted.h"

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

}  // namespace

const NewRecipes::Entry* StaleSearch::new_entry(JobId first) const {
  if (recipes_ == nullptr) return nullptr;
  const auto& all = recipes_->changed;
  const auto at = std::lower_bound(all.begin(), all.end(), first,
                                   [](const auto& e, JobId id) { return e.first < id; });
  return at != all.end() && at->first == first ? &*at : nullptr;
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

void StaleSearch::compare_recipes(Candidate& c, const spec::RenderedJob& old) const {
  if (old.command != c.now.command) {
    const Parted shown = where_they_part(old.command, c.now.command);
    c.reasons.push_back(fmt::format("the command changed: '{}' was '{}'", shown.now, shown.before));
  }
  if (old.commands != c.now.commands)
    c.reasons.emplace_back("the command of an alternative changed");
  if (old.input_files != c.now.input_files) c.reasons.emplace_back("it has other input files");
  if (old.output_files != c.now.output_files) c.reasons.emplace_back("it has other output files");
  if (old.input_user_data != c.now.input_user_data ||
      old.output_user_data != c.now.output_user_data)
    c.reasons.emplace_back("it has other user data");
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

Result<void> StaleSearch::gather_from(const claim::Reader& reader, const claim::Template& t) {
  const NewRecipes::Entry* replaced = new_entry(t.first);
  TORC_ASSIGN(const spec::Recipe old, recipe_of(t));
  std::optional<spec::Recipe> fresh;
  if (replaced != nullptr) {
    TORC_ASSIGN(fresh, spec::Recipe::decode(replaced->recipe));
  }
  const spec::Recipe& recipe = fresh ? *fresh : old;
  const std::uint64_t end = raw(t.first) + t.count;
  if (!fresh && !recipe.takes_or_makes()) {
    next_ = end;
    return {};
  }
  claim::State state(reader);
  auto at = state.next_record(std::max(next_, raw(t.first)));
  for (; at && *at < end && part_.size() < kPart; at = state.next_record(*at + 1)) {
    next_ = *at + 1;
    const auto job = state.record(*at);
    if (!job || !(has_ended(job->state) || (fresh && claim::is_live(job->state)))) continue;
    Candidate c;
    c.id = JobId{*at};
    c.state = job->state;
    c.claim = job->claim;
    const std::uint64_t index = *at - raw(t.first);
    c.now = recipe.render(index);
    if (fresh) compare_recipes(c, old.render(index));
    if (claim::is_live(job->state) && c.reasons.empty()) continue;
    TORC_ASSIGN(c.before, claim::read_signature(reader, c.id));
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

Result<std::vector<std::string>> StaleSearch::reasons_of(Candidate& c) const {
  std::vector<std::string> reasons = std::move(c.reasons);
  if (!reasons.empty()) return reasons;
  // Sums cost a reading of the file: only where there is something to compare them with.
  const auto sums = [&](const std::vector<FileFingerprint>& before) {
    const bool any =
        std::ranges::any_of(before, [](const FileFingerprint& m) { return m.sum != 0; });
    return any || before.size() == 1 ? sums_ : Sums::no;
  };
  const bool completed = c.state == JobState::completed;
  if (c.before) {
    TORC_ASSIGN(const std::vector<FileFingerprint> inputs,
                fingerprints_of(settings_.directory, c.now.input_files, sums(c.before->inputs)));
    compare_files("input", c.now.input_files, c.before->inputs, inputs, reasons);
    for (std::size_t i = 0; i < c.user_data.size() && i < c.before->user_data.size(); ++i) {
      if (c.user_data[i] != c.before->user_data[i])
        reasons.push_back(fmt::format("user data {} changed", printable(c.now.input_user_data[i])));
    }
  }
  if (!completed) return reasons;
  const std::vector<FileFingerprint> none;
  const std::vector<FileFingerprint>& before = c.before ? c.before->outputs : none;
  TORC_ASSIGN(const std::vector<FileFingerprint> outputs,
              fingerprints_of(settings_.directory, c.now.output_files, sums(before)));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].exists)
      reasons.push_back(fmt::format("output {} is not there", printable(c.now.output_files[i])));
  }
  if (reasons.empty()) compare_files("output", c.now.output_files, before, outputs, reasons);
  for (std::size_t i = 0; i < c.outputs_set.size(); ++i) {
    if (!c.outputs_set[i])
      reasons.push_back(
          fmt::format("user data {} holds nothing", printable(c.now.output_user_data[i])));
  }
  return reasons;
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
      if (reasons.empty()) continue;
      stale.push_back({c.id, claim, std::move(c.now.name), std::move(reasons)});
    }
  }
  return stale;
}

Result<std::vector<MissingInput>> StaleSearch::missing_inputs(
    const std::vector<claim::JobRange>& jobs, std::size_t most) {
  std::vector<MissingInput> missing;
  std::set<Path> wanted;
  const auto place = [&](const std::string& path) {
    return (settings_.directory / path).lexically_normal();
  };
  const auto each = [&](const claim::Reader& reader, const auto& visit) {
    return claim::scan_templates(reader, [&](const claim::Template& t) {
      const NewRecipes::Entry* replaced = new_entry(t.first);
      const auto recipe =
          replaced != nullptr ? spec::Recipe::decode(replaced->recipe) : recipe_of(t);
      if (recipe.ok() && recipe->takes_or_makes()) visit(t, *recipe);
      return true;
    });
  };
  struct Taken {
    std::string job;
    std::vector<std::string> paths;
  };
  std::vector<Taken> taken;
  TORC_TRY(store_.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    taken.clear();
    claim::State state(reader);
    const auto scanned = each(reader, [&](const claim::Template& t, const spec::Recipe& recipe) {
      for (const claim::JobRange& r : jobs) {
        const std::uint64_t end = std::min(raw(t.first) + t.count, raw(r.first) + r.count);
        for (auto id = state.next_record(std::max(raw(t.first), raw(r.first))); id && *id < end;
             id = state.next_record(*id + 1)) {
          spec::RenderedJob job = recipe.render(*id - raw(t.first));
          if (!job.input_files.empty())
            taken.push_back({std::move(job.name), std::move(job.input_files)});
        }
      }
    });
    return scanned ? state.sound() : scanned;
  }));
  for (const Taken& t : taken) {
    TORC_ASSIGN(const std::vector<FileFingerprint> fingerprints,
                fingerprints_of(settings_.directory, t.paths, Sums::no));
    for (std::size_t i = 0; i < fingerprints.size(); ++i) {
      if (fingerprints[i].exists) continue;
      missing.push_back({t.job, t.paths[i]});
      wanted.insert(place(t.paths[i]));
    }
  }
  if (missing.empty()) return missing;
  TORC_TRY(store_.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    return each(reader, [&](const claim::Template& t, const spec::Recipe& recipe) {
      for (std::uint64_t k = 0; k < t.count && !wanted.empty(); ++k) {
        for (const std::string& path : recipe.render(k).output_files) wanted.erase(place(path));
      }
    });
  }));
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
