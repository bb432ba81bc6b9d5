#include "lib/spec/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/spec/cycle.h"
#include "lib/spec/dependency_sets.h"
#include "lib/spec/entry_writer.h"
#include "lib/spec/families.h"
#include "lib/spec/job_files.h"
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

bool has_empty_name(const Family& family) {
  const auto& pieces = family.name.pieces();
  if (std::any_of(pieces.begin(), pieces.end(),
                  [](const Piece& p) { return p.kind == Piece::Kind::literal; })) {
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

class Expander {
 public:
  Expander(const Workflow& workflow, std::string_view text, const std::string& file)
      : workflow_(workflow),
        source_(text, file),
        report_(source_),
        job_names_(jobs_, "job", report_),
        file_names_(files_, "file", report_),
        job_files_(jobs_, files_, file_names_, report_) {}

  Expanded run() {
    if (add_files() && add_jobs()) {
      report_clashes(files_, "file", workflow_.files);
      report_clashes(jobs_, "job", workflow_.jobs);
      for (std::size_t e = 0; e < jobs_.size(); ++e) job_files_.add(workflow_.jobs[e], jobs_[e]);
      for (std::size_t e = 0; e < jobs_.size(); ++e) add_dependencies(e);
      expansion_.dependencies = std::move(sets_).take();
      report_cycle();
      write_entries();
    }
    Expanded result;
    if (!report_.has_error()) {
      expansion_.jobs = jobs_.total();
      result.expansion = std::move(expansion_);
    }
    result.diagnostics = std::move(report_).sorted();
    return result;
  }

 private:
  // What an entry's jobs wait for, by one of its references.
  struct Upstream {
    RangeMap jobs;
    Place place;
    bool by_name = false;
  };

  bool add_files();
  bool add_jobs();
  template <class Entry>
  Family family_of(const Entry& entry, Resolver& resolver);
  template <class Entry>
  bool is_within_limit(const Families& families, const Entry& entry, std::string_view kind);
  template <class Entry>
  void report_clashes(Families& families, std::string_view kind, const std::vector<Entry>& entries);
  template <class Entry>
  [[nodiscard]] std::string how_to_tell_apart(const Entry& entry, const Family& family) const;

  std::vector<Upstream> upstreams_of(std::size_t e);
  void report_self(const Family& family, const Upstream& upstream);
  void add_dependencies(std::size_t e);
  void report_cycle();
  void write_entries();

  const Workflow& workflow_;
  Source source_;
  Report report_;
  Families jobs_;
  Families files_;
  Resolver job_names_;
  Resolver file_names_;
  JobFiles job_files_;
  std::vector<Pattern> paths_;
  DependencySetBuilder sets_;
  Expansion expansion_;
};

// An entry that is broken becomes a family of none, so that positions stay those of the entries.
template <class Entry>
Family Expander::family_of(const Entry& entry, Resolver& resolver) {
  Family family;
  family.text = entry.name;
  family.parameters = entry.parameters;
  const auto broken = [&](std::string what, std::string remedy) {
    report_.error(entry.place, std::move(what), std::move(remedy));
    resolver.forgive(family.name.prefix());
    family.parameters = {};
    family.name = Pattern();
    family.sweep =
        Sweep(std::vector<Parameter>{{"", std::vector<ParameterValue>{}}}, ParameterMode::product);
    return family;
  };
  auto name = Pattern::compile(entry.name, entry.parameters);
  if (!name) return broken(name.error().what, name.error().remedy);
  family.name = *std::move(name);
  for (const Parameter& p : entry.parameters) {
    const Parameter& first = entry.parameters.front();
    if (count(p.values) == 0) {
      return broken(
          fmt::format("parameter {} of {} has no values", quoted(p.name), quoted(entry.name)),
          "give it at least one");
    }
    if (entry.mode == ParameterMode::zip && count(p.values) != count(first.values)) {
      return broken(fmt::format("parameters {} and {} of {} are zipped but have {} and {} values",
                                quoted(first.name), quoted(p.name), quoted(entry.name),
                                count(first.values), count(p.values)),
                    "give both the same number of values, or use parameter_mode: product");
    }
  }
  family.sweep = Sweep(entry.parameters, entry.mode);
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

bool Expander::add_files() {
  for (const FileEntry& entry : workflow_.files) {
    files_.add(family_of(entry, file_names_));
    if (!is_within_limit(files_, entry, "file")) return false;
    auto path = Pattern::compile(entry.path, entry.parameters);
    if (!path) {
      const auto place = entry.places.find("path");
      report_.error(place == entry.places.end() ? entry.place : place->second, path.error().what,
                    path.error().remedy);
    }
    paths_.push_back(path ? *std::move(path) : Pattern());
  }
  return true;
}

bool Expander::add_jobs() {
  for (const JobEntry& entry : workflow_.jobs) {
    jobs_.add(family_of(entry, job_names_));
    if (!is_within_limit(jobs_, entry, "job")) return false;
  }
  return true;
}

template <class Entry>
std::string Expander::how_to_tell_apart(const Entry& entry, const Family& family) const {
  std::string missing;
  for (std::size_t p = 0; p < entry.parameters.size(); ++p) {
    if (family.name.uses(p) || count(entry.parameters[p].values) < 2) continue;
    missing += (missing.empty() ? "{" : " and {") + entry.parameters[p].name + "}";
  }
  if (!missing.empty()) return fmt::format("put {} into the name", missing);
  return "give the parameters values, or the name a format, that tell them apart";
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
          how_to_tell_apart(entries[a], families[a]));
      continue;
    }
    report_.error(entries[b].place,
                  fmt::format("two {}s are named {}: one of {} on line {}, one of {} on line {}",
                              kind, name, quoted(entries[a].name), entries[a].place.line,
                              quoted(entries[b].name), entries[b].place.line),
                  "rename one of them");
  }
}

std::vector<Expander::Upstream> Expander::upstreams_of(std::size_t e) {
  const JobEntry& entry = workflow_.jobs[e];
  const Family& family = jobs_[e];
  std::vector<Upstream> all;
  for (std::size_t i = 0; i < entry.depends_on.size(); ++i) {
    const Place place = place_of(entry, "depends_on", i);
    if (auto map = job_names_.names({&family, entry.depends_on[i], place})) {
      all.push_back({*std::move(map), place, true});
    }
  }
  for (std::size_t i = 0; i < entry.depends_on_regexes.size(); ++i) {
    const Place place = place_of(entry, "depends_on_regexes", i);
    if (auto map = job_names_.expression({&family, entry.depends_on_regexes[i], place})) {
      all.push_back({*std::move(map), place, false});
    }
  }
  for (const RangeMap& inputs : job_files_.of(e).inputs) {
    RangeMap makers = job_files_.makers(inputs);
    if (!makers.is_empty()) all.push_back({std::move(makers), {}, false});
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
                    "take it out of depends_on");
      return;
    }
  }
}

void Expander::add_dependencies(std::size_t e) {
  const Family& family = jobs_[e];
  if (family.count == 0) return;
  const std::vector<Upstream> all = upstreams_of(e);
  if (all.empty()) return;
  // Jobs of one block have the same upstreams: the periods of a product divide each other.
  std::uint64_t block = family.count;
  for (const Upstream& upstream : all) {
    if (upstream.jobs.varies()) block = std::min(block, upstream.jobs.period());
    if (upstream.by_name) report_self(family, upstream);
  }
  std::vector<Range> ranges;
  std::vector<Range> without_self;
  for (std::uint64_t k = 0; k < family.count; k += block) {
    ranges.clear();
    for (const Upstream& upstream : all) upstream.jobs.append_to(ranges, k);
    normalise(ranges);
    if (ranges.empty()) continue;
    const Range own{family.first + k, block};
    if (ranges.back().end() <= own.first || ranges.front().first >= own.end()) {
      sets_.add(ranges, own);
      continue;
    }
    for (std::uint64_t job = own.first; job < own.end(); ++job) {
      without_self = ranges;
      remove(without_self, job);
      if (!without_self.empty()) sets_.add(without_self, {job, 1});
    }
  }
}

void Expander::report_cycle() {
  const std::vector<std::uint64_t> cycle = find_cycle(jobs_.total(), expansion_.dependencies);
  if (cycle.empty()) return;
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
  const JobEntry& entry = workflow_.jobs[jobs_.family_of(cycle.front())];
  report_.error(place_of(entry, "depends_on"), "jobs wait for each other in a circle: " + text,
                "remove one of these dependencies ('->' is 'waits for'; files count too)");
}

void Expander::write_entries() {
  EntryWriter writer(workflow_, files_, paths_, report_);
  for (std::size_t e = 0; e < jobs_.size(); ++e) {
    writer.write(workflow_.jobs[e], jobs_[e], job_files_.of(e), expansion_.entries);
  }
}

}  // namespace

Expanded expand(const Workflow& workflow, std::string_view text, const std::string& file) {
  return Expander(workflow, text, file).run();
}

}  // namespace torc::spec
