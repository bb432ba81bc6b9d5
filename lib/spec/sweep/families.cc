#include "lib/spec/sweep/families.h"

#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "lib/base/hash.h"
#include "lib/spec/text/placeholder.h"

namespace torc::spec {
namespace {

std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32);
}

// The name of member k with the placeholders of the `open` parameters left as they were written.
void append_open_name(std::string& out, const Family& family, const std::vector<bool>& open,
                      std::uint64_t k) {
  for (const Piece& piece : family.name.pieces()) {
    if (piece.kind == Piece::Kind::literal || open[piece.index]) {
      out.append(piece.text);
    } else {
      append_value(out, family.parameters[piece.index].values,
                   family.sweep.position(piece.index, k), piece.format);
    }
  }
}

}  // namespace

std::size_t Families::add(Family family) {
  family.first = next_;
  family.count = family.sweep.count();
  next_ += family.count;
  if (family.name.has_parameters()) sweeps_.push_back(families_.size());
  families_.push_back(std::move(family));
  return families_.size() - 1;
}

std::size_t Families::family_of(std::uint64_t id) const {
  if (members() == families_.size() && sweeps_.empty())
    return id - first_;  // single jobs throughout
  const auto above = std::ranges::upper_bound(families_, id, {}, &Family::first);
  return static_cast<std::size_t>(above - families_.begin()) - 1;
}

std::string Families::name(std::uint64_t id) const {
  const Family& family = families_[family_of(id)];
  return family.name_of(id - family.first);
}

bool Families::has_name(std::uint64_t id, std::string_view name) const {
  const Family& family = families_[family_of(id)];
  if (!family.name.has_parameters()) return family.text == name;
  scratch_.clear();
  family.append_name(scratch_, id - family.first);
  return scratch_ == name;
}

std::vector<Families::Clash> Families::index() {
  std::vector<Clash> clashes;
  std::set<std::pair<std::size_t, std::size_t>> seen;
  slots_.assign(std::bit_ceil(std::max<std::uint64_t>(16, members() + members() / 2)), Slot{});
  indexed_ = families_.size();
  const std::uint64_t mask = slots_.size() - 1;
  std::string name;
  for (std::size_t f = 0; f < families_.size(); ++f) {
    const Family& family = families_[f];
    for (std::uint64_t k = 0; k < family.count; ++k) {
      name.clear();
      family.append_name(name, k);
      const std::uint64_t hash = hash64(name);
      std::uint64_t at = hash & mask;
      for (; slots_[at].id != 0; at = (at + 1) & mask) {
        if (slots_[at].tag == tag_of(hash) && has_name(slots_[at].id, name)) break;
      }
      const std::uint64_t id = family.first + k;
      if (slots_[at].id == 0) {
        slots_[at] = {tag_of(hash), static_cast<std::uint32_t>(id)};
      } else if (seen.insert({family_of(slots_[at].id), f}).second) {
        clashes.push_back({slots_[at].id, id});
      }
    }
  }
  return clashes;
}

std::optional<std::uint64_t> Families::find(std::string_view name) const {
  const std::uint64_t mask = slots_.size() - 1;
  const std::uint64_t hash = hash64(name);
  for (std::uint64_t at = hash & mask; slots_[at].id != 0; at = (at + 1) & mask) {
    if (slots_[at].tag == tag_of(hash) && has_name(slots_[at].id, name)) return slots_[at].id;
  }
  return {};
}

const Families::OpenIndex& Families::open_index(std::size_t family, const OpenParameters& open) {
  auto [it, fresh] = open_.try_emplace({family, open});
  OpenIndex& index = it->second;
  if (!fresh) return index;
  const Family& f = families_[family];
  index.members.reserve(f.count);
  std::string name;
  for (std::uint64_t k = 0; k < f.count; ++k) {
    name.clear();
    append_open_name(name, f, open, k);
    index.members.emplace_back(hash64(name), f.first + k);
  }
  std::ranges::sort(index.members);
  return index;
}

bool Families::find_open(std::string_view text, std::vector<Range>& out) {
  const std::vector<Placeholder> left = placeholders(text);
  if (left.empty()) return false;
  const std::size_t before = out.size();
  for (const std::size_t f : sweeps_) {
    if (f >= indexed_) break;
    const Family& family = families_[f];
    if (!text.starts_with(family.name.prefix())) continue;
    OpenParameters open(family.parameters.size());
    bool any = false;
    bool all = true;
    for (std::size_t p = 0; p < open.size(); ++p) {
      open[p] = std::ranges::any_of(
          left, [&](const Placeholder& h) { return h.name == family.parameters[p].name; });
      any = any || open[p];
      all = all && (open[p] || !family.name.uses(p));
    }
    if (!any) continue;
    if (all) {
      if (text == family.text) out.push_back({family.first, family.count});
      continue;
    }
    const auto& members = open_index(f, open).members;
    auto it = std::ranges::lower_bound(members, std::pair(hash64(text), std::uint64_t{0}));
    for (const std::uint64_t hash = hash64(text); it != members.end() && it->first == hash; ++it) {
      scratch_.clear();
      append_open_name(scratch_, family, open, it->second - family.first);
      if (scratch_ == text) append(out, it->second);
    }
  }
  return out.size() > before;
}

void Families::match(const re2::RE2& expression, std::vector<Range>& out) const {
  std::string name;
  for (std::size_t f = 0; f < indexed_; ++f) {
    const Family& family = families_[f];
    for (std::uint64_t k = 0; k < family.count; ++k) {
      name.clear();
      family.append_name(name, k);
      if (re2::RE2::PartialMatch(name, expression)) append(out, family.first + k);
    }
  }
}

}  // namespace torc::spec
