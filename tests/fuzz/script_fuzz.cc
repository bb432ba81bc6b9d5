// A script with lines of #TORC and #SBATCH, from text to jobs, and the YAML that it stands for.
#include "tests/fuzz/spec_checks.h"

namespace {

// Without errors; none where there are many jobs.
std::optional<torc::spec::Loaded> sound(std::string_view text, const std::string& file) {
  const auto look = [](const torc::spec::Workflow& draft, torc::spec::Report&) {
    if (torc::fuzz::asked_for(draft.jobs) > torc::fuzz::kFewJobs) throw torc::fuzz::NotWorthIt{};
  };
  try {
    auto loaded = torc::spec::load(text, file, torc::fuzz::some_file, look);
    if (loaded.expansion) return loaded;
  } catch (const torc::fuzz::NotWorthIt&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

TORC_FUZZ_TARGET(script) {
  std::string text(input);
  if (!text.starts_with("#!")) text.insert(0, "#!/bin/sh\n");
  torc::fuzz::check_spec(text, "job.sh");
  const auto loaded = sound(text, "job.sh");
  if (!loaded) return;
  TORC_MUST(!loaded->yaml.empty());
  const auto again = sound(loaded->yaml, "job.yaml");
  TORC_MUST(again.has_value() && again->expansion->jobs == loaded->expansion->jobs);
}
