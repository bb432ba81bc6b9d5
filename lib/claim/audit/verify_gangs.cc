#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lib/claim/audit/verify_parts.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

class GangAudit {
 public:
  GangAudit(const Reader& reader, const PlanTables& plan) : reader_(reader), plan_(plan) {}

  Result<void> run() {
    TORC_TRY(each_record(reader_, Table::lease, decode_lease,
                         [&](std::uint64_t epoch, const Lease& l) { return look(epoch, l); }));
    TORC_TRY(check_nodes());
    TORC_TRY(each(reader_, Table::gang, [&](const store::Entry& e) -> Result<void> {
      const auto record = decode_gang(e.key, e.value);
      return record ? look(*record) : Result<void>(unreadable(e.key));
    }));
    TORC_TRY(state_.sound());
    if (!parts_.empty()) {
      return wrong(fmt::format("worker {} is part of a gang that does not know of it",
                               parts_.begin()->first));
    }
    return check_keeps();
  }

 private:
  Result<void> look(std::uint64_t epoch, const Lease& lease) {
    if (lease.gang) parts_[epoch] = *lease.gang;
    if (!lease.node) return {};
    if ((plan_.rules & rule::kGangs) == 0)
      return wrong(fmt::format("worker {} offers its node, and no job needs several", epoch));
    const auto worker = state_.worker(WorkerEpoch{epoch});
    if (worker &&
        (worker->info.group.empty() || hash_of_group(worker->info.group) != lease.node->group)) {
      return wrong(fmt::format("worker {} offers its node in a group that is not its own", epoch));
    }
    const bool offered = lease.node->free_at == NodePlace::kOffered;
    if (offered && (lease.gang || lease.barred || !lease.held.empty() || !lease.ending.empty() ||
                    !lease.actions.empty())) {
      return wrong(fmt::format("worker {} offers its node and does not have it free", epoch));
    }
    nodes_.emplace(std::string(std::string_view(node_key(*lease.node, WorkerEpoch{epoch}))));
    return {};
  }

  Result<void> check_nodes() {
    std::set<std::string> listed;
    TORC_TRY(each(reader_, Table::node, [&](const store::Entry& e) -> Result<void> {
      if (!node_in(e.key)) return unreadable(e.key);
      listed.emplace(e.key);
      return {};
    }));
    if (listed == nodes_) return {};
    return wrong("the nodes that are listed by group are not those of the leases");
  }

  Result<void> look(const GangRecord& record) {
    const Gang& gang = record.gang;
    const GangName name = name_of(gang.token);
    if (record.changed > reader_.sequence() || name.claim > record.changed ||
        gang.token.attempt == 0) {
      return wrong(fmt::format("the gang of job {} has impossible numbers", name.job));
    }
    if (state_.job_class(gang.job_class).need.nodes != gang.members.size())
      return wrong(fmt::format("the gang of job {} has not the nodes that it needs", name.job));
    TORC_TRY(check_members(gang, name));
    return check_stage(gang, name);
  }

  Result<void> check_members(const Gang& gang, const GangName& name) {
    std::set<WorkerEpoch> workers;
    std::set<std::string> names;
    bool any = false;
    for (const GangMember& m : gang.members) {
      if (!workers.insert(m.worker).second || !names.insert(m.node).second)
        return wrong(fmt::format("the gang of job {} has a node twice", name.job));
      const auto part = parts_.find(raw(m.worker));
      const bool is_part = part != parts_.end() && part->second == name;
      if (is_part == m.left) {
        return wrong(fmt::format("worker {} and the gang of job {} disagree whether it has left",
                                 raw(m.worker), name.job));
      }
      if (m.left && gang.stage != GangStage::over)
        return wrong(fmt::format("the gang of job {} goes on without a member", name.job));
      if (is_part) parts_.erase(part);
      any = any || is_part;
    }
    if (any) return {};
    return wrong(fmt::format("a gang of job {} is kept that all have left", name.job));
  }

  Result<void> check_stage(const Gang& gang, const GangName& name) {
    const auto job = state_.record(name.job);
    const bool live = job && is_live(job->state) && job->claim == name.claim;
    if (live == (gang.stage == GangStage::over))
      return wrong(fmt::format("job {} and its gang disagree whether it is over", name.job));
    if (!live) return {};
    if (job->worker != gang.members.front().worker || job->attempt != gang.token.attempt)
      return wrong(fmt::format("job {} is not held by the head of its gang", name.job));
    const bool runs = job->state == JobState::running;
    if (runs != (gang.stage == GangStage::running))
      return wrong(fmt::format("job {} and its gang disagree whether it runs", name.job));
    const bool any_lives = std::any_of(gang.members.begin(), gang.members.end(),
                                       [](const GangMember& m) { return m.lives; });
    if (any_lives && !(runs && gang.asks()))
      return wrong(
          fmt::format("a member of the gang of job {} says unasked that it lives", name.job));
    const bool all = std::all_of(gang.members.begin(), gang.members.end(),
                                 [](const GangMember& m) { return m.confirmed; });
    if (!runs && all != (gang.stage == GangStage::complete))
      return wrong(fmt::format("the gang of job {} is complete or not", name.job));
    return {};
  }

  Result<void> check_keeps() {
    std::map<std::uint64_t, std::uint64_t> kept;  // job -> group
    TORC_TRY(each_record(reader_, Table::keeping, decode_keep,
                         [&](std::uint64_t group, const Keep& keep) -> Result<void> {
                           if (keep.job == 0 || keep.job > plan_.jobs ||
                               state_.job_class(keep.job_class).need.nodes < 2) {
                             return wrong("a group keeps nodes for no job of several nodes");
                           }
                           if (!kept.emplace(keep.job, group).second)
                             return wrong("two groups keep nodes for one job");
                           return state_.sound();
                         }));
    std::size_t listed = 0;
    TORC_TRY(each_record(reader_, Table::kept_job, decode_kept,
                         [&](std::uint64_t job, std::uint64_t group) -> Result<void> {
                           ++listed;
                           const auto found = kept.find(job);
                           if (found != kept.end() && found->second == group) return {};
                           return wrong(fmt::format(
                               "job {} is listed with a group that keeps no nodes for it", job));
                         }));
    if (listed == kept.size()) return {};
    return wrong("a group keeps nodes for a job that does not know of it");
  }

  const Reader& reader_;
  const PlanTables& plan_;
  State state_{reader_};
  std::map<std::uint64_t, GangName> parts_;  // by worker; those that no gang has named yet
  std::set<std::string> nodes_;              // keys, as the leases have them
};

}  // namespace

Result<void> audit_gangs(const Reader& reader, const PlanTables& plan) {
  return GangAudit(reader, plan).run();
}

}  // namespace torc::claim
