#include "lib/claim/transactions/gang_words.h"

#include <algorithm>
#include <utility>

#include "lib/claim/scheduling/node_list.h"

namespace torc::claim {
namespace {

// Ends the attempt whose gang is not over by what `rule` makes of its job. What a worker holds that
// speaks is changed here, since this very exchange may grant it the job again.
void end_attempt(Ledger& ledger, Lease& lease, WorkerEpoch worker, const JobRule& rule) {
  const GangName name = *lease.gang;
  State& state = ledger.state();
  const auto job = state.record(name.job);
  if (!job || !is_live(job->state) || job->claim != name.claim)
    return state.damaged(gang_key(name));
  const auto after = rule(name.job, *job);
  if (!after || is_live(after->state)) return state.damaged(gang_key(name));
  ledger.change(name.job, *job, *after);
  if (after->revoked != Revoked::no) return;
  if (job->worker == worker) {
    std::erase(lease.held, name.job);
  } else {
    ledger.take_from(job->worker, name.job);
  }
}

// When the nodes of a job that takes so long are free again, as NodePlace::free_at.
std::uint64_t ends_at(std::chrono::seconds runtime, WallTime now) {
  if (runtime.count() <= 0) return NodePlace::kUnknown;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, WallTime(now + runtime).count()));
}

class Words {
 public:
  Words(Ledger& ledger, Lease& lease, const Exchange& request)
      : ledger_(ledger), gangs_(ledger.gangs()), lease_(lease), request_(request) {}

  bool say() {
    for (const GangWord& word : request_.gang) {
      if (!lease_.gang || *lease_.gang != name_of(word.token)) continue;
      const auto rank = gangs_.rank_in(*lease_.gang, request_.worker);
      if (!rank) {
        ledger_.state().damaged(gang_key(*lease_.gang));
        break;
      }
      if (gangs_.find(*lease_.gang)->token == word.token) say(word, *rank);
    }
    return declined_;
  }

 private:
  void say(const GangWord& word, std::uint32_t rank) {
    const GangName name = *lease_.gang;
    const GangStage stage = gangs_.find(name)->stage;
    switch (word.what) {
      case GangWord::What::confirmed:
        if (rank == 0 && word.port != 0 && stage != GangStage::over)
          gangs_.set_port(name, word.port);
        if (stage == GangStage::forming) gangs_.confirm(name, rank);
        break;
      case GangWord::What::declined:
        // It is too late for one that has begun.
        if (stage == GangStage::running) break;
        if (word.silent.empty()) declined_ = true;
        leave();
        break;
      case GangWord::What::ended:
        if (stage == GangStage::running) gangs_.note_end(name, rank, word.outcome, word.saved);
        break;
      case GangWord::What::lives:
        gangs_.note_life(name, rank);
        break;
      case GangWord::What::leaves:
        end_gang(ledger_, lease_, request_.worker, rule());
        break;
      case GangWord::What::left:
        leave();
        break;
    }
  }

  JobRule rule() { return given_back(ledger_, lease_, request_.worker, request_.now); }
  void leave() { leave_gang(ledger_, lease_, request_.worker, rule()); }

  Ledger& ledger_;
  GangBook& gangs_;
  Lease& lease_;
  const Exchange& request_;
  bool declined_ = false;
};

}  // namespace

void form_gang(Ledger& ledger, Lease& lease, const Grant& grant, std::vector<GangMember> members,
               WallTime now) {
  State& state = ledger.state();
  Transaction& tx = ledger.tx();
  lease.gang = name_of(grant.token);
  const std::uint64_t until = ends_at(grant.runtime, now);
  for (std::size_t rank = 1; rank < members.size(); ++rank) {
    const WorkerEpoch worker = members[rank].worker;
    const Key key(Table::lease, raw(worker));
    auto other = state.lease(worker);
    if (!other || !other->node || other->gang || !other->held.empty()) return state.damaged(key);
    list_node(tx, worker, *other, {other->node->group, until});
    if (std::exchange(other->idle, false)) tx.erase(Key(Table::idle, raw(worker)));
    other->gang = lease.gang;
    other->reserved = false;
    tx.put(key, encode(*other));
  }
  Gang gang;
  gang.token = grant.token;
  gang.job_class = grant.job_class;
  gang.members = std::move(members);
  ledger.gangs().add(gang);
}

bool say_gang_words(Ledger& ledger, Lease& lease, const Exchange& request) {
  return Words(ledger, lease, request).say();
}

JobRule given_back(Ledger& ledger, const Lease& lease, WorkerEpoch worker, WallTime now) {
  const Gang* gang = lease.gang ? ledger.gangs().find(*lease.gang) : nullptr;
  const bool may_run = gang != nullptr && gang->stage == GangStage::complete &&
                       gang->members.front().worker != worker;
  return [now, may_run](std::uint64_t id, const Job& job) -> std::optional<Job> {
    Job seen = job;
    if (may_run) {
      seen.state = JobState::running;
      seen.outcome = Outcome{};
    }
    const Decision decision = give_back(seen, job.worker, token_of(JobId{id}, job), now);
    const Job* after = std::get_if<Job>(&decision);
    return after != nullptr ? std::optional(*after) : std::nullopt;
  };
}

void end_gang(Ledger& ledger, Lease& lease, WorkerEpoch worker, const JobRule& rule) {
  if (!lease.gang) return;
  const Gang* gang = ledger.gangs().find(*lease.gang);
  if (gang == nullptr) return ledger.state().damaged(gang_key(*lease.gang));
  if (gang->stage != GangStage::over) end_attempt(ledger, lease, worker, rule);
}

void leave_gang(Ledger& ledger, Lease& lease, WorkerEpoch worker, const JobRule& rule) {
  if (!lease.gang) return;
  end_gang(ledger, lease, worker, rule);
  const GangName name = *std::exchange(lease.gang, std::nullopt);
  if (ledger.gangs().find(name) != nullptr) ledger.gangs().leave(name, worker);
}

}  // namespace torc::claim
