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

// Lines of one template: what a worker decodes to learn one command.
constexpr std::size_t kLinesPerEntry = 4096;

// Parameters that lines become; not what anybody would write in a command.
constexpr std::string_view kNumber = "torc_number";
constexpr std::string_view kLine = "torc_line";
constexpr std::string_view kRaw = "torc_value";

// {.}, {/}, … and what they are called as parameters.
struct Form {
  std::string_view written;
  std::string_view parameter;
  std::string (*of)(std::string_view value);
};

std::string_view base_name(std::string_view value) {
  const std::size_t slash = value.rfind('/');
  return slash == std::string_view::npos ? value : value.substr(slash + 1);
}

std::string without_extension(std::string_view value) {
  const std::size_t dot = value.rfind('.');
  const std::size_t name = value.size() - base_name(value).size();
  return std::string(dot == std::string_view::npos || dot <= name ? value : value.substr(0, dot));
}

std::string directory_of(std::string_view value) {
  const std::size_t slash = value.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : value.substr(0, slash));
}

constexpr Form kForms[] = {
    {"{}", kLine, [](std::string_view v) { return std::string(v); }},
    {"{.}", "torc_stem", without_extension},
    {"{/}", "torc_name", [](std::string_view v) { return std::string(base_name(v)); }},
    {"{//}", "torc_directory", directory_of},
    {"{/.}", "torc_name_stem", [](std::string_view v) { return without_extension(base_name(v)); }},
};
constexpr std::string_view kNumberForm = "{#}";

const Form* form_of(std::string_view parameter) {
  for (const Form& form : kForms) {
    if (form.parameter == parameter) return &form;
  }
  return nullptr;
}

// The command as a pattern of the language. ${} and {{}} are not for us.
std::string pattern_of(std::string_view command) {
  std::string pattern;
  bool any = false;
  for (std::size_t at = 0; at < command.size();) {
    const std::string_view rest = command.substr(at);
    const bool free = at == 0 || (command[at - 1] != '$' && command[at - 1] != '{');
    std::string_view written;
    std::string_view parameter;
    for (const Form& form : kForms) {
      if (rest.starts_with(form.written))
        std::tie(written, parameter) = std::pair(form.written, form.parameter);
    }
    if (rest.starts_with(kNumberForm))
      std::tie(written, parameter) = std::pair(kNumberForm, kNumber);
    if (written.empty() || !free || rest.substr(written.size()).starts_with('}')) {
      pattern.push_back(command[at++]);
      continue;
    }
    pattern += fmt::format("{{{}}}", parameter);
    at += written.size();
    any = true;
  }
  return any ? pattern : fmt::format("{} {{{}}}", pattern, kLine);
}

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

}  // namespace

std::string exec_word(std::string_view value) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+./:@%,").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  if (!value.empty() && std::all_of(value.begin(), value.end(), plain)) return std::string(value);
  return shell_quote(value);
}

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

Result<ExecLineJobs> ExecLineJobs::make(const App& app, const ExecOptions& o) {
  ExecLineJobs jobs;
  jobs.lines_are_commands_ = o.commands.empty();
  ordered_json spec = frame(o);
  ordered_json parameters = {{kNumber, "1:1"}, {kLine, ordered_json::array({"x"})}};
  if (!jobs.lines_are_commands_) {
    for (const Form& form : kForms) parameters[form.parameter] = ordered_json::array({"x"});
  }
  const auto add = [&](const std::string& suffix, const std::string& pattern) {
    ordered_json job = job_of(o, fmt::format("{{{}}}{}", kNumber, suffix), pattern);
    job["parameters"] = parameters;
    job["parameter_mode"] = "zip";
    spec["jobs"].push_back(std::move(job));
  };
  if (jobs.lines_are_commands_) add("", fmt::format("{{{}}}", kLine));
  for (std::size_t i = 0; i < o.commands.size(); ++i)
    add(o.commands.size() > 1 ? fmt::format(".{}", i + 1) : "", pattern_of(o.commands[i]));
  jobs.header_ = load_text(app, text_of(spec));
  // As the store keeps it; what was checked is the text without this line, of the same workflow.
  jobs.header_.text.insert(
      0, "# The jobs of torc exec; the values of torc_… are in the store alone.\n");
  return jobs;
}

spec::JobEntry ExecLineJobs::entry(const spec::JobEntry& of, const std::vector<std::string>& lines,
                                   std::size_t first, std::size_t count) const {
  spec::JobEntry entry = of;
  const auto begin = static_cast<std::int64_t>(lines_before_ + first);
  const auto values = [&](auto&& make) {
    std::vector<spec::ParameterValue> all;
    all.reserve(count);
    for (std::size_t i = first; i < first + count; ++i) all.emplace_back(make(lines[i]));
    return all;
  };
  std::erase_if(entry.parameters, [&](const spec::Parameter& p) {
    return p.name != kNumber && entry.command.find("{" + p.name + "}") == std::string::npos;
  });
  for (spec::Parameter& p : entry.parameters) {
    if (p.name == kNumber) {
      p.values = spec::IntegerRange{begin + 1, begin + static_cast<std::int64_t>(count), 1};
    } else if (lines_are_commands_) {
      p.values = values([](const std::string& line) { return line; });
    } else {
      const Form& form = *form_of(p.name);
      p.values = values([&](const std::string& line) { return exec_word(form.of(line)); });
    }
  }
  if (!lines_are_commands_) {
    spec::Parameter raw{std::string(kRaw), values([](const std::string& line) { return line; })};
    entry.parameters.push_back(std::move(raw));
    entry.env.emplace_back(kValueVariable, fmt::format("{{{}}}", kRaw));
  }
  return entry;
}

workflow::LoadedSpec ExecLineJobs::jobs_of(const std::vector<std::string>& lines) {
  workflow::LoadedSpec loaded;
  loaded.file = header_.file;
  loaded.text = header_.text;
  loaded.workflow = header_.workflow;
  std::vector<spec::JobEntry>& entries = loaded.workflow->jobs;
  entries.clear();
  for (std::size_t first = 0; first < lines.size(); first += kLinesPerEntry) {
    const std::size_t count = std::min(kLinesPerEntry, lines.size() - first);
    for (const spec::JobEntry& of : header_.workflow->jobs)
      entries.push_back(entry(of, lines, first, count));
  }
  lines_before_ += lines.size();
  spec::Expanded expanded = spec::expand(*loaded.workflow, loaded.text, loaded.file);
  loaded.expansion = std::move(expanded.expansion);
  loaded.diagnostics = std::move(expanded.diagnostics);
  return loaded;
}

}  // namespace torc::cli
