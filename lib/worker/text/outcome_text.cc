#include "lib/worker/text/outcome_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/exec/run/process_host.h"

namespace torc::worker {
namespace {

std::string show_missing_program(int os_errno, const std::string& line) {
  const auto words = line.empty() ? std::vector<std::string>() : exec::argv_of(line);
  const std::string name = words.empty() ? "" : fmt::format(" '{}'", printable(words.front()));
  const bool is_path = name.find('/') != std::string::npos;
  switch (os_errno) {
    case ENOENT:
      if (name.empty()) return "no such program";
      return is_path ? fmt::format("no program{}, or none that its first line names", name)
                     : fmt::format("no program{} in PATH", name);
    case EACCES:
      return fmt::format("the program{} may not be executed ({})", name, std::strerror(os_errno));
    default:
      return fmt::format("the program{}: {}", name, std::strerror(os_errno));
  }
}

std::string show_start_fault(const claim::Outcome& o, const std::string& line,
                             const Path& directory) {
  const auto missing = [&](std::string_view what) {
    return fmt::format("{}: {}", what, std::strerror(o.os_errno));
  };
  switch (o.fault) {
    case claim::StartFault::unknown:
      return std::strerror(o.os_errno);
    case claim::StartFault::directory:
      return missing(directory.empty()
                         ? std::string("the working directory")
                         : fmt::format("the working directory {}", printable(directory.string())));
    case claim::StartFault::stdout_file:
      return missing("the file for its standard output");
    case claim::StartFault::stderr_file:
      return missing("the file for its standard error");
    case claim::StartFault::cpus:
      return missing("the CPUs that it was bound to");
    case claim::StartFault::program:
      return show_missing_program(o.os_errno, line);
  }
  return "?";
}

}  // namespace

std::string show_outcome(const claim::Outcome& o, const std::string& named, const Path& directory) {
  switch (o.cause) {
    case claim::EndCause::none:
      return "-";
    case claim::EndCause::exited:
      return fmt::format("exit code {}", o.exit_code);
    case claim::EndCause::signaled:
      return fmt::format("signal {} ({})", o.signal, strsignal(o.signal));
    case claim::EndCause::timed_out:
      return fmt::format("time limit (exit code {})", o.exit_code);
    case claim::EndCause::out_of_memory:
      return fmt::format("out of memory (exit code {})", o.exit_code);
    case claim::EndCause::not_started:
      return "could not start: " + show_start_fault(o, named, directory);
    case claim::EndCause::output_missing:
      return named.empty() ? "an output file was not made"
                           : fmt::format("output file {} was not made", torc::quoted(named));
    case claim::EndCause::worker_lost:
      return "killed with its worker";
    case claim::EndCause::lease_lost:
      return "its worker fell silent: its node died, hung, or was cut off";
    case claim::EndCause::stopped:
      return "stopped: its worker was told to end";
    case claim::EndCause::allocation_ended:
      return "ended with its worker's time (end of the allocation)";
    case claim::EndCause::unmet:
      return "never needed: the condition on which it starts did not come true";
    case claim::EndCause::upstream_failed:
      return "canceled: a job that it depends on did not complete";
    case claim::EndCause::canceled:
      return "canceled";
    case claim::EndCause::removed:
      return "removed: the workflow file does not have it any more";
  }
  return "?";
}

std::string show_rank(const claim::Reader& reader, const claim::Outcome& o) {
  if (o.rank == 0) return "";
  const auto worker = claim::read_worker(reader, o.member);
  return fmt::format(
      ", on rank {}{}", o.rank,
      worker ? fmt::format(" ({})", printable(node_of(worker->info))) : std::string());
}

const std::string& node_of(const claim::WorkerInfo& info) {
  return info.node_name.empty() ? info.host : info.node_name;
}

std::string missing_output(const claim::Reader& reader, workflow::RecipeBook& book, JobId id,
                           const claim::Outcome& o) {
  if (o.missing_output == 0) return {};
  const auto page = book.find(reader, id);
  if (!page) return {};
  const auto texts = page->recipe.render(raw(id) - raw(page->job_template.first));
  return o.missing_output > texts.output_files.size() ? std::string()
                                                      : texts.output_files[o.missing_output - 1];
}

std::string show_end(const claim::Reader& reader, workflow::RecipeBook& book, JobId id,
                     const claim::Outcome& o) {
  const std::string where = show_rank(reader, o);
  if (o.cause == claim::EndCause::output_missing)
    return show_outcome(o, missing_output(reader, book, id, o)) + where;
  if (o.cause != claim::EndCause::not_started) return show_outcome(o) + where;
  std::string line;
  Path directory;
  if (o.fault == claim::StartFault::program) {
    const auto job = claim::read_job(reader, id);
    if (const auto page = book.find(reader, id)) {
      const auto texts = page->recipe.render(raw(id) - raw(page->job_template.first));
      line = texts.command_by(job ? job->alternative : 0);
    }
  }
  if (o.fault == claim::StartFault::directory) {
    if (const auto workflow = claim::read_workflow(reader)) {
      if (const auto settings = workflow::decode_workflow_settings(workflow->settings))
        directory = settings->directory.path;
    }
  }
  return show_outcome(o, line, directory) + where;
}

}  // namespace torc::worker
