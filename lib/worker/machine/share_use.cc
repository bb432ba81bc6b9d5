#include "lib/worker/machine/share_use.h"

#include <algorithm>
#include <bit>

namespace torc::worker {
namespace {

template <class T>
T rest(T all, T used) {
  return all > used ? all - used : T{};
}

std::uint32_t count(std::uint64_t bits) {
  return static_cast<std::uint32_t>(std::popcount(bits));
}

std::uint64_t bit(std::size_t piece) {
  return std::uint64_t{1} << piece;
}

std::uint64_t first_bits(std::size_t n) {
  return n >= 64 ? ~std::uint64_t{0} : bit(n) - 1;
}

}  // namespace

ShareUse::ShareUse(exec::NodeHolding has, const Pieces& pieces, Amounts sums)
    : has_(has), sums_(std::move(sums)) {
  constexpr std::size_t kMost = exec::NodeMember::kMostGpus;
  if (sums_.size() > exec::NodeMember::kMostSums) sums_.resize(exec::NodeMember::kMostSums);
  named_ = sums_;
  const auto add = [&](const std::string& name, const std::string& kind, std::uint32_t group) {
    if (names_.size() == kMost) return;
    names_.push_back(name);
    kinds_.push_back(kind);
    groups_.push_back(group);
    if (group != 0) plain_ = false;
    if (kind == kGpus) return;
    plain_ = false;
    const Amount* there = find_amount(named_, kind);
    set_amount(named_, {kind, (there == nullptr ? 0 : there->thousandths) + kWhole, true});
  };
  for (std::size_t i = 0; i < pieces.gpus.size(); ++i)
    add(pieces.gpus[i], i < pieces.gpu_kinds.size() ? pieces.gpu_kinds[i] : std::string(kGpus),
        i < pieces.gpu_groups.size() ? pieces.gpu_groups[i] : 0);
  gpus_ = names_.size();
  for (const exec::MachinePiece& piece : pieces.others) add(piece.id, piece.kind, piece.group);
}

ShareUse::Free ShareUse::free_of(const exec::NodeHolding& other) const {
  const std::uint64_t whole = other.gpus & ~used_.pieces;
  Free free{rest(other.cpu_count(), used_.cpus),
            rest(other.memory + other.own_memory, used_.memory), count(whole & first_bits(gpus_)),
            whole};
  for (std::size_t i = 0; i < free.sums.size(); ++i)
    free.sums[i] = rest(other.sums[i], used_.sums[i]);
  return free;
}

exec::NodeAmount ShareUse::lacking(const exec::NodeAmount& most) const {
  exec::NodeAmount lacks{rest(most.cpus, cpus()), rest(most.memory, memory()),
                         rest(most.gpus, piece_count())};
  for (std::size_t i = 0; i < lacks.sums.size(); ++i)
    lacks.sums[i] = rest(most.sums[i], has_.sums[i]);
  return lacks;
}

std::uint32_t ShareUse::piece_count() const {
  return count(has_.gpus);
}

std::vector<claim::Piece> ShareUse::pieces_of(std::uint64_t whole, bool with_shared) const {
  std::vector<claim::Piece> all;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    claim::Piece piece{kinds_[i], (whole & bit(i)) != 0 ? std::uint32_t{kWhole} : 0U, groups_[i]};
    const std::uint32_t shared = i < shared_.size() ? shared_[i] : 0;
    if (with_shared && shared > 0 && (has_.gpus & bit(i)) != 0) piece.free = kWhole - shared;
    all.push_back(std::move(piece));
  }
  return all;
}

std::vector<claim::Piece> ShareUse::pieces() const {
  if (plain_ && shared_.empty()) return {};
  return pieces_of(free().pieces, true);
}

claim::Room ShareUse::room_of(const Free& free, bool with_shared) const {
  claim::Room room;
  room.left = room.total = no_resources();
  room.left.gpus = free.gpus;
  room.total.gpus = static_cast<std::uint32_t>(gpus_);
  room.total.named = named_;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    room.left.named.push_back({sums_[i].name, free.sums[i], false});
  room.pieces = pieces_of(free.pieces, with_shared);
  return room;
}

Amounts ShareUse::named_free() const {
  if (named_.empty()) return {};
  const Free now = free();
  Amounts left = named_;
  for (Amount& a : left) {
    a.thousandths = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (sums_[i].name == a.name) a.thousandths = now.sums[i];
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      if (kinds_[i] == a.name && (now.pieces & bit(i)) != 0) a.thousandths += kWhole;
  }
  return left;
}

bool ShareUse::fits_in(const claim::Requirement& need, const Free& free) const {
  if (need.cpus > free.cpus || need.memory > free.memory || need.gpus > free.gpus) return false;
  return !claim::needs_pieces(need) || claim::how_many_named_fit(need, room_of(free, false)) > 0;
}

bool ShareUse::fits(const claim::Requirement& need) const {
  const Free left = free();
  if (need.cpus > left.cpus || need.memory > left.memory || need.gpus > left.gpus) return false;
  return !claim::needs_pieces(need) || claim::how_many_named_fit(need, room_of(left, true)) > 0;
}

std::uint64_t ShareUse::amount_of(const Amount& need, std::size_t sum) const {
  return need.thousandths == kAllThereIs ? sums_[sum].thousandths : need.thousandths;
}

std::vector<claim::PieceUse> ShareUse::take(const claim::Requirement& need) {
  used_.cpus += need.cpus;
  used_.memory = used_.memory + need.memory;
  for (std::size_t i = 0; i < sums_.size() && !need.named.empty(); ++i) {
    const Amount* of = find_amount(need.named, sums_[i].name);
    if (of != nullptr) used_.sums[i] += amount_of(*of, i);
  }
  if (need.gpus == 0 && need.named.empty()) return {};
  auto chosen = claim::choose_anywhere(need, pieces_of(free().pieces, true));
  if (!chosen) return {};
  for (const claim::PieceUse& use : *chosen) {
    used_.pieces |= bit(use.piece);
    if (use.thousandths == kWhole) continue;
    shared_.resize(names_.size());
    shared_[use.piece] += use.thousandths;
  }
  return *std::move(chosen);
}

std::vector<claim::PieceUse> ShareUse::take_all(claim::Requirement& all) {
  const Free left = free();
  all.cpus = left.cpus;
  all.memory = left.memory;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    if (left.sums[i] > 0) set_amount(all.named, {sums_[i].name, left.sums[i]});
  std::vector<claim::PieceUse> taken;
  for (std::uint32_t i = 0; i < names_.size(); ++i)
    if ((left.pieces & bit(i)) != 0) taken.push_back({i, kWhole});
  used_.cpus += all.cpus;
  used_.memory = used_.memory + all.memory;
  for (std::size_t i = 0; i < sums_.size(); ++i) used_.sums[i] += left.sums[i];
  used_.pieces |= left.pieces;
  return taken;
}

void ShareUse::put_back(const claim::Requirement& need,
                        const std::vector<claim::PieceUse>& pieces) {
  used_.cpus = rest(used_.cpus, need.cpus);
  used_.memory = rest(used_.memory, need.memory);
  for (std::size_t i = 0; i < sums_.size() && !need.named.empty(); ++i) {
    const Amount* of = find_amount(need.named, sums_[i].name);
    if (of != nullptr) used_.sums[i] = rest(used_.sums[i], amount_of(*of, i));
  }
  for (const claim::PieceUse& use : pieces) {
    if (use.thousandths < kWhole && use.piece < shared_.size()) {
      shared_[use.piece] = rest(shared_[use.piece], use.thousandths);
      if (shared_[use.piece] > 0) continue;
    }
    used_.pieces &= ~bit(use.piece);
  }
  if (std::ranges::all_of(shared_, [](std::uint32_t n) { return n == 0; })) shared_.clear();
}

std::vector<claim::PieceUse> ShareUse::pick(const claim::Requirement& need,
                                            const std::vector<claim::PieceUse>& from) const {
  std::uint64_t whole = 0;
  for (const claim::PieceUse& use : from) whole |= bit(use.piece);
  auto picked = claim::choose_anywhere(need, pieces_of(whole, false));
  return picked ? *std::move(picked) : std::vector<claim::PieceUse>{};
}

std::vector<std::string> ShareUse::gpus_in(const std::vector<claim::PieceUse>& pieces) const {
  std::vector<std::string> names;
  for (const claim::PieceUse& use : pieces)
    if (use.piece < gpus_) names.push_back(names_[use.piece]);
  return names;
}

std::vector<std::pair<std::string, std::string>> ShareUse::named_in(
    const claim::Requirement& need, const std::vector<claim::PieceUse>& pieces) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Amount& a : need.named) {
    if (is_gpu(a.name)) continue;
    std::string text;
    for (const claim::PieceUse& use : pieces) {
      if (is_of(kinds_[use.piece], a.name)) text += (text.empty() ? "" : ",") + names_[use.piece];
    }
    for (std::size_t i = 0; i < sums_.size() && text.empty(); ++i)
      if (sums_[i].name == a.name) text = show_thousandths(amount_of(a, i));
    out.emplace_back(a.name, std::move(text));
  }
  return out;
}

exec::NodeHolding ShareUse::in_use() const {
  exec::NodeHolding used;
  used.cpus = pinned_;
  std::uint32_t left = rest(used_.cpus, static_cast<std::uint32_t>(pinned_.count()));
  for (const std::uint32_t cpu : (has_.cpus - pinned_).numbers()) {
    if (left == 0) break;
    used.cpus.add(cpu);
    --left;
  }
  used.own_cpus = left;
  used.memory = std::min(used_.memory, has_.memory);
  used.own_memory = used_.memory - used.memory;
  used.gpus = used_.pieces;
  used.sums = used_.sums;
  used.waiting_since = has_.waiting_since;
  return used;
}

}  // namespace torc::worker
