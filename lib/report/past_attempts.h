// Attempts of a job that count no more: what they ran, and what made them count no more.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/change_record.h"
#include "lib/report/job_report.h"

namespace torc::report {

struct ToldAttempt {
  claim::Job attempt;
  std::optional<std::string> command = {};  // as it ran; nullopt: nobody knows any more
  bool is_as_now = true;                    // it is the command that the workflow has now
  // The last thing that a person changed about the job after that attempt was granted and before
  // the next one was; what was taken back is none.
  std::optional<claim::KeptChange> then;
};

// Those that are kept, in their order. The newest that has ended is among them where its job is to
// run again. Error corrupt.
Result<std::vector<ToldAttempt>> past_attempts_of(const JobInStore& in);
// What the newest attempt ran; nullopt: there was none, or nobody knows any more.
[[nodiscard]] std::optional<std::string> command_of_newest(const JobInStore& in);

// What a person changed last about the job since its newest attempt was granted, where it waits or
// is canceled.
[[nodiscard]] std::optional<claim::KeptChange> change_after_newest(const JobInStore& in);

// "2 on node1: exit code 3 after 1m, ran: …; then: torc reset", the newest first; of more than a
// few the rest in a sentence. `word`: the job as a word of a command.
[[nodiscard]] std::vector<std::string> past_attempt_lines(const JobInStore& in,
                                                          const std::string& store,
                                                          const std::string& word);
[[nodiscard]] nlohmann::ordered_json past_attempts_json(const JobInStore& in);

}  // namespace torc::report
