#include "lib/claim/queries/learned_times.h"

#include "lib/claim/tables/tables.h"

namespace torc::claim {

std::optional<LearnedTime> read_learned_time(const Reader& reader, std::uint64_t first) {
  const auto value = reader.get(Key(Table::learned_time, first));
  return value ? LearnedTime::decode(*value) : std::nullopt;
}

std::optional<std::chrono::seconds> learned_time(const Reader& reader, const JobClass& job_class) {
  if (job_class.learns_from == 0) return std::nullopt;
  const auto value = reader.get(Key(Table::learned_time, job_class.learns_from));
  return value ? expectation_in(*value) : std::nullopt;
}

std::chrono::seconds expected_run(const Reader& reader, const JobClass& job_class) {
  return learned_time(reader, job_class).value_or(expected_time(job_class.need));
}

JobClass as_learned(const Reader& reader, JobClass job_class) {
  job_class.need.runtime = learned_time(reader, job_class).value_or(job_class.need.runtime);
  return job_class;
}

}  // namespace torc::claim
