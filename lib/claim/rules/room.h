// What fits into what a worker has of resources that have a name, and which pieces a job gets: one
// rule for the claims and for the worker that starts it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/resources.h"

namespace torc::claim {

// One GPU, port or the like. Whole, or shared by jobs that have a part of it each.
struct Piece {
  std::string kind;             // "gpus/a100", "port"
  std::uint32_t free = kWhole;  // of 1000; 0: a job has it, or another worker
  std::uint32_t group = 0;      // those of one are near each other; 0: of none
  bool operator==(const Piece&) const = default;
};
// The pieces are those of a worker, in its order; those of GPUs may be left out where none of them
// has a type or a group and none is shared: then `left` counts them.
struct Room {
  Resources left;   // of sums what is free, of pieces how many are free and whole
  Resources total;  // that the worker has
  std::vector<Piece> pieces;
};

// Whether what it has of pieces is more than to be counted: which of them are free decides.
[[nodiscard]] inline bool needs_pieces(const Resources& need) {
  return !need.named.empty() || (need.locality == Locality::strict && need.gpus > 1);
}
// Of how many jobs the named part, and the GPUs of those that are strict, fit beside each other;
// UINT64_MAX: as many as you like.
[[nodiscard]] std::uint64_t how_many_named_fit(const Resources& need, const Room& room);
// Also keeps the pieces in step with `need.gpus`; `left.gpus` is the caller's to lower by that.
// Precondition: they fit.
void occupy_named(Room& room, const Resources& need, std::uint64_t jobs);

struct PieceUse {
  std::uint32_t piece = 0;  // position
  std::uint32_t thousandths = kWhole;
  bool operator==(const PieceUse&) const = default;
};
// What a job gets: shared pieces are filled first, pieces of a type are left for those who ask for
// it, and of the rest those are taken that lie in the fewest groups, or the most, by its locality.
// A strict one leaves none of a type where it needs them to lie in no more groups than it would of
// pieces that are all free. None: it does not fit.
[[nodiscard]] std::optional<std::vector<PieceUse>> choose(const Resources& need,
                                                          const std::vector<Piece>& pieces);

// The same of one that is given what there is, wherever it lies: it has its node to itself, or
// nobody counts what is free.
[[nodiscard]] std::optional<std::vector<PieceUse>> choose_anywhere(
    const Resources& need, const std::vector<Piece>& pieces);

// What a worker has of that name and its types; of GPUs all.
struct Stock {
  std::uint64_t thousandths = 0;
  bool by_piece = false;
};
[[nodiscard]] Stock stock_of(const Resources& total, std::string_view name);
// Whether a worker that has that much could ever serve it.
[[nodiscard]] bool could_give(const Resources& total, const Amount& need);
// "it needs 2 'fpga', of which there is none"; what a worker that has that much lacks for it.
[[nodiscard]] std::string say_lacking(const Resources& need, const Resources& total);
[[nodiscard]] bool could_give_named(const Resources& total, const Resources& need);

}  // namespace torc::claim
