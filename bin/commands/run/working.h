// Working for a store on this machine: what `torc run`, `torc worker` and `torc exec` share.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bin/app.h"
#include "bin/flags.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {

// The flags that `torc run` and `torc worker` share.
void add_worker_flags(Command& c, worker::WorkerOptions& o);

// Why a worker left: for scripts, and for people.
struct EndWords {
  std::string_view name;
  std::string_view sentence;
};
[[nodiscard]] const EndWords& words_of(worker::WorkerEnd end);

// A laptop that slept loses its lease and goes on as a new worker, a few times.
Result<worker::WorkerSummary> work_here(const App& app, std::unique_ptr<store::Store> store,
                                        const worker::WorkerSetup& setup,
                                        const worker::WorkerEvents& events);

// What `setup` says that the person should know.
void warn(const App& app, const worker::WorkerSetup& setup);

// Tells of a --scheduler or --label that no job is bound to: it may be a slip. Not where it
// resembles none and there are unbound jobs: then it is a scheduler that the spec declares and
// nothing is bound to.
Result<void> note_unknown_bindings(const App& app, store::Store& store,
                                   const worker::WorkerOptions& options);

// As a shell tells of who ended by a signal: 130 for SIGINT.
[[nodiscard]] Exit exit_by_signal(int signal);
// "SIGINT"; of another one than tell a process to leave, its number.
[[nodiscard]] std::string signal_name(int signal);

// Also when the worker itself could not go on, or was told to leave before its workflow was done.
[[nodiscard]] Exit exit_of(const worker::WorkerSummary& summary);
// Of a workflow alone, whoever worked for it.
[[nodiscard]] Exit exit_of(const claim::WorkflowState& workflow);
// Whether it left because a signal told it to, with something left to do.
[[nodiscard]] bool was_interrupted(const worker::WorkerSummary& summary);

// After a worker that could not run jobs here: whether the directory is there in which it was to
// run them. Error not_found: no, and what to do.
[[nodiscard]] Result<void> explain_broken(const worker::WorkerSummary& summary,
                                          const Path& directory, const Path& store);

}  // namespace torc::cli
