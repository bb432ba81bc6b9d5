// Where the output of a worker's jobs goes, from their start to their end, by the job's stdio mode.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/exec/output/packed_writer.h"
#include "lib/exec/output/spare_files.h"
#include "lib/worker/jobs/job_command.h"

namespace torc::worker {

// What one running job holds of it.
struct HeldOutput {
  std::optional<std::uint32_t> slot;  // packed
  int out = -1;                       // files of its own, opened here; equal when combined
  int err = -1;
  OutputFiles files;  // of these; or that the job's process opens itself
  bool delete_on_success = false;
};

// Of one worker. Troubles of output are told by `notice`, and are never those of the job.
class OutputKeeper {
 public:
  // `root`: see output_root().
  OutputKeeper(const exec::OutputRoot& root, Path directory, std::uint64_t worker,
               std::function<void(const std::string&)> notice);

  // Puts files or descriptors into the job's command.
  HeldOutput open(PreparedJob& job);
  // All processes of the job have gone. `completed`: it has, and did not just end.
  void close(const HeldOutput& held, bool completed);
  // The job has processes that cannot be ended: its files are left as they are.
  static void abandon(const HeldOutput& held);
  // No more jobs: leaves no empty files behind.
  void tidy();

 private:
  bool pack(PreparedJob& job, HeldOutput& held);
  void use_files(PreparedJob& job, HeldOutput& held);
  void make_parent(const Path& file);

  Path directory_;
  exec::PackedNames names_;
  std::function<void(const std::string&)> notice_;
  exec::PosixOutputDisk disk_;
  exec::SpareFiles spares_{disk_};
  std::unique_ptr<exec::PackedWriter> packed_;
  bool cannot_pack_ = false;
  bool told_ = false;
  Path made_directory_;
};

}  // namespace torc::worker
