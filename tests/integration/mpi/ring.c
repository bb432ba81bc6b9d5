/* A ring of MPI ranks: a number goes round and each rank adds one. Rank 0 prints what came back; each prints who it is
 * and where: "rank R of N on HOST allows CPUS". With a word it waits afterwards, until somebody ends it.
 *   ring LOG [wait]    LOG: a file that each rank appends its line to */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, token = 0;
  char host[256], line[512];
  cpu_set_t cpus;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  sched_getaffinity(0, sizeof cpus, &cpus);
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  ++token;
  if (size > 1) MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  if (rank == 0 && size > 1) MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int length = snprintf(line, sizeof line, "rank %d of %d on %s with %d cpus\n", rank, size, host, CPU_COUNT(&cpus));
  FILE* log = fopen(argv[1], "a");
  if (log == NULL || fwrite(line, 1, (size_t)length, log) != (size_t)length || fclose(log) != 0) return 3;
  if (rank == 0) printf("ring %d of %d\n", token, size), fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2) {
    for (;;) pause();
  }
  MPI_Finalize();
  return token < 1;
}
