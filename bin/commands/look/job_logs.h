// What the forms of `torc logs` share: one job, all that failed, all into files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/app.h"
#include "lib/report/job_output.h"

namespace torc::cli {

inline constexpr std::size_t kOutputStep = 1 << 20;  // bytes read at once

// Prints what there is of a stream from `from` on; gives the place behind it.
Result<std::uint64_t> copy_out(const App& app, report::OutputReader& reader,
                               const report::AttemptOutput& output, exec::Stream stream,
                               std::uint64_t from);
// Prints the last `lines` lines, at most the last 256 KiB. Gives false when there is nothing at
// all.
Result<bool> print_tail(const App& app, report::OutputReader& reader,
                        const report::AttemptOutput& output, exec::Stream stream,
                        std::uint64_t lines);

// Of a job whose command runs on several nodes: the output on each, or on that of `rank`. One of
// any other job.
[[nodiscard]] std::vector<report::AttemptOutput> outputs_of(const report::AttemptOutput& output,
                                                            std::optional<std::uint32_t> rank);
// What they printed, each under a heading; those that printed nothing are left out. Gives false
// when none of them has.
Result<bool> print_ranks(const App& app, report::OutputReader& reader,
                         const std::vector<report::AttemptOutput>& outputs, exec::Stream stream,
                         std::optional<std::uint64_t> lines);

// The newest attempt of each job that failed or was terminated, with headings; the last `lines`
// lines of each stream.
Result<Exit> print_failed(const App& app, store::Store& store, std::optional<std::uint64_t> lines);
// Why the jobs named failed, or all that did. `words`: [STORE] NAME…
Result<Exit> print_diagnosis(const App& app, const std::vector<std::string>& words, bool json);
// An Error where the job has no such rank.
Result<void> check_rank(const report::JobNow& now, std::optional<std::uint32_t> rank);
// Prints what comes until the job has ended: over all its attempts, or in one; from all its nodes,
// or from that of a rank.
Result<Exit> follow(const App& app, store::Store& store, const std::string& name,
                    exec::Stream stream, std::optional<std::uint32_t> attempt,
                    std::optional<std::uint32_t> rank);

}  // namespace torc::cli
