#include "lib/claim/transactions/reshape.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/scheduling/rank.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/plan_joining.h"
#include "lib/claim/transactions/plan_parts.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/reshape_parts.h"

namespace torc::claim {
namespace {

class Reshaping {
 public:
  Reshaping(Transaction& tx, Reshape& what, const PartOf& part_of, Origin& origin)
      : tx_(tx), what_(what), part_of_(part_of), origin_(origin) {}

  Result<Reshaped> run() {
    TORC_TRY(begin());
    TORC_TRY(find_kept());
    TORC_TRY(leave_kept_out());
    TORC_ASSIGN(checked_, check_plan(what_.plan, jobs_ + 1, barriers_));
    TORC_ASSIGN(const std::vector<std::uint32_t> classes, renumber_classes(tx_, what_.plan));
    const std::vector<std::uint32_t> handlers = renumber_handlers(tx_, state_, what_.plan);
    for (Template& t : what_.entries) {
      t.job_class = classes[t.job_class];
      t.handler = handlers[t.handler];
    }
    follow_limits();
    write_definitions(tx_, what_.plan);
    TORC_TRY(replace_templates(tx_, what_.entries, part_of_));
    TORC_TRY(replace_templates(tx_, what_.renamed, part_of_));
    TORC_TRY(rebind());
    TORC_TRY(wait_anew());
    TORC_TRY(remove());
    TORC_TRY(take_back());
    note_edition();
    TORC_TRY(run_again());
    TORC_TRY(retired_.keep());
    TORC_ASSIGN(done_.taken_back, retired_.take_back(what_.taken_back, origin_.at));
    return std::move(done_);
  }

 private:
  Result<void> begin() {
    const Tally tally = state_.tally();
    jobs_ = tally.jobs();
    barriers_ = last_barrier(state_);
    TORC_TRY(state_.sound());
    for (const DependencySet& set : what_.plan.dependencies) {
      if (set.upstream.empty() && set.conditional.empty()) continue;
      for (const JobRange& r : set.members) {
        if (raw(r.first) > jobs_) continue;
        bound_.push_back({r.first, std::min(r.count, jobs_ + 1 - raw(r.first))});
      }
    }
    sort_ranges(bound_);
    rebound_ = bound_;
    rebound_.insert(rebound_.end(), what_.unbound.begin(), what_.unbound.end());
    sort_ranges(rebound_);
    return {};
  }

  // Jobs whose entry or dependencies change and that a worker has. Those that are to run again
  // anyway do so by what is said now.
  Result<void> find_kept() {
    std::vector<JobRange> all = rebound_;
    for (const Template& t : what_.entries) all.push_back({t.first, t.count});
    all = joined_ranges(std::move(all));
    what_.stale = joined_ranges(std::move(what_.stale));
    std::vector<JobRange> again;
    if (!what_.stale.empty()) {
      TORC_ASSIGN(Reach reach, reach_of_reset(tx_, what_.stale));
      again = std::move(reach.jobs);
      if (what_.keeps_results) TORC_TRY(retired_.note(again));
    }
    std::vector<JobRange> ended;
    for (const JobRange& range : all) {
      const std::uint64_t end = raw(range.first) + range.count;
      for (auto at = state_.next_record(raw(range.first)); at && *at < end;
           at = state_.next_record(*at + 1)) {
        const auto job = state_.open_record(*at);
        if (!job || !is_live(job->state)) continue;
        const bool is_of_gang = class_of(*at).need.nodes > 1;
        add_to(!is_of_gang && has(again, *at) ? ended : done_.kept, *at);
      }
    }
    what_.stale.insert(what_.stale.end(), ended.begin(), ended.end());
    what_.stale = joined_ranges(std::move(what_.stale));
    return state_.sound();
  }

  JobClass class_of(std::uint64_t id) {
    const auto rank = state_.rank_of(id);
    return rank ? state_.job_class(rank->job_class) : JobClass{};
  }

  static bool has(const std::vector<JobRange>& ranges, std::uint64_t id) {
    const auto after = std::ranges::upper_bound(ranges, JobId{id}, {}, &JobRange::first);
    return after != ranges.begin() && id - raw(std::prev(after)->first) < std::prev(after)->count;
  }

  Result<void> leave_kept_out() {
    if (done_.kept.empty()) return {};
    rebound_ = without(rebound_, done_.kept);
    bound_ = without(bound_, done_.kept);
    what_.stale = without(what_.stale, done_.kept);
    for (DependencySet& set : what_.plan.dependencies) {
      sort_ranges(set.members);
      set.members = without(set.members, done_.kept);
    }
    std::vector<Template> entries;
    for (const Template& t : what_.entries) {
      for (const JobRange& r : without({{t.first, t.count}}, done_.kept)) {
        TORC_ASSIGN(Template part, part_of_(t, raw(r.first) - raw(t.first), r.count));
        entries.push_back(std::move(part));
      }
    }
    what_.entries = std::move(entries);
    return {};
  }

  // How much there is of something is what the file says, unless a person has set another number.
  void follow_limits() {
    for (std::uint32_t number = 1;; ++number) {
      const Key key = Key(Table::limit).be32(number);
      const auto value = tx_.get(key);
      if (!value) return;
      const auto known = decode_limit(*value);
      if (!known) return state_.damaged(key);
      for (const Limit& now : what_.plan.limits) {
        if (!is_same_limit(now, *known) || known->of_file() == now.most) continue;
        Limit after = *known;
        (after.before_set ? *after.before_set : after.most) = now.most;
        if (after.before_set == after.most) after.before_set.reset();
        tx_.put(key, encode(after));
      }
    }
  }

  // Structure: spans, barriers, upstream runs, queues, and the jobs that are new.
  Result<void> rebind() {
    std::vector<SpanTerms> terms;
    for (const Template& t : what_.entries)
      terms.push_back({{t.first, t.count}, Rank{t.job_class, t.priority}, {}});
    std::vector<Bound> fresh;  // members that are new jobs
    for (const Bound& b : checked_.members) {
      if (b.first > jobs_) {
        fresh.push_back(b);
      } else if (b.end() > jobs_ + 1) {
        fresh.push_back({jobs_ + 1, b.end() - jobs_ - 1, b.waiter});
        bindings_.push_back({{JobId{b.first}, jobs_ + 1 - b.first}, {}, b.waiter.barrier});
      } else {
        bindings_.push_back({{JobId{b.first}, b.count}, {}, b.waiter.barrier});
      }
    }
    for (const JobRange& r : without(rebound_, bound_)) bindings_.push_back({r, {}, 0});
    Tally tally = state_.tally();
    SpanChange spans(tx_, tally, terms, bindings_);
    TORC_TRY(spans.lift());
    const std::vector<std::uint64_t> old = spans.rewrite();
    TORC_TRY(forget_members(tx_, old, rebound_));
    State state(tx_);
    write_templates(tx_, what_.plan);
    const Begun begun = write_barriers(tx_, state, what_.plan, barriers_, jobs_);
    cut_upstream(checked_.upstream,
                 [&](const UpstreamRun& run) { extend_upstream(tx_, state, run, jobs_ + 1); });
    TORC_TRY(spans.drop());
    const std::uint64_t added = checked_.jobs - jobs_;
    if (added > 0) {
      ReadyQueues queues(tx_, state, tally.ordered);
      write_spans(tx_, queues, tally, make_spans(what_.plan, fresh), begun.open);
      queues.store();
      origin_.jobs = done_.added = {JobId{jobs_ + 1}, added};
      note_origin(tx_, state, origin_);
    }
    Plan all = what_.plan;
    tally.rules |= rules_of(all);
    follow_classes(tx_, state, all.few_classes, tally);
    tx_.put(Key(Table::tally), encode(tally));
    TORC_TRY(state.sound());
    doomed_ = begun.doomed;
    return {};
  }

  // Those that were passed over for what they waited for before.
  Result<void> wait_anew() {
    Ledger ledger(tx_, origin_.at);
    for (const JobRange& range : rebound_) {
      const std::uint64_t end = raw(range.first) + range.count;
      State& state = ledger.state();
      for (auto at = state.next_record(raw(range.first)); at && *at < end;
           at = state.next_record(*at + 1)) {
        const auto job = state.record(*at);
        if (!job) break;
        const bool is_behind = state.waiting_state(*at) == JobState::blocked;
        if (is_passed_over(*job)) {
          ledger.change(*at, *job, claim::wait_again(*job));
        } else if (is_behind && claim::has(job->state, trait::kWaits) &&
                   job->attempt != job->forgiven) {
          ledger.change(*at, *job, forgiven(*job));
        } else if (is_over(job->state) && job->state != JobState::canceled && is_behind) {
          add_to(what_.stale, *at);  // it cannot have ended before what it waits for
        }
      }
    }
    TORC_TRY(ledger.close());
    // What waits again now may have made some of them possible.
    Ledger after(tx_, origin_.at);
    for (const std::uint64_t id : doomed_) {
      if (after.state().countdown(id).doom() != EndCause::none) after.pass_over_members(id);
    }
    return after.close();
  }

  // What it has tried counts no more: behind a closed barrier nobody has an attempt that does.
  static Job forgiven(Job job) {
    job.forgiven = job.attempt;
    job.lost = 0;
    job.stopped = 0;
    job.suspicion = Suspicion::none;
    if (job.state != JobState::held) job.state = JobState::ready;
    return job;
  }

  // What a person has said of it, or how it failed, is there again when it comes back.
  static bool is_kept(const Job& job) {
    if (job.state == JobState::canceled)
      return job.outcome.cause == EndCause::canceled && job.revoked != Revoked::ending_then_again;
    return job.state == JobState::held || (is_over(job.state) && job.state != JobState::completed);
  }

  Result<void> remove() {
    Ledger ledger(tx_, origin_.at);
    each_job(ledger.state(), what_.removed, [&](std::uint64_t id, const Job& job) {
      tx_.put(removed_key(JobId{id}),
              is_kept(job) ? std::string_view(encode(job)) : std::string_view());
      const Job after = claim::remove(job, origin_.at);
      if (after == job) return;
      ledger.change(id, job, after);
      done_.removed.note(JobId{id}, job, after);
    });
    return ledger.close();
  }

  static Job come_back(const Job& job, const std::optional<Job>& before) {
    if (!before) return retry(job);
    // What it waits for may have begun anew meanwhile: what it has tried counts no more.
    if (before->state == JobState::held) return hold(retry(*before));
    if (before->state != JobState::canceled) return *before;
    Job canceled = job;  // its worker may have ended it meanwhile
    canceled.outcome.cause = EndCause::canceled;
    return canceled;
  }

  Result<void> take_back() {
    Ledger ledger(tx_, origin_.at);
    std::vector<std::uint64_t> ended;
    each_job(ledger.state(), what_.returned, [&](std::uint64_t id, const Job& job) {
      const auto kept = tx_.get(removed_key(JobId{id}));
      const auto before = kept && !kept->empty() ? decode_job(*kept) : std::nullopt;
      tx_.erase(removed_key(JobId{id}));
      if (!claim::is_removed(job)) {
        if (before) what_.stale.push_back({JobId{id}, 1});  // others have what it spawned
        return;
      }
      // Of what was withdrawn it is the spawner that is kept.
      const Job after = come_back(job, is_withdrawn(job) ? std::nullopt : before);
      if (is_over(after.state) && after.state != JobState::canceled) ended.push_back(id);
      ledger.change(id, job, after);
      done_.returned.note(JobId{id}, job, after);
    });
    TORC_TRY(ledger.close());
    // When all are back: what one was made of may have come back with it.
    State state(tx_);
    for (const std::uint64_t id : ended) {
      const auto job = state.job(id);
      if (job && !is_built_on_the_same(state, id, job->claim))
        what_.stale.push_back({JobId{id}, 1});
    }
    return state.sound();
  }

  // Whoever compared the workflow with its file did so with jobs that are out now, or back.
  void note_edition() {
    if (what_.removed.empty() && what_.returned.empty()) return;
    tx_.put(Key(Table::edition), Value().varint(tx_.sequence()));
  }

  Result<void> run_again() {
    if (what_.stale.empty()) return {};
    const std::vector<JobRange> all = joined_ranges(what_.stale);
    TORC_ASSIGN(done_.again, reset_jobs(tx_, all, Force::yes, origin_.at));
    return {};
  }

  Transaction& tx_;
  Reshape& what_;
  const PartOf& part_of_;
  Origin& origin_;
  State state_{tx_};  // of before the spans change
  std::uint64_t jobs_ = 0;
  std::uint64_t barriers_ = 0;
  std::vector<JobRange> bound_;    // jobs that are there and get another barrier
  std::vector<JobRange> rebound_;  // those, and those that wait for nothing from now on
  std::vector<SpanTerms> bindings_;
  CheckedPlan checked_;
  RetiredResults retired_{tx_, what_.definition_of};
  std::vector<std::uint64_t> doomed_;
  Reshaped done_;
};

}  // namespace

Result<Reshaped> reshape(Transaction& tx, Reshape what, const PartOf& part_of, Origin origin) {
  return Reshaping(tx, what, part_of, origin).run();
}

bool note_behind(Transaction& tx, const std::vector<JobRange>& kept,
                 const std::vector<JobRange>& outdated) {
  std::map<std::string, std::string, std::less<>> now;
  for (const JobRange& range : kept) {
    for (std::uint64_t id = raw(range.first); id < raw(range.first) + range.count; ++id) {
      const bool is_outdated = std::ranges::any_of(outdated, [&](const JobRange& old) {
        return id >= raw(old.first) && id - raw(old.first) < old.count;
      });
      now.emplace(std::string_view(Key(Table::behind, id)),
                  std::string_view(Value().u8(is_outdated ? 1 : 0)));
    }
  }
  std::vector<std::string> gone;
  tx.scan_prefix(Key(Table::behind), [&](const store::Entry& e) {
    const auto known = now.find(e.key);
    if (known == now.end())
      gone.emplace_back(e.key);
    else if (known->second == e.value)
      now.erase(known);
    return true;
  });
  for (const std::string& key : gone) tx.erase(key);
  for (const auto& [key, value] : now) tx.put(key, value);
  return !gone.empty() || !now.empty();
}

bool renew_signature(Transaction& tx, JobId id, std::uint64_t claim, Signature now) {
  const auto job = read_job(tx, id);
  if (!job || !is_over(job->state) || job->claim != claim) return false;
  tx.put(Key(Table::signature, raw(id)), encode(std::move(now)));
  return true;
}

}  // namespace torc::claim
