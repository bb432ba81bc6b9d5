// The shape of a workflow: which jobs could run at the same time, and what the whole takes at
// least. Grows with entries and dependency records, not with jobs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/spec/expand/expansion.h"

namespace torc::spec {

// Jobs first .. first + count - 1 of one entry that wait for the same.
struct Segment {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
  std::size_t entry = 0;    // position in Expansion::entries
  std::uint32_t stage = 0;  // from 0: jobs that wait for nothing; else one after the last of them
  std::chrono::seconds start{0};  // after the start, when nothing waits for resources; see below
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

struct Outline {
  std::vector<Segment> segments;  // in the order of their numbers, without gaps
  std::uint32_t stages = 0;
  // The longest chain of declared runtimes, each job waiting for the one before it. Jobs without a
  // runtime count as nothing and are a part of it; empty where no job has one. Whatever the
  // condition, a job is taken to wait until the other ends.
  std::vector<std::uint64_t> critical;
  std::chrono::seconds length{0};
};

[[nodiscard]] Outline outline(const Expansion& expansion);
// The position of the segment that a job is in. Precondition: the job is there.
[[nodiscard]] std::size_t segment_of(const std::vector<Segment>& segments, std::uint64_t job);

// Precondition: the job is there.
[[nodiscard]] const ExpandedEntry& entry_of(const Expansion& expansion, std::uint64_t job);
[[nodiscard]] std::string name_of(const Expansion& expansion, std::uint64_t job);

}  // namespace torc::spec
