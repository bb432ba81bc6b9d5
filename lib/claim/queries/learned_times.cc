#include "lib/claim/queries/learned_times.h"

#include "lib/claim/tables/tables.h"

namespace torc::claim {

std::optional<LearnedTime> read_learned_time(const Reader& reader, std::uint64_t first,
                                             std::uint32_t alternative) {
  const auto value = reader.get(learned_key(first, alternative));
  return value ? LearnedTime::decode(*value) : std::nullopt;
}

std::optional<std::chrono::seconds> learned_time(const Reader& reader, const JobClass& job_class,
                                                 std::uint32_t alternative) {
  if (job_class.learns_from == 0) return std::nullopt;
  const auto value = reader.get(learned_key(job_class.learns_from, alternative));
  return value ? expectation_in(*value) : std::nullopt;
}

std::chrono::seconds expected_run(const Reader& reader, const JobClass& job_class,
                                  std::uint32_t alternative) {
  return learned_time(reader, job_class, alternative)
      .value_or(expected_time(job_class.need_of(alternative)));
}

JobClass as_learned(const Reader& reader, JobClass job_class) {
  for (std::uint32_t a = 0; a < job_class.alternatives(); ++a) {
    auto& runtime = job_class.need_of(a).runtime;
    runtime = learned_time(reader, job_class, a).value_or(runtime);
  }
  return job_class;
}

}  // namespace torc::claim
