// Why jobs fail, as far as it can be told: from what torc saw of the end itself, or from lines that
// known programs print. One row a cause; the order is that of importance, and also decides which of
// two causes a line stands for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace torc::report {

enum class Cause : std::uint8_t {
  gpu_out_of_memory,
  out_of_memory,
  time_limit,
  preempted,
  node_failed,
  allocation_ended,
  not_started,
  output_missing,
  gpu_missing,
  gpu_error,
  nccl_error,
  disk_full,
  quota,
  stale_file,
  io_error,
  read_only,
  too_many_files,
  too_many_processes,
  license,
  name_resolution,
  connection,
  certificate,
  container,
  step_failed,
  mpi_slots,
  environment_module,
  conda_environment,
  python_module,
  library_missing,
  wrong_cpu,
  command_missing,
  permission,
  file_missing,
  syntax_error,
  bus_error,
  segmentation_fault,
  arithmetic,
  aborted,
  // Said of an end, but not why: left out where something above is known.
  mpi_aborted,
  killed,
  python_error,
  program_error
};
inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::program_error) + 1;

struct CauseRow {
  std::string_view word;    // for scripts
  std::string_view title;   // for people
  std::string_view remedy;  // an order, without an end of a sentence
  bool general = false;
};
[[nodiscard]] const CauseRow& row_of(Cause cause);

}  // namespace torc::report
