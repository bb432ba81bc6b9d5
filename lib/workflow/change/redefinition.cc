#include "lib/workflow/change/redefinition.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "lib/base/codec.h"
#include "lib/base/hash.h"
#include "lib/workflow/change/parted.h"

namespace torc::workflow {
namespace {

// What ends with an empty line does the same without it.
std::string_view bare(std::string_view command) {
  while (command.ends_with('\n')) command.remove_suffix(1);
  return command;
}

spec::Environment in_order(spec::Environment env) {
  std::ranges::sort(env);
  return env;
}

}  // namespace

std::string plain_path(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

std::vector<std::string> file_set(const std::vector<std::string>& paths) {
  std::vector<std::string> plain;
  plain.reserve(paths.size());
  for (const std::string& path : paths) plain.push_back(plain_path(path));
  std::ranges::sort(plain);
  return plain;
}

std::vector<Redefinition> redefinitions(const spec::RenderedJob& before,
                                        const spec::RenderedJob& now) {
  using Trigger = spec::RerunTrigger;
  std::vector<Redefinition> all;
  if (bare(before.command) != bare(now.command)) {
    const Parted shown = where_they_part(before.command, now.command);
    all.push_back({Trigger::command,
                   fmt::format("the command changed: '{}' was '{}'", shown.now, shown.before)});
  }
  if (before.commands != now.commands)
    all.push_back({Trigger::command, "the command of an alternative changed"});
  if (in_order(before.env) != in_order(now.env))
    all.push_back({Trigger::params, "its environment changed"});
  if (before.launch != now.launch)
    all.push_back({Trigger::command, "it is started otherwise on its nodes"});
  const auto differ = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return a != b && file_set(a) != file_set(b);
  };
  if (differ(before.input_files, now.input_files))
    all.push_back({Trigger::inputs, "it has other input files"});
  if (differ(before.output_files, now.output_files))
    all.push_back({Trigger::command, "it has other output files"});
  if (before.input_user_data != now.input_user_data ||
      before.output_user_data != now.output_user_data)
    all.push_back({Trigger::params, "it has other user data"});
  return all;
}

std::vector<std::string> sentences(const std::vector<Redefinition>& all,
                                   const spec::RerunTriggers& triggers) {
  std::vector<std::string> some;
  for (const Redefinition& one : all) {
    if (triggers.has(one.trigger)) some.push_back(one.what);
  }
  return some;
}

std::uint64_t definition_hash(const spec::RenderedJob& job, const spec::Environment& env) {
  if (!job.output_user_data.empty()) return 0;
  Encoder out;
  const auto list = [&](const std::vector<std::string>& all) {
    out.varint(all.size());
    for (const std::string& one : all) out.text(one);
  };
  out.text(bare(job.command));
  list(job.commands);
  for (const spec::Environment* one : {&job.env, &env}) {
    out.varint(one->size());
    for (const auto& [name, value] : in_order(*one)) out.text(name).text(value);
  }
  out.u8(static_cast<std::uint8_t>(job.launch.on)).u8(static_cast<std::uint8_t>(job.launch.end));
  out.varint(job.launch.tasks_per_node);
  list(file_set(job.input_files));
  list(file_set(job.output_files));
  list(job.input_user_data);
  return fnv1a(out.bytes()) | 1U;
}

}  // namespace torc::workflow
