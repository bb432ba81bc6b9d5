#include "lib/report/diagnosis/patterns.h"

namespace torc::report {
namespace {

// One line a pattern: its cause, the expression, a line that it meets, one that it must pass over.
// A test tries them all.
// clang-format off
constexpr Pattern kPatterns[] = {
    {Cause::gpu_out_of_memory, R"(CUDA out of memory|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|HIP out of memory)", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "CUDA memory: 2 GiB of 80 GiB"},
    {Cause::out_of_memory, R"((?i)\boom[-_ ]kill)", "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.", "the room_killer game was closed"},
    {Cause::out_of_memory, R"((?i)out of memory: kill(ed|ing)? process|memory cgroup out of memory)", "Memory cgroup out of memory: Killed process 71 (python)", "never out of memory: kill nobody"},
    {Cause::out_of_memory, R"((?i)exceeded (job |step |virtual )?memory limit|memory usage exceeded|mem \d+kb exceeded limit)", "slurmstepd: error: Step 12.0 exceeded memory limit (2048 > 1024), being killed", "memory limit: 2 GiB"},
    {Cause::out_of_memory, R"(\bstd::bad_alloc\b)", "terminate called after throwing an instance of 'std::bad_alloc'", "std::bad_allocator is a class"},
    {Cause::out_of_memory, R"(^(\w+\.)*_?(Array)?MemoryError\b)", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB", "    except MemoryError: pass"},
    {Cause::out_of_memory, R"(java\.lang\.OutOfMemoryError)", "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space", "java.lang.OutOfRange"},
    {Cause::out_of_memory, R"((?i)cannot allocate (memory|vector of size))", "Error: cannot allocate vector of size 7.5 Gb", "we allocate memory for 3 buffers"},
    {Cause::out_of_memory, R"(\bOutOfMemoryError\(\)|fatal error: (runtime: )?out of memory)", "ERROR: LoadError: OutOfMemoryError()", "OutOfMemoryErrors are counted below"},
    {Cause::time_limit, R"(DUE TO TIME LIMIT)", "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-05-01T12:00:00 DUE TO TIME LIMIT ***", "stopped early due to time limits of the solver"},
    {Cause::time_limit, R"(walltime \d+ exceeded limit|TERM_RUNLIMIT)", "=>> PBS: job killed: walltime 3610 exceeded limit 3600", "walltime 3610, limit 7200"},
    {Cause::preempted, R"(DUE TO PREEMPTION|TERM_PREEMPT)", "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-05-01T12:00:00 DUE TO PREEMPTION ***", "preemption is enabled"},
    {Cause::node_failed, R"(DUE TO NODE FAILURE|\bNODE_FAIL\b|Node failure on)", "srun: error: Node failure on n17", "node n17 failed no test"},
    {Cause::gpu_missing, R"(no CUDA-capable device is detected|No CUDA GPUs are available|Found no NVIDIA driver|CUDA driver version is insufficient|NVIDIA-SMI has failed|CUDA_ERROR_NO_DEVICE|Torch not compiled with CUDA enabled)", "RuntimeError: No CUDA GPUs are available", "CUDA GPUs are available: 2"},
    {Cause::gpu_error, R"(CUDA error: (an illegal|device-side|unspecified|uncorrectable|misaligned|invalid)|cudaError(LaunchFailure|IllegalAddress|ECCUncorrectable|Assert)|CUDA_ERROR_(ILLEGAL_ADDRESS|LAUNCH_FAILED|ECC_UNCORRECTABLE|ASSERT|UNKNOWN)|NVRM: Xid)", "RuntimeError: CUDA error: an illegal memory access was encountered", "CUDA error: none"},
    {Cause::nccl_error, R"(NCCL (error|failure)|ncclSystemError|ncclInternalError|ncclRemoteError|ncclUnhandledCudaError|Watchdog caught collective operation timeout)", "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333", "NCCL INFO Bootstrap: using eth0"},
    {Cause::disk_full, R"((?i)no space left on device|\bENOSPC\b)", "OSError: [Errno 28] No space left on device: 'out.nc'", "space left on device: 3 GB"},
    {Cause::quota, R"((?i)disk quota exceeded|\bEDQUOT\b)", "cp: error writing 'a': Disk quota exceeded", "disk quota: 100 GB"},
    {Cause::stale_file, R"((?i)stale (NFS )?file handle|\bESTALE\b)", "cat: data/in.csv: Stale file handle", "a handle of a stale file"},
    {Cause::io_error, R"((?i)input/output error\b|\bEIO\b|remote I/O error)", "cat: data/in.csv: Input/output error", "input/output errors: 0"},
    {Cause::read_only, R"((?i)read-only file ?system)", "mkdir: cannot create directory 'out': Read-only file system", "the file is read-only"},
    {Cause::too_many_files, R"((?i)too many open files|\bEMFILE\b)", "OSError: [Errno 24] Too many open files: 'a'", "too many files to open by hand"},
    {Cause::too_many_processes, R"(fork: (retry: )?Resource temporarily unavailable|pthread_create failed|can't start new thread|Cannot fork)", "bash: fork: retry: Resource temporarily unavailable", "read: Resource temporarily unavailable"},
    {Cause::license, R"((?i)licen[sc]e (checkout|server|manager|request)[^\n]*(fail|error|denied|down|not respond)|no (available )?licen[sc]es? (available|found)|(failed|unable|cannot) to (obtain|check ?out)[^\n]*licen[sc]e|FLEXnet Licensing error)", "License checkout failed: all licenses are in use", "License: MIT"},
    {Cause::name_resolution, R"((?i)temporary failure in name resolution|name or service not known|could not resolve host|nodename nor servname)", "curl: (6) Could not resolve host: example.org", "name resolution took 3 ms"},
    {Cause::connection, R"((?i)connection (refused|timed out|reset by peer)|no route to host|network is unreachable|\bECONNREFUSED\b|\bETIMEDOUT\b)", "ConnectionRefusedError: [Errno 111] Connection refused", "connection to db opened"},
    {Cause::certificate, R"((?i)certificate verify failed|SSL certificate problem)", "curl: (60) SSL certificate problem: unable to get local issuer certificate", "certificate verified"},
    {Cause::container, R"(^FATAL: +(could not open image|container creation failed|image file|while (extracting|loading|opening)[^\n]*image|unable to (open|pull))|docker: Error response from daemon)", "FATAL:   could not open image /tmp/a.sif: failed to retrieve path", "INFO: image is open"},
    {Cause::step_failed, R"(srun: error: (Unable to (create step|confirm allocation|allocate resources)|Task launch for|[^\n]*(Invalid|not allowed))|slurmstepd: error: execve)", "srun: error: Unable to create step for job 12: More processors requested than permitted", "srun: Job step created"},
    {Cause::mpi_slots, R"(There are not enough slots available)", "There are not enough slots available in the system to satisfy the 8", "there are slots available"},
    {Cause::environment_module, R"(Lmod has detected the following error|The following module\(s\) are unknown|Unable to locate a modulefile for|\bmodule: (command )?not found)", "Lmod has detected the following error:  The following module(s) are unknown: \"gcc/99\"", "the following modules are loaded: gcc/12"},
    {Cause::conda_environment, R"(EnvironmentNameNotFound|EnvironmentLocationNotFound|Your shell has not been properly configured to use|CondaError: Run 'conda init')", "EnvironmentNameNotFound: Could not find conda environment: ml", "conda environment: ml"},
    {Cause::python_module, R"(^(ModuleNotFoundError: |ImportError: (No module|cannot import|attempted)))", "ModuleNotFoundError: No module named 'numpy'", "    except ModuleNotFoundError: pass"},
    {Cause::library_missing, R"(error while loading shared libraries|cannot open shared object file|symbol lookup error|version .(GLIBC|GLIBCXX|CXXABI)_[\d.]+. not found)", "./a.out: error while loading shared libraries: libhdf5.so.103: cannot open shared object file: No such file or directory", "loading shared libraries from /opt"},
    {Cause::wrong_cpu, R"((?i)\billegal instruction\b|\bSIGILL\b|exec format error|does not support the instructions? )", "bash: line 1: 4242 Illegal instruction     (core dumped) ./solver", "an instruction is illegal when it is unknown"},
    {Cause::command_missing, R"(command not found|^[^\n]*: \d+: [^\n]*: not found\s*$)", "/bin/sh: 1: mysolver: not found", "key 3: not found in table"},
    {Cause::permission, R"((?i)permission denied|\bEACCES\b)", "bash: ./run.sh: Permission denied", "permissions: 0644"},
    {Cause::file_missing, R"((?i)no such file or directory|^FileNotFoundError\b|cannot find (the )?file)", "cat: data/in.csv: No such file or directory", "no such thing as a free file"},
    {Cause::syntax_error, R"(^(SyntaxError|IndentationError|TabError): |syntax error near unexpected token|: Syntax error: )", "bash: -c: line 1: syntax error near unexpected token `)'", "syntax errors: 0"},
    {Cause::bus_error, R"(\bBus error\b|\bSIGBUS\b)", "bash: line 1: 4242 Bus error               (core dumped) ./a.out", "the bus errors out"},
    {Cause::segmentation_fault, R"((?i)\bsegmentation (fault|violation)\b|\bSIGSEGV\b)", "bash: line 1: 4242 Segmentation fault      (core dumped) ./a.out", "segmentation of images"},
    {Cause::arithmetic, R"((?i)\bfloating point exception\b|\bSIGFPE\b)", "bash: line 1: 4242 Floating point exception(core dumped) ./a.out", "floating point exceptions are masked"},
    {Cause::aborted, R"(Assertion [^\n]*failed|\bAborted +\(core dumped\)|^terminate called |double free or corruption|\bSIGABRT\b)", "a.out: main.c:3: main: Assertion `n > 0' failed.", "Assertions: 3 passed"},
    {Cause::mpi_aborted, R"(MPI_ABORT was invoked|\bMPI_Abort\(|mpi(run|exec) (noticed|detected) that|BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES|Fatal error in (P?MPI_|internal_)|ORTE_ERROR_LOG|PMIX ERROR)", "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD", "MPI_Init was called on rank 3"},
    {Cause::killed, R"(^Killed\s*$|: line \d+: +\d+ Killed\b|: Killed\s*$)", "/tmp/job.sh: line 3:  4242 Killed                  ./a.out", "Killed processes: 0"},
    {Cause::python_error, R"(^(\w+\.)*[A-Z]\w*(Error|Exception|Interrupt)(: |$))", "ValueError: could not convert string to float: 'x'", "    raise ValueError: no"},
    {Cause::python_error, R"(^Traceback \(most recent call last\):)", "Traceback (most recent call last):", "  a Traceback (most recent call last): follows"},
    {Cause::program_error, R"(^ERROR: LoadError: |^Error in [^\n]*: *$|^Execution halted|^Exception in thread "|^panic: |^thread '[^\n]*' panicked at|^Program received signal|^ERROR STOP)", "Exception in thread \"main\" java.lang.IllegalStateException: no", "Exception in threads are counted"},
};
// clang-format on

}  // namespace

std::span<const Pattern> patterns() {
  return kPatterns;
}

}  // namespace torc::report
