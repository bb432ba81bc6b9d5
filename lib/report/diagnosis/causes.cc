#include "lib/report/diagnosis/causes.h"

namespace torc::report {
namespace {

constexpr bool kGeneral = true;

// In the order of Cause.
// clang-format off
constexpr std::array<CauseRow, kCauses> kRows{{
    {"gpu_out_of_memory", "out of GPU memory", "use a smaller batch, or a GPU with more memory; more `memory` does not help"},
    {"out_of_memory", "out of memory", "raise `memory`: `torc recover`, or `torc set NAME memory=…` and `torc retry NAME`"},
    {"time_limit", "time limit", "raise `runtime`: `torc recover`, or `torc set NAME runtime=…` and `torc retry NAME`; or let it save checkpoints (exit code 75)"},
    {"preempted", "preempted", "retry as it is; let it save checkpoints (exit code 75) where it is preempted often"},
    {"node_failed", "node failed or lost", "retry as it is; where it happens on one node only, tell those who run the cluster"},
    {"allocation_ended", "ended with its allocation", "retry as it is, in an allocation with more time; declare `runtime`, so that it is not started too late"},
    {"not_started", "not started", "see that the program, the working directory and the output directory exist on the compute nodes"},
    {"output_missing", "output file not made", "see that the command writes the files that its `output_files` name, below the workflow's directory, and fails where it cannot; `allow_missing_outputs: true` where they need not come"},
    {"gpu_missing", "no GPU to be seen", "ask for `gpus` in the job's requirements, and see that the node has a driver for the program's CUDA"},
    {"gpu_error", "GPU error", "retry as it is; on one node only it is the hardware, on all of them the program"},
    {"nccl_error", "NCCL error", "see that all ranks have come up; NCCL_DEBUG=INFO tells more"},
    {"disk_full", "no space left", "make room, or write elsewhere (`df`); /tmp of a node may be small"},
    {"quota", "quota exceeded", "make room, or write to another filesystem (`quota`, `lfs quota`)"},
    {"stale_file", "stale file handle", "retry as it is; somebody removed or replaced what was open on a network filesystem"},
    {"io_error", "input/output error", "retry as it is; where it happens again, tell those who run the filesystem"},
    {"read_only", "read-only filesystem", "write elsewhere; a container or a disk in trouble is read-only"},
    {"too_many_files", "too many open files", "raise `ulimit -n` in the command, or let the program open fewer"},
    {"too_many_processes", "no more processes or threads", "use fewer threads or workers (OMP_NUM_THREADS), or raise `ulimit -u`"},
    {"license", "no licence", "limit how many run at once by a named limit (`limits`), and retry with `backoff`"},
    {"name_resolution", "host name not found", "see that compute nodes reach the network and a name server; many do not"},
    {"connection", "connection failed", "see that the service runs and that compute nodes may reach it; retry with `backoff`"},
    {"certificate", "certificate not accepted", "see that the node has the certificates, and its clock is right"},
    {"container", "container did not start", "see that the image is there and readable on the node, and what is mounted"},
    {"step_failed", "Slurm step not started", "see what srun says, and whether a step of that size fits the allocation"},
    {"mpi_slots", "not enough MPI slots", "start as many ranks as the job has CPUs or tasks"},
    {"environment_module", "module not found", "see `module spider NAME`; load it in `invocation_script`, or by the full name"},
    {"conda_environment", "environment not found", "give the environment by its path, and activate it in `invocation_script`"},
    {"python_module", "Python module not found", "install it into the environment that the command uses, and see that the command uses that one"},
    {"library_missing", "library not found", "load the module that brings it, or set LD_LIBRARY_PATH; a program may be built for another system"},
    {"wrong_cpu", "built for another CPU", "build it for the oldest CPU of the nodes, or take only nodes that have its instructions"},
    {"command_missing", "command not found", "give the full path, or load what brings it in `invocation_script`"},
    {"permission", "permission denied", "see who owns the file (`ls -l`), and make programs executable (`chmod +x`)"},
    {"file_missing", "file not found", "see the path, and that the job that makes the file is one that this one depends on"},
    {"syntax_error", "syntax error", "fix the line; a wrong version of the interpreter looks the same"},
    {"bus_error", "bus error", "see whether a filesystem or /dev/shm was full, or a mapped file was cut; else it is the program"},
    {"segmentation_fault", "segmentation fault", "fix the program, or raise `ulimit -s` if it needs much stack"},
    {"arithmetic", "arithmetic error", "fix the program or its input: it divided by zero, or the like"},
    {"aborted", "ended itself (abort, assertion)", "see the line: the program found something wrong"},
    {"mpi_aborted", "MPI ended all ranks", "see the first rank that failed, above this line", kGeneral},
    {"killed", "killed by SIGKILL", "torc did not send it: mostly it is the kernel for want of memory; raise `memory`, and look at the node's log", kGeneral},
    {"python_error", "Python exception", "see the lines above it: `torc logs NAME --stderr`", kGeneral},
    {"program_error", "error of the program", "see the lines around it: `torc logs NAME --stderr`", kGeneral},
}};
// clang-format on
static_assert(kRows.back().word == "program_error");

}  // namespace

const CauseRow& row_of(Cause cause) {
  return kRows[static_cast<std::size_t>(cause)];
}

}  // namespace torc::report
