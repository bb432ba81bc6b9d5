#include "lib/spec/expand/expand.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/limits.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/expand/cycle.h"
#include "lib/spec/expand/entry_families.h"
#include "lib/spec/expand/entry_writer.h"
#include "lib/spec/expand/existing_names.h"
#include "lib/spec/expand/job_dependencies.h"
#include "lib/spec/expand/job_files.h"
#include "lib/spec/expand/json_pattern.h"
#include "lib/spec/expand/reference.h"
#include "lib/spec/sweep/existing_workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/text/reference_text.h"
#include "lib/spec/text/source.h"

namespace torc::spec {
namespace {

// Of all user data of a file, each with kBytesOfDatum more: they are all written by one commit.
constexpr std::uint64_t kMostDataBytes = std::uint64_t{256} << 20U;
constexpr std::uint64_t kBytesOfDatum = 64;

// Of each action, in the order of Workflow::actions, the jobs that it names: normalised. Reports
// names that are not there, and actions about jobs that are about none.
std::vector<std::vector<Range>> jobs_of_actions(const Workflow& workflow, Resolver& job_names,
                                                Report& report) {
  std::vector<std::vector<Range>> all;
  const Family nobody;
  for (const Action& action : workflow.actions) {
    std::vector<Range>& jobs = all.emplace_back();
    bool sound = true;
    const auto take = [&](const std::optional<RangeMap>& found) {
      sound = sound && found.has_value();
      if (found) found->append_to(jobs, 0);
    };
    for (std::size_t i = 0; i < action.jobs.size(); ++i)
      take(job_names.names({&nobody, action.jobs[i], action.place_of("jobs", i)}));
    for (std::size_t i = 0; i < action.job_name_regexes.size(); ++i) {
      take(job_names.expression(
          {&nobody, action.job_name_regexes[i], action.place_of("job_name_regexes", i)}));
    }
    normalise(jobs);
    const bool of_jobs =
        action.trigger == Trigger::on_jobs_ready || action.trigger == Trigger::on_jobs_complete;
    const bool named = !action.jobs.empty() || !action.job_name_regexes.empty();
    if (of_jobs && named && sound && jobs.empty())
      report.error(action.place, "the action is about no job", "name jobs that there are");
  }
  return all;
}

// Without what changes nothing: '.' between slashes, and slashes after slashes.
std::string normal(std::string_view path) {
  std::string out;
  if (path.starts_with('/')) out = "/";
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (!out.empty() && out.back() != '/') out += '/';
    out += part;
  }
  return out;
}

// Reports those of `files` (the families of workflow.files) that have one path, `./out` and `out`
// being the same: an error where a job makes one of them, since who takes the other would not wait
// for it, else a warning. What cannot be read of a path was reported before.
void report_shared_paths(const Workflow& workflow, const Families& files, const JobFiles& made,
                         Report& report) {
  std::deque<std::string> texts;  // that the families view
  Families paths;
  for (std::size_t f = 0; f < workflow.files.size(); ++f) {
    Family family = files[f];
    texts.push_back(normal(workflow.files[f].path));
    family.text = texts.back();
    auto pattern = Pattern::compile(texts.back(), family.parameters);
    const bool has_name = pattern && !texts.back().empty();
    if (pattern) family.name = *std::move(pattern);
    if (!has_name)
      family.sweep = Sweep(std::vector<Parameter>{{"", std::vector<ParameterValue>{}}},
                           ParameterMode::product);
    paths.add(std::move(family));
  }
  for (const Families::Clash& clash : paths.index()) {
    const std::size_t a = paths.family_of(clash.first);
    const std::size_t b = paths.family_of(clash.second);
    const std::uint64_t first = files[a].first + (clash.first - paths[a].first);
    const std::uint64_t second = files[b].first + (clash.second - paths[b].first);
    const bool is_made = made.maker(first) != 0 || made.maker(second) != 0;
    const FileEntry& entry = workflow.files[b];
    report.add(
        is_made ? Severity::error : Severity::warning, entry.place_of("path"),
        fmt::format("the files {} and {} have the same path {}", torc::quoted(files.name(first)),
                    torc::quoted(files.name(second)), torc::quoted(paths.name(clash.first))),
        is_made ? "use one name for both: a job that takes the one does not wait for a job "
                  "that makes the other"
                : "use one name for both, or give each a path of its own");
  }
}

// Two jobs that say that they had the same name: the results are of one of them at most.
void report_shared_former_names(const Workflow& workflow, const Families& jobs, Report& report) {
  Families before;
  std::vector<std::size_t> entries;  // of these
  for (std::size_t e = 0; e < workflow.jobs.size(); ++e) {
    Family family = jobs[e];
    family.text = workflow.jobs[e].was;
    auto pattern = Pattern::compile(family.text, family.parameters);
    if (family.text.empty() || family.count == 0 || !pattern) continue;
    family.name = *std::move(pattern);
    before.add(std::move(family));
    entries.push_back(e);
  }
  for (const Families::Clash& clash : before.index()) {
    const auto name = [&](std::uint64_t number) {
      const std::size_t f = before.family_of(number);
      return torc::quoted(jobs[entries[f]].name_of(number - before[f].first));
    };
    report.error(
        workflow.jobs[entries[before.family_of(clash.second)]].place_of("was"),
        fmt::format("both {} and {} say that they were {}", name(clash.first), name(clash.second),
                    torc::quoted(before.name(clash.first))),
        "only one job can keep what is there of another: leave `was` out of the other one");
  }
}

class Expander {
 public:
  // `around`: null, or of an addition.
  Expander(const Workflow& workflow, Report& report, const Surroundings* around = nullptr)
      : workflow_(workflow),
        report_(report),
        around_(around),
        jobs_(around == nullptr ? 1 : around->existing.jobs() + 1),
        job_names_(jobs_, "job", report_),
        file_names_(files_, "file", report_),
        data_names_(data_, "user data", report_),
        job_files_(kFileKeys, jobs_, files_, file_names_, report_),
        job_data_(kUserDataKeys, jobs_, data_, data_names_, report_) {}

  Expansion run(std::optional<StdioMode> mode = {}) {
    if (add_families(workflow_.files, "file", files_, file_names_, report_) &&
        add_families(workflow_.user_data, "user data", data_, data_names_, report_) &&
        add_families(workflow_.jobs, "job", jobs_, job_names_, report_)) {
      expansion_.mode = mode.value_or(mode_by_size());
      paths_ = paths_of(workflow_.files, files_, report_);
      report_clashes(workflow_.files, "file", files_, report_);
      report_clashes(workflow_.user_data, "user data", data_, report_);
      report_clashes(workflow_.jobs, "job", jobs_, report_);
      report_shared_former_names(workflow_, jobs_, report_);
      if (around_ != nullptr) look_around();
      const std::vector<std::vector<Range>> action_jobs =
          jobs_of_actions(workflow_, job_names_, report_);
      report_wrong_references();
      for (std::size_t e = 0; e < jobs_.size(); ++e) {
        job_files_.add(workflow_.jobs[e], jobs_[e]);
        job_data_.add(workflow_.jobs[e], jobs_[e]);
      }
      write_dependencies();
      report_shared_paths(workflow_, files_, job_files_, report_);
      report_cycles(workflow_, jobs_, expansion_, report_);
      write_entries();
      write_definitions();
      write_user_data();
      if (around_ == nullptr) write_actions(action_jobs);
    }
    expansion_.jobs = jobs_.members();
    return std::move(expansion_);
  }

 private:
  [[nodiscard]] StdioMode mode_by_size() const;
  void look_around();
  void report_wrong_references();
  void write_dependencies();
  void write_entries();
  void write_definitions();
  void write_user_data();
  [[nodiscard]] bool check_size(const UserDataEntry& entry, const ExpandedUserData& one,
                                std::uint64_t all_bytes) const;
  void write_actions(const std::vector<std::vector<Range>>& jobs);

  const Workflow& workflow_;
  Report& report_;
  const Surroundings* around_;
  std::unique_ptr<ExistingJobs> existing_jobs_;
  std::unique_ptr<ExistingFiles> existing_files_, existing_data_;
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
  Expansion expansion_;
};

// What is added goes where the output of the workflow goes.
StdioMode Expander::mode_by_size() const {
  if (around_ == nullptr) return usual_mode(jobs_.members());
  const StdioMode there = around_->existing.settings().execution.stdio.mode;
  return there == StdioMode::packed ? there : StdioMode::separate;
}

void Expander::look_around() {
  ExistingWorkflow& existing = around_->existing;
  existing_jobs_ = std::make_unique<ExistingJobs>(existing, jobs_);
  existing_jobs_->look_up_added();
  existing_files_ =
      std::make_unique<ExistingFiles>(Kept::files, *existing_jobs_, existing, files_, paths_);
  existing_files_->look_up_added(workflow_.files, report_);
  existing_data_ = std::make_unique<ExistingFiles>(Kept::user_data, *existing_jobs_, existing,
                                                   data_, data_paths_);
  existing_data_->look_up_added(workflow_.user_data, report_);
  job_names_.look_also_in(*existing_jobs_);
  file_names_.look_also_in(*existing_files_);
  data_names_.look_also_in(*existing_data_);
  job_files_.ask_also(*existing_files_);
  job_data_.ask_also(*existing_data_);
}

void Expander::report_wrong_references() {
  for (const JobEntry& entry : workflow_.jobs) {
    for (const auto& [key, text] : {std::pair("invocation_script", &entry.invocation_script),
                                    std::pair("command", &entry.command)}) {
      for (const ReferenceText& r : reference_texts(*text)) {
        if (r.section != ReferenceText::Section::wrong) continue;
        report_.error(
            place_within(report_.source(), entry.place_of(key), *text, r.begin, r.end - r.begin),
            r.message, r.remedy);
      }
    }
  }
}

void Expander::write_dependencies() {
  JobDependencies dependencies(workflow_, jobs_, job_names_, job_files_, job_data_, report_);
  if (around_ != nullptr) dependencies.begin_after(around_->after);
  for (std::size_t e = 0; e < jobs_.size(); ++e) dependencies.add(e);
  std::move(dependencies).take(expansion_);
}

void Expander::write_definitions() {
  if (report_.has_error()) return;
  const auto take = [&](std::vector<Definition> more) {
    expansion_.definitions.insert(expansion_.definitions.end(),
                                  std::make_move_iterator(more.begin()),
                                  std::make_move_iterator(more.end()));
  };
  take(definitions_of(workflow_, around_ == nullptr ? nullptr : &around_->existing));
  if (around_ == nullptr) {
    take(define_files(Kept::files, files_, job_files_));
    take(define_files(Kept::user_data, data_, job_data_));
    return;
  }
  compare_known(workflow_, expansion_, *existing_jobs_, report_);
  leave_known_out(expansion_, *existing_jobs_);
  take(existing_files_->definitions(job_files_));
  take(existing_data_->definitions(job_data_));
}

void Expander::write_entries() {
  EntryWriter writer(workflow_, files_, paths_, data_, report_);
  writer.set_usual_mode(expansion_.mode);
  if (around_ != nullptr) {
    writer.begin_addition(around_->resources,
                          [this](std::uint64_t job) { return existing_jobs_->is_there(job); });
  }
  for (std::size_t e = 0; e < jobs_.size(); ++e) {
    writer.write(workflow_.jobs[e], jobs_[e], job_files_.of(e), job_data_.of(e),
                 expansion_.entries);
  }
}

void Expander::write_user_data() {
  std::uint64_t bytes = 0;
  // Behind those of the file may be some of the workflow that it adds to.
  for (std::size_t d = 0; d < workflow_.user_data.size(); ++d) {
    const UserDataEntry& entry = workflow_.user_data[d];
    const Family& family = data_[d];
    const std::optional<JsonPattern> data = JsonPattern::compile(entry, report_);
    if (!data) continue;
    for (std::uint64_t k = 0; k < family.count; ++k) {
      const std::uint64_t maker = job_data_.maker(family.first + k);
      const bool is_known = maker == 0 || !existing_jobs_;
      ExpandedUserData one{family.name_of(k), data->text(family, k), entry.is_ephemeral,
                           is_known ? maker : existing_jobs_->number_of(maker)};
      bytes += kBytesOfDatum + one.name.size() + one.data.size();
      if (!check_size(entry, one, bytes)) break;
      expansion_.user_data.push_back(std::move(one));
    }
  }
  if (!existing_data_) return;
  for (auto& [name, maker] : existing_data_->newly_made(job_data_))
    expansion_.user_data.push_back({std::move(name), "", false, maker, true});
}

// False: reported.
bool Expander::check_size(const UserDataEntry& entry, const ExpandedUserData& one,
                          std::uint64_t all_bytes) const {
  if (one.name.size() > kMaxUserDataName) {
    report_.error(entry.place,
                  fmt::format("a name of {} has {} bytes; names of user data have at most {}",
                              torc::quoted(entry.name), one.name.size(), kMaxUserDataName),
                  "shorten it");
  } else if (one.data.size() > kMaxUserDataBytes) {
    report_.error(entry.place_of("data"),
                  fmt::format("the data of {} is more than {} KiB", torc::quoted(one.name),
                              kMaxUserDataBytes >> 10U),
                  "keep it in a file");
  } else if (all_bytes > kMostDataBytes) {
    report_.error(entry.place,
                  fmt::format("the user data is more than {} MiB", kMostDataBytes >> 20U),
                  "keep it in files");
  } else {
    return true;
  }
  return false;
}

void Expander::write_actions(const std::vector<std::vector<Range>>& jobs) {
  for (std::size_t i = 0; i < workflow_.actions.size(); ++i)
    expansion_.actions.push_back({i, jobs[i]});
}

}  // namespace

Expansion expand(const Workflow& draft, Report& report, std::optional<StdioMode> mode) {
  return Expander(draft, report).run(mode);
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
