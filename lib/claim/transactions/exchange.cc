#include "lib/claim/transactions/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/gangs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/firing.h"
#include "lib/claim/scheduling/gang_plan.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/scheduling/node_list.h"
#include "lib/claim/scheduling/ready_heads.h"
#include "lib/claim/scheduling/retry.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/gang_words.h"

namespace torc::claim {
namespace {

bool is_end(JobState state) {
  return state == JobState::completed || state == JobState::failed ||
         state == JobState::terminated || state == JobState::ready;
}

// One exchange of one worker: its requests against the ledger, and the answer as it grows.
class Session {
 public:
  Session(Transaction& tx, const Exchange& request, Lease lease)
      : tx_(tx),
        request_(request),
        lease_(std::move(lease)),
        ledger_(tx, request.now),
        retries_(ledger_),
        firing_(tx, ledger_.state(), request.worker, request.now),
        has_actions_((ledger_.tally().rules & rule::kActions) != 0),
        has_gangs_((ledger_.tally().rules & rule::kGangs) != 0) {}

  Result<Answer> run() {
    for (const Finished& f : request_.finishes) finish(f);
    retries_.teach();
    for (const Started& s : request_.starts) start(s);
    for (const ClaimToken& t : request_.returns) give_back(t);
    if (has_gangs_) hear_of_gang();
    ledger_.settle();
    if (has_actions_) report_actions();
    take_spares();
    learn_job_time();
    WorkflowRecord workflow = read_workflow_record();
    answer_.workflow.name = workflow.name;
    answer_.workflow.max_failures = workflow.max_failures;
    if (request_.offer) {
      idle_ = request_.offer->max_jobs > 0;
      answer_.promoted = promote_due(ledger_, request_.now);
      ledger_.settle();
      answer_.workflow.counts = ledger_.tally().counts;
      const bool waits = has_actions_ && read_action_tally(tx_).gates > 0;
      if (!answer_.workflow.halted() && !waits && !lease_.gang)
        claim_for(*request_.offer, workflow.sort);
      answer_.next_due = next_due(ledger_.state(), request_.now);
    }
    if (has_actions_) take_actions();
    if (has_gangs_) tell_of_gang();
    write_lease();
    answer_.revoked = tokens_of(ledger_.state(), lease_.ending);
    TORC_TRY(ledger_.close());
    const std::set<WorkerEpoch>& concerned = ledger_.gangs().concerned();
    std::copy_if(concerned.begin(), concerned.end(), std::back_inserter(answer_.concerned),
                 [&](WorkerEpoch w) { return w != request_.worker; });
    answer_.workflow.counts = ledger_.tally().counts;
    answer_.workflow.unmet = ledger_.tally().unmet;
    answer_.workflow.ending = ledger_.tally().ending;
    answer_.workflow.budget_holds = ledger_.quota().budget_holds();
    answer_.workflow.limits_hold = ledger_.quota().limits_hold();
    for (std::uint64_t n : answer_.workflow.counts) answer_.workflow.jobs += n;
    answer_.live_workers = ledger_.tally().live_workers;
    answer_.job_time = ledger_.tally().job_time;
    return std::move(answer_);
  }

 private:
  void report_actions() {
    for (const ActionReport& r : request_.actions) firing_.report(r, lease_);
    firing_.store();
  }

  void take_actions() {
    if (!answer_.grants.empty()) firing_.went_on();
    answer_.workflow.counts = ledger_.tally().counts;
    const WorkflowState& w = answer_.workflow;
    answer_.workflow.ending = ledger_.tally().ending;
    const bool finished =
        w.jobs_over() && w.of(JobState::held) + w.of(JobState::pending_failed) == 0;
    ActionWish wish = request_.wish;
    if (!answer_.grants.empty() && answer_.grants.front().alone) wish.due = false;
    if (lease_.gang) wish.due = false;
    answer_.actions = firing_.take(wish, finished, lease_);
    if (firing_.has_asked()) answer_.to_be_known = true;
    answer_.workflow.actions = firing_.tally();
    firing_.store();
  }

  void finish(const Finished& event) {
    const std::uint64_t id = raw(event.token.job);
    if (lease_.used_core_ms) count_use(id, event);
    if (conclude_revoked(event.token, &event.outcome)) return;
    bool over = false;
    const bool counts = apply(event.token, [&](const Job& job) {
      Decision decision = claim::finish(job, request_.worker, event);
      if (const Job* after = std::get_if<Job>(&decision)) {
        Job next = retries_.after_end(raw(event.token.job), *after, event, request_.now);
        over = is_over(next.state);
        return Decision(std::move(next));
      }
      return decision;
    });
    if (counts && over && !event.signature.empty())
      tx_.put(Key(Table::signature, raw(event.token.job)), event.signature);
  }
  // An attempt that it had ended; for the ledger of allocations.
  void count_use(std::uint64_t id, const Finished& event) {
    const bool has_it = std::ranges::binary_search(lease_.held, id) ||
                        std::ranges::binary_search(lease_.ending, id);
    const auto job = has_it ? ledger_.state().job(id) : std::nullopt;
    if (!job || token_of(event.token.job, *job) != event.token) return;
    const auto rank = ledger_.state().rank_of(id);
    if (!rank) return;
    const JobClass its = ledger_.state().job_class(rank->job_class);
    const Rate rate = rate_of(its.need_of(job->alternative), 0);
    const auto core = cost(rate, time_of(event.outcome)).core.count();
    std::uint64_t& used = *lease_.used_core_ms;
    used += std::min(static_cast<std::uint64_t>(core), UINT64_MAX - used);
  }
  void start(const Started& event) {
    (void)apply(event.token,
                [&](const Job& job) { return claim::start(job, request_.worker, event); });
  }
  void give_back(const ClaimToken& token) {
    if (conclude_revoked(token, nullptr)) return;
    (void)apply(token, [&](const Job& job) {
      return claim::give_back(job, request_.worker, token, request_.now);
    });
  }

  // What one worker keeps for later, others could start now: not while there is enough for all.
  void take_spares() {
    if (request_.spares.empty() || (fair_share() > 0 && !lease_.reserved)) return;
    for (const ClaimToken& t : request_.spares) give_back(t);
    ledger_.settle();
    answer_.took_spares = true;
  }

  // Half of what each worker would get if all that is ready were shared out now; of one alone, all.
  [[nodiscard]] std::uint64_t fair_share() {
    const Tally& tally = ledger_.tally();
    const std::uint64_t ready = tally.of(JobState::ready);
    return tally.live_workers <= 1 ? ready : ready / (2 * tally.live_workers);
  }

  // A quarter of the way to what this worker says.
  void learn_job_time() {
    std::chrono::milliseconds& known = ledger_.tally().job_time;
    if (request_.job_time.count() <= 0) return;
    const auto said = std::max(request_.job_time, std::chrono::milliseconds(1));
    known = known.count() == 0 ? said : (3 * known + said) / 4;
  }

  // A canceled job is over on this worker. The result does not count.
  bool conclude_revoked(const ClaimToken& token, const Outcome* outcome) {
    const std::uint64_t id = raw(token.job);
    if (!std::binary_search(lease_.ending.begin(), lease_.ending.end(), id)) return false;
    const auto job = ledger_.state().record(id);
    if (!job || !is_revoked(*job, token, request_.worker)) return false;
    ledger_.change(id, *job, ended(*job, outcome));
    std::erase(lease_.ending, id);
    (void)refuse(token, Refusal::canceled, Job{});
    return true;
  }

  // Whether it changed the job.
  template <class Rule>
  bool apply(const ClaimToken& token, const Rule& rule) {
    const std::uint64_t id = raw(token.job);
    const auto job = ledger_.state().job(id);
    if (!job) return refuse(token, Refusal::no_such_job, Job{});
    const Decision decision = rule(*job);
    if (const auto* why = std::get_if<Refusal>(&decision)) return refuse(token, *why, *job);
    const Job* after = std::get_if<Job>(&decision);
    if (after == nullptr) return false;
    ledger_.change(id, *job, *after);
    if (!is_live(after->state)) dropped_.push_back(id);
    if (is_over(after->state)) ++lease_.finished;
    return true;
  }

  bool refuse(const ClaimToken& token, Refusal why, const Job& job) {
    answer_.refused.push_back({token, why, is_live(job.state) ? job.worker : WorkerEpoch{}});
    return false;
  }

  WorkflowRecord read_workflow_record() {
    const Key key(Table::workflow);
    const auto value = tx_.get(key);
    const auto record = value ? decode_workflow(*value) : std::nullopt;
    if (!record) ledger_.state().damaged(key);
    return record.value_or(WorkflowRecord{});
  }

  void claim_for(const Offer& offer, SortMethod sort) {
    std::optional<GangPlan> gangs;
    if (has_gangs_ && lease_.node && offer.only == nullptr) {
      list();
      const GangPlan::Asker asker{request_.worker, request_.now, lease_.node->group,
                                  lease_.node->free_at == NodePlace::kOffered};
      gangs.emplace(tx_, ledger_.state(), asker, offer);
    }
    ReadyHeads heads(ledger_.tx(), ledger_.state(), ledger_.queues(), ledger_.quota(),
                     request_.worker, offer, sort, gangs ? &*gangs : nullptr);
    Capacity free = free_capacity(offer);
    free.leaves = leaves();
    std::uint64_t room = Lease::kMaxHeld - lease_.held.size();
    for (std::uint64_t left = std::min(offer.max_jobs, room); left > 0;) {
      const auto taken = heads.take(&free, left);
      if (!taken) break;
      left -= taken->count;
      grant(*taken);
      if (taken->gang) form(gangs->chosen());
    }
    idle_ = answer_.grants.size() < offer.max_jobs && !free.taken_whole &&
            (offer.ignore_resources || free.left.cpus > 0);
    room = free.taken_whole ? 0 : room - answer_.grants.size();
    ledger_.quota().begin_prefetch(ledger_.tally().live_workers);
    // A fair share only: what one worker prefetches, no other can start.
    for (std::uint64_t left = std::min({offer.prefetch, fair_share(), room}); left > 0;) {
      const auto taken = heads.take(nullptr, left);
      if (!taken) break;
      left -= taken->count;
      grant(*taken);
    }
    if (gangs && !lease_.gang) {
      (void)heads.take(nullptr, 0);  // what waits before anything that could be prefetched
      reserved_ = gangs->keeps_asker();
      answer_.could_be_part = gangs->waits();
      if (gangs->settle(heads.looked_at_all())) answer_.to_be_known = true;
    }
    heads.write_back();
    if (offer.only != nullptr && answer_.grants.empty())
      answer_.open = open_jobs(ledger_.state(), *offer.only);
  }

  // How alone a job would be on this worker, by what the store knows that it has: a job that it
  // still has to end runs, too, and so does an action. It offers nothing while a suspect is in its
  // probation, so those that it holds have outlived theirs.
  Alone leaves() {
    if (!lease_.ending.empty() || !lease_.actions.empty()) return Alone::no;
    Alone most = Alone::entirely;
    for (const std::uint64_t id : lease_.held) {
      const auto job = ledger_.state().record(id);
      if (!job || !is_live(job->state)) continue;  // dropped just now
      if (!is_suspect(*job)) return Alone::no;
      most = Alone::among_suspects;
    }
    return most;
  }

  void grant(const ReadyHeads::Take& taken) {
    State& state = ledger_.state();
    if (taken.first + taken.count - 1 > ledger_.tally().jobs()) {
      return state.contradicts(fmt::format("a ready queue has job {}, of {}",
                                           taken.first + taken.count - 1, ledger_.tally().jobs()));
    }
    // Most jobs of a range have no record yet: one seek tells where the next one is.
    std::uint64_t recorded = state.next_record(taken.first).value_or(UINT64_MAX);
    for (std::uint64_t id = taken.first; id < taken.first + taken.count; ++id) {
      Job before;
      before.state = JobState::ready;
      if (id == recorded) {
        before = state.open_record(id).value_or(Job{});
        recorded = state.next_record(id + 1).value_or(UINT64_MAX);
        if (before.state != JobState::ready) return state.damaged(Key(Table::job, id));
      }
      const Job after =
          claim::claim(before, request_.worker, tx_.sequence(), request_.now, taken.alternative);
      ledger_.change(id, before, after);
      answer_.grants.push_back({token_of(JobId{id}, after), taken.job_class, taken.priority,
                                after.stopped, is_suspect(after), after.lost, false, taken.runtime,
                                taken.alternative});
      added_.push_back(id);
    }
  }

  // The newest grant is of several nodes.
  void form(const std::vector<GangMember>& members) {
    if (answer_.grants.empty()) return;  // the tables contradict themselves
    Grant& grant = answer_.grants.back();
    grant.gang = true;
    form_gang(ledger_, lease_, grant, members, request_.now);
  }

  void hear_of_gang() {
    if (!lease_.node) {
      const auto worker = ledger_.state().worker(request_.worker);
      if (!worker) return ledger_.state().damaged(Key(Table::worker, raw(request_.worker)));
      if (worker->info.group.empty()) return;
      list_node(tx_, request_.worker, lease_, {hash_of_group(worker->info.group)});
    }
    was_offered_ = lease_.node->free_at == NodePlace::kOffered;
    const bool was_part = lease_.gang.has_value();
    declined_ = say_gang_words(ledger_, lease_, request_);
    if (was_part != lease_.gang.has_value()) answer_.to_be_known = true;
  }

  // When the node is expected to be free, by what the worker says and was granted.
  [[nodiscard]] std::uint64_t free_at() {
    if (declined_ || (!request_.offer && !lease_.gang)) return NodePlace::kUnknown;
    // What a gang holds is free when its job is expected to end, also for a job that waits.
    if (lease_.gang && answer_.grants.empty()) return lease_.node->free_at;
    const Offer& offer = *request_.offer;
    if (answer_.grants.empty() && answer_.actions.empty() && free_capacity(offer).untouched &&
        leaves() == Alone::entirely) {
      return NodePlace::kOffered;
    }
    if (!offer.busy_for) return NodePlace::kUnknown;
    std::chrono::seconds longest = std::max(*offer.busy_for, std::chrono::seconds{0});
    for (const Grant& grant : answer_.grants) {
      if (grant.runtime.count() <= 0) return NodePlace::kUnknown;
      longest = std::max(longest, grant.runtime);
    }
    const WallTime at = request_.now + longest;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(1, at.count()));
  }

  void list() {
    constexpr std::uint64_t kNear = 1'000'000;  // not worth a write
    const std::uint64_t before = lease_.node->free_at;
    const std::uint64_t now = free_at();
    const bool times = before != NodePlace::kOffered && before != NodePlace::kUnknown &&
                       now != NodePlace::kOffered && now != NodePlace::kUnknown;
    if (times && std::max(before, now) - std::min(before, now) < kNear) return;
    list_node(tx_, request_.worker, lease_, {lease_.node->group, now});
  }

  void tell_of_gang() {
    if (!lease_.node) return;
    list();
    if (!request_.offer && !lease_.gang) reserved_ = lease_.reserved;
    const bool offered = lease_.node->free_at == NodePlace::kOffered;
    if (was_offered_ != offered || lease_.reserved != reserved_) answer_.to_be_known = true;
    answer_.reserved = lease_.reserved = reserved_;
    if (!lease_.gang) return;
    const Gang* gang = ledger_.gangs().find(*lease_.gang);
    const auto rank = ledger_.gangs().rank_in(*lease_.gang, request_.worker);
    if (gang == nullptr || !rank) return ledger_.state().damaged(gang_key(*lease_.gang));
    answer_.gang = part_in(ledger_.state(), *gang, *rank);
  }

  // Who hears that there is work is told so when it asked for jobs and got less, or has none: what
  // it had of its node others may have for now.
  void list_as_idle() {
    const bool idle = lease_.has_bell && (idle_ || (request_.offer && lease_.held.empty()));
    if (idle == std::exchange(lease_.idle, idle)) return;
    const Key key(Table::idle, raw(request_.worker));
    idle ? tx_.put(key, {}) : tx_.erase(key);
  }

  void write_lease() {
    ++lease_.renewals;
    lease_.last_seen = request_.now;
    if (request_.ttl.count() > 0) lease_.ttl = request_.ttl;
    std::sort(dropped_.begin(), dropped_.end());
    std::sort(added_.begin(), added_.end());
    std::vector<std::uint64_t> kept;
    kept.reserve(lease_.held.size());
    std::set_difference(lease_.held.begin(), lease_.held.end(), dropped_.begin(), dropped_.end(),
                        std::back_inserter(kept));
    lease_.held.clear();
    std::merge(kept.begin(), kept.end(), added_.begin(), added_.end(),
               std::back_inserter(lease_.held));
    list_as_idle();
    tx_.put(Key(Table::lease, raw(request_.worker)), encode(lease_));
  }

  Transaction& tx_;
  const Exchange& request_;
  Lease lease_;
  Ledger ledger_;
  Retries retries_;
  Firing firing_;
  bool has_actions_;
  bool has_gangs_;
  bool was_offered_ = false;  // before this exchange
  bool declined_ = false;     // its node cannot be had now
  bool reserved_ = false;     // its node is kept
  bool idle_ = false;         // it asked for jobs and got less
  Answer answer_;
  std::vector<std::uint64_t> dropped_;  // jobs that the worker no longer holds
  std::vector<std::uint64_t> added_;
};

}  // namespace

Result<Answer> exchange(Transaction& tx, const Exchange& request) {
  for (const Finished& f : request.finishes) {
    if (is_end(f.state)) continue;
    return Error{ErrorKind::invalid,
                 fmt::format("job {} cannot finish as {}", raw(f.token.job), to_string(f.state)),
                 "report completed, failed, terminated, or ready to run it again"};
  }
  State state(tx);
  auto lease = state.lease(request.worker);
  TORC_TRY(state.sound());
  if (!lease || lease->barred) return fenced(request.worker);
  return Session(tx, request, *std::move(lease)).run();
}

}  // namespace torc::claim
