#include "lib/claim/queries/gangs.h"

#include <set>
#include <utility>

#include "lib/claim/rules/offer.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

// At the members that have left a gang: each of thousands is told of it.
constexpr std::size_t kMostLooks = 16;

std::optional<Reservation> reservation_of(State& state, std::uint64_t group) {
  const Key key = keep_key(group);
  const auto value = state.reader().get(key);
  if (!value) return std::nullopt;
  const auto keep = decode_keep(*value);
  if (!keep) {
    state.damaged(key);
    return std::nullopt;
  }
  const auto job = state.job(keep->job);
  if (!job || job->state != JobState::ready) return std::nullopt;  // nobody has looked since
  Reservation found{JobId{keep->job}, state.job_class(keep->job_class).need.nodes, {}};
  if (keep->until != NodePlace::kUnknown)
    found.until = WallTime(static_cast<std::int64_t>(keep->until));
  return found;
}

}  // namespace

GangPart part_in(State& state, const Gang& gang, std::uint32_t rank) {
  GangPart part;
  part.gang = gang;
  part.rank = rank;
  if (gang.stage != GangStage::over) return part;
  const auto job = state.record(raw(gang.token.job));
  part.runs_again = job && !is_over(job->state);
  if (job && job->claim == gang.token.claim) part.why = job->outcome.cause;
  std::size_t looks = 0;
  for (std::uint32_t r = 0; r < gang.members.size() && looks < kMostLooks; ++r) {
    const GangMember& m = gang.members[r];
    if (!m.left) continue;
    ++looks;
    const auto worker = state.worker(m.worker);
    if (worker && worker->status != WorkerStatus::registered) part.lost.push_back(r);
  }
  return part;
}

Result<std::optional<GangPart>> read_gang(const Reader& reader, WorkerEpoch worker) {
  State state(reader);
  const auto lease = state.lease(worker);
  TORC_TRY(state.sound());
  if (!lease || !lease->gang) return std::optional<GangPart>();
  const Key key = gang_key(*lease->gang);
  const auto value = reader.get(key);
  auto record = value ? decode_gang(key, *value) : std::nullopt;
  for (std::uint32_t rank = 0; record && rank < record->gang.members.size(); ++rank) {
    const GangMember& member = record->gang.members[rank];
    if (member.worker == worker && !member.left)
      return std::optional(part_in(state, record->gang, rank));
  }
  state.damaged(key);
  return state.sound().error();
}

std::vector<Gang> read_gangs(const Reader& reader, JobId job) {
  std::vector<Gang> found;
  reader.scan_prefix(Key(Table::gang, raw(job)), [&](const store::Entry& e) {
    if (auto record = decode_gang(e.key, e.value)) found.push_back(std::move(record->gang));
    return true;
  });
  return found;
}

Result<void> scan_gangs(const Reader& reader, const std::function<bool(const Gang&)>& visit) {
  State state(reader);
  const auto decode = [](const store::Entry& e) { return decode_gang(e.key, e.value); };
  each_readable(state, Key(Table::gang), decode,
                [&](const GangRecord& record) { return visit(record.gang); });
  return state.sound();
}

std::vector<WorkerEpoch> concerned_by(const Transaction& tx) {
  std::vector<WorkerEpoch> all;
  tx.scan_prefix(Key(Table::gang), [&](const store::Entry& e) {
    const auto record = decode_gang(e.key, e.value);
    if (!record || record->changed != tx.sequence()) return true;
    for (const GangMember& m : record->gang.members) {
      if (!m.left) all.push_back(m.worker);
    }
    return true;
  });
  return all;
}

Result<std::vector<GroupNodes>> groups_for(const Reader& reader, const JobClass& job_class,
                                           WallTime now) {
  State state(reader);
  std::vector<GroupNodes> groups;
  std::set<std::string> names;
  std::optional<std::uint64_t> at;
  const auto decode = [](const store::Entry& e) { return node_in(e.key); };
  each_readable(state, Key(Table::node), decode, [&](const ListedNode& node) {
    const auto worker = state.worker(node.worker);
    if (!worker) return true;
    const WorkerInfo& info = worker->info;
    if (at != node.place.group) {
      at = node.place.group;
      groups.push_back({info.group, 0, 0, 0, reservation_of(state, *at)});
      names.clear();
    }
    if (!names.insert(name_of_node(info)).second) return true;
    GroupNodes& group = groups.back();
    ++group.nodes;
    if (!could_be_part(job_class, whole_offer(info, now))) return true;
    ++group.fitting;
    if (node.place.free_at == NodePlace::kOffered) ++group.free;
    return true;
  });
  TORC_TRY(state.sound());
  return groups;
}

std::optional<Reservation> reservation_on(const Reader& reader, WorkerEpoch worker) {
  State state(reader);
  const auto lease = state.lease(worker);
  if (!lease || !lease->reserved || !lease->node) return std::nullopt;
  return reservation_of(state, lease->node->group);
}

}  // namespace torc::claim
