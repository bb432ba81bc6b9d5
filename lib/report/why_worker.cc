#include "lib/report/why_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/labels.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/why.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/offer.h"
#include "lib/exec/node/node_ledger.h"
#include "lib/exec/node/node_member.h"
#include "lib/report/prospect.h"
#include "lib/report/situation_text.h"
#include "lib/report/start_by_hand.h"
#include "lib/report/why_gang.h"
#include "lib/report/why_locality.h"
#include "lib/report/why_named.h"
#include "lib/report/why_remedy.h"
#include "lib/worker/text/node_holders.h"
#include "lib/workflow/context/live_workers.h"

namespace torc::report {
namespace {

using claim::JobState;
namespace mismatch = claim::mismatch;

constexpr std::size_t kShownNames = 5;

// "'a', 'b', …", each once; empty ones left out.
std::string names_of(const std::vector<claim::Worker>& workers,
                     const std::string claim::WorkerInfo::*name) {
  std::vector<std::string> names;
  for (const claim::Worker& w : workers) {
    const std::string& one = w.info.*name;
    if (!one.empty() && std::find(names.begin(), names.end(), one) == names.end())
      names.push_back(one);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShownNames; ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(names[i]));
  return names.size() > kShownNames ? text + ", …" : text;
}

}  // namespace

std::vector<Reason> WorkerInquiry::look(const claim::JobClass& job_class, std::int32_t priority,
                                        bool held_back) {
  std::vector<claim::Worker> workers;
  for (const WorkerNow& w : situation_.workers) {
    if (w.is_at_work()) workers.push_back(w.worker);
  }
  if (workers.empty()) {
    nobody(job_class);
    return std::move(reasons_);
  }
  std::vector<claim::Worker> fitting;
  const WallTime now = context_.clock.wall_now();
  if (job_class.need.nodes > 1) {
    if (auto gang = why_gang_waits(reader_, job_class, id_, now, store_)) {
      if (!gang->could) (void)allocation(job_class, "It is ready.");
      reasons_.push_back(std::move(gang->reason));
      if (!gang->could) nodes_lack(job_class, workers);
      return std::move(reasons_);
    }
  }
  std::copy_if(workers.begin(), workers.end(), std::back_inserter(fitting),
               [&](const claim::Worker& w) {
                 return claim::could_fit(job_class, claim::whole_offer(w.info, now));
               });
  if (fitting.empty()) {
    const bool comes =
        allocation(job_class, "It is ready, and none of the workers that are there can run it.") &&
        std::ranges::any_of(waiting(situation_, job_class.scheduler),
                            [](const auto* a) { return goes_on(*a); });
    // One that is of the job's scheduler is what it waits for.
    if (!comes || job_class.scheduler.empty()) mismatches(job_class, workers);
  } else {
    queue(job_class, priority, fitting, workers.size(), held_back);
  }
  return std::move(reasons_);
}

bool WorkerInquiry::allocation(const claim::JobClass& job_class, const std::string& so_far) {
  const auto allocations = waiting(situation_, job_class.scheduler);
  if (allocations.empty()) return false;
  const std::string slurm = say_slurm(situation_, context_.clock.wall_now(), job_class.scheduler);
  add("allocation", fmt::format("{} It waits for an allocation. {}", so_far, slurm),
      remedy_for_waiting(allocations));
  return true;
}

void WorkerInquiry::nobody(const claim::JobClass& job_class) {
  const WallTime now = context_.clock.wall_now();
  std::string text = "It is ready, and no worker is at work.";
  for (std::size_t i = 0; i < situation_.workers.size() && i < kShownNames; ++i) {
    std::string absence = say_absence(situation_, situation_.workers[i], now) + '.';
    absence.front() = upper(absence.front());
    text += ' ' + absence;
  }
  if (allocation(job_class, text)) return;
  const std::string slurm = say_slurm(situation_, now, job_class.scheduler);
  add("no_worker", slurm.empty() ? text : text + ' ' + slurm,
      remedy_without_worker(context_, situation_, job_class, store_, job_));
}

void WorkerInquiry::mismatches(const claim::JobClass& job_class,
                               const std::vector<claim::Worker>& workers) {
  if (job_class.others.empty()) return mismatches_of(job_class, workers, 0, "run it");
  for (std::uint32_t a = 0; a < job_class.alternatives(); ++a)
    mismatches_of(job_class.by(a), workers, a + 1, "run it");
}

// Of workers of groups, as these alone can be; where there are none, of all.
void WorkerInquiry::nodes_lack(const claim::JobClass& job_class,
                               const std::vector<claim::Worker>& workers) {
  std::vector<claim::Worker> nodes;
  std::ranges::copy_if(workers, std::back_inserter(nodes),
                       [](const claim::Worker& w) { return !w.info.group.empty(); });
  claim::JobClass of_node = job_class;
  of_node.need.nodes = 1;
  mismatches_of(of_node, nodes.empty() ? workers : nodes, 0, "be one of its nodes");
}

// One reason for each thing that some worker lacks, that of most workers first.
void WorkerInquiry::mismatches_of(const claim::JobClass& job_class,
                                  const std::vector<claim::Worker>& workers,
                                  std::uint32_t alternative, std::string_view what_for) {
  const claim::Requirement& need = job_class.need;
  const WallTime now = context_.clock.wall_now();
  Resources most = no_resources();
  std::chrono::seconds longest{0};
  for (const claim::Worker& w : workers) {
    const claim::Offer offer = claim::whole_offer(w.info, now);
    const Resources total = claim::total_of(offer);
    for (const ResourceKind& kind : kResourceKinds)
      kind.put(most, std::max(kind.get(most), kind.get(total)));
    if (offer.remaining) longest = std::max(longest, *offer.remaining);
  }
  const auto count = [&](std::uint8_t what) {
    return static_cast<std::uint64_t>(
        std::count_if(workers.begin(), workers.end(), [&](const claim::Worker& w) {
          return (claim::mismatches_of(job_class, claim::whole_offer(w.info, now)) & what) != 0;
        }));
  };
  std::vector<std::pair<std::uint64_t, Reason>> found;
  const auto tell = [&](std::uint64_t n, std::string_view kind, std::string text,
                        std::string remedy) {
    if (n == 0) return;
    const std::string who = n < workers.size()
                                ? fmt::format("{} of {} workers could never", n, workers.size())
                            : n == 1 ? "The only worker could never"
                                     : fmt::format("None of the {} workers could ever", n);
    const std::string by = alternative == 0 ? "" : fmt::format(" by alternative {}", alternative);
    found.push_back(
        {n, {kind, fmt::format("{} {}{}: {}.", who, what_for, by, text), std::move(remedy)}});
  };
  const auto note = [&](std::uint8_t what, std::string_view kind, std::string text,
                        std::string remedy) {
    tell(count(what), kind, std::move(text), std::move(remedy));
  };
  const bool one = workers.size() == 1;
  const std::string have = one ? "that worker has" : "they have";
  const std::string serve = one ? "that worker serves" : "they serve";
  const auto or_set = [&](std::string_view worker, const std::string& setting) {
    return fmt::format("start a worker {}, or let {} need less: torc set {} {} {}", worker,
                       alternative == 0 ? "it" : "each alternative", store_, job_, setting);
  };
  note(mismatch::kNodes, "nodes", fmt::format("it needs {} nodes", need.nodes),
       "workers have one node each: those of one group take such jobs together");
  const Start start = how_to_start(context_, situation_, store_, {job_class});
  const std::string schedulers = names_of(workers, &claim::WorkerInfo::scheduler);
  note(mismatch::kScheduler, "scheduler",
       fmt::format("it is bound to scheduler '{}', and {} {}", printable(job_class.scheduler),
                   serve, schedulers.empty() ? "none" : schedulers),
       start.by != Start::By::run
           ? start.how
           : fmt::format("torc worker {} --scheduler {}", store_, shell_word(job_class.scheduler)));
  const std::string labels = names_of(workers, &claim::WorkerInfo::labels);
  if (job_class.labels.empty()) {
    note(mismatch::kLabel, "label",
         fmt::format("it asks for no label, and {} {} and {} only jobs that ask for one", have,
                     labels, one ? "takes" : "take"),
         fmt::format("torc worker {}, or start {} with --also-unlabelled too", store_,
                     one ? "that one" : "one of them"));
  } else {
    note(mismatch::kLabel, "label",
         fmt::format("it asks for {}, and {} {}", say_labels(job_class.labels), have,
                     labels.empty() ? "none" : labels),
         fmt::format("torc worker {} --label {}, or torc set {} {} label=", store_,
                     shell_word(job_class.labels), store_, job_));
  }
  for (const ResourceKind& kind : kResourceKinds) {
    if (!kind.shared) continue;
    note(mismatch::of(kind), kind.word,
         fmt::format("it needs {}, and {} at most {}", show_amount(kind, kind.get(need)), have,
                     show_number(kind, kind.get(most))),
         or_set("with more", setting_of(kind, kind.get(most))));
  }
  for (const Amount& a : need.named) {
    NamedLack lack = lack_of(a, workers, store_, job_);
    tell(lack.workers, "resource", std::move(lack.text), std::move(lack.remedy));
  }
  const bool learned =
      need.min_time.count() == 0 &&
      claim::learned_time(reader_, job_class, alternative == 0 ? 0 : alternative - 1).has_value();
  note(mismatch::kTime, "time",
       fmt::format("{}, and {} at most {} left",
                   learned ? "jobs of its entry have taken " + show_duration(need.runtime)
                           : say_least_time(need),
                   have, show_duration(longest)),
       or_set("with more time",
              need.min_time.count() > 0
                  ? "min_time=…"
                  : "runtime=…; a job that saves its state may declare a min_time"));
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [n, reason] : found) reasons_.push_back(std::move(reason));
}

void WorkerInquiry::queue(const claim::JobClass& job_class, std::int32_t priority,
                          const std::vector<claim::Worker>& fitting, std::size_t all,
                          bool held_back) {
  if (held_back) return;
  std::uint64_t held = 0;
  std::vector<claim::Worker> idle;
  for (const claim::Worker& w : fitting) {
    held += w.held;
    if (w.held == 0) idle.push_back(w);
  }
  if (!idle.empty() && starved(idle)) return;
  if (auto kept = why_kept_from(reader_, job_class, idle, store_, job_); kept && !idle.empty()) {
    reasons_.push_back(*std::move(kept));
    return;
  }
  if (idle.empty()) {
    if (auto apart = why_pieces_lie_apart(reader_, job_class, fitting, store_, job_)) {
      reasons_.push_back(*std::move(apart));
      return;
    }
  }
  const auto load = claim::read_load(reader_);
  const std::uint64_t ready = load.ok() ? load->ready : 1;
  std::string text = fmt::format(
      "{} of {} can take it; {} {} now. {} {} ready, and those with a priority above {} go "
      "before it.",
      show_count(fitting.size()), plural(all, "worker"),
      fitting.size() == 1 ? "it has" : "they have", plural(held, "job"), plural(ready, "job"),
      ready == 1 ? "is" : "are", priority);
  if (!idle.empty()) {
    add("queue", text + " One of them has nothing to do and claims jobs within half a minute.",
        "nothing needs to be done");
  } else {
    add("queue", std::move(text),
        fmt::format("nothing needs to be done; more workers, or torc set {} {} priority={}, let it "
                    "start sooner",
                    store_, job_, priority + 1));
  }
}

bool WorkerInquiry::starved(const std::vector<claim::Worker>& idle) {
  const bool here = std::all_of(idle.begin(), idle.end(), [&](const claim::Worker& w) {
    return workflow::is_here(w.info, context_.world.host,
                             {context_.world.boot_id, context_.world.pid_namespace});
  });
  if (!here) return false;
  const auto workers = exec::NodeLedger::look(exec::node_place(context_.env, context_.world.host));
  if (!workers) return false;
  const bool all = std::all_of(idle.begin(), idle.end(), [&](const claim::Worker& w) {
    return worker::waits_for_node(*workers, w.info.pid);
  });
  const std::string holders = worker::show_holders(context_, *workers, idle.front().info.pid);
  if (!all || holders.empty()) return false;
  add("node",
      fmt::format("Worker {} on {} could take it, and waits for the CPUs of its node, which others "
                  "have: {}.",
                  claim::raw(idle.front().epoch), printable(idle.front().info.host), holders),
      "nothing needs to be done: it starts when they have ended jobs; torc node shows who has "
      "what");
  return true;
}

}  // namespace torc::report
