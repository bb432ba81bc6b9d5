#include "lib/spec/expand/entry_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "lib/base/limits.h"
#include "lib/base/text/quote.h"
#include "lib/spec/language/format.h"
#include "lib/spec/sweep/sweep.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

// A value with a line break or the like that would get into names; empty: none.
std::string unprintable_value(const Family& family) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  for (std::size_t p = 0; p < family.parameters.size(); ++p) {
    const auto* list = std::get_if<std::vector<ParameterValue>>(&family.parameters[p].values);
    if (list == nullptr || !family.name.uses(p)) continue;
    for (const ParameterValue& value : *list) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr && std::ranges::any_of(*text, is_control)) return *text;
    }
  }
  return {};
}

// Whether some value of the parameter fills the placeholder with nothing.
bool may_be_empty(const Family& family, const Piece& piece) {
  if (piece.kind == Piece::Kind::literal || piece.format.width > 0) return false;
  const auto* list =
      std::get_if<std::vector<ParameterValue>>(&family.parameters[piece.index].values);
  return list != nullptr && std::ranges::any_of(*list, [](const ParameterValue& v) {
           const auto* text = std::get_if<std::string>(&v);
           return text != nullptr && text->empty();
         });
}

// Asked before it is known that the combinations are few enough to go through.
bool has_empty_name(const Family& family) {
  const auto& pieces = family.name.pieces();
  if (!std::ranges::all_of(pieces, [&](const Piece& p) { return may_be_empty(family, p); })) {
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

// An entry that is broken becomes a family of none, so that positions stay those of the entries.
Family family_of(const Entry& entry, std::string_view path, Resolver& resolver, Report& report) {
  Family family;
  family.text = entry.name;
  family.parameters = entry.parameters;
  const auto left_out = [&] {
    if (!entry.name.empty()) resolver.forgive(entry.name);
    family.parameters = {};
    family.name = Pattern();
    family.sweep =
        Sweep(std::vector<Parameter>{{"", std::vector<ParameterValue>{}}}, ParameterMode::product);
    return family;
  };
  const auto broken = [&](std::string what, std::string remedy) {
    report.error(entry.place, std::move(what), std::move(remedy));
    return left_out();
  };
  if (!entry.sound) return left_out();
  auto name = Pattern::compile(entry.name, family.parameters);
  if (!name) {
    report_bad_placeholders(report, entry.place, entry.name, family.parameters);
    return left_out();
  }
  family.name = *std::move(name);
  family.mode = entry.mode;
  family.path = path;
  for (const Parameter& p : family.parameters) {
    const Parameter& first = family.parameters.front();
    if (count(p.values) == 0) {
      return broken(fmt::format("parameter {} of {} has no values", torc::quoted(p.name),
                                torc::quoted(entry.name)),
                    "give it at least one");
    }
    if (entry.mode == ParameterMode::zip && count(p.values) != count(first.values)) {
      return broken(fmt::format("parameters {} and {} of {} are zipped but have {} and {} values",
                                torc::quoted(first.name), torc::quoted(p.name),
                                torc::quoted(entry.name), count(first.values), count(p.values)),
                    "give both the same number of values, or use parameter_mode: product");
    }
  }
  family.sweep = Sweep(family.parameters, entry.mode);
  if (const std::string bad = unprintable_value(family); !bad.empty()) {
    return broken(fmt::format("the value {} has control characters, but is part of the name {}",
                              torc::quoted(bad), torc::quoted(entry.name)),
                  "take it out of the name");
  }
  if (has_empty_name(family)) {
    return broken(fmt::format("{} gives an empty name", torc::quoted(entry.name)),
                  "put a word before the placeholder");
  }
  return family;
}

bool is_within_limit(const Families& families, const Entry& entry, std::string_view kind,
                     Report& report) {
  if (families.total() <= kMaxJobs) return true;
  report.error(entry.place,
               fmt::format("with {} the workflow has {} {}s or more", torc::quoted(entry.name),
                           families.total(), kind),
               fmt::format("a workflow can have {} {}s; take fewer values, or let one job do "
                           "several steps",
                           kMaxJobs, kind));
  return false;
}

std::string how_to_tell_apart(const Entry& entry, const Family& family, std::uint64_t a,
                              std::uint64_t b) {
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
  if (entry.parameters.empty()) return "rename one of them";
  if (!differ) return "their values are the same: take one of the two out of the list or the table";
  if (!missing.empty()) return fmt::format("put {} into the name", missing);
  return "give the parameters values, or the name a format, that tell them apart";
}

bool is_alias(const Source& source, Place place) {
  const std::size_t at = source.offset_of(place);
  return place.line > 0 && at < source.text().size() && source.text()[at] == '*';
}

}  // namespace

template <class One>
bool add_families(const std::vector<One>& entries, std::string_view kind, Families& families,
                  Resolver& resolver, Report& report) {
  for (const One& entry : entries) {
    std::string_view path;
    if constexpr (requires { entry.path; }) path = entry.path;
    families.add(family_of(entry, path, resolver, report));
    if (!is_within_limit(families, entry, kind, report)) return false;
  }
  return true;
}

template <class One>
void report_clashes(const std::vector<One>& entries, std::string_view kind, Families& families,
                    Report& report) {
  for (const Families::Clash& clash : families.index()) {
    const std::size_t a = families.family_of(clash.first);
    const std::size_t b = families.family_of(clash.second);
    const std::string name = torc::quoted(families.name(clash.first));
    if (a == b) {
      report.error(
          entries[b].place,
          fmt::format("{} {} and {} of {} would both be named {}", kind,
                      clash.first - families[a].first + 1, clash.second - families[a].first + 1,
                      torc::quoted(entries[a].name), name),
          how_to_tell_apart(entries[a], families[a], clash.first - families[a].first,
                            clash.second - families[a].first));
      continue;
    }
    report.error(
        entries[b].place,
        fmt::format("two {}{} are named {}: one of {} on line {}, one of {} on line {}", kind,
                    kind == "user data" ? "" : "s", name, torc::quoted(entries[a].name),
                    entries[a].place.line, torc::quoted(entries[b].name), entries[b].place.line),
        is_alias(report.source(), entries[b].place)
            ? "an alias repeats the name as well: write '<<: *…' in a map with another name"
            : "rename one of them");
  }
}

std::vector<Pattern> paths_of(const std::vector<FileEntry>& entries, const Families& files,
                              Report& report) {
  std::vector<Pattern> paths;
  for (const FileEntry& entry : entries) {
    auto path = Pattern::compile(entry.path, entry.parameters);
    if (!path)
      report_bad_placeholders(report, entry.place_of("path"), entry.path, entry.parameters);
    // What was left out has no parameters any more that its path could name.
    const bool left_out = files[paths.size()].count == 0;
    paths.push_back(path && !left_out ? *std::move(path) : Pattern());
  }
  return paths;
}

template bool add_families(const std::vector<JobEntry>&, std::string_view, Families&, Resolver&,
                           Report&);
template void report_clashes(const std::vector<JobEntry>&, std::string_view, Families&, Report&);
template bool add_families(const std::vector<FileEntry>&, std::string_view, Families&, Resolver&,
                           Report&);
template void report_clashes(const std::vector<FileEntry>&, std::string_view, Families&, Report&);
template bool add_families(const std::vector<UserDataEntry>&, std::string_view, Families&,
                           Resolver&, Report&);
template void report_clashes(const std::vector<UserDataEntry>&, std::string_view, Families&,
                             Report&);

}  // namespace torc::spec
