// What a torture run is asked to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "lib/base/path.h"

namespace torc::torture {

enum class Replicas : std::uint8_t {
  shared,  // all workers are processes of one node
  pairs,   // two and two: siblings that share a replica, and others that do not
  own      // each has a $TMPDIR and so a copy of the state of its own, as on a node of its own
};

struct Options {
  std::uint64_t kills = 100;     // workers killed in all; rounds go on until they are reached
  std::uint64_t long_stops = 1;  // workers frozen beyond their lease in all
  std::uint64_t rounds = 0;      // and at least so many
  std::uint64_t full_disks = 0;  // times that the store's disk is full, of a round
  std::uint64_t deadly = 0;  // jobs that kill themselves, their group or their worker, of a round
  std::uint64_t long_jobs = 0;  // jobs that run for longer than a lease, of a round
  bool ctrl_z = false;          // every other stop is a person's, by SIGTSTP to the whole job
  bool maintenance = false;     // compact, backup and repair are among those who read
  std::uint64_t workers = 4;    // at a time
  std::uint64_t slots = 2;      // jobs that a worker runs at a time
  std::uint64_t jobs = 300;     // of a round
  std::uint64_t spacing = 25;   // lines of jobs between two faults, on average
  std::uint64_t seed = 0;
  std::string engine = "journal";
  Replicas replicas = Replicas::shared;
  std::string locks = "real";  // else a mode of lying_locks.cc
  Path torc;                   // the program
  Path directory;              // to work in; made when absent
  bool keep = false;           // keeps the stores of good rounds, too
};

// The shortest that a worker accepts.
inline constexpr std::chrono::seconds kLease{10};

// What must never happen. The text says what was seen.
struct Violation {
  std::string what;
};

}  // namespace torc::torture
