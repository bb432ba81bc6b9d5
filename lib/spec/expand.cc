#include "lib/spec/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "lib/spec/cycle.h"
#include "lib/spec/dependency_sets.h"
#include "lib/spec/entry_writer.h"
#include "lib/spec/families.h"
#include "lib/spec/file_paths.h"
#include "lib/spec/job_files.h"
#include "lib/spec/known_jobs.h"
#include "lib/spec/living_names.h"
#include "lib/spec/pattern.h"
#include "lib/spec/reference.h"
#include "lib/spec/source.h"

namespace torc::spec {
namespace {

constexpr std::size_t kMaxCycleShown = 100;

// A value with a line break or the like that would get into names; empty: none.
std::string unprintable_value(const Family& family) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  for (std::size_t p = 0; p < family.parameters.size(); ++p) {
    const auto* list = std::get_if<std::vector<ParameterValue>>(&family.parameters[p].values);
    if (list == nullptr || !family.name.uses(p)) continue;
    for (const ParameterValue& value : *list) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr && std::any_of(text->begin(), text->end(), is_control)) return *text;
    }
  }
  return {};
}

// Whether some value of the parameter fills the placeholder with nothing.
bool may_be_empty(const Family& family, const Piece& piece) {
  if (piece.kind == Piece::Kind::literal || piece.format.width > 0) return false;
  const auto* list =
      std::get_if<std::vector<ParameterValue>>(&family.parameters[piece.index].values);
  return list != nullptr && std::any_of(list->begin(), list->end(), [](const ParameterValue& v) {
           const auto* text = std::get_if<std::string>(&v);
           return text != nullptr && text->empty();
         });
}

// Asked before it is known that the combinations are few enough to go through.
bool has_empty_name(const Family& family) {
  const auto& pieces = family.name.pieces();
  if (!std::all_of(pieces.begin(), pieces.end(),
                   [&](const Piece& p) { return may_be_empty(family, p); })) {
    return false;
  }
  std::string name;
  for (std::uint64_t k = 0; k < std::min(family.sweep.count(), kMaxJobs); ++k) {
    name.clear();
    family.append_name(name, k);
    if (name.empty()) return true;
  }
  return false;
}

// The lowest number in both; 0: none. Precondition: both are normalised.
std::uint64_t first_common(const std::vector<Range>& a, const std::vector<Range>& b) {
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (x->end() <= y->first) {
      ++x;
    } else if (y->end() <= x->first) {
      ++y;
    } else {
      return std::max(x->first, y->first);
    }
  }
  return 0;
}

// Those of jobs above `before`, which become 1 and so on: what was there before waits for none of
// them.
std::vector<DependencySet> without_earlier(const std::vector<DependencySet>& sets,
                                           std::uint64_t before) {
  std::vector<DependencySet> all;
  for (const DependencySet& set : sets) {
    DependencySet& kept = all.emplace_back();
    for (const Range& r : set.members) kept.members.push_back({r.first - before, r.count});
    for (const Range& r : set.upstream) {
      if (r.end() <= before + 1) continue;
      const std::uint64_t first = std::max(r.first, before + 1);
      kept.upstream.push_back({first - before, r.end() - first});
    }
    if (kept.upstream.empty()) all.pop_back();
  }
  return all;
}

class Expander {
 public:
  // `around`: null, or of an addition.
  Expander(const Workflow& workflow, Report& report, const Surroundings* around = nullptr)
      : workflow_(workflow),
        report_(report),
        around_(around),
        jobs_(around == nullptr ? 1 : around->living.jobs() + 1),
        job_names_(jobs_, "job", report_),
        file_names_(files_, "file", report_),
        data_names_(data_, "user data", report_),
        job_files_(kFileKeys, jobs_, files_, file_names_, report_),
        job_data_(kUserDataKeys, jobs_, data_, data_names_, report_) {}

  Expansion run() {
    if (add_all(files_, file_names_, workflow_.files, "file") &&
        add_all(data_, data_names_, workflow_.user_data, "user data") &&
        add_all(jobs_, job_names_, workflow_.jobs, "job")) {
      add_paths();
      report_clashes(files_, "file", workflow_.files);
      report_clashes(data_, "user data", workflow_.user_data);
      report_clashes(jobs_, "job", workflow_.jobs);
      if (around_ != nullptr) look_around();
      check_references();
      for (std::size_t e = 0; e < jobs_.size(); ++e) {
        job_files_.add(workflow_.jobs[e], jobs_[e]);
        job_data_.add(workflow_.jobs[e], jobs_[e]);
      }
      for (std::size_t e = 0; e < jobs_.size(); ++e) add_dependencies(e);
      report_shared_paths(workflow_, files_, job_files_, report_);
      take_sets();
      report_cycles();
      write_entries();
      write_definitions();
      write_user_data();
      if (around_ == nullptr) write_actions();
    }
    expansion_.jobs = jobs_.members();
    return std::move(expansion_);
  }

 private:
  // What an entry's jobs wait for, by one of its references.
  struct Upstream {
    RangeMap jobs;
    Place place;
    bool by_name = false;
    Condition condition = Condition::afterok;
  };
  static constexpr std::size_t kConditions = 4;

  template <class Entry>
  bool add_all(Families& families, Resolver& resolver, const std::vector<Entry>& entries,
               std::string_view kind);
  void add_paths();
  template <class Entry>
  Family family_of(const Entry& entry, Resolver& resolver);
  template <class Entry>
  bool is_within_limit(const Families& families, const Entry& entry, std::string_view kind);
  template <class Entry>
  void report_clashes(Families& families, std::string_view kind, const std::vector<Entry>& entries);
  template <class Entry>
  [[nodiscard]] std::string how_to_tell_apart(const Entry& entry, const Family& family,
                                              std::uint64_t a, std::uint64_t b) const;
  void check_references();
  void check_references_in(const JobEntry& entry, const std::string& key, const std::string& text);
  [[nodiscard]] bool is_alias(Place place) const;
  void write_actions();

  std::vector<Upstream> upstreams_of(std::size_t e);
  void report_self(const Family& family, const Upstream& upstream);
  void warn_of_both(const Family& family, const std::vector<Upstream>& all);
  void add_dependencies(std::size_t e);
  void add_sets(const Family& family, const std::vector<Upstream>& all, Condition condition);
  void take_sets();
  void report_cycles();
  void report_cycle(const std::vector<std::uint64_t>& cycle, std::size_t like_it);
  void write_entries();
  void look_around();
  void write_definitions();
  void write_user_data();

  const Workflow& workflow_;
  Report& report_;
  const Surroundings* around_;
  std::unique_ptr<LivingJobs> living_jobs_;
  std::unique_ptr<LivingFiles> living_files_, living_data_;
  std::vector<Pattern> data_paths_;
  Families jobs_;
  Families files_;
  Families data_;
  Resolver job_names_;
  Resolver file_names_;
  Resolver data_names_;
  JobFiles job_files_;
  JobFiles job_data_;
  std::vector<Pattern> paths_;
  std::array<DependencySetBuilder, kConditions> sets_;
  Expansion expansion_;
  std::vector<std::vector<Range>> action_jobs_;
};

// Entries without parameters, as families have them.
const std::vector<Parameter>& parameters_of(const JobEntry& entry) {
  return entry.parameters;
}
const std::vector<Parameter>& parameters_of(const FileEntry& entry) {
  return entry.parameters;
}
const std::vector<Parameter>& parameters_of(const UserDataEntry& /*entry*/) {
  static const std::vector<Parameter> kNone;
  return kNone;
}
ParameterMode mode_of(const JobEntry& entry) {
  return entry.mode;
}
ParameterMode mode_of(const FileEntry& entry) {
  return entry.mode;
}
ParameterMode mode_of(const UserDataEntry& /*entry*/) {
  return ParameterMode::product;
}

// An entry that is broken becomes a family of none, so that positions stay those of the entries.
template <class Entry>
Family Expander::family_of(const Entry& entry, Resolver& resolver) {
  Family family;
  family.text = entry.name;
  family.parameters = parameters_of(entry);
  const auto left_out = [&] {
    if (!entry.name.empty()) resolver.forgive(entry.name);
    family.parameters = {};
    family.name = Pattern();
    family.sweep =
        Sweep(std::vector<Parameter>{{"", std::vector<ParameterValue>{}}}, ParameterMode::product);
    return family;
  };
  const auto broken = [&](std::string what, std::string remedy) {
    report_.error(entry.place, std::move(what), std::move(remedy));
    return left_out();
  };
  if (!entry.sound) return left_out();
  auto name = Pattern::compile(entry.name, family.parameters);
  if (!name) {
    report_bad_placeholders(report_, entry.place, entry.name, family.parameters);
    return left_out();
  }
  family.name = *std::move(name);
  family.mode = mode_of(entry);
  if constexpr (requires { entry.path; }) family.path = entry.path;
  for (const Parameter& p : family.parameters) {
    const Parameter& first = family.parameters.front();
    if (count(p.values) == 0) {
      return broken(
          fmt::format("parameter {} of {} has no values", quoted(p.name), quoted(entry.name)),
          "give it at least one");
    }
    if (mode_of(entry) == ParameterMode::zip && count(p.values) != count(first.values)) {
      return broken(fmt::format("parameters {} and {} of {} are zipped but have {} and {} values",
                                quoted(first.name), quoted(p.name), quoted(entry.name),
                                count(first.values), count(p.values)),
                    "give both the same number of values, or use parameter_mode: product");
    }
  }
  family.sweep = Sweep(family.parameters, mode_of(entry));
  if (const std::string bad = unprintable_value(family); !bad.empty()) {
    return broken(fmt::format("the value {} has control characters, but is part of the name {}",
                              quoted(bad), quoted(entry.name)),
                  "take it out of the name");
  }
  if (has_empty_name(family)) {
    return broken(fmt::format("{} gives an empty name", quoted(entry.name)),
                  "put a word before the placeholder");
  }
  return family;
}

template <class Entry>
bool Expander::is_within_limit(const Families& families, const Entry& entry,
                               std::string_view kind) {
  if (families.total() <= kMaxJobs) return true;
  report_.error(entry.place,
                fmt::format("with {} the workflow has {} {}s or more", quoted(entry.name),
                            families.total(), kind),
                fmt::format("a workflow can have {} {}s; take fewer values, or let one job do "
                            "several steps",
                            kMaxJobs, kind));
  return false;
}

template <class Entry>
bool Expander::add_all(Families& families, Resolver& resolver, const std::vector<Entry>& entries,
                       std::string_view kind) {
  for (const Entry& entry : entries) {
    families.add(family_of(entry, resolver));
    if (!is_within_limit(families, entry, kind)) return false;
  }
  return true;
}

void Expander::add_paths() {
  for (const FileEntry& entry : workflow_.files) {
    auto path = Pattern::compile(entry.path, entry.parameters);
    if (!path) {
      const auto place = entry.places.find("path");
      report_bad_placeholders(report_, place == entry.places.end() ? entry.place : place->second,
                              entry.path, entry.parameters);
    }
    // What was left out has no parameters any more that its path could name.
    const bool left_out = files_[paths_.size()].count == 0;
    paths_.push_back(path && !left_out ? *std::move(path) : Pattern());
  }
}

// What names jobs or files and is no job's dependency.
void Expander::check_references() {
  const Family nobody;
  for (const Action& action : workflow_.actions) {
    std::vector<Range>& jobs = action_jobs_.emplace_back();
    bool sound = true;
    const auto take = [&](const std::optional<RangeMap>& found) {
      sound = sound && found.has_value();
      if (found) found->append_to(jobs, 0);
    };
    const auto place_in = [&](std::string_view key, std::size_t i) {
      const auto element = action.places.find(fmt::format("{}[{}]", key, i));
      if (element != action.places.end()) return element->second;
      const auto whole = action.places.find(std::string(key));
      return whole == action.places.end() ? action.place : whole->second;
    };
    for (std::size_t i = 0; i < action.jobs.size(); ++i)
      take(job_names_.names({&nobody, action.jobs[i], place_in("jobs", i)}));
    for (std::size_t i = 0; i < action.job_name_regexes.size(); ++i) {
      take(job_names_.expression(
          {&nobody, action.job_name_regexes[i], place_in("job_name_regexes", i)}));
    }
    normalise(jobs);
    const bool of_jobs =
        action.trigger == Trigger::on_jobs_ready || action.trigger == Trigger::on_jobs_complete;
    const bool named = !action.jobs.empty() || !action.job_name_regexes.empty();
    if (of_jobs && named && sound && jobs.empty())
      report_.error(action.place, "the action is about no job", "name jobs that there are");
  }
  for (const JobEntry& entry : workflow_.jobs) {
    check_references_in(entry, "invocation_script", entry.invocation_script);
    check_references_in(entry, "command", entry.command);
  }
}

void Expander::check_references_in(const JobEntry& entry, const std::string& key,
                                   const std::string& text) {
  for (const ReferenceText& r : reference_texts(text)) {
    if (r.section != ReferenceText::Section::wrong) continue;
    report_.error(
        place_within(report_.source(), place_of(entry, key), text, r.begin, r.end - r.begin),
        r.message, r.remedy);
  }
}

void Expander::write_actions() {
  for (std::size_t i = 0; i < workflow_.actions.size(); ++i) {
    const Action& action = workflow_.actions[i];
    if (action.kind == Action::Kind::run_commands)
      expansion_.actions.push_back({i, action_jobs_[i]});
  }
}

template <class Entry>
std::string Expander::how_to_tell_apart(const Entry& entry, const Family& family, std::uint64_t a,
                                        std::uint64_t b) const {
  std::string missing;
  bool differ = false;
  std::string texts[2];
  for (std::size_t p = 0; p < family.parameters.size(); ++p) {
    const ParameterValues& values = family.parameters[p].values;
    texts[0].clear();
    texts[1].clear();
    append_value(texts[0], values, family.sweep.position(p, a), Format{});
    append_value(texts[1], values, family.sweep.position(p, b), Format{});
    differ = differ || texts[0] != texts[1];
    if (family.name.uses(p) || count(values) < 2) continue;
    missing += (missing.empty() ? "{" : " and {") + family.parameters[p].name + "}";
  }
  if (parameters_of(entry).empty()) return "rename one of them";
  if (!differ) return "their values are the same: take one of the two out of the list or the table";
  if (!missing.empty()) return fmt::format("put {} into the name", missing);
  return "give the parameters values, or the name a format, that tell them apart";
}

bool Expander::is_alias(Place place) const {
  const Source& source = report_.source();
  const std::size_t at = source.offset_of(place);
  return place.line > 0 && at < source.text().size() && source.text()[at] == '*';
}

template <class Entry>
void Expander::report_clashes(Families& families, std::string_view kind,
                              const std::vector<Entry>& entries) {
  for (const Families::Clash& clash : families.index()) {
    const std::size_t a = families.family_of(clash.first);
    const std::size_t b = families.family_of(clash.second);
    const std::string name = quoted(families.name(clash.first));
    if (a == b) {
      report_.error(
          entries[b].place,
          fmt::format("{} {} and {} of {} would both be named {}", kind,
                      clash.first - families[a].first + 1, clash.second - families[a].first + 1,
                      quoted(entries[a].name), name),
          how_to_tell_apart(entries[a], families[a], clash.first - families[a].first,
                            clash.second - families[a].first));
      continue;
    }
    report_.error(
        entries[b].place,
        fmt::format("two {}{} are named {}: one of {} on line {}, one of {} on line {}", kind,
                    kind == "user data" ? "" : "s", name, quoted(entries[a].name),
                    entries[a].place.line, quoted(entries[b].name), entries[b].place.line),
        is_alias(entries[b].place)
            ? "an alias repeats the name as well: write '<<: *…' in a map with another name"
            : "rename one of them");
  }
}

std::vector<Expander::Upstream> Expander::upstreams_of(std::size_t e) {
  const JobEntry& entry = workflow_.jobs[e];
  const Family& family = jobs_[e];
  std::vector<Upstream> all;
  for (std::size_t i = 0; i < entry.depends_on.size(); ++i) {
    const Place place = place_of(entry, "depends_on", i);
    if (auto map = job_names_.names({&family, entry.depends_on[i], place})) {
      all.push_back({*std::move(map), place, true, Condition::afterok});
    }
  }
  for (std::size_t i = 0; i < entry.depends.size(); ++i) {
    const auto& [condition, name] = entry.depends[i];
    const Place place = place_of(entry, "depends", i);
    if (auto map = job_names_.names({&family, name, place})) {
      all.push_back({*std::move(map), place, true, condition});
    }
  }
  for (std::size_t i = 0; i < entry.depends_on_regexes.size(); ++i) {
    const Place place = place_of(entry, "depends_on_regexes", i);
    if (auto map = job_names_.expression({&family, entry.depends_on_regexes[i], place})) {
      all.push_back({*std::move(map), place, false, Condition::afterok});
    }
  }
  if (around_ != nullptr && around_->after != 0) {
    RangeMap spawner;
    spawner.push({{around_->after, 1}});
    all.push_back({std::move(spawner), {}, false, Condition::afterok});
  }
  for (const JobFiles* files : {&job_files_, &job_data_}) {
    for (const RangeMap& inputs : files->of(e).inputs) {
      RangeMap makers = files->makers(inputs);
      if (!makers.is_empty()) all.push_back({std::move(makers), {}, false, Condition::afterok});
    }
  }
  return all;
}

void Expander::report_self(const Family& family, const Upstream& upstream) {
  std::vector<Range> jobs;
  for (std::uint64_t k = 0; k < family.count; ++k) {
    jobs.clear();
    upstream.jobs.append_to(jobs, k);
    if (jobs.size() == 1 && jobs[0] == Range{family.first + k, 1}) {
      report_.error(upstream.place,
                    fmt::format("job {} depends on itself", quoted(jobs_.name(jobs[0].first))),
                    "take it out of its dependencies");
      return;
    }
  }
}

// Nothing completes and fails.
void Expander::warn_of_both(const Family& family, const std::vector<Upstream>& all) {
  const auto has = [&](Condition condition) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Upstream& u) { return u.condition == condition; });
  };
  if (!has(Condition::afternotok) || !has(Condition::afterok)) return;
  std::uint64_t block = family.count;  // as in add_sets()
  for (const Upstream& upstream : all) {
    if (upstream.jobs.varies()) block = std::min(block, upstream.jobs.period());
  }
  std::vector<Range> completed;
  std::vector<Range> failed;
  for (const Upstream& upstream : all) {
    if (upstream.condition != Condition::afternotok) continue;
    for (std::uint64_t k = 0; k < family.count; k += block) {
      completed.clear();
      failed.clear();
      upstream.jobs.append_to(failed, k);
      for (const Upstream& other : all) {
        if (other.condition == Condition::afterok) other.jobs.append_to(completed, k);
      }
      normalise(completed);
      normalise(failed);
      const std::uint64_t job = first_common(completed, failed);
      if (job == 0) continue;
      std::string name;
      family.append_name(name, k);
      const bool is_here = job >= jobs_[0].first;  // and not in a workflow that is added to
      report_.add(Severity::warning, upstream.place,
                  fmt::format("{} can never start: {} would have to complete, and to fail",
                              quoted(name), is_here ? quoted(jobs_.name(job)) : "a job"),
                  "keep one of the two conditions; afterany is for either end");
      return;
    }
  }
}

void Expander::add_dependencies(std::size_t e) {
  const Family& family = jobs_[e];
  if (family.count == 0) return;
  const std::vector<Upstream> all = upstreams_of(e);
  for (const Upstream& upstream : all) {
    if (upstream.by_name) report_self(family, upstream);
  }
  warn_of_both(family, all);
  for (std::size_t c = 0; c < kConditions; ++c) add_sets(family, all, static_cast<Condition>(c));
}

void Expander::add_sets(const Family& family, const std::vector<Upstream>& all,
                        Condition condition) {
  // Jobs of one block have the same upstreams: the periods of a product divide each other.
  std::uint64_t block = family.count;
  bool any = false;
  for (const Upstream& upstream : all) {
    if (upstream.condition != condition) continue;
    any = true;
    if (upstream.jobs.varies()) block = std::min(block, upstream.jobs.period());
  }
  if (!any) return;
  DependencySetBuilder& sets = sets_[static_cast<std::size_t>(condition)];
  std::vector<Range> ranges;
  std::vector<Range> without_self;
  for (std::uint64_t k = 0; k < family.count; k += block) {
    ranges.clear();
    for (const Upstream& upstream : all) {
      if (upstream.condition == condition) upstream.jobs.append_to(ranges, k);
    }
    normalise(ranges);
    if (ranges.empty()) continue;
    const Range own{family.first + k, block};
    if (ranges.back().end() <= own.first || ranges.front().first >= own.end()) {
      sets.add(ranges, own);
      continue;
    }
    for (std::uint64_t job = own.first; job < own.end(); ++job) {
      without_self = ranges;
      remove(without_self, job);
      if (!without_self.empty()) sets.add(without_self, {job, 1});
    }
  }
}

void Expander::take_sets() {
  expansion_.dependencies = std::move(sets_[0]).take();
  for (std::size_t c = 1; c < kConditions; ++c) {
    for (DependencySet& set : std::move(sets_[c]).take())
      expansion_.conditional.push_back({static_cast<Condition>(c), std::move(set)});
  }
}

// Circles through the same entries are one mistake.
void Expander::report_cycles() {
  const std::uint64_t before = jobs_.total() - jobs_.members();
  std::vector<std::vector<std::uint64_t>> cycles;
  if (before > 0) {
    cycles = find_cycles(jobs_.members(), without_earlier(all_dependencies(expansion_), before));
    for (auto& cycle : cycles) {
      for (std::uint64_t& job : cycle) job += before;
    }
  } else if (expansion_.conditional.empty()) {
    cycles = find_cycles(jobs_.total(), expansion_.dependencies);
  } else {
    cycles = find_cycles(jobs_.total(), all_dependencies(expansion_));
  }
  std::map<std::vector<std::size_t>, std::pair<std::size_t, std::size_t>> alike;  // first, how many
  for (std::size_t c = 0; c < cycles.size(); ++c) {
    std::vector<std::size_t> entries;
    for (const std::uint64_t job : cycles[c]) entries.push_back(jobs_.family_of(job));
    ++alike.try_emplace(std::move(entries), c, 0).first->second.second;
  }
  for (const auto& [entries, found] : alike) report_cycle(cycles[found.first], found.second - 1);
}

void Expander::report_cycle(const std::vector<std::uint64_t>& cycle, std::size_t like_it) {
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::size_t left = cycle.size() - i;
    if (cycle.size() > kMaxCycleShown && i == kMaxCycleShown / 2) {
      const std::size_t skipped = left - kMaxCycleShown / 2;
      text += fmt::format("({} more) -> ", skipped);
      i += skipped;
    }
    text += jobs_.name(cycle[i]) + " -> ";
  }
  text += jobs_.name(cycle.front());
  if (like_it > 0) text += fmt::format(" (and {} more like it)", like_it);
  const JobEntry& entry = workflow_.jobs[jobs_.family_of(cycle.front())];
  report_.error(place_of(entry, "depends_on"), "jobs wait for each other in a circle: " + text,
                "remove one of these dependencies ('->' is 'waits for'; files count too)");
}

void Expander::look_around() {
  Living& living = around_->living;
  living_jobs_ = std::make_unique<LivingJobs>(living, jobs_);
  living_jobs_->look_up_added();
  living_files_ = std::make_unique<LivingFiles>(Kept::files, *living_jobs_, living, files_, paths_);
  living_files_->look_up_added(workflow_.files, report_);
  living_data_ =
      std::make_unique<LivingFiles>(Kept::user_data, *living_jobs_, living, data_, data_paths_);
  living_data_->look_up_added(workflow_.user_data, report_);
  job_names_.look_also_in(*living_jobs_);
  file_names_.look_also_in(*living_files_);
  data_names_.look_also_in(*living_data_);
  job_files_.ask_also(*living_files_);
  job_data_.ask_also(*living_data_);
}

void Expander::write_definitions() {
  if (report_.has_error()) return;
  const auto take = [&](std::vector<Definition> more) {
    expansion_.definitions.insert(expansion_.definitions.end(),
                                  std::make_move_iterator(more.begin()),
                                  std::make_move_iterator(more.end()));
  };
  take(definitions_of(workflow_, around_ == nullptr ? nullptr : &around_->living));
  if (around_ == nullptr) {
    take(define_files(Kept::files, files_, job_files_));
    take(define_files(Kept::user_data, data_, job_data_));
    return;
  }
  compare_known(workflow_, expansion_, *living_jobs_, report_);
  leave_known_out(expansion_, *living_jobs_);
  take(living_files_->definitions(job_files_));
  take(living_data_->definitions(job_data_));
}

void Expander::write_entries() {
  EntryWriter writer(workflow_, files_, paths_, data_, report_);
  if (around_ != nullptr) {
    writer.begin_addition(around_->resources,
                          [this](std::uint64_t job) { return living_jobs_->is_there(job); });
  }
  for (std::size_t e = 0; e < jobs_.size(); ++e) {
    writer.write(workflow_.jobs[e], jobs_[e], job_files_.of(e), job_data_.of(e),
                 expansion_.entries);
  }
}

void Expander::write_user_data() {
  // Behind those of the file may be some of the workflow that it adds to.
  for (std::size_t d = 0; d < workflow_.user_data.size(); ++d) {
    const UserDataEntry& entry = workflow_.user_data[d];
    if (data_[d].count == 0) continue;
    const std::uint64_t maker = job_data_.maker(data_[d].first);
    const bool is_known = maker == 0 || !living_jobs_;
    expansion_.user_data.push_back({entry.name, entry.data, entry.is_ephemeral,
                                    is_known ? maker : living_jobs_->number_of(maker)});
  }
  if (!living_data_) return;
  for (auto& [name, maker] : living_data_->newly_made(job_data_))
    expansion_.user_data.push_back({std::move(name), "", false, maker, true});
}

}  // namespace

// Cuts the jobs where any set of members begins or ends; between two cuts all wait for the same.
std::vector<DependencySet> all_dependencies(const Expansion& expansion) {
  if (expansion.conditional.empty()) return expansion.dependencies;
  struct Cut {
    std::uint64_t at;
    const DependencySet* set;
    bool begins;
  };
  std::vector<Cut> cuts;
  const auto add = [&](const DependencySet& set) {
    for (const Range& r : set.members) {
      cuts.push_back({r.first, &set, true});
      cuts.push_back({r.end(), &set, false});
    }
  };
  for (const DependencySet& set : expansion.dependencies) add(set);
  for (const ConditionalSet& one : expansion.conditional) add(one.set);
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.at < b.at; });
  DependencySetBuilder sets;
  std::vector<const DependencySet*> open;
  std::vector<Range> upstream;
  for (std::size_t i = 0; i < cuts.size();) {
    const std::uint64_t at = cuts[i].at;
    for (; i < cuts.size() && cuts[i].at == at; ++i) {
      if (cuts[i].begins)
        open.push_back(cuts[i].set);
      else
        std::erase(open, cuts[i].set);
    }
    if (open.empty()) continue;
    upstream.clear();
    for (const DependencySet* set : open)
      upstream.insert(upstream.end(), set->upstream.begin(), set->upstream.end());
    normalise(upstream);
    sets.add(upstream, {at, cuts[i].at - at});
  }
  return std::move(sets).take();
}

Expansion expand(const Workflow& draft, Report& report) {
  return Expander(draft, report).run();
}

Expansion expand_addition(const Workflow& draft, const Surroundings& around, Report& report) {
  return Expander(draft, report, &around).run();
}

Expanded expand(const Workflow& workflow, std::string_view text, const std::string& file) {
  const Source source(text, file);
  Report report(source);
  Expanded result;
  Expansion expansion = Expander(workflow, report).run();
  if (!report.has_error()) result.expansion = std::move(expansion);
  result.diagnostics = std::move(report).sorted();
  return result;
}

}  // namespace torc::spec
