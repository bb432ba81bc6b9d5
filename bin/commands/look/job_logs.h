// What the forms of `torc logs` share: one job, all that failed, all into files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// The newest attempt of each job that failed or was terminated, with headings; the last `lines`
// lines of each stream.
Result<Exit> print_failed(const App& app, store::Store& store, std::optional<std::uint64_t> lines);
// Prints what comes until the job has ended: over all its attempts, or in one.
Result<Exit> follow(const App& app, store::Store& store, const std::string& name,
                    exec::Stream stream, std::optional<std::uint32_t> attempt);

}  // namespace torc::cli
