#include "lib/claim/scheduling/gang_book.h"

#include <algorithm>
#include <utility>

namespace torc::claim {

GangBook::Page& GangBook::page(const GangName& name) {
  const auto [it, added] = pages_.try_emplace(name);
  if (!added) return it->second;
  const Key key = gang_key(name);
  const auto value = tx_.get(key);
  if (!value) return it->second;
  auto record = decode_gang(key, *value);
  if (record) {
    it->second.gang = std::move(record->gang);
  } else {
    state_.damaged(key);
  }
  return it->second;
}

const Gang* GangBook::find(const GangName& name) {
  const Page& found = page(name);
  return found.gang ? &*found.gang : nullptr;
}

Gang* GangBook::open(const GangName& name) {
  Page& found = page(name);
  if (!found.gang) {
    state_.damaged(gang_key(name));
    return nullptr;
  }
  found.changed = true;
  return &*found.gang;
}

std::optional<std::uint32_t> GangBook::rank_in(const GangName& name, WorkerEpoch worker) {
  const Gang* gang = find(name);
  if (gang == nullptr) return std::nullopt;
  for (std::uint32_t rank = 0; rank < gang->members.size(); ++rank) {
    const GangMember& m = gang->members[rank];
    if (m.worker == worker && !m.left) return rank;
  }
  return std::nullopt;
}

void GangBook::add(const Gang& gang) {
  Page& fresh = page(name_of(gang.token));
  fresh.gang = gang;
  fresh.changed = true;
  tell(gang);
}

void GangBook::tell(const Gang& gang) {
  for (const GangMember& m : gang.members) {
    if (!m.left) concerned_.insert(m.worker);
  }
}

void GangBook::follow(std::uint64_t id, const Job& before, const Job& after) {
  const GangName name{id, before.claim};
  if (!is_live(before.state) || find(name) == nullptr) return;
  if (is_live(after.state) && before.state == after.state) return;
  Gang* gang = open(name);
  gang->stage = is_live(after.state) ? GangStage::running : GangStage::over;
  tell(*gang);
}

void GangBook::confirm(const GangName& name, std::uint32_t rank) {
  Gang* gang = open(name);
  if (gang == nullptr || gang->stage == GangStage::over) return;
  gang->members[rank].confirmed = true;
  const bool all = std::all_of(gang->members.begin(), gang->members.end(),
                               [](const GangMember& m) { return m.confirmed; });
  if (gang->stage != GangStage::forming || !all) return;
  gang->stage = GangStage::complete;
  concerned_.insert(gang->members.front().worker);
}

void GangBook::set_port(const GangName& name, std::uint16_t port) {
  if (Gang* gang = open(name); gang != nullptr) gang->port = port;
}

void GangBook::note_end(const GangName& name, std::uint32_t rank, const Outcome& outcome,
                        bool saved) {
  Gang* gang = open(name);
  if (gang == nullptr || gang->stage == GangStage::over) return;
  concerned_.insert(gang->members.front().worker);
  if (saved && !gang->is_saved()) tell(*gang);
  gang->members[rank].end = outcome;
  gang->members[rank].saved = saved;
}

void GangBook::note_life(const GangName& name, std::uint32_t rank) {
  const Gang* found = find(name);
  if (found == nullptr || found->stage != GangStage::running || found->members[rank].lives ||
      (rank > 0 && !found->asks())) {
    return;
  }
  Gang* gang = open(name);
  gang->members[rank].lives = true;
  if (rank == 0) {
    tell(*gang);
  } else if (gang->all_live()) {
    concerned_.insert(gang->members.front().worker);
  }
}

void GangBook::leave(const GangName& name, WorkerEpoch worker) {
  Gang* gang = open(name);
  if (gang == nullptr) return;
  for (GangMember& m : gang->members) {
    if (m.worker == worker) m.left = true;
  }
  concerned_.erase(worker);
}

void GangBook::store() {
  for (auto& [name, page] : pages_) {
    if (!std::exchange(page.changed, false)) continue;
    const auto& members = page.gang->members;
    if (std::all_of(members.begin(), members.end(), [](const GangMember& m) { return m.left; })) {
      tx_.erase(gang_key(name));
    } else {
      tx_.put(gang_key(name), encode(GangRecord{*page.gang, tx_.sequence()}));
    }
  }
}

}  // namespace torc::claim
