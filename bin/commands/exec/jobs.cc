#include "bin/commands/exec/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/spec/expand/expand.h"
#include "lib/spec/load/load.h"
#include "lib/spec/text/placeholder.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {
namespace {

using nlohmann::ordered_json;

// Jobs of one template: what a worker decodes to learn one command.
constexpr std::size_t kJobsPerEntry = 4096;

// Parameters that values become as they are; not what anybody would write in a command.
constexpr std::string_view kCommand = "torc_command";
constexpr std::string_view kRaw = "torc_value";

bool has_needs(const ExecOptions& o) {
  return o.timeout || !o.gpus.empty() || !o.resources.empty();
}

// As a file has it: what is no number is told by the language.
ordered_json amount_of(const std::string& text) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  ordered_json parsed = number ? ordered_json::parse(text, nullptr, false) : ordered_json(text);
  return parsed.is_discarded() ? ordered_json(text) : parsed;
}

// A set of resource requirements.
ordered_json needs_of(const ExecOptions& o) {
  ordered_json needs = {{"name", "one"}};
  if (o.timeout) needs["runtime"] = fmt::format("PT{}S", o.timeout->count());
  if (!o.gpus.empty()) needs["num_gpus"] = amount_of(o.gpus);
  for (const std::string& one : o.resources) {
    const std::size_t sign = one.find('=');
    needs["resources"][one.substr(0, sign)] = amount_of(one.substr(sign + 1));
  }
  return needs;
}

// What all workflows of torc exec have.
ordered_json frame(const ExecOptions& o) {
  ordered_json spec;
  spec["name"] = o.name.empty() ? "exec" : o.name;
  spec["description"] = "made by torc exec";
  spec["execution_config"] = {{"stdio", {{"mode", "packed"}}}};
  if (o.max_failures) spec["max_failures"] = *o.max_failures;
  if (has_needs(o)) spec["resource_requirements"] = ordered_json::array({needs_of(o)});
  if (o.retries.value_or(0) > 0) {
    const ordered_json rule = {{"match_all_exit_codes", true}, {"max_retries", *o.retries}};
    spec["failure_handlers"] =
        ordered_json::array({{{"name", "again"}, {"rules", ordered_json::array({rule})}}});
  }
  spec["jobs"] = ordered_json::array();
  return spec;
}

ordered_json job_of(const ExecOptions& o, const std::string& name, const std::string& command) {
  ordered_json job = {{"name", name}, {"command", command}};
  if (has_needs(o)) job["resource_requirements"] = "one";
  if (o.retries.value_or(0) > 0) job["failure_handler"] = "again";
  return job;
}

std::string text_of(const ordered_json& spec) {
  return spec.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

workflow::LoadedSpec load_text(const App& app, std::string text) {
  workflow::LoadedSpec loaded;
  loaded.file = "<torc exec>";
  loaded.text = std::move(text);
  const spec::ReadFile read = [&app](const std::string& name) {
    return store::read_file(app.world.disk, (app.directory / name).lexically_normal());
  };
  spec::Loaded checked = spec::load(loaded.text, loaded.file, read);
  loaded.workflow = std::move(checked.workflow);
  loaded.expansion = std::move(checked.expansion);
  loaded.diagnostics = std::move(checked.diagnostics);
  return loaded;
}

// "lr=0.1,0.2": the list needs no brackets, which a shell would take for itself.
Result<std::pair<std::string, std::string>> parameter_of(const std::string& flag) {
  const std::size_t sign = flag.find('=');
  const std::string name = flag.substr(0, sign);
  if (sign == std::string::npos || !spec::is_identifier(name)) {
    return Error{ErrorKind::invalid, fmt::format("--param takes NAME=VALUES, not '{}'", flag),
                 "for example --param i=1:10, --param lr=0.1,0.2 or --param file=@names.txt"};
  }
  std::string values = flag.substr(sign + 1);
  const bool list = values.find(',') != std::string::npos;
  if (list && values.front() != '[' && values.front() != '@') values = "[" + values + "]";
  return std::pair(name, values);
}

std::string joined_values(const ExecValues& values) {
  std::string all;
  for (const std::string& value : values) {
    if (&value != values.data()) all += ' ';
    all += value;
  }
  return all;
}

template <class Make>
std::vector<spec::ParameterValue> exec_texts(const std::vector<ExecValues>& jobs, std::size_t first,
                                             std::size_t count, const Make& make) {
  std::vector<spec::ParameterValue> all;
  all.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) all.emplace_back(make(jobs[i]));
  return all;
}

}  // namespace

Result<workflow::LoadedSpec> exec_commands_spec(const App& app, const ExecOptions& o,
                                                const std::vector<std::string>& commands) {
  ordered_json parameters = ordered_json::object();
  std::string suffix;
  for (const std::string& flag : o.parameters) {
    TORC_ASSIGN(const auto parameter, parameter_of(flag));
    parameters[parameter.first] = parameter.second;
    suffix += fmt::format("{0}{1}={{{1}}}", suffix.empty() ? "" : ",", parameter.first);
  }
  ordered_json spec = frame(o);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    std::string name = suffix;
    if (suffix.empty() || commands.size() > 1)
      name = fmt::format("{}{}{}", i + 1, suffix.empty() ? "" : ",", suffix);
    ordered_json job = job_of(o, name, commands[i]);
    if (!parameters.empty()) {
      job["parameters"] = parameters;
      job["parameter_mode"] = o.link;
    }
    spec["jobs"].push_back(std::move(job));
  }
  return load_text(app, text_of(spec));
}

Result<ExecValueJobs> ExecValueJobs::make(const App& app, const ExecOptions& o) {
  ExecValueJobs jobs;
  jobs.values_are_commands_ = o.commands.empty();
  jobs.width_ = width_of(o);
  std::vector<std::string> patterns;
  if (jobs.values_are_commands_) patterns.push_back(fmt::format("{{{}}}", kCommand));
  for (const std::string& command : o.commands) {
    TORC_ASSIGN(ExecPattern pattern, pattern_of(command, {o.replace_string, jobs.width_}));
    patterns.push_back(std::move(pattern.text));
    jobs.have_slots_ = jobs.have_slots_ || pattern.has_slot;
    for (ExecColumn& column : pattern.columns) {
      const auto same = [&](const ExecColumn& c) { return c.parameter == column.parameter; };
      if (std::none_of(jobs.columns_.begin(), jobs.columns_.end(), same))
        jobs.columns_.push_back(std::move(column));
    }
  }
  const auto any = ordered_json::array({"x"});
  ordered_json parameters = {{kNumberParameter, "1:1"}};
  if (jobs.values_are_commands_) parameters[kCommand] = any;
  for (const ExecColumn& column : jobs.columns_) parameters[column.parameter] = any;
  ordered_json spec = frame(o);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string suffix = patterns.size() > 1 ? fmt::format(".{}", i + 1) : "";
    ordered_json job = job_of(o, fmt::format("{{{}}}{}", kNumberParameter, suffix), patterns[i]);
    job["parameters"] = parameters;
    job["parameter_mode"] = "zip";
    spec["jobs"].push_back(std::move(job));
  }
  jobs.header_ = load_text(app, text_of(spec));
  // As the store keeps it; what was checked is the text without this line, of the same workflow.
  jobs.header_.text.insert(
      0, "# The jobs of torc exec; the values of torc_… are in the store alone.\n");
  return jobs;
}

spec::JobEntry ExecValueJobs::entry(const spec::JobEntry& of, const std::vector<ExecValues>& jobs,
                                    std::size_t first, std::size_t count) const {
  spec::JobEntry entry = of;
  const auto begin = static_cast<std::int64_t>(jobs_before_ + first);
  std::erase_if(entry.parameters, [&](const spec::Parameter& p) {
    return p.name != kNumberParameter &&
           entry.command.find("{" + p.name + "}") == std::string::npos;
  });
  for (spec::Parameter& p : entry.parameters) {
    if (p.name == kNumberParameter) {
      p.values = spec::IntegerRange{begin + 1, begin + static_cast<std::int64_t>(count), 1};
    } else if (p.name == kCommand) {
      p.values = exec_texts(jobs, first, count, joined_values);
    } else {
      const auto column = std::find_if(columns_.begin(), columns_.end(),
                                       [&](const ExecColumn& c) { return c.parameter == p.name; });
      p.values = exec_texts(jobs, first, count,
                            [&](const ExecValues& values) { return column->text_of(values); });
    }
  }
  if (!values_are_commands_) add_environment(entry, jobs, first, count);
  return entry;
}

// Where all jobs have equally many values nothing is kept twice.
void ExecValueJobs::add_environment(spec::JobEntry& entry, const std::vector<ExecValues>& jobs,
                                    std::size_t first, std::size_t count) const {
  std::size_t most = width_;
  for (std::size_t i = first; width_ == 0 && i < first + count; ++i)
    most = std::max(most, jobs[i].size());
  std::string all;
  for (std::size_t k = 0; most > 1 && k < most; ++k) {
    const std::string name = fmt::format("{}_{}", kRaw, k + 1);
    entry.parameters.push_back({name, exec_texts(jobs, first, count, [k](const ExecValues& values) {
                                  return k < values.size() ? values[k] : std::string();
                                })});
    entry.env.emplace_back(fmt::format("{}_{}", kValueVariable, k + 1),
                           fmt::format("{{{}}}", name));
    all += fmt::format("{}{{{}}}", k == 0 ? "" : " ", name);
  }
  if (width_ <= 1) {
    entry.parameters.push_back({std::string(kRaw), exec_texts(jobs, first, count, joined_values)});
    all = fmt::format("{{{}}}", kRaw);
  }
  entry.env.emplace_back(kValueVariable, all);
}

workflow::LoadedSpec ExecValueJobs::jobs_of(const std::vector<ExecValues>& jobs) {
  workflow::LoadedSpec loaded;
  loaded.file = header_.file;
  loaded.text = header_.text;
  loaded.workflow = header_.workflow;
  std::vector<spec::JobEntry>& entries = loaded.workflow->jobs;
  entries.clear();
  for (std::size_t first = 0; first < jobs.size(); first += kJobsPerEntry) {
    const std::size_t count = std::min(kJobsPerEntry, jobs.size() - first);
    for (const spec::JobEntry& of : header_.workflow->jobs)
      entries.push_back(entry(of, jobs, first, count));
  }
  jobs_before_ += jobs.size();
  spec::Expanded expanded = spec::expand(*loaded.workflow, loaded.text, loaded.file);
  loaded.expansion = std::move(expanded.expansion);
  loaded.diagnostics = std::move(expanded.diagnostics);
  return loaded;
}

}  // namespace torc::cli
