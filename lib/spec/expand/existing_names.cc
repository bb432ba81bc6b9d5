#include "lib/spec/expand/existing_names.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/sweep/name_search.h"

namespace torc::spec {
namespace {

Pattern compiled(std::string_view text, std::span<const Parameter> parameters) {
  auto pattern = Pattern::compile(text, parameters);
  return pattern ? *std::move(pattern) : Pattern();
}

KeptFiles kept_of(const Family& family, Range combinations, std::uint64_t first) {
  KeptFiles kept;
  kept.entry.name = family.text;
  kept.entry.path = family.path;
  kept.entry.parameters.assign(family.parameters.begin(), family.parameters.end());
  kept.entry.mode = family.mode;
  kept.offset = combinations.first;
  kept.count = combinations.count;
  kept.first = first;
  return kept;
}

}  // namespace

void ExistingJobs::look_up_added() {
  std::uint64_t next = existing_.jobs() + 1;
  for (std::uint64_t id = next; id <= added_.total(); ++id) {
    const auto found = existing_.find_job(added_.name(id));
    const std::uint64_t number = found ? *found : next++;
    const bool goes_on = !pieces_.empty() && pieces_.back().there == found.has_value() &&
                         pieces_.back().number + pieces_.back().added.count == number;
    if (goes_on) {
      ++pieces_.back().added.count;
    } else {
      pieces_.push_back({{id, 1}, number, found.has_value()});
    }
  }
}

const ExistingJobs::Piece& ExistingJobs::piece_of(std::uint64_t job) const {
  const auto above =
      std::ranges::upper_bound(pieces_, job, {}, [](const Piece& p) { return p.added.first; });
  return *std::prev(above);
}

std::uint64_t ExistingJobs::number_of(std::uint64_t job) const {
  if (job <= existing_.jobs()) return job;
  const Piece& piece = piece_of(job);
  return piece.number + (job - piece.added.first);
}

bool ExistingJobs::is_there(std::uint64_t job) const {
  return job <= existing_.jobs() || piece_of(job).there;
}

std::vector<Range> ExistingJobs::numbers_of(const std::vector<Range>& jobs) const {
  std::vector<Range> out;
  for (const Range& r : jobs) {
    for (std::uint64_t at = r.first; at < r.end();) {
      std::uint64_t end = std::min(r.end(), existing_.jobs() + 1);
      if (at > existing_.jobs()) end = std::min(r.end(), piece_of(at).added.end());
      out.push_back({number_of(at), end - at});
      at = end;
    }
  }
  normalise(out);
  return out;
}

std::optional<std::uint64_t> ExistingJobs::find(std::string_view name) {
  return existing_.find_job(name);
}

void ExistingJobs::find_open(std::string_view text, std::vector<Range>& out) {
  existing_.each_entry(ExistingWorkflow::Entries::sweeps,
                       [&](std::uint64_t first, const Recipe& recipe) {
                         std::vector<Range> found;
                         recipe.find_open(text, found);
                         for (const Range& r : found) out.push_back({first + r.first, r.count});
                         return true;
                       });
}

void ExistingJobs::match(const re2::RE2& expression, std::vector<Range>& out) {
  existing_.each_entry(ExistingWorkflow::Entries::all,
                       [&](std::uint64_t first, const Recipe& recipe) {
                         for (std::uint64_t k = 0; k < recipe.count(); ++k) {
                           if (re2::RE2::PartialMatch(recipe.name(k), expression))
                             append(out, first + k);
                         }
                         return true;
                       });
}

void ExistingJobs::add_names(std::vector<std::string>& out, std::size_t most) {
  existing_.each_entry(ExistingWorkflow::Entries::all, [&](std::uint64_t, const Recipe& recipe) {
    for (std::uint64_t k = 0; k < recipe.count() && out.size() < most; ++k)
      out.push_back(recipe.name(k));
    return out.size() < most;
  });
}

ExistingFiles::Known& ExistingFiles::keep(KeptFiles kept) {
  Known& known = known_.emplace_back();
  known.kept = std::move(kept);
  known.name = compiled(known.kept.entry.name, known.kept.entry.parameters);
  known.sweep = Sweep(known.kept.entry.parameters, known.kept.entry.mode);
  return known;
}

void ExistingFiles::read_sweeps_once() {
  if (std::exchange(sweeps_read_, true)) return;
  for (KeptFiles& kept : read_sweeps(existing_, kind_)) sweeps_.push_back(&keep(std::move(kept)));
}

std::optional<ExistingFiles::Place> ExistingFiles::place_of(std::string_view name) {
  const auto [at, fresh] = singles_.try_emplace(std::string(name), nullptr);
  if (fresh) {
    if (auto kept = read_single(existing_, kind_, name)) at->second = &keep(*std::move(kept));
  }
  if (at->second != nullptr) return Place{at->second, 0};
  read_sweeps_once();
  for (Known* known : sweeps_) {
    const FileEntry& entry = known->kept.entry;
    const auto k = find_combination(known->name, entry.parameters, entry.mode, known->sweep,
                                    {known->kept.offset, known->kept.count}, name);
    if (k) return Place{known, *k};
  }
  return {};
}

std::uint64_t ExistingFiles::local(const Place& place) {
  Known& known = *place.of;
  if (known.first == 0) {
    const FileEntry& entry = known.kept.entry;
    Family family;
    family.text = entry.name;
    family.path = entry.path;
    family.parameters = entry.parameters;
    family.name = known.name;
    family.sweep = known.sweep;
    family.mode = entry.mode;
    const std::size_t added = files_.add(std::move(family));
    known.first = files_[added].first;
    paths_.push_back(compiled(entry.path, entry.parameters));
    by_family_[added] = &known;
  }
  return known.first + place.combination;
}

std::uint64_t ExistingFiles::number_of(std::uint64_t file) const {
  if (file < there_.size()) return there_[file];
  const auto known = by_family_.find(files_.family_of(file));
  if (known == by_family_.end()) return 0;
  const KeptFiles& kept = known->second->kept;
  return kept.first + (file - known->second->first - kept.offset);
}

std::string ExistingFiles::path_at(const Place& place) {
  const FileEntry& entry = place.of->kept.entry;
  return compiled(entry.path, entry.parameters)
      .text(entry.parameters, place.of->sweep, place.combination);
}

std::string ExistingFiles::look_up(std::size_t family) {
  const Family& f = files_[family];
  for (std::uint64_t k = 0; k < f.count; ++k) {
    const std::string name = f.name_of(k);
    const auto found = place_of(name);
    if (!found) continue;
    there_[f.first + k] = found->of->kept.first + (found->combination - found->of->kept.offset);
    if (kind_ != Kept::files) continue;
    const std::string here = f.filled(paths_[family], k);
    const std::string there = path_at(*found);
    if (here == there) continue;
    return fmt::format("the file {} is in the workflow already, with the path {}, and here {}",
                       torc::quoted(name), torc::quoted(there), torc::quoted(here));
  }
  return {};
}

std::optional<std::uint64_t> ExistingFiles::find(std::string_view name) {
  const auto place = place_of(name);
  return place ? std::optional(local(*place)) : std::nullopt;
}

void ExistingFiles::find_open(std::string_view text, std::vector<Range>& out) {
  read_sweeps_once();
  const std::set<std::uint64_t> added(there_.begin(), there_.end());  // found where they stand
  for (Known* known : sweeps_) {
    const FileEntry& entry = known->kept.entry;
    const auto pattern = Pattern::compile(text, entry.parameters);
    if (!pattern || !pattern->has_parameters() || !text.starts_with(known->name.prefix())) continue;
    const std::uint64_t end = known->kept.offset + known->kept.count;
    for (std::uint64_t k = known->kept.offset; k < end; ++k) {
      if (added.contains(known->kept.first + (k - known->kept.offset))) continue;
      const std::string name = known->name.text(entry.parameters, known->sweep, k);
      if (text == entry.name || pattern->text(entry.parameters, known->sweep, k) == name)
        append(out, local({known, k}));
    }
  }
}

void ExistingFiles::match(const re2::RE2& expression, std::vector<Range>& out) {
  std::vector<std::string> singles;
  // The added ones are matched where they stand.
  const std::set<std::uint64_t> added(there_.begin(), there_.end());
  each_single(existing_, kind_, [&](const KeptFiles& kept) {
    if (!added.contains(kept.first) && re2::RE2::PartialMatch(kept.entry.name, expression))
      singles.push_back(kept.entry.name);
    return true;
  });
  for (const std::string& name : singles) append(out, *find(name));
  read_sweeps_once();
  for (Known* known : sweeps_) {
    const std::uint64_t end = known->kept.offset + known->kept.count;
    for (std::uint64_t k = known->kept.offset; k < end; ++k) {
      if (added.contains(known->kept.first + (k - known->kept.offset))) continue;
      const std::string name = known->name.text(known->kept.entry.parameters, known->sweep, k);
      if (re2::RE2::PartialMatch(name, expression)) append(out, local({known, k}));
    }
  }
}

void ExistingFiles::add_names(std::vector<std::string>& out, std::size_t most) {
  read_sweeps_once();
  for (const Known* known : sweeps_) out.push_back(known->kept.entry.name);
  each_single(existing_, kind_, [&](const KeptFiles& kept) {
    out.push_back(kept.entry.name);
    return out.size() < most;
  });
}

std::uint64_t ExistingFiles::maker_of(std::uint64_t file) {
  const std::uint64_t number = number_of(file);
  return number == 0 ? 0 : spec::maker_of(existing_, kind_, number);
}

bool ExistingFiles::is_same(std::uint64_t job, std::uint64_t maker) {
  return jobs_.number_of(job) == maker;
}

std::string ExistingFiles::name_of(std::uint64_t maker) {
  return existing_.job(maker).texts.name;
}

std::vector<Definition> ExistingFiles::definitions(const JobFiles& made) {
  std::vector<Definition> all;
  std::uint64_t next = next_number(existing_, kind_);
  const std::uint64_t before = next;
  for (std::size_t f = 0; f < own_; ++f) {
    const Family& family = files_[f];
    for (std::uint64_t k = 0; k < family.count;) {
      std::uint64_t end = k;
      const std::uint64_t first = next;
      for (; end < family.count && there_[family.first + end] == 0; ++end)
        there_[family.first + end] = next++;
      if (end > k) all.push_back(define(kind_, kept_of(family, {k, end - k}, first)));
      k = std::max(end, k + 1);
    }
  }
  if (next != before) all.push_back(define_next(kind_, next));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> makers;
  made.each_made([&](std::uint64_t file, std::uint64_t job) {
    const std::uint64_t number = number_of(file);
    if (spec::maker_of(existing_, kind_, number) == 0)
      makers.emplace_back(number, jobs_.number_of(job));
  });
  std::ranges::sort(makers);
  std::vector<Made> runs;
  for (const auto& [file, job] : makers) append(runs, file, job);
  for (const Made& run : runs) all.push_back(define(kind_, run));
  return all;
}

std::vector<std::pair<std::string, std::uint64_t>> ExistingFiles::newly_made(const JobFiles& made) {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  made.each_made([&](std::uint64_t file, std::uint64_t job) {
    const auto known = by_family_.find(files_.family_of(file));
    if (known == by_family_.end() || !known->second->kept.entry.parameters.empty()) return;
    if (maker_of(file) == 0) out.emplace_back(known->second->kept.entry.name, jobs_.number_of(job));
  });
  return out;
}

std::vector<Definition> define_files(Kept kind, const Families& files, const JobFiles& made) {
  std::vector<Definition> all;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const Family& family = files[f];
    all.push_back(define(kind, kept_of(family, {0, family.count}, family.first)));
  }
  if (files.total() == 0) return all;
  all.push_back(define_next(kind, files.total() + 1));
  std::vector<Made> runs;
  made.each_made([&](std::uint64_t file, std::uint64_t job) { append(runs, file, job); });
  for (const Made& run : runs) all.push_back(define(kind, run));
  return all;
}

}  // namespace torc::spec
