// What jobs wrote, wherever their workers put it: files of their own or packed ones.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/exec/output/packed_reader.h"
#include "lib/worker/jobs/job_command.h"

namespace torc::report {

// One attempt of a job, as far as its output goes; of one whose command runs on every node
// (`launch: all`) that of one node: of the head, unless choose_rank() was asked for another.
struct AttemptOutput {
  JobId job{};
  std::uint32_t attempt = 0;
  std::uint32_t nodes = 1;  // on which its command runs
  std::uint32_t rank = 0;   // of the node
  spec::Stdio stdio;
  std::uint64_t worker = 0;       // that had it; 0: not known
  std::string host;               // of that worker; empty: not known
  Path store;                     // empty: of none
  std::vector<Path> directories;  // where it may lie, the likeliest first
  bool in_store = true;           // the likeliest is in the store
};

// A job now, with the newest attempt's output.
struct JobNow {
  claim::Job job;
  std::string name;
  std::string how;  // it ended, in words
  AttemptOutput output;
};
// nullopt: no such job. Reads the store.
Result<std::optional<JobNow>> look_at_job(store::Store& store, workflow::RecipeBook& book,
                                          const std::string& name);
// The same from within a view.
std::optional<JobNow> look_at_job(const claim::Reader& reader, workflow::RecipeBook& book,
                                  const Path& store, JobId id, const claim::Job& job);
// An earlier attempt: nobody remembers which worker had it.
void choose_attempt(AttemptOutput& output, std::uint32_t attempt);
// Of the attempt on another node: nobody remembers which worker was there.
void choose_rank(AttemptOutput& output, std::uint32_t rank);
// The names of the nodes of the attempt, by rank, as the file has them that its command finds
// (TORC_HOSTFILE). Empty: there is none.
[[nodiscard]] std::vector<std::string> nodes_of(const AttemptOutput& output);
// As headings call it: "rank 1 on node7", or "rank 1" where nobody knows. `nodes`: of nodes_of().
[[nodiscard]] std::string say_rank(std::uint32_t rank, const std::vector<std::string>& nodes);

// Below which no link is followed to output that lies in `directory`.
[[nodiscard]] Path root_of_output(const Path& store, const Path& directory);

// Whether the mode keeps this stream at all.
[[nodiscard]] bool is_kept(spec::StdioMode mode, exec::Stream stream);

class OutputReader {
 public:
  struct Piece {
    std::string bytes;
    std::uint64_t size = 0;  // of all that there is now
    Path file;               // in which it lies; empty: none
  };
  // At most `most` bytes from `from` on. nullopt: there is no trace of it.
  Result<std::optional<Piece>> read(const AttemptOutput& output, exec::Stream stream,
                                    std::uint64_t from, std::size_t most);

 private:
  Result<std::optional<Piece>> read_packed(const AttemptOutput& output, const Path& directory,
                                           exec::Stream stream, std::uint64_t from,
                                           std::size_t most);
  std::map<Path, exec::PackedReader> packed_;
};

}  // namespace torc::report
