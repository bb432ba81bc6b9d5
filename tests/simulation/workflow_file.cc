#include "tests/simulation/workflow_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "lib/spec/load/load.h"

namespace torc::simulation {
namespace {

constexpr std::uint64_t kMostOfAnEntry = 40;  // jobs
constexpr std::size_t kMostEntries = 7;

class Choice {
 public:
  explicit Choice(SeededEntropy& random) : random_(random) {}
  std::uint64_t below(std::uint64_t n) { return random_.next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  FileEntry entry(int number, const WorkflowFile& before) {
    FileEntry e;
    e.number = number;
    e.from = below(3);
    e.count = 1 + below(kMostOfAnEntry);
    e.command = static_cast<int>(below(2));
    e.priority = static_cast<int>(below(2));
    e.fails = one_in(12);
    need_some(e, before);
    return e;
  }
  void need_some(FileEntry& e, const WorkflowFile& before) {
    e.needs.clear();
    for (const FileEntry& b : before) {
      if (one_in(3)) e.needs.insert(b.number);
    }
  }
  void add_entry(WorkflowFile& file, std::size_t at) {
    // Perhaps one that was there before.
    const int number = static_cast<int>(below(kMostEntries + 2));
    const auto is_it = [&](const FileEntry& e) { return e.number == number; };
    if (file.size() >= kMostEntries || std::ranges::any_of(file, is_it)) return;
    const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
    const WorkflowFile before(file.begin(), place);
    file.insert(place, entry(number, before));
  }

 private:
  SeededEntropy& random_;
};

// Needs of entries that are there no more are none.
void mend_needs(WorkflowFile& file) {
  std::set<int> there;
  for (FileEntry& e : file) {
    std::erase_if(e.needs, [&](int n) { return !there.contains(n); });
    there.insert(e.number);
  }
}

void edit_once(WorkflowFile& file, Choice& choice) {
  const std::size_t at = choice.below(file.size());
  FileEntry& e = file[at];
  switch (choice.below(8)) {
    case 0:
      e.command = static_cast<int>(choice.below(3));
      e.fails = choice.one_in(12);
      return;
    case 1:
      e.priority = static_cast<int>(choice.below(3));
      return;
    case 2:
    case 3:
      e.from = choice.below(4);
      e.count = 1 + choice.below(kMostOfAnEntry);
      return;
    case 4:
      if (file.size() > 1) file.erase(file.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 5:
      return choice.add_entry(file, at);
    default:
      choice.need_some(e, {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(at)});
      return;
  }
}

std::string command_of(const FileEntry& e, std::uint64_t i) {
  return fmt::format("{}{} {}", e.fails ? "fail" : "run", e.command, i);
}

std::string text_of(const WorkflowFile& file) {
  std::string text = "name: simulated\njobs:\n";
  for (const FileEntry& e : file) {
    std::string needs;
    for (const int n : e.needs) needs += fmt::format("{}'^e{}_.*$'", needs.empty() ? "" : ", ", n);
    if (!needs.empty()) needs = fmt::format(", depends_on_regexes: [{}]", needs);
    text += fmt::format(
        "  - {{name: 'e{}_{{i}}', command: '{}{} {{i}}', priority: {}, parameters: {{i: "
        "'{}:{}'}}{}}}\n",
        e.number, e.fails ? "fail" : "run", e.command, e.priority, e.from, e.from + e.count - 1,
        needs);
  }
  return text;
}

}  // namespace

WorkflowFile any_file(SeededEntropy& random) {
  Choice choice(random);
  WorkflowFile file;
  const int entries = 3 + static_cast<int>(choice.below(4));
  for (int n = 0; n < entries; ++n) file.push_back(choice.entry(n, file));
  return file;
}

WorkflowFile edited(WorkflowFile file, SeededEntropy& random) {
  Choice choice(random);
  for (std::uint64_t edits = 1 + choice.below(3); edits > 0; --edits) edit_once(file, choice);
  mend_needs(file);
  return file;
}

std::map<std::string, FileJob> jobs_of(const WorkflowFile& file) {
  std::map<std::string, FileJob> jobs;
  std::map<int, std::set<std::string>> names;
  for (const FileEntry& e : file) {
    FileJob of_all;
    for (const int n : e.needs) of_all.needs.insert(names[n].begin(), names[n].end());
    for (std::uint64_t i = e.from; i < e.from + e.count; ++i) {
      const std::string name = fmt::format("e{}_{}", e.number, i);
      jobs[name] = {command_of(e, i), of_all.needs, e.priority};
      names[e.number].insert(name);
    }
  }
  return jobs;
}

bool is_to_fail(const std::string& command) {
  return command.starts_with("fail");
}

workflow::LoadedSpec loaded_of(const WorkflowFile& file) {
  const spec::ReadFile none = [](const std::string&) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there are no files", ""};
  };
  workflow::LoadedSpec loaded;
  loaded.file = "simulated.yaml";
  loaded.text = text_of(file);
  spec::Loaded read = spec::load(std::string(loaded.text), loaded.file, none);
  if (!read.expansion) std::abort();  // no such file is written here
  loaded.workflow = std::move(read.workflow);
  loaded.expansion = std::move(read.expansion);
  return loaded;
}

claim::Plan plan_of(const WorkflowFile& file) {
  return workflow::make_plan(loaded_of(file), {"/"});
}

}  // namespace torc::simulation
