#include "lib/claim/rules/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/claim/rules/near_pieces.h"

namespace torc::claim {
namespace {

constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();

bool has_gpu_pieces(const std::vector<Piece>& pieces) {
  return std::ranges::any_of(pieces, [](const Piece& p) { return is_gpu(p.kind); });
}

bool is_sum(const Resources& total, std::string_view name) {
  const Amount* there = find_amount(total.named, name);
  return there != nullptr && !there->by_piece;
}

std::uint64_t fit_pieces(const Amount& need, const std::vector<Piece>& pieces) {
  std::uint64_t whole = 0;
  std::uint64_t all = 0;
  std::uint64_t parts = 0;
  for (const Piece& p : pieces) {
    if (!is_of(p.kind, need.name)) continue;
    ++all;
    if (p.free == kWhole) ++whole;
    if (need.thousandths < kWhole) parts += p.free / need.thousandths;
  }
  if (need.thousandths == kAllThereIs) return all > 0 && whole == all ? 1 : 0;
  if (need.thousandths < kWhole) return parts;
  return is_by_piece(need.thousandths) ? whole / (need.thousandths / kWhole) : 0;
}

// None of them has a type, and all that are free are whole.
std::uint64_t fit_plain_gpus(const Amount& need, const Room& room) {
  if (need.name != kGpus) return 0;
  const std::uint64_t free = room.left.gpus;
  if (need.thousandths == kAllThereIs) return free > 0 && free == room.total.gpus ? 1 : 0;
  if (need.thousandths < kWhole) return free * (kWhole / need.thousandths);
  return is_by_piece(need.thousandths) ? free / (need.thousandths / kWhole) : 0;
}

std::uint64_t fit_one(const Amount& need, const Room& room) {
  if (is_gpu(need.name) && !has_gpu_pieces(room.pieces)) return fit_plain_gpus(need, room);
  if (!is_sum(room.total, need.name)) return fit_pieces(need, room.pieces);
  const Amount* free = find_amount(room.left.named, need.name);
  if (free == nullptr) return 0;
  if (need.thousandths == kAllThereIs)
    return free->thousandths == find_amount(room.total.named, need.name)->thousandths ? 1 : 0;
  return free->thousandths / need.thousandths;
}

// Those that nobody has: of no type first, then the others.
std::vector<std::uint32_t> whole_ones(std::string_view name, const std::vector<Piece>& pieces) {
  std::vector<std::uint32_t> whole;
  std::vector<std::uint32_t> typed;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].free != kWhole || !is_of(pieces[i].kind, name)) continue;
    (pieces[i].kind.size() == name.size() ? whole : typed).push_back(i);
  }
  whole.insert(whole.end(), typed.begin(), typed.end());
  return whole;
}

// Some of the pieces by their groups; one without a group is one by itself.
struct Grouped {
  std::vector<std::uint32_t> group;  // of each of them
  std::vector<std::uint64_t> sizes;
};
Grouped by_group(const std::vector<std::uint32_t>& some, const std::vector<Piece>& pieces) {
  Grouped by;
  std::vector<std::uint32_t> names;
  for (const std::uint32_t i : some) {
    const std::uint32_t name = pieces[i].group;
    const auto known = name == 0 ? names.end() : std::ranges::find(names, name);
    by.group.push_back(static_cast<std::uint32_t>(known - names.begin()));
    if (known == names.end()) {
      names.push_back(name);
      by.sizes.push_back(1);
    } else {
      ++by.sizes[by.group.back()];
    }
  }
  return by;
}

// How many groups it takes, were all of them free. Precondition: there are as many.
std::size_t least_groups(std::string_view name, std::uint64_t count,
                         const std::vector<Piece>& pieces) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < pieces.size(); ++i)
    if (is_of(pieces[i].kind, name)) all.push_back(i);
  return groups_of(from_fewest_groups(by_group(all, pieces).sizes, count));
}

// Of `whole`, `count` that lie as they should. Empty: they would lie in more than `most` groups.
// Precondition: there are as many.
std::vector<std::uint32_t> by_locality(const std::vector<std::uint32_t>& whole, std::uint64_t count,
                                       const std::vector<Piece>& pieces, Locality locality,
                                       std::size_t most) {
  const Grouped by = by_group(whole, pieces);
  std::vector<std::uint64_t> take = locality == Locality::scatter
                                        ? from_most_groups(by.sizes, count)
                                        : from_fewest_groups(by.sizes, count);
  std::vector<std::uint32_t> chosen;
  if (groups_of(take) > most) return chosen;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (take[by.group[i]] == 0) continue;
    --take[by.group[i]];
    chosen.push_back(whole[i]);
  }
  return chosen;
}

// The pieces that serve a need of that name best; empty: there are not so many, or not as near each
// other as they have to be.
std::vector<std::uint32_t> best_whole(std::string_view name, std::uint64_t count,
                                      const std::vector<Piece>& pieces, Locality locality) {
  const std::vector<std::uint32_t> whole = whole_ones(name, pieces);
  if (whole.size() < count) return {};
  const auto plain = static_cast<std::uint64_t>(std::ranges::count_if(
      whole, [&](std::uint32_t i) { return pieces[i].kind.size() == name.size(); }));
  std::vector<std::uint32_t> first = whole;
  if (plain >= count) first.resize(plain);
  if (std::ranges::all_of(pieces, [](const Piece& p) { return p.group == 0; })) {
    first.resize(count);
    return first;
  }
  const std::size_t most =
      locality == Locality::strict ? least_groups(name, count, pieces) : pieces.size();
  auto chosen = by_locality(first, count, pieces, locality, most);
  if (chosen.empty() && first.size() < whole.size())
    chosen = by_locality(whole, count, pieces, locality, most);
  return chosen;
}

std::optional<std::uint32_t> best_shared(const Amount& need, const std::vector<Piece>& pieces,
                                         Locality locality) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    const Piece& p = pieces[i];
    if (p.free == kWhole || p.free < need.thousandths || !is_of(p.kind, need.name)) continue;
    if (!best || p.free < pieces[*best].free) best = i;
  }
  if (best) return best;
  const auto whole = best_whole(need.name, 1, pieces, locality);
  return whole.empty() ? std::nullopt : std::optional(whole.front());
}

bool choose_one(const Amount& need, Locality locality, std::vector<Piece>& pieces,
                std::vector<PieceUse>& uses) {
  const auto use = [&](std::uint32_t piece, std::uint32_t thousandths) {
    pieces[piece].free -= thousandths;
    uses.push_back({piece, thousandths});
  };
  if (need.thousandths == kAllThereIs) {
    if (fit_pieces(need, pieces) == 0) return false;
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
      if (is_of(pieces[i].kind, need.name)) use(i, kWhole);
    }
    return true;
  }
  if (need.thousandths < kWhole) {
    const auto piece = best_shared(need, pieces, locality);
    if (piece) use(*piece, static_cast<std::uint32_t>(need.thousandths));
    return piece.has_value();
  }
  if (need.thousandths % kWhole != 0) return false;
  const auto whole = best_whole(need.name, need.thousandths / kWhole, pieces, locality);
  for (const std::uint32_t piece : whole) use(piece, kWhole);
  return !whole.empty();
}

// `sums`: those that the pieces do not serve.
bool choose_into(const Resources& need, const Resources* total, std::vector<Piece>& pieces,
                 std::vector<PieceUse>& uses) {
  for (const Amount& a : need.named) {
    if (total != nullptr && is_sum(*total, a.name)) continue;
    if (total == nullptr &&
        std::ranges::none_of(pieces, [&](const Piece& p) { return is_of(p.kind, a.name); }))
      continue;
    if (!choose_one(a, need.locality, pieces, uses)) return false;
  }
  return need.gpus == 0 ||
         choose_one({std::string(kGpus), need.gpus * kWhole}, need.locality, pieces, uses);
}

// What of it is served by the pieces; the rest is counted.
Resources by_the_piece(const Resources& need, const Room& room) {
  Resources pieces = need;
  const bool has_gpus = has_gpu_pieces(room.pieces);
  if (!has_gpus) pieces.gpus = 0;
  std::erase_if(pieces.named, [&](const Amount& a) {
    return is_sum(room.total, a.name) || (!has_gpus && is_gpu(a.name));
  });
  return pieces;
}

bool has_several(const Resources& need) {
  return need.gpus > 1 || std::ranges::any_of(need.named, [](const Amount& a) {
           return a.thousandths > kWhole && a.thousandths != kAllThereIs;
         });
}

// One after the other, as they would be given to them: of how many they lie near enough. Where
// there are pieces at all each takes two of them at least.
std::uint64_t fit_strictly(const Resources& need, const Room& room) {
  const Resources pieces = by_the_piece(need, room);
  if (!has_several(pieces)) return kAnyNumber;
  std::vector<Piece> left = room.pieces;
  std::vector<PieceUse> uses;
  std::uint64_t jobs = 0;
  while (choose_into(pieces, &room.total, left, uses)) ++jobs;
  return jobs;
}

void recount(Room& room) {
  if (has_gpu_pieces(room.pieces)) {
    room.left.gpus = static_cast<std::uint32_t>(std::ranges::count_if(
        room.pieces, [](const Piece& p) { return p.free == kWhole && is_gpu(p.kind); }));
  }
  for (Amount& a : room.left.named) {
    if (!a.by_piece) continue;
    a.thousandths =
        kWhole * static_cast<std::uint64_t>(std::ranges::count_if(room.pieces, [&](const Piece& p) {
          return p.free == kWhole && p.kind == a.name;
        }));
  }
}

}  // namespace

std::uint64_t how_many_named_fit(const Resources& need, const Room& room) {
  std::uint64_t fitting = kAnyNumber;
  for (const Amount& a : need.named) fitting = std::min(fitting, fit_one(a, room));
  if (fitting == 0 || need.locality != Locality::strict) return fitting;
  return std::min(fitting, fit_strictly(need, room));
}

void occupy_named(Room& room, const Resources& need, std::uint64_t jobs) {
  const bool parts_gpus =
      std::ranges::any_of(need.named, [](const Amount& a) { return is_gpu(a.name); });
  if (parts_gpus && !has_gpu_pieces(room.pieces)) {
    for (std::uint32_t i = 0; i < room.left.gpus; ++i)
      room.pieces.push_back({std::string(kGpus), kWhole});
  }
  for (const Amount& a : need.named) {
    const Amount* free = find_amount(room.left.named, a.name);
    if (free == nullptr || !is_sum(room.total, a.name)) continue;
    const std::uint64_t used =
        a.thousandths == kAllThereIs ? free->thousandths : a.thousandths * jobs;
    // What is used up stays as 0.
    room.left.named[static_cast<std::size_t>(free - room.left.named.data())].thousandths -=
        std::min(used, free->thousandths);
  }
  if (room.pieces.empty()) return;
  const Resources pieces = by_the_piece(need, room);
  if (pieces.gpus == 0 && pieces.named.empty()) return;
  std::vector<PieceUse> uses;
  for (; jobs > 0; --jobs) {
    if (!choose_into(pieces, &room.total, room.pieces, uses)) break;
  }
  recount(room);
}

std::optional<std::vector<PieceUse>> choose(const Resources& need,
                                            const std::vector<Piece>& pieces) {
  std::vector<PieceUse> uses;
  std::vector<Piece> left = pieces;
  if (!choose_into(need, nullptr, left, uses)) return std::nullopt;
  return uses;
}

std::optional<std::vector<PieceUse>> choose_anywhere(const Resources& need,
                                                     const std::vector<Piece>& pieces) {
  auto chosen = choose(need, pieces);
  if (chosen || need.locality != Locality::strict) return chosen;
  Resources anywhere = need;
  anywhere.locality = Locality::preferred;
  return choose(anywhere, pieces);
}

Stock stock_of(const Resources& total, std::string_view name) {
  if (name == kGpus) return {total.gpus * kWhole, true};
  Stock stock;
  for (const Amount& a : total.named) {
    if (a.name != name && !(a.by_piece && is_of(a.name, name))) continue;
    stock.thousandths += a.thousandths;
    stock.by_piece = stock.by_piece || a.by_piece;
  }
  return stock;
}

bool could_give(const Resources& total, const Amount& need) {
  const Stock stock = stock_of(total, need.name);
  if (need.thousandths == kAllThereIs) return stock.thousandths > 0;
  if (stock.by_piece && need.thousandths < kWhole) return stock.thousandths >= kWhole;
  if (stock.by_piece && !is_by_piece(need.thousandths)) return false;
  return need.thousandths <= stock.thousandths;
}

std::string say_lacking(const Resources& need, const Resources& total) {
  std::string text;
  for (const Amount& a : need.named) {
    if (could_give(total, a)) continue;
    const Stock stock = stock_of(total, a.name);
    text += fmt::format("{} {} '{}'", text.empty() ? "it needs" : ",",
                        show_thousandths(a.thousandths), a.name);
    if (stock.thousandths == 0) {
      text += ", of which there is none";
    } else if (stock.by_piece && a.thousandths > kWhole && !is_by_piece(a.thousandths)) {
      text += ", which is given as whole pieces or as a part of one";
    } else {
      text += fmt::format(" of {}", show_thousandths(stock.thousandths));
    }
  }
  return text;
}

bool could_give_named(const Resources& total, const Resources& need) {
  return std::ranges::all_of(need.named, [&](const Amount& a) { return could_give(total, a); });
}

}  // namespace torc::claim
