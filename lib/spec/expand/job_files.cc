#include "lib/spec/expand/job_files.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {

const JobFileKeys kFileKeys{ReferenceText::Section::files,
                            "file",
                            {"input_files", &JobEntry::input_files},
                            {"input_file_regexes", &JobEntry::input_file_regexes},
                            {"output_files", &JobEntry::output_files},
                            {"output_file_regexes", &JobEntry::output_file_regexes}};
const JobFileKeys kUserDataKeys{ReferenceText::Section::user_data,
                                "user data",
                                {"input_user_data", &JobEntry::input_user_data},
                                {"input_user_data_regexes", &JobEntry::input_user_data_regexes},
                                {"output_user_data", &JobEntry::output_user_data},
                                {"output_user_data_regexes", &JobEntry::output_user_data_regexes}};

void JobFiles::add(const JobEntry& entry, const Family& family) {
  if (makers_.empty()) makers_.resize(files_.total() + 1);
  entries_.emplace_back();
  if (family.count == 0) return;
  add_command(entry, "invocation_script", entry.invocation_script, family, entries_.back());
  add_command(entry, "command", entry.command, family, entries_.back());
  for (std::size_t i = 0; i < entry.one_of.size(); ++i)
    add_command(entry, command_key(i), entry.one_of[i].command, family, entries_.back());
  add_lists(entry, family, entries_.back());
}

void JobFiles::add_command(const JobEntry& entry, const std::string& key, const std::string& text,
                           const Family& family, EntryFiles& files) {
  // A bad format in the command is reported where its recipe is written.
  if (!find_bad_placeholders(text, entry.parameters).empty()) return;
  const Place whole = entry.place_of(key);
  for (const ReferenceText& reference : reference_texts(text)) {
    if (reference.section != keys_.section) continue;
    const Place place = place_within(report_.source(), whole, text, reference.begin,
                                     reference.end - reference.begin);
    auto map = resolver_.names({&family, reference.name, place});
    if (!map) continue;
    std::vector<Range> found;
    for (std::uint64_t n = 0; n < map->modulus(); ++n) {
      found.clear();
      map->append_to(found, n * map->period());
      if (total(found) == 1) continue;
      report_.error(
          place,
          fmt::format("{} in the command stands for {} {}{}", torc::quoted(reference.name),
                      total(found), keys_.kind, keys_.kind == "file" ? "s" : ""),
          fmt::format("name one here, and the others in {} or {}", keys_.inputs.key,
                      keys_.outputs.key));
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
  const auto each = [&](const JobFileKeys::Keyed& keyed, const auto& resolve, const auto& use) {
    const std::vector<std::string>& list = entry.*keyed.list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Place place = entry.place_of(keyed.key, i);
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
  each(keys_.inputs, names, input);
  each(keys_.input_regexes, expression, input);
  each(keys_.outputs, names, output);
  each(keys_.output_regexes, expression, output);
}

std::string JobFiles::remedy() const {
  return fmt::format("let one job make it, or give each job a {} of its own",
                     keys_.kind == "file" ? "file" : "name");
}

void JobFiles::claim(const Family& family, const RangeMap& outputs, Place place) {
  std::vector<Range> made;
  for (std::uint64_t k = 0; k < family.count; ++k) {
    made.clear();
    outputs.append_to(made, k);
    const auto job = static_cast<std::uint32_t>(family.first + k);
    for (const Range& range : made) {
      for (std::uint64_t f = range.first; f < range.end(); ++f) {
        if (f >= makers_.size()) makers_.resize(f + 1);
        if (makers_[f] == 0 && is_made_elsewhere(f, job, place)) return;
        if (makers_[f] == 0) makers_[f] = job;
        if (makers_[f] == job) continue;
        report_.error(
            place,
            fmt::format("two jobs output the {} {}: {} and {}", keys_.kind,
                        torc::quoted(files_.name(f)), torc::quoted(jobs_.name(makers_[f])),
                        torc::quoted(jobs_.name(job))),
            remedy());
        return;
      }
    }
  }
}

bool JobFiles::is_made_elsewhere(std::uint64_t file, std::uint64_t job, Place place) {
  const std::uint64_t maker = others_ == nullptr ? 0 : others_->maker_of(file);
  if (maker == 0 || others_->is_same(job, maker)) return false;
  report_.error(place,
                fmt::format("the {} {} is made by {} of the workflow already, and here by {}",
                            keys_.kind, torc::quoted(files_.name(file)),
                            torc::quoted(others_->name_of(maker)), torc::quoted(jobs_.name(job))),
                remedy());
  return true;
}

std::uint64_t JobFiles::maker_of(std::uint64_t file) const {
  if (file < makers_.size() && makers_[file] != 0) return makers_[file];
  return others_ == nullptr ? 0 : others_->maker_of(file);
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
        const std::uint64_t job = maker_of(f);
        if (job != 0) append(jobs, job);
      }
    }
    normalise(jobs);
    map.push(jobs);
  }
  return map;
}

}  // namespace torc::spec
