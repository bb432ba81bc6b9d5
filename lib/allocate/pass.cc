#include "lib/allocate/pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/allocate/demand_input.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/workflow/plan/moved_scripts.h"

namespace torc::allocate {
namespace {

using claim::Allocation;
using claim::Allocations;
using claim::AllocationStage;
using claim::Scheduler;

constexpr const char* kFlagsVariable = "TORC_WORKER_FLAGS";
// The part of them that a pass added, at their end: what submits from within an allocation takes
// none of it on to the next one, which may be of another scheduler.
constexpr const char* kAddedVariable = "TORC_ADDED_FLAGS";
// Another pass may want allocations while this one reckons: so often it reckons again.
constexpr int kMostReckonings = 5;

struct Ledger {
  claim::AllocationBook book;
  std::vector<Scheduler> schedulers;
  Allocations live;
  std::vector<std::pair<std::string, std::string>> alive;  // cluster and id, of live workers
};

Result<Ledger> read_ledger(const claim::Reader& reader) {
  Ledger ledger;
  TORC_ASSIGN(ledger.book, claim::read_allocation_book(reader));
  TORC_ASSIGN(ledger.schedulers, claim::read_schedulers(reader));
  TORC_ASSIGN(ledger.live, claim::read_live_allocations(reader));
  if (ledger.live.empty()) return ledger;
  TORC_TRY(claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
    if (!worker.info.allocation.empty())
      ledger.alive.emplace_back(worker.info.cluster, worker.info.allocation);
    return true;
  }));
  return ledger;
}

claim::Seen seen_of(const launcher::Listed& listed, std::string_view mark) {
  claim::Seen seen;
  switch (listed.stage) {
    case slurm::Stage::waits:
      seen.as = claim::Seen::As::waits;
      break;
    case slurm::Stage::runs:
      seen.as = claim::Seen::As::runs;
      break;
    case slurm::Stage::over:
      seen.as = claim::Seen::As::over;
      break;
    case slurm::Stage::other:
      seen.as = claim::Seen::As::other;
      break;
  }
  if (const auto name = claim::read_intent_name(listed.intent, mark)) seen.attempt = name->attempt;
  seen.cluster = listed.cluster;
  seen.id = listed.id;
  seen.state = listed.state;
  seen.reason = listed.reason;
  seen.submitted = listed.submitted;
  seen.start = listed.start;
  seen.end = listed.end;
  return seen;
}

// Of a store that a group shares: who sees only what is its own can say nothing of it.
bool is_of_another(const Allocation& allocation, std::uint32_t user) {
  return allocation.user != UINT32_MAX && allocation.user != user;
}

// The rows of the listing by allocation, each of those that live with what was looked for.
std::map<std::uint32_t, claim::Look> looks_of(const Ledger& ledger,
                                              const launcher::Listing& listing,
                                              std::string_view mark, std::uint32_t user) {
  std::map<std::uint32_t, claim::Look> looks;
  std::map<std::string, std::uint32_t> by_id;
  for (const auto& live : ledger.live) {
    const std::uint32_t number = live.first;
    const Allocation& allocation = live.second;
    if (!claim::may_be_there(allocation) || is_of_another(allocation, user)) continue;
    claim::Look& look = looks[number];
    look.whole = listing.whole;
    look.accounting = listing.accounting;
    if (!allocation.id.empty()) by_id.emplace(allocation.id, number);
    // It has a worker that lives: then it is there, whatever a list leaves out; and another cluster
    // that answers says nothing of it.
    const bool is_alive = std::ranges::any_of(ledger.alive, [&](const auto& one) {
      return one.second == allocation.id && !allocation.id.empty();
    });
    const bool is_elsewhere = !allocation.cluster.empty() && listing.cluster != allocation.cluster;
    if (is_alive || is_elsewhere) look.whole = false;
  }
  for (const launcher::Listed& listed : listing.allocations) {
    const auto name = claim::read_intent_name(listed.intent, mark);
    std::uint32_t number = name ? name->number : 0;
    if (const auto found = by_id.find(listed.id); number == 0 && found != by_id.end())
      number = found->second;
    // Also of one that has ended: it lives after all, or a try that was given up brought it.
    if (number == 0) continue;
    looks[number].rows.push_back(seen_of(listed, mark));
  }
  return looks;
}

launcher::Looking looking_for(const Ledger& ledger, std::uint32_t user) {
  launcher::Looking looking;
  for (const auto& [number, allocation] : ledger.live) {
    if (!claim::may_be_there(allocation) || is_of_another(allocation, user)) continue;
    const Scheduler& scheduler = ledger.schedulers[allocation.scheduler - 1];
    auto names = claim::intent_names(scheduler, number, allocation);
    std::ranges::move(names, std::back_inserter(looking.intents));
    if (scheduler.serialize &&
        std::ranges::find(looking.shared_names, scheduler.job_name) == looking.shared_names.end())
      looking.shared_names.push_back(scheduler.job_name);
    if (!allocation.id.empty()) looking.ids.push_back(allocation.id);
    if (allocation.stage == AllocationStage::intent || allocation.absent > 0)
      looking.ended_too = true;
    if (looking.since.count() == 0 || allocation.submitted_at < looking.since)
      looking.since = allocation.submitted_at;
  }
  return looking;
}

struct Flags {
  std::string of_user;
  std::string added;  // with a blank before it
};

Flags flags_for(const workflow::Context& context, const Scheduler& scheduler,
                const Allocation& allocation) {
  Flags flags{context.env(kFlagsVariable).value_or(""), {}};
  if (const auto added = context.env(kAddedVariable); added && flags.of_user.ends_with(*added))
    flags.of_user.resize(flags.of_user.size() - added->size());
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (flags.of_user.find(flag) == std::string::npos)
      flags.added += fmt::format(" {} {}", flag, value);
  };
  if (scheduler.terms.workers_idle.count() > 0)
    add("--workers-idle", fmt::format("{}s", scheduler.terms.workers_idle.count()));
  if (allocation.max_parallel_jobs > 0)
    add("--max-parallel-jobs", fmt::format("{}", allocation.max_parallel_jobs));
  return flags;
}

claim::AttemptEnd end_of(const launcher::SubmitAnswer& answer) {
  claim::AttemptEnd end;
  switch (answer.what) {
    case launcher::Submitted::accepted:
      end.what = claim::Attempted::accepted;
      break;
    case launcher::Submitted::refused:
      end.what = claim::Attempted::refused;
      break;
    case launcher::Submitted::later:
      end.what = claim::Attempted::later;
      break;
    case launcher::Submitted::unclear:
      end.what = claim::Attempted::unclear;
      break;
  }
  end.not_from_here = answer.not_from_here;
  end.cluster = answer.cluster;
  end.id = answer.id;
  if (!answer.words.empty() && answer.what != launcher::Submitted::accepted)
    end.said = answer.told_by.empty() ? answer.words.back() : answer.told_by;
  return end;
}

class Pass {
 public:
  Pass(const workflow::Context& context, store::Store& store, launcher::Launcher& launcher,
       const PassTerms& terms)
      : context_(context), store_(store), launcher_(launcher), terms_(terms) {}

  Result<PassReport> run() {
    Ledger ledger;
    TORC_TRY(look(ledger));
    const bool is_idle =
        ledger.live.empty() &&
        std::ranges::none_of(ledger.schedulers, [](const Scheduler& s) { return s.is_managed; });
    if (is_idle) return report_;
    TORC_ASSIGN(const bool is_mine, take_turn(ledger));
    if (!is_mine) return report_;
    TORC_TRY(learn(ledger));
    TORC_TRY(reckon());
    TORC_TRY(submit_all());
    cancel();
    return report_;
  }

  Result<PassReport> look_alone() {
    Ledger ledger;
    TORC_TRY(look(ledger));
    const auto looking = looking_for(ledger, context_.world.uid);
    const bool is_nothing = looking.intents.empty() && looking.ids.empty();
    if (is_nothing || is_within(ledger.book.looked_at, kPassInterval) ||
        is_within(ledger.book.passed_at, kPassInterval))
      return report_;
    bool is_mine = false;
    TORC_TRY(store_.commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(is_mine, claim::begin_look(tx, ledger.book.looked_at, now()));
      return {};
    }));
    if (!is_mine) return report_;
    TORC_TRY(learn(ledger));
    return report_;
  }

 private:
  [[nodiscard]] WallTime now() const { return context_.clock.wall_now(); }

  // What the batch system says, into the ledger.
  Result<void> learn(Ledger& ledger) {
    report_.was_made = true;
    mark_ = mark_of(store_);
    // Once it is known, a list of another cluster is none, also of what no list has shown yet.
    (void)launcher_.cluster();
    TORC_TRY(leave_to_original(ledger));
    return note_listing(ledger);
  }

  Result<void> look(Ledger& ledger) {
    return store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
      TORC_ASSIGN(ledger, read_ledger(reader));
      return {};
    });
  }

  // A moment that lies ahead is of a clock that goes wrong.
  [[nodiscard]] bool is_within(WallTime at, std::chrono::seconds time) const {
    const auto ago = now() - at;
    return ago >= WallTime{0} && ago < time;
  }

  Result<bool> take_turn(const Ledger& ledger) {
    if (terms_.turn == Turn::taken) return true;
    const bool is_last = terms_.turn == Turn::soon;
    if (terms_.turn == Turn::if_due && is_within(ledger.book.passed_at, kPassInterval))
      return false;
    if (is_last && is_within(ledger.book.left_at, kLastPassInterval)) return false;
    bool is_mine = false;
    TORC_TRY(store_.commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(is_mine, claim::begin_pass(tx, ledger.book.passes, now(), is_last));
      return {};
    }));
    return is_mine || terms_.turn == Turn::now;
  }

  // What another store submitted, which this one is a copy of, is neither looked for nor canceled.
  Result<void> leave_to_original(Ledger& ledger) {
    std::vector<std::uint32_t> others;
    for (const auto& [number, allocation] : ledger.live) {
      if (claim::may_be_there(allocation) && !allocation.mark.empty() && allocation.mark != mark_)
        others.push_back(number);
    }
    for (const auto& [number, allocation] : ledger.live) {
      if (is_of_another(allocation, context_.world.uid)) others_ids_.insert(allocation.id);
    }
    if (others.empty()) return {};
    TORC_TRY(store_.commit(0, [&](claim::Transaction& tx) -> Result<void> {
      return claim::disown_allocations(tx, others, now());
    }));
    for (const std::uint32_t number : others) ledger.live.erase(number);
    return {};
  }

  Result<void> note_listing(const Ledger& ledger) {
    const launcher::Looking looking = looking_for(ledger, context_.world.uid);
    if (looking.intents.empty() && looking.ids.empty()) return {};
    launcher::Listing listing = launcher_.list(looking);
    // A list without rows names none.
    if (listing.whole && listing.cluster.empty()) listing.cluster = launcher_.cluster();
    if (!listing.failure.empty() && !listing.whole) report_.unanswered = listing.failure;
    const auto looks = looks_of(ledger, listing, mark_, context_.world.uid);
    const bool is_answer =
        listing.whole && std::ranges::any_of(ledger.live, [&](const auto& one) {
          const Allocation& a = one.second;
          return claim::may_be_there(a) && (a.cluster.empty() || a.cluster == listing.cluster);
        });
    TORC_TRY(store_.commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(surplus_, claim::note_looks(tx, looks, now()));
      return is_answer ? claim::note_answer(tx, now()) : Result<void>();
    }));
    return {};
  }

  Result<void> reckon() {
    for (int round = 0; round < kMostReckonings; ++round) {
      TORC_ASSIGN(const bool is_done, reckon_once());
      if (is_done) return {};
    }
    return {};  // so many others make passes that they see to it
  }

  // False: the ledger is another one than what was reckoned from, and nothing was changed.
  Result<bool> reckon_once() {
    claim::DemandInput input;
    claim::AllocationBook book;
    TORC_TRY(
        store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          TORC_ASSIGN(book, claim::read_allocation_book(reader));
          TORC_ASSIGN(input, read_demand(reader, now()));
          return {};
        }));
    const claim::Demand demand = claim::demand_of(input);
    const std::string cluster = launcher_.cluster();
    std::vector<std::string> marked;
    bool is_same = false;
    TORC_TRY(store_.commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(const claim::AllocationBook newest, claim::read_allocation_book(tx));
      is_same = newest.allocations == book.allocations && newest.live == book.live;
      if (!is_same) return {};
      TORC_ASSIGN(marked, claim::note_demand(tx, demand, terms_.who, now(), cluster));
      return {};
    }));
    if (!is_same) return false;
    for (const claim::Ask& ask : demand.ask) report_.wanted += ask.allocations;
    std::ranges::move(marked, std::back_inserter(surplus_));
    return true;
  }

  Result<void> submit_all() {
    Ledger ledger;
    TORC_TRY(look(ledger));
    TORC_TRY(
        store_.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
          TORC_ASSIGN(left_nodes_, claim::read_left_nodes(reader));
          return {};
        }));
    std::uint32_t tried = 0;
    std::vector<bool> paused(ledger.schedulers.size() + 1);
    for (const auto& [number, allocation] : ledger.live) {
      if (allocation.stage != AllocationStage::wanted) continue;
      const Scheduler& scheduler = ledger.schedulers[allocation.scheduler - 1];
      const bool only_login = scheduler.from_login || scheduler.not_from_here;
      if (only_login && !terms_.on_login_node) {
        report_.waits_for_login = true;
        ++report_.left;
        continue;
      }
      if (paused[allocation.scheduler] || tried >= kMostSubmissions ||
          !claim::may_submit(allocation, scheduler, now())) {
        ++report_.left;
        continue;
      }
      ++tried;
      TORC_ASSIGN(const bool goes_on, submit(number, scheduler));
      if (!goes_on) paused[allocation.scheduler] = true;
    }
    return {};
  }

  // Workers of a store that was copied are not to go to its original.
  Result<void> look_at_scripts() {
    if (std::exchange(looked_at_scripts_, true)) return {};
    TORC_ASSIGN(const std::size_t mended, workflow::mend_scripts(context_, store_.directory()));
    if (mended > 0)
      report_.said.emplace_back(
          "the store was moved or copied: its batch scripts start workers here now");
    return {};
  }

  // Whether the next one of its scheduler may be tried.
  Result<bool> submit(std::uint32_t number, const Scheduler& scheduler) {
    TORC_TRY(look_at_scripts());
    std::optional<Allocation> begun;
    const claim::Submitter by{fmt::format("{} process {}", terms_.who, getpid()), mark_,
                              launcher_.cluster(), context_.world.uid};
    const BootTime at = context_.clock.boot_now();
    TORC_TRY(store_.commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(begun, claim::begin_submission(tx, number, by, now()));
      return {};
    }));
    if (!begun) return true;
    launcher::Submission submission;
    submission.intent = claim::intent_name(scheduler.job_name, mark_, number, begun->tries);
    if (scheduler.serialize) submission.shared_name = scheduler.job_name;
    submission.script = store_.directory() / scheduler.script;
    const Flags flags = flags_for(context_, scheduler, *begun);
    for (const claim::LeftNode& left : left_nodes_) submission.exclude_nodes.push_back(left.node);
    submission.environment = {{kIntentVariable, submission.intent},
                              {kFlagsVariable, flags.of_user + flags.added},
                              {kAddedVariable, flags.added}};
    launcher::SubmitAnswer answer;
    if (context_.clock.boot_now() - at < kStaleAfter) {
      answer = launcher_.submit(submission);
    } else {
      // This process stood still: whoever looked meanwhile may have given the try up.
      answer.what = launcher::Submitted::later;
      answer.words = {"the process that was to submit it has not responded for too long"};
    }
    if (answer.cluster.empty()) answer.cluster = by.cluster;
    return note_answer(number, begun->tries, scheduler, answer);
  }

  Result<bool> note_answer(std::uint32_t number, std::uint32_t attempt, const Scheduler& scheduler,
                           const launcher::SubmitAnswer& answer) {
    const claim::AttemptEnd end = end_of(answer);
    std::string other;
    TORC_TRY(store_.commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(other, claim::end_submission(tx, number, attempt, end, now()));
      return {};
    }));
    if (!other.empty()) surplus_.push_back(other);
    if (answer.what == launcher::Submitted::accepted) {
      ++report_.submitted;
      return true;
    }
    ++report_.left;
    if (answer.not_from_here) report_.waits_for_login = true;
    if (answer.what == launcher::Submitted::refused && !answer.not_from_here) ++report_.refused;
    report_.said.push_back(say(number, scheduler, answer));
    return false;
  }

  [[nodiscard]] static std::string say(std::uint32_t number, const Scheduler& scheduler,
                                       const launcher::SubmitAnswer& answer) {
    const std::string words = printable(fmt::format("{}", fmt::join(answer.words, " ")));
    const std::string name = printable(scheduler.name);
    switch (answer.what) {
      case launcher::Submitted::refused:
        if (answer.not_from_here)
          return fmt::format("allocation {} waits for a login node: {}", number, words);
        return fmt::format("scheduler {} is stopped: allocation {} was refused: {}", name, number,
                           words);
      case launcher::Submitted::later:
        return fmt::format("allocation {} of {} was not submitted, and will be tried again: {}",
                           number, name, words);
      case launcher::Submitted::unclear:
        return fmt::format(
            "whether allocation {} of {} was submitted is not known; the next look tells: {}",
            number, name, words);
      case launcher::Submitted::accepted:
        break;
    }
    return "";
  }

  void cancel() {
    // Whoever submitted it cancels it.
    std::erase_if(surplus_, [&](const std::string& id) { return others_ids_.contains(id); });
    if (surplus_.empty()) return;
    std::ranges::sort(surplus_);
    surplus_.erase(std::unique(surplus_.begin(), surplus_.end()), surplus_.end());
    report_.canceled = static_cast<std::uint32_t>(surplus_.size());
    if (launcher_.cancel(surplus_)) return;
    report_.said.push_back(
        "some allocations that nothing needs could not be canceled; the next pass tries again");
  }

  static constexpr std::chrono::seconds kStaleAfter{30};

  const workflow::Context& context_;
  store::Store& store_;
  launcher::Launcher& launcher_;
  const PassTerms& terms_;
  PassReport report_;
  bool looked_at_scripts_ = false;
  std::string mark_;
  std::vector<std::string> surplus_;  // ids
  std::set<std::string> others_ids_;  // of allocations that other users submitted
  std::vector<claim::LeftNode> left_nodes_;
};

}  // namespace

Result<PassReport> make_pass(const workflow::Context& context, store::Store& store,
                             launcher::Launcher& launcher, const PassTerms& terms) {
  return Pass(context, store, launcher, terms).run();
}

Result<std::string> ask_queue(const workflow::Context& context, store::Store& store,
                              launcher::Launcher& launcher) {
  const PassTerms nothing;
  TORC_ASSIGN(PassReport report, Pass(context, store, launcher, nothing).look_alone());
  return std::move(report.unanswered);
}

std::string mark_of(const store::Store& store) {
  return store.identity().instance_hex().substr(0, 12);
}

}  // namespace torc::allocate
