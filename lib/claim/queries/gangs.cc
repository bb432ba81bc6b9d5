#include "lib/claim/queries/gangs.h"

#include <utility>

#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

Result<void> scan_records(const Reader& reader,
                          const std::function<bool(const GangRecord&)>& visit) {
  State state(reader);
  reader.scan_prefix(Key(Table::gang), [&](const store::Entry& entry) {
    const auto record = decode_gang(entry.key, entry.value);
    if (!record) state.damaged(entry.key);
    return record && visit(*record);
  });
  return state.sound();
}

}  // namespace

Result<std::optional<GangPart>> read_gang_part(const Reader& reader, WorkerEpoch worker) {
  State state(reader);
  const auto lease = state.lease(worker);
  std::optional<GangPart> part;
  if (lease && lease->gang) {
    const Key key = gang_key(*lease->gang);
    const auto value = reader.get(key);
    auto record = value ? decode_gang(key, *value) : std::nullopt;
    if (!record) {
      state.damaged(key);
    } else {
      for (std::uint32_t rank = 0; rank < record->gang.members.size(); ++rank) {
        const GangMember& member = record->gang.members[rank];
        if (member.worker == worker && !member.left) part = GangPart{record->gang, rank};
      }
    }
  }
  TORC_TRY(state.sound());
  return part;
}

Result<void> scan_gangs(const Reader& reader, const std::function<bool(const Gang&)>& visit) {
  return scan_records(reader, [&](const GangRecord& record) { return visit(record.gang); });
}

Result<std::vector<WorkerEpoch>> members_of_ended_gangs(const Reader& reader) {
  std::vector<WorkerEpoch> members;
  TORC_TRY(scan_records(reader, [&](const GangRecord& record) {
    if (record.changed != reader.sequence() || record.gang.stage != GangStage::over) return true;
    for (const GangMember& member : record.gang.members) {
      if (!member.left) members.push_back(member.worker);
    }
    return true;
  }));
  return members;
}

}  // namespace torc::claim
