#include "lib/spec/expand/entry_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/labels.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/expand/reference.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/spec/sweep/sweep.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

template <class Named>
std::string suggestion(const Report& report, std::string_view name, const std::vector<Named>& known,
                       std::string_view section) {
  const std::string near = report.guess(name, [&] { return names_of(known); });
  if (!near.empty()) return fmt::format("did you mean {}?", torc::quoted(near));
  return fmt::format("define it under {}", section);
}

// The maps of the jobs of a run, counted from its first.
std::vector<RangeMap> cut(const std::vector<RangeMap>& maps, Range run, std::uint64_t whole) {
  if (run.count == whole) return maps;
  std::vector<RangeMap> result;
  std::vector<Range> ranges;
  for (const RangeMap& map : maps) {
    RangeMap& part = result.emplace_back(1, run.count);
    for (std::uint64_t k = run.first; k < run.end(); ++k) {
      ranges.clear();
      map.append_to(ranges, k);
      part.push(ranges);
    }
  }
  return result;
}

}  // namespace

EntryWriter::EntryWriter(const Workflow& workflow, const Families& files,
                         const std::vector<Pattern>& paths, const Families& user_data,
                         Report& report)
    : workflow_(workflow), files_(files), paths_(paths), user_data_(user_data), report_(report) {
  for (const auto& r : workflow.resource_requirements) resources_.emplace(r.name, &r);
  for (const auto& s : workflow.slurm_schedulers) schedulers_.insert(s.name);
  for (std::size_t f = 0; f < files.size(); ++f)
    longest_path_ = std::max(longest_path_, paths[f].bound(files[f].parameters));
}

void EntryWriter::check_lengths(const JobEntry& entry, const Family& family, const Texts& texts,
                                const Things& things) {
  // A bound settles all but hopeless cases without a look at a million texts.
  const auto first_beyond = [&](std::uint64_t bound, std::uint64_t limit,
                                const auto& text) -> std::optional<std::uint64_t> {
    for (std::uint64_t k = 0; bound > limit && k < family.count; ++k) {
      if (text(k).size() > limit) return k;
    }
    return {};
  };
  const auto name = [&](std::uint64_t k) { return family.name_of(k); };
  if (const auto k = first_beyond(family.name.bound(family.parameters), kMaxNameBytes, name)) {
    report_.error(entry.place,
                  fmt::format("the name {} has {} bytes; the limit is {}", torc::quoted(name(*k)),
                              name(*k).size(), kMaxNameBytes),
                  "shorten it");
    return;
  }
  const auto check_command = [&](const Pattern& pattern, std::size_t alternative,
                                 const std::string& key) {
    const std::uint64_t bound = texts.invocation_script.bound(family.parameters, longest_path_) +
                                1 + pattern.bound(family.parameters, longest_path_);
    // Only a sound entry has a recipe.
    if (bound <= kMaxArgumentBytes || report_.has_error()) return;
    const auto whole = Recipe::decode(recipe(entry, family, texts, things, {0, family.count}));
    const auto command = [&](std::uint64_t k) { return whole->render(k).command_by(alternative); };
    const auto k = whole.ok() ? first_beyond(bound, kMaxArgumentBytes, command) : std::nullopt;
    if (k) {
      report_.error(entry.place_of(key),
                    fmt::format("the command of {} has {} bytes; Linux starts none of more than {}",
                                torc::quoted(name(*k)), command(*k).size(), kMaxArgumentBytes),
                    "put it into a script, and run that");
    }
  };
  check_command(texts.command, texts.commands.size(), "command");
  for (std::size_t i = 0; i < texts.commands.size(); ++i)
    check_command(texts.commands[i], i, command_key(i));
  for (const auto& [key, pattern] : texts.env) {
    const std::uint64_t limit = kMaxArgumentBytes - key.size() - 1;
    const Pattern& value = pattern;
    const auto text = [&](std::uint64_t k) { return family.filled(value, k); };
    if (const auto k = first_beyond(value.bound(family.parameters), limit, text)) {
      report_.error(entry.place_of("env"),
                    fmt::format("the variable {} of {} has {} bytes; Linux takes none of more than "
                                "{} with its name",
                                torc::quoted(key), torc::quoted(name(*k)), text(*k).size(),
                                kMaxArgumentBytes),
                    "put it into a file");
    }
  }
}

bool EntryWriter::compile(const JobEntry& entry, Texts& texts) {
  bool ok = true;
  const auto take = [&](Result<Pattern> pattern, const std::string& text, const std::string& key) {
    if (pattern) return *std::move(pattern);
    report_bad_placeholders(report_, entry.place_of(key), text, entry.parameters);
    ok = false;
    return Pattern();
  };
  const auto one = [&](const std::string& text, const std::string& key) {
    return take(Pattern::compile(text, entry.parameters), text, key);
  };
  Pattern::Named named;
  const auto command = [&](const std::string& text, const std::string& key) {
    return take(Pattern::compile_command(text, entry.parameters, named), text, key);
  };
  texts.invocation_script = command(entry.invocation_script, "invocation_script");
  texts.command = command(entry.command, "command");
  for (std::size_t i = 0; i < entry.one_of.size(); ++i)
    texts.commands.push_back(command(entry.one_of[i].command, command_key(i)));
  texts.resources = one(entry.resource_requirements, "resource_requirements");
  texts.scheduler = one(entry.scheduler, "scheduler");
  texts.was = one(entry.was, "was");
  for (std::size_t i = 0; i < entry.labels.size(); ++i)
    texts.labels.push_back(one(entry.labels[i], entry.labels_key()));
  for (const auto& [key, value] : entry.env) texts.env.emplace_back(key, one(value, "env"));
  return ok;
}

// Those that do not vary were looked at when the spec was read.
std::string EntryWriter::labels_of(const JobEntry& entry, const Texts& texts, const Family& family,
                                   std::uint64_t k) const {
  std::vector<std::string> filled;
  filled.reserve(texts.labels.size());
  for (const Pattern& pattern : texts.labels) {
    filled.push_back(family.filled(pattern, k));
    const std::string& label = filled.back();
    if (!pattern.has_parameters() ||
        (!trimmed(label).empty() && label.find(',') == std::string::npos))
      continue;
    report_.error(entry.place_of(entry.labels_key()),
                  label.empty() ? std::string("a label is empty")
                                : fmt::format("the label {} is not one", torc::quoted(label)),
                  "a label is a word without commas");
  }
  return join_labels({filled.begin(), filled.end()});
}

EntryWriter::Terms EntryWriter::terms_of(const JobEntry& entry, const Texts& texts,
                                         const Family& family, std::uint64_t k) const {
  return {family.filled(texts.resources, k), family.filled(texts.scheduler, k),
          labels_of(entry, texts, family, k), is_there_ && is_there_(family.first + k)};
}

// Names that do not vary were looked up when the spec was read.
const ResourceRequirements* EntryWriter::resources_of(const JobEntry& entry, const Texts& texts,
                                                      const Terms& terms) {
  if (texts.scheduler.has_parameters() && !terms.scheduler.empty() &&
      !schedulers_.contains(terms.scheduler)) {
    report_.error(
        entry.place_of("scheduler"),
        fmt::format("no scheduler is named {}", torc::quoted(terms.scheduler)),
        suggestion(report_, terms.scheduler, workflow_.slurm_schedulers, "slurm_schedulers"));
  }
  if (terms.resources.empty()) return &default_;
  const auto found = resources_.find(terms.resources);
  if (found != resources_.end()) return found->second;
  if (!texts.resources.has_parameters()) return &default_;
  report_.error(entry.place_of("resource_requirements"),
                fmt::format("no resource requirements are named {}", torc::quoted(terms.resources)),
                suggestion(report_, terms.resources, workflow_.resource_requirements,
                           "resource_requirements"));
  return &default_;
}

void EntryWriter::check_nodes(const JobEntry& entry, const ResourceRequirements& needs) {
  const auto of_several = [](const Resources& r) { return r.nodes > 1; };
  if (needs.one_of.empty() || std::ranges::none_of(choices_of(needs), of_several)) return;
  report_.error(entry.place_of_need({"num_nodes"}),
                fmt::format("job {} needs several nodes, and one_of is for jobs of one node",
                            torc::quoted(entry.name)),
                "leave num_nodes or one_of out");
}

void EntryWriter::write(const JobEntry& entry, const Family& family, const EntryFiles& files,
                        const EntryFiles& user_data, std::vector<ExpandedEntry>& out) {
  const Things things{files, user_data};
  Texts texts;
  if (!compile(entry, texts) || family.count == 0) return;
  check_lengths(entry, family, texts, things);
  const bool varies = texts.resources.has_parameters() || texts.scheduler.has_parameters() ||
                      std::ranges::any_of(texts.labels, &Pattern::has_parameters) || is_there_;
  Terms terms = terms_of(entry, texts, family, 0);
  for (std::uint64_t begin = 0; begin < family.count;) {
    std::uint64_t end = varies ? begin + 1 : family.count;
    Terms next;
    for (; end < family.count; ++end) {
      next = terms_of(entry, texts, family, end);
      if (next != terms) break;
    }
    const Range run{begin, end - begin};
    ExpandedEntry expanded;
    expanded.first = family.first + begin;
    expanded.count = run.count;
    expanded.resources = entry.needs_with(resources_of(entry, texts, terms));
    check_nodes(entry, expanded.resources);
    expanded.scheduler = terms.scheduler;
    expanded.labels = terms.labels;
    expanded.priority = entry.priority;
    expanded.there = terms.there;
    expanded.source = static_cast<std::size_t>(&entry - workflow_.jobs.data());
    // After an error nobody reads the recipe.
    if (!report_.has_error()) expanded.recipe = recipe(entry, family, texts, things, run);
    if (!report_.has_error() && !entry.was.empty())
      expanded.former_names = former_names(entry, family, texts, run);
    bytes_ += expanded.recipe.size() + expanded.former_names.size();
    out.push_back(std::move(expanded));
    terms = std::move(next);
    begin = end;
  }
  if (bytes_ > kMaxRecipeBytes && !report_.has_error()) {
    report_.error(entry.place,
                  fmt::format("the jobs up to this one need more than {} MiB to describe",
                              kMaxRecipeBytes >> 20),
                  "write jobs and files that are alike as one entry with parameters");
  }
}

std::vector<EntryWriter::Needed> EntryWriter::needed(const Families& families,
                                                     const std::vector<RangeMap>& maps) {
  std::vector<Range> all;
  for (const RangeMap& map : maps) {
    for (std::uint64_t n = 0; n < map.modulus(); ++n) {
      const std::size_t before = all.size();
      map.append_to(all, n * map.period());
      if (before > 0 && all.size() == before + 1 && all[before - 1].end() == all[before].first) {
        all[before - 1].count += all[before].count;
        all.pop_back();
      }
    }
  }
  normalise(all);
  std::vector<Needed> result;
  std::uint64_t local = 1;
  for (const Range& range : all) {
    for (std::uint64_t f = range.first; f < range.end();) {
      const std::size_t family = families.family_of(f);
      const std::uint64_t end = std::min(range.end(), families[family].end());
      if (!result.empty() && result.back().family == family) {
        local += end - result.back().end;
        result.back().end = end;
      } else {
        result.push_back({family, f, end, local});
        local += end - f;
      }
      f = end;
    }
  }
  return result;
}

template <class Mode, class Text>
void EntryWriter::keep(const EntryFiles& of, const Families& families, const Mode& mode,
                       const Text& text, Range run, std::uint64_t whole, Kept& kept,
                       TakenAndMade& out) {
  if (of.inputs.empty() && of.outputs.empty()) return;
  std::vector<RangeMap>& maps = kept.maps;
  maps = cut(of.inputs, run, whole);
  for (RangeMap& map : cut(of.outputs, run, whole)) maps.push_back(std::move(map));
  const std::vector<Needed> slices = needed(families, maps);
  kept.sweeps.reserve(slices.size());
  for (const Needed& slice : slices) {
    const Family& f = families[slice.family];
    const ParameterMode combined = mode(slice.family);
    kept.sweeps.push_back(
        narrow(f.parameters, combined, slice.lowest - f.first, slice.end - slice.lowest));
    const NarrowSweep& sweep = kept.sweeps.back();
    out.tables.push_back(
        {{sweep.parameters, combined, sweep.offset, slice.end - slice.lowest}, text(slice.family)});
  }
  std::vector<Range> ranges;
  for (RangeMap& map : maps) {
    RangeMap local(map.period(), map.modulus());
    for (std::uint64_t n = 0; n < map.modulus(); ++n) {
      ranges.clear();
      map.append_to(ranges, n * map.period());
      for (Range& range : ranges) {
        const auto above = std::ranges::upper_bound(slices, range.first, {}, &Needed::lowest);
        const Needed& slice = *std::prev(above);
        range.first = slice.local + (range.first - slice.lowest);
      }
      local.push(ranges);
    }
    map = std::move(local);
  }
  for (std::size_t m = 0; m < maps.size(); ++m)
    (m < of.inputs.size() ? out.inputs : out.outputs).push_back(&maps[m]);
}

Window EntryWriter::window(const JobEntry& entry, const Family& family, Range run,
                           NarrowSweep& narrowed) {
  if (run.count == family.count) return {entry.parameters, entry.mode, 0, family.count};
  narrowed = narrow(entry.parameters, entry.mode, run.first, run.count);
  return {narrowed.parameters, entry.mode, narrowed.offset, run.count};
}

std::string EntryWriter::former_names(const JobEntry& entry, const Family& family,
                                      const Texts& texts, Range run) {
  const Pattern none;
  NarrowSweep narrowed;
  RecipeParts parts;
  parts.window = window(entry, family, run, narrowed);
  parts.name = &texts.was;
  parts.invocation_script = parts.command = &none;
  return encode_recipe(parts);
}

std::string EntryWriter::recipe(const JobEntry& entry, const Family& family, const Texts& texts,
                                const Things& things, Range run) const {
  RecipeParts parts;
  NarrowSweep narrowed;
  parts.window = window(entry, family, run, narrowed);
  parts.name = &family.name;
  parts.invocation_script = &texts.invocation_script;
  parts.command = &texts.command;
  for (std::size_t i = 0; i < texts.commands.size(); ++i) {
    if (!entry.one_of[i].command.empty()) parts.commands.emplace_back(i, &texts.commands[i]);
  }
  for (const auto& [key, value] : texts.env) parts.env.emplace_back(key, &value);
  parts.checkpoint_exit_code = entry.checkpoint_exit_code;
  parts.allow_missing_outputs =
      entry.allow_missing_outputs.value_or(workflow_.allow_missing_outputs);
  parts.launch = entry.launch;
  parts.stdio = entry.stdio.value_or(workflow_.execution.stdio);
  if (parts.stdio.by_size) parts.stdio.mode = usual_mode_;
  Kept files;
  keep(
      things.files, files_, [&](std::size_t f) { return files_[f].mode; },
      [&](std::size_t f) { return &paths_[f]; }, run, family.count, files, parts.files);
  Kept user_data;
  keep(
      things.user_data, user_data_, [&](std::size_t f) { return user_data_[f].mode; },
      [&](std::size_t f) { return &user_data_[f].name; }, run, family.count, user_data,
      parts.user_data);
  return encode_recipe(parts);
}

}  // namespace torc::spec
