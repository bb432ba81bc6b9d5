// What Slurm answered last about a workflow, in a file of the store, so that those who look ask it
// once in a while, however often they look. Each user has a file of his own, and believes no other:
// of what others can put in its place (a file of theirs, a link, a fifo, a large one) nothing is
// read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/slurm/shown.h"
#include "lib/workflow/context/context.h"

namespace torc::report {

struct SlurmAnswer {
  WallTime asked_at{};        // said before it is asked
  WallTime answered_at{};     // 0: never; what follows is as of then
  bool whole = false;         // what is not in it Slurm does not show
  std::string failure;        // why there was no answer to the newest question; empty: there was
  std::uint64_t workers = 0;  // a mark of those in allocations that were at work when it was asked
  // Of this workflow; `script` is the scheduler, as its script is called.
  std::vector<slurm::ShownAllocation> allocations;
  std::vector<slurm::ShownNode> nodes;  // of workers that are silent
  bool operator==(const SlurmAnswer&) const = default;
};

[[nodiscard]] std::string encode(const SlurmAnswer& answer, std::string_view store_id);
// nullopt: not such an answer, or of another store.
[[nodiscard]] std::optional<SlurmAnswer> decode_answer(std::string_view bytes,
                                                       std::string_view store_id);

inline constexpr std::size_t kMostOfAnswer = std::size_t{256} << 10;  // bytes
[[nodiscard]] Path answer_file(const workflow::Context& context);     // below the store
// nullopt: there is none that this user has written alone.
[[nodiscard]] std::optional<std::string> read_answer(const workflow::Context& context,
                                                     const Path& store);
// Atomically: who reads it meanwhile has the one before. An Error leaves that one.
Result<void> write_answer(const workflow::Context& context, const Path& store,
                          std::string_view bytes);

// So long an answer is told before Slurm is asked anew; kDoubtInterval where `known` shows nothing
// that goes on by itself, so that a person has to do something, or has done it, and where other
// workers are at work now (`workers`, a mark of them) than when it was asked.
inline constexpr std::chrono::seconds kAskInterval{10};
inline constexpr std::chrono::seconds kDoubtInterval{2};
[[nodiscard]] std::chrono::seconds kept_for(const SlurmAnswer& known, std::uint64_t workers);

// What was answered to the newest question where that is kept yet; else `ask` is called, and its
// answer kept for the next. That it is asked is written before: of those that look in the meantime
// nobody asks, and they have the answer before. Two that begin in the same instant may both ask.
// Where nothing can be written each asks.
[[nodiscard]] SlurmAnswer ask_once(const workflow::Context& context, const Path& store,
                                   std::string_view store_id, std::uint64_t workers,
                                   const std::function<SlurmAnswer()>& ask);

}  // namespace torc::report
