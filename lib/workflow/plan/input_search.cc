#include "lib/workflow/plan/input_search.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/base/file/descriptor.h"
#include "lib/base/hash.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"

namespace torc::workflow {
namespace {

// From so many files in one directory on a listing is cheaper than a look at each, on a network
// filesystem by far; not where the directory holds many times as many others.
constexpr std::size_t kWorthListing = 64;
constexpr std::size_t kMostOthers = 50;

// A file that no job makes.
struct Wanted {
  std::string place;  // absolute
  std::size_t entry = 0;
  std::uint64_t index = 0;  // of the job, in it
  std::size_t input = 0;    // of its files
  bool is_there = false;
  [[nodiscard]] std::string_view parent() const {
    return std::string_view(place).substr(0, std::max<std::size_t>(place.rfind('/'), 1));
  }
  [[nodiscard]] std::string_view name() const {
    return std::string_view(place).substr(place.rfind('/') + 1);
  }
};
using Group = std::span<Wanted*>;

// The same for the same file, as far as its name tells.
std::string place_of(const Path& directory, const std::string& path) {
  std::string place = path.starts_with('/') ? path : (directory / path).string();
  const bool plain =
      place.find("//") == std::string::npos && place.find("/./") == std::string::npos &&
      place.find("/../") == std::string::npos && !place.ends_with("/.") && !place.ends_with("/..");
  if (!plain) place = Path(place).lexically_normal().string();
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return place;
}

bool is_known(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 || !names_nothing(errno);
}

// A network filesystem asks its server when a file is opened.
bool is_known_when_opened(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return fd || !names_nothing(errno) || is_known(path);
}

// Marks what a listing shows. A symbolic link may lead to nothing.
void look_in_listing(const std::string& directory, Group group) {
  std::unordered_map<std::string_view, Wanted*> by_name;
  for (Wanted* w : group) by_name.emplace(w->name(), w);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open) return;
  std::size_t left = group.size() * kMostOthers;
  while (const dirent* entry = readdir(open.get())) {
    if (left-- == 0) return;
    const auto found = by_name.find(entry->d_name);
    if (found != by_name.end() && entry->d_type != DT_LNK) found->second->is_there = true;
  }
}

// Of one directory.
void look_at(const Path& workplace, const std::string& directory, Group group) {
  const bool listed = group.size() >= kWorthListing;
  if (listed) look_in_listing(directory, group);
  std::vector<Wanted*> left;
  for (Wanted* w : group) {
    w->is_there = w->is_there || is_known(w->place);
    if (!w->is_there) left.push_back(w);
  }
  if (left.empty()) return;
  if (!listed) look_in_listing(directory, left);
  for (Wanted* w : left) w->is_there = w->is_there || is_known_when_opened(w->place);
  // Where a filesystem is not mounted, or the directory of the workflow has gone, nothing is known.
  const auto missing = std::ranges::find(left, false, &Wanted::is_there);
  if (missing == left.end() || fingerprints_of(workplace, {(*missing)->place}, Sums::no)) return;
  for (Wanted* w : left) w->is_there = true;
}

void look_at_all(const Path& workplace, std::vector<Wanted>& all) {
  std::vector<Wanted*> by_place(all.size());
  std::ranges::transform(all, by_place.begin(), [](Wanted& w) { return &w; });
  std::ranges::sort(by_place, {}, [](const Wanted* w) { return w->parent(); });
  for (auto at = by_place.begin(); at != by_place.end();) {
    const std::string directory((*at)->parent());
    const auto end =
        std::find_if(at, by_place.end(), [&](const Wanted* w) { return w->parent() != directory; });
    look_at(workplace, directory, Group(at, end));
    at = end;
  }
}

}  // namespace

void InputSearch::add(JobId first, spec::Recipe recipe, std::vector<claim::JobRange> over,
                      std::vector<claim::JobRange> removed) {
  if (recipe.takes_or_makes())
    entries_.push_back({first, std::move(recipe), std::move(over), std::move(removed)});
}

MissingInputs InputSearch::find(std::size_t most) const {
  std::vector<Wanted> wanted;
  // Hashes: two paths of one would hide a file that is missing.
  std::unordered_set<std::uint64_t> known;
  if (std::ranges::none_of(entries_, [](const Entry& e) { return e.recipe.takes_files(); }))
    return {};
  for (const Entry& e : entries_) {
    if (!e.recipe.makes_files()) continue;
    for (std::uint64_t k = 0; k < e.recipe.count(); ++k) {
      if (!e.removed.empty() && claim::has_job(e.removed, raw(e.first) + k)) continue;
      for (const std::string& path : e.recipe.output_files(k))
        known.insert(hash64(place_of(directory_, path)));
    }
  }
  for (std::size_t entry = 0; entry < entries_.size(); ++entry) {
    const Entry& e = entries_[entry];
    if (!e.recipe.takes_files()) continue;
    auto over = e.over.begin();
    for (std::uint64_t k = 0; k < e.recipe.count(); ++k) {
      const std::uint64_t id = raw(e.first) + k;
      while (over != e.over.end() && raw(over->first) + over->count <= id) ++over;
      if (over != e.over.end() && id >= raw(over->first)) continue;
      if (!e.removed.empty() && claim::has_job(e.removed, id)) continue;
      const auto paths = e.recipe.input_files(k);
      for (std::size_t i = 0; i < paths.size(); ++i) {
        std::string place = place_of(directory_, paths[i]);
        if (known.insert(hash64(place)).second) wanted.push_back({std::move(place), entry, k, i});
      }
    }
  }
  look_at_all(directory_, wanted);
  MissingInputs missing;
  for (const Wanted& w : wanted) {
    if (w.is_there) continue;
    if (++missing.files > most) continue;
    const Entry& e = entries_[w.entry];
    missing.first.push_back({e.recipe.input_files(w.index)[w.input], e.recipe.name(w.index),
                             JobId{raw(e.first) + w.index}});
  }
  return missing;
}

Result<MissingInputs> missing_inputs(const spec::Expansion& expansion, const Path& directory,
                                     std::size_t most) {
  InputSearch search(directory);
  for (const spec::ExpandedEntry& entry : expansion.entries) {
    TORC_ASSIGN(auto recipe, spec::Recipe::decode(entry.recipe));
    search.add(JobId{entry.first}, std::move(recipe));
  }
  return search.find(most);
}

namespace {

// Ascending.
std::vector<claim::JobRange> jobs_over(claim::State& state, const claim::Template& t) {
  std::vector<claim::JobRange> over;
  const std::uint64_t end = raw(t.first) + t.count;
  for (auto at = state.next_record(raw(t.first)); at && *at < end;
       at = state.next_record(*at + 1)) {
    const auto job = state.record(*at);
    if (!job || !claim::is_over(job->state)) continue;
    if (!over.empty() && raw(over.back().first) + over.back().count == *at)
      ++over.back().count;
    else
      over.push_back({JobId{*at}, 1});
  }
  return over;
}

// Adds the jobs of the template that are not among `only`. Both ascend.
void leave_out_others(const claim::Template& t, const std::vector<claim::JobRange>& only,
                      std::vector<claim::JobRange>& over) {
  const std::uint64_t end = raw(t.first) + t.count;
  std::uint64_t next = raw(t.first);
  for (const claim::JobRange& range : only) {
    const std::uint64_t first = std::clamp(raw(range.first), next, std::max(next, end));
    if (first > next) over.push_back({JobId{next}, first - next});
    next = std::max(next, raw(range.first) + range.count);
    if (next >= end) break;
  }
  if (next < end) over.push_back({JobId{next}, end - next});
  std::ranges::sort(over, {}, &claim::JobRange::first);
}

Result<void> add_stored(const claim::Reader& reader, InputSearch& search,
                        const std::vector<claim::JobRange>* only) {
  claim::State state(reader);
  Result<void> read;
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    auto recipe = recipe_of(t);
    if (!recipe) {
      read = recipe.error();
      return false;
    }
    auto over = recipe->takes_files() ? jobs_over(state, t) : std::vector<claim::JobRange>();
    if (only != nullptr && recipe->takes_files()) leave_out_others(t, *only, over);
    const std::array all{claim::JobRange{t.first, t.count}};
    auto removed = claim::removed_jobs(reader, all);
    if (!removed) {
      read = removed.error();
      return false;
    }
    search.add(t.first, *std::move(recipe), std::move(over), *std::move(removed));
    return true;
  }));
  return read.ok() ? state.sound() : std::move(read);
}

}  // namespace

Result<InputSearch> search_for_inputs(const claim::Reader& reader, const Path& directory,
                                      const std::vector<claim::JobRange>* only) {
  InputSearch search(directory);
  TORC_TRY(add_stored(reader, search, only));
  return search;
}

Result<bool> takes_files(const claim::Reader& reader) {
  bool any = false;
  Result<void> read;
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    const auto recipe = recipe_of(t);
    if (!recipe)
      read = recipe.error();
    else
      any = recipe->takes_files();
    return read.ok() && !any;
  }));
  if (!read) return read.error();
  return any;
}

std::string show(const MissingInputs& missing) {
  std::string names;
  for (const MissingInputs::File& file : missing.first)
    names += fmt::format("{}{} (of {})", names.empty() ? "" : ", ", torc::quoted(file.path),
                         torc::quoted(file.job));
  const std::uint64_t more = missing.files - missing.first.size();
  if (more > 0) names += fmt::format(" and {} more", show_count(more));
  if (missing.files == 1) return "an input file is not there, and no job makes it: " + names;
  return fmt::format("{} input files are not there, and no job makes them: {}",
                     show_count(missing.files), names);
}

}  // namespace torc::workflow
