#include "lib/cluster/queue.h"

#include <fmt/format.h>

#include "lib/base/number.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/slurm/shown.h"
#include "lib/slurm/squeue.h"

namespace torc::cluster {

Result<Queue> read_queue(std::string_view text) {
  Queue queue;
  if (!text.empty() && text.back() != '\n')
    return Error{ErrorKind::io, "the answer of squeue is incomplete", "try again"};
  for (const auto line : slurm::whole_lines(text)) {
    if (trimmed(line).empty()) continue;
    const auto fields = split(line, '|');
    const auto nodes =
        fields.size() == 2 ? leading_number<std::uint64_t>(trimmed(fields[1])) : std::nullopt;
    if (!nodes || *nodes > UINT32_MAX)
      return Error{ErrorKind::io,
                   fmt::format("squeue printed a line that torc does not understand: {}",
                               torc::quoted(line)),
                   ""};
    for (const auto name : split(trimmed(fields[0]), ',')) {
      Waiting& waiting = queue[std::string(name)];
      waiting.allocations += 1;
      waiting.nodes += *nodes;
    }
  }
  return queue;
}

Result<Queue> ask_queue(const slurm::RunProgram& run) {
  TORC_ASSIGN(const auto output, run(slurm::question("squeue", {"--local", "-a", "-h", "-r", "-t",
                                                                "PENDING", "-o", "%P|%D"})));
  if (output.exit_code != 0)
    return Error{output.exit_code == 127 ? ErrorKind::not_found : ErrorKind::busy,
                 fmt::format("squeue: {}", slurm::failure_of(output)), ""};
  return read_queue(output.out);
}

}  // namespace torc::cluster
