#include "lib/spec/job_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "lib/spec/diagnostic.h"
#include "lib/spec/pattern.h"

namespace torc::spec {

void JobFiles::add(const JobEntry& entry, const Family& family) {
  if (makers_.empty()) makers_.resize(files_.total() + 1);
  entries_.emplace_back();
  if (family.count == 0) return;
  add_command(entry, family, entries_.back());
  add_lists(entry, family, entries_.back());
}

void JobFiles::add_command(const JobEntry& entry, const Family& family, EntryFiles& files) {
  if (entry.command.find("${files.") == std::string::npos) return;
  std::vector<FileReference> references;
  // A bad format in the command is reported where its recipe is written.
  if (!Pattern::compile_command(entry.command, entry.parameters, references)) return;
  const Place place = place_of(entry, "command");
  for (const FileReference& reference : references) {
    auto map = resolver_.names({&family, reference.name, place});
    if (!map) continue;
    std::vector<Range> found;
    for (std::uint64_t n = 0; n < map->modulus(); ++n) {
      found.clear();
      map->append_to(found, n * map->period());
      if (total(found) == 1) continue;
      report_.error(place,
                    fmt::format("{} in the command stands for {} files", quoted(reference.name),
                                total(found)),
                    "name one file here, and the others in input_files or output_files");
      break;
    }
    if (reference.side == FileSide::output) {
      claim(family, *map, place);
      files.outputs.push_back(*std::move(map));
    } else {
      files.inputs.push_back(*std::move(map));
    }
  }
}

void JobFiles::add_lists(const JobEntry& entry, const Family& family, EntryFiles& files) {
  const auto each = [&](const std::vector<std::string>& list, std::string_view key,
                        const auto& resolve, const auto& use) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Place place = place_of(entry, key, i);
      if (auto map = resolve(Reference{&family, list[i], place})) use(*std::move(map), place);
    }
  };
  const auto names = [&](const Reference& r) { return resolver_.names(r); };
  const auto expression = [&](const Reference& r) { return resolver_.expression(r); };
  const auto input = [&](RangeMap map, Place) { files.inputs.push_back(std::move(map)); };
  const auto output = [&](RangeMap map, Place place) {
    claim(family, map, place);
    files.outputs.push_back(std::move(map));
  };
  each(entry.input_files, "input_files", names, input);
  each(entry.input_file_regexes, "input_file_regexes", expression, input);
  each(entry.output_files, "output_files", names, output);
  each(entry.output_file_regexes, "output_file_regexes", expression, output);
}

void JobFiles::claim(const Family& family, const RangeMap& outputs, Place place) {
  std::vector<Range> made;
  for (std::uint64_t k = 0; k < family.count; ++k) {
    made.clear();
    outputs.append_to(made, k);
    const auto job = static_cast<std::uint32_t>(family.first + k);
    for (const Range& range : made) {
      for (std::uint64_t f = range.first; f < range.end(); ++f) {
        if (makers_[f] == 0) makers_[f] = job;
        if (makers_[f] == job) continue;
        report_.error(place,
                      fmt::format("two jobs output the file {}: {} and {}", quoted(files_.name(f)),
                                  quoted(jobs_.name(makers_[f])), quoted(jobs_.name(job))),
                      "let one job make it, or give each job a file of its own");
        return;
      }
    }
  }
}

RangeMap JobFiles::makers(const RangeMap& inputs) const {
  RangeMap map(inputs.period(), inputs.modulus());
  std::vector<Range> files;
  std::vector<Range> jobs;
  for (std::uint64_t n = 0; n < inputs.modulus(); ++n) {
    files.clear();
    jobs.clear();
    inputs.append_to(files, n * inputs.period());
    for (const Range& range : files) {
      for (std::uint64_t f = range.first; f < range.end(); ++f) {
        const std::uint64_t job = makers_[f];
        if (job == 0) continue;
        if (!jobs.empty() && jobs.back().end() == job) {
          ++jobs.back().count;
        } else {
          jobs.push_back({job, 1});
        }
      }
    }
    normalise(jobs);
    map.push(jobs);
  }
  return map;
}

}  // namespace torc::spec
