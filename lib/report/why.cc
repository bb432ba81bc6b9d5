#include "lib/report/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/queries/why.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/transition.h"
#include "lib/report/job_view.h"
#include "lib/report/prospect.h"
#include "lib/report/quota_view.h"
#include "lib/report/situation_text.h"
#include "lib/report/why_limit.h"
#include "lib/report/why_remedy.h"
#include "lib/report/why_words.h"
#include "lib/report/why_worker.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::report {
namespace {

using claim::JobState;

constexpr std::size_t kNames = 5;
constexpr std::size_t kCounted = 200;  // of those that a job waits for, by their states
// A chain of jobs that wait for each other is followed so far to where it begins.
constexpr int kLongestChain = 100;

// What a change of state of one upstream job would have to be, as words behind its name.
std::string_view condition_words(claim::Condition condition) {
  switch (condition) {
    case claim::Condition::afterok:
      return "must complete";
    case claim::Condition::afternotok:
      return "must end other than by completing (afternotok)";
    case claim::Condition::afterany:
      return "must be over (afterany)";
    case claim::Condition::after:
      return "must have started (after)";
  }
  return "";
}

class Inquiry {
 public:
  Inquiry(const workflow::Context& context, const claim::Reader& reader, workflow::RecipeBook& book,
          std::string store, const Situation& situation, JobId id,
          const workflow::RecipeBook::Page& page, const claim::Job& job)
      : context_(context),
        reader_(reader),
        book_(book),
        words_(reader, book, std::move(store)),
        situation_(situation),
        id_(id),
        page_(page),
        job_(job),
        name_(workflow::job_name(book, reader, id)) {}

  Explanation run() {
    look();
    if (job_.state != JobState::canceled && claim::is_removed(reader_, id_)) removed();
    return {id_, name_, job_, std::move(reasons_)};
  }

 private:
  void look() {
    switch (job_.state) {
      case JobState::held:
        held();
        return dependencies();
      case JobState::blocked:
        return dependencies();
      case JobState::canceled:
        return canceled();
      case JobState::delayed:
        return delayed();
      case JobState::ready:
        return ready();
      case JobState::claimed:
      case JobState::running:
        return live();
      case JobState::completed:
        return completed();
      case JobState::failed:
      case JobState::terminated:
        return failed();
      case JobState::pending_failed:
        return undecided();
    }
  }

  void held() {
    add("hold", "It is held: nobody claims it until it is released.", command("release"));
  }

  void undecided() {
    add("failed",
        fmt::format("It failed ({}), and waits for a decision (use_pending_failed).",
                    worker::show_end(reader_, book_, id_, job_.outcome)),
        fmt::format("{}, or {}: then it has failed", command("retry"), command("cancel")));
  }

  void dependencies() {
    claim::Obstacles found = claim::obstacles_of(reader_, id_, kCounted);
    // What holds it up for good is among those that are told by name.
    std::stable_partition(found.awaited.begin(), found.awaited.end(), [](const claim::Awaited& a) {
      return claim::is_terminal(a.state) || claim::has(a.state, claim::trait::kTroubled);
    });
    const std::size_t named = std::min(found.awaited.size(), kNames);
    for (std::size_t i = 0; i < named; ++i) depends_on(found.awaited[i]);
    const std::uint64_t all = std::max<std::uint64_t>(found.awaiting, found.awaited.size());
    if (all > named) others(std::span(found.awaited).subspan(named), all - named);
    // What can no longer be comes first, then what a person holds back.
    std::stable_sort(reasons_.begin(), reasons_.end(), [](const Reason& a, const Reason& b) {
      return (a.kind == "upstream") > (b.kind == "upstream");
    });
  }

  // That it waits for as well, `all` of them; the states of `seen` are known.
  void others(std::span<const claim::Awaited> seen, std::uint64_t all) {
    claim::Counts counts{};
    bool bad = false;
    for (const claim::Awaited& a : seen) {
      ++counts[static_cast<std::size_t>(a.state)];
      bad = bad || claim::has(a.state, claim::trait::kTroubled);
    }
    const std::string states = all == seen.size() ? ": " + show_counts(counts) : "";
    add("dependency", fmt::format("And it waits for {}{}.", plural(all, "more job"), states),
        bad ? fmt::format("torc results {} --failed shows what failed", words_.store())
            : fmt::format("nothing more than for those above; torc jobs {} shows the state of each",
                          words_.store()));
  }

  void depends_on(const claim::Awaited& a) {
    const std::string who = words_.name(a.job);
    const std::string text =
        fmt::format("It waits for {}, which {}, and is {}{}.", who, condition_words(a.condition),
                    claim::to_string(a.state), words_.place_of(a.job));
    switch (a.state) {
      case JobState::failed:
      case JobState::terminated:
        return add("upstream", text, words_.command("retry", a.job));
      case JobState::canceled: {
        if (const auto up = claim::read_job(reader_, a.job); up && claim::is_withdrawn(*up)) {
          return add(
              "upstream",
              fmt::format("{} {}, which spawned it, went back to the start.", text,
                          words_.state_of(up->outcome.because)),
              "it waits until that job spawns it again; or: " + words_.command("rm --undo", a.job));
        }
        const JobId root = claim::root_of_cancellation(reader_, a.job);
        if (claim::is_removed(reader_, root))
          return add("upstream", text, words_.command("rm --undo", root));
        if (root == a.job) return add("upstream", text, words_.command("retry", a.job));
        return add("upstream",
                   fmt::format("{} It was canceled because of {}.", text, words_.state_of(root)),
                   words_.remedy_for(root));
      }
      case JobState::completed:
        return add("upstream", text + " That can no longer come true.",
                   words_.command("reset", a.job));
      case JobState::held:
        return add("upstream", text, words_.command("release", a.job));
      case JobState::pending_failed:
        return add("upstream", text,
                   fmt::format("{}, or {}: then it has failed", words_.command("retry", a.job),
                               words_.command("cancel", a.job)));
      case JobState::blocked: {
        const JobId root = root_of(a.job);
        const claim::Job at = claim::read_job(reader_, root).value_or(claim::Job{});
        return add(
            "dependency",
            fmt::format("{} What holds it up begins with {}, which is {}{}.", text,
                        words_.name(root), claim::to_string(at.state), words_.place_of(root)),
            fmt::format("see torc why {} {}", words_.store(), words_.word(root)));
      }
      case JobState::ready:
      case JobState::delayed:
        return add("dependency", text,
                   fmt::format("see torc why {} {}", words_.store(), words_.word(a.job)));
      case JobState::claimed:
      case JobState::running: {
        const WorkerNow* const worker = worker_of(a.job);
        if (worker == nullptr) return add("dependency", text, "nothing needs to be done");
        return add("dependency", fmt::format("{} But {}.", text, absence_of(*worker)),
                   remedy_for_absence(worker, a.job));
      }
    }
  }

  // Up the first of what each waits for, to one that does not wait for another.
  JobId root_of(JobId id) {
    for (int step = 0; step < kLongestChain; ++step) {
      const auto next = claim::waits_for(reader_, id, 1);
      if (next.empty()) break;
      id = next.front();
    }
    return id;
  }

  void canceled() {
    const claim::Outcome& o = job_.outcome;
    if (job_.revoked != claim::Revoked::no) {
      revoked();
    } else if (claim::is_passed_over(job_)) {
      const JobId root = claim::root_of_cancellation(reader_, id_);
      const std::string because =
          root == o.because ? words_.state_of(root)
                            : fmt::format("{}, and that because of {}", words_.state_of(o.because),
                                          words_.state_of(root));
      if (o.cause == claim::EndCause::unmet) {
        add("canceled",
            fmt::format("It is not needed: the condition on which it starts can no longer come "
                        "true, because of {}.",
                        because),
            "nothing needs to be done; should that job run again, this one waits again");
      } else {
        add("canceled",
            fmt::format("It was canceled because of {}: it has cancel_on_blocking_job_failure.",
                        because),
            words_.remedy_for(root));
      }
    } else if (claim::is_withdrawn(job_)) {
      add("canceled",
          fmt::format("It was spawned by {}, which went back to the start: it runs only if that "
                      "spawns it again.",
                      words_.state_of(o.because)),
          command("rm --undo") + " lets it run as it is");
    } else if (claim::is_removed(job_)) {
      add("canceled",
          fmt::format("It is no longer in the workflow: its file does not have it, or `torc rm` "
                      "took it out, {}.",
                      show_time(o.ended_at)),
          "to run it, write it into the file again and apply that; or: " + command("rm --undo"));
    } else {
      add("canceled", fmt::format("It was canceled on request, {}.", show_time(o.ended_at)),
          command("retry"));
    }
  }

  // What has completed stays as it was.
  void removed() {
    add("removed",
        "It is no longer in the workflow: its file does not have it, or `torc rm` took it out.",
        command("rm --undo") + " brings it back");
  }

  // It counts as ended when its worker says so, or is ended itself.
  void revoked() {
    if (const WorkerNow* const absent = worker_of(id_)) {
      add("canceled",
          fmt::format("It was canceled while it ran, and is not known to have ended: {}.",
                      absence_of(*absent)),
          remedy_for_absence(absent, id_));
    } else {
      add("canceled", "It was canceled; its worker is ending it.",
          fmt::format("{} lets it run again then", command("retry")));
    }
  }

  void delayed() {
    const WallTime now = context_.clock.wall_now();
    const auto left = std::max<WallTime>(job_.not_before - now, WallTime{});
    add("backoff",
        fmt::format("Attempt {} failed ({}), and {} it again {}{}.", job_.attempt,
                    worker::show_end(reader_, book_, id_, job_.outcome),
                    is_ruled() ? "its failure handler tries" : "on_failure runs",
                    left.count() == 0 ? std::string("as soon as a worker asks for jobs")
                                      : "in " + show_duration(left),
                    retries()),
        fmt::format("nothing needs to be done; {} makes it wait no longer", command("retry")));
    if (!situation_.anybody_at_work()) no_worker();
  }

  // A rule of its failure handler is for the end.
  [[nodiscard]] bool is_ruled() const {
    return page_.handler && claim::rule_for(*page_.handler, job_.outcome);
  }

  // ": retry 2 of 3", of the rule that let it be tried again; ": recovery 1 of 3"; else nothing.
  std::string retries() {
    const auto rule = page_.handler ? claim::rule_for(*page_.handler, job_.outcome) : std::nullopt;
    if (!rule && page_.handler && page_.handler->recoveries > 0)
      return fmt::format(": recovery {} of {}", claim::read_retries(reader_, id_, job_).recoveries,
                         page_.handler->recoveries);
    if (!rule) return "";
    return fmt::format(": retry {} of {}", claim::read_retries(reader_, id_, job_).of(*rule),
                       page_.handler->rules[*rule].max_retries);
  }

  void ready() {
    const auto workflow = claim::read_workflow(reader_);
    if (workflow.ok() && workflow->halted()) {
      add("max_failures",
          fmt::format("{} of the workflow failed and max_failures is {}: nothing more is "
                      "claimed.",
                      plural(failures(*workflow), "job"), show_count(workflow->max_failures)),
          fmt::format("torc retry {} --failed", words_.store()));
    }
    if (workflow.ok() && workflow->actions.gates > 0) {
      add("action",
          fmt::format("No job starts before the actions of on_workflow_start have ended; {} of "
                      "them have not.",
                      show_count(workflow->actions.gates)),
          fmt::format("torc actions {} shows how far they are", words_.store()));
    }
    const claim::Obstacles found = claim::obstacles_of(reader_, id_, kNames);
    if (found.budget) {
      add("budget", fmt::format("The budget keeps it waiting: {}.", show_budget(*found.budget)),
          fmt::format("give it less with torc set {} {} runtime=… cpus=…, or wait for what is "
                      "promised to running jobs and not used up",
                      words_.store(), words_.word(id_)));
    }
    for (const claim::HeldBack& held : found.limits)
      reasons_.push_back(limit_reason(reader_, book_, held, words_.store()));
    if (claim::is_suspect(job_)) {
      add("suspect",
          fmt::format(
              "A worker was lost while it had this job, which may be why: it waits for a worker "
              "that has {}, and is started there alone. Losses that count "
              "against crash_limit: {}.",
              claim::alone(job_) == claim::Alone::entirely ? "nothing else to do"
                                                           : "nothing to do but other such jobs",
              job_.lost),
          "nothing needs to be done; to clear the suspicion, cancel and retry the job");
    }
    const claim::Rank rank = claim::read_rank(reader_, id_).value_or(claim::Rank{});
    const bool held_back = !reasons_.empty();
    WorkerInquiry workers(context_, reader_, situation_, words_.store(), words_.word(id_), id_);
    for (Reason& r :
         workers.look(claim::as_learned(reader_, claim::read_class(reader_, rank.job_class)),
                      rank.priority, held_back))
      reasons_.push_back(std::move(r));
    cut_off();
  }

  // What may keep it from ever being done.
  void cut_off() {
    const claim::Outcome& o = job_.outcome;
    if (job_.stopped == 0 || o.cause != claim::EndCause::allocation_ended) return;
    const std::string ran =
        o.started_at.count() > 0 && o.ended_at > o.started_at
            ? fmt::format(", after {}", show_duration(o.ended_at - o.started_at))
            : std::string();
    add("time",
        fmt::format("It was ended {} before it was done, the last time with the time of its "
                    "worker{}. When that has happened {} times it is given up.",
                    job_.stopped == 1 ? "once" : fmt::format("{} times", job_.stopped), ran,
                    claim::kMostStops),
        fmt::format("torc set {} {} runtime=… with what it needs: no worker that has less time "
                    "left takes it then",
                    words_.store(), words_.word(id_)));
  }

  void no_worker() {
    const std::string slurm = say_slurm(situation_, context_.clock.wall_now());
    add("no_worker", "No worker is at work." + (slurm.empty() ? "" : " " + slurm), how_to_start());
  }

  [[nodiscard]] std::string say_stopped(const slurm::ShownAllocation& allocation) const {
    const WallTime now = context_.clock.wall_now();
    return fmt::format("{}{}.", say_allocation(allocation, now), say_asked(*situation_.slurm, now));
  }
  // That holds the job, and is not at work; nullptr: it is, or nothing is known of it.
  [[nodiscard]] const WorkerNow* worker_of(JobId id) const {
    const claim::Job job = claim::read_job(reader_, id).value_or(claim::Job{});
    const WorkerNow* const worker = situation_.find(job.worker);
    return worker == nullptr || worker->is_at_work() ? nullptr : worker;
  }
  [[nodiscard]] std::string absence_of(const WorkerNow& worker) const {
    return say_absence(situation_, worker, context_.clock.wall_now());
  }
  // Of the worker that has `job`; nullptr: it is at work.
  [[nodiscard]] std::string remedy_for_absence(const WorkerNow* worker, JobId job) const {
    if (worker != nullptr) {
      if (const auto* const a = suspended_of(situation_, worker->worker.info))
        return remedy_for(*a);
    }
    if (situation_.anybody_at_work()) return "nothing needs to be done";
    const auto rank = claim::read_rank(reader_, job).value_or(claim::Rank{});
    const auto scheduler = claim::read_class(reader_, rank.job_class).scheduler;
    const auto allocations = waiting(situation_, scheduler);
    return allocations.empty() ? how_to_start() : remedy_for_waiting(allocations);
  }

  void live() {
    const auto worker = claim::read_worker(reader_, job_.worker);
    const std::string where = worker ? say_place(*worker) : "?";
    const WallTime now = context_.clock.wall_now();
    const WorkerNow* const absent = worker_of(id_);
    if (absent != nullptr) {
      std::string text = absence_of(*absent) + '.';
      text.front() = upper(text.front());
      add("no_worker", std::move(text), remedy_for_absence(absent, id_));
    }
    const WorkerNow* const seen = situation_.find(job_.worker);
    const auto* const stopped =
        seen == nullptr ? nullptr : suspended_of(situation_, seen->worker.info);
    if (absent == nullptr && stopped != nullptr)
      add("allocation", "It stands still with its worker: " + say_stopped(*stopped),
          remedy_for(*stopped));
    if (job_.state == JobState::claimed) {
      add("claimed",
          fmt::format("{} claimed it {}{}.", where, show_age(job_.claimed_at, now),
                      absent != nullptr ? "" : " and starts it as soon as it has room"),
          remedy_for_absence(absent, id_));
    } else if (absent != nullptr) {
      add("running",
          fmt::format("Attempt {} began with {}, at {}.", job_.attempt, where,
                      show_time(job_.outcome.started_at)),
          fmt::format("torc logs {} {} shows what it printed", words_.store(), words_.word(id_)));
    } else {
      const auto need = claim::read_class(reader_, rank_class()).need_of(job_.alternative);
      const WallTime until = job_.outcome.started_at + longest_time(need);
      const std::string limit = longest_time(need).count() > 0
                                    ? fmt::format(", and {} run until {}",
                                                  until > now ? "may" : "might", show_time(until))
                                    : std::string();
      add("running",
          fmt::format("It runs, attempt {}, with {}, since {}{}.", job_.attempt, where,
                      show_time(job_.outcome.started_at), limit),
          fmt::format("torc logs {} {} -f shows what it prints", words_.store(), words_.word(id_)));
    }
  }

  std::string how_to_start() const {
    return remedy_without_worker(context_, situation_, claim::read_class(reader_, rank_class()),
                                 words_.store(), words_.word(id_));
  }

  std::uint32_t rank_class() const {
    return claim::read_rank(reader_, id_).value_or(claim::Rank{}).job_class;
  }

  void completed() {
    const claim::Outcome& o = job_.outcome;
    add("completed",
        fmt::format("It completed with attempt {}, {}, after {}{}.", job_.attempt,
                    show_time(o.ended_at), show_duration(o.ended_at - o.started_at), with_worker()),
        fmt::format("{} shows what it printed", logs()));
  }

  void failed() {
    const claim::Outcome& o = job_.outcome;
    const auto worker = claim::read_worker(reader_, job_.worker);
    // A loss is found later than it happens.
    const std::string found =
        claim::is_loss(o.cause) && worker && worker->gone_at.count() > 0
            ? fmt::format("found {}, last heard of ", show_time(worker->gone_at))
            : "";
    std::string text = fmt::format("It {} with attempt {}, {}{}: {}{}.",
                                   job_.state == JobState::failed ? "failed" : "was terminated",
                                   job_.attempt, found, show_time(o.ended_at),
                                   worker::show_end(reader_, book_, id_, o), with_worker());
    const auto rule = page_.handler ? claim::rule_for(*page_.handler, o) : std::nullopt;
    if (claim::is_loss(o.cause) && job_.lost > 0) {
      text += fmt::format(" It was running on {} that {} lost.", plural(job_.lost, "worker"),
                          job_.lost == 1 ? "was" : "were");
    } else if (rule) {
      text += fmt::format(" Its failure handler has tried it again {} of {}.",
                          claim::read_retries(reader_, id_, job_).of(*rule),
                          plural(page_.handler->rules[*rule].max_retries, "time"));
    } else if (page_.handler && !page_.handler->rules.empty()) {
      text += " Its failure handler has no rule for that.";
    }
    if (!rule && page_.handler && page_.handler->recoveries > 0)
      text += fmt::format(" It was recovered {} of {} (on_failure).",
                          claim::read_retries(reader_, id_, job_).recoveries,
                          plural(page_.handler->recoveries, "time"));
    if (o.cause == claim::EndCause::allocation_ended)
      text += " It is not tried again: that has happened too often.";
    if (o.cause == claim::EndCause::not_started) {
      add("failed", std::move(text),
          fmt::format("it printed nothing; once that is fixed, {} lets it run again",
                      command("retry")));
      return;
    }
    const auto need = claim::read_class(reader_, rank_class()).need_of(job_.alternative);
    const auto more = more_of_it(o, need, words_.store(), words_.word(id_));
    add("failed", std::move(text),
        more ? fmt::format("{}; {} shows what it printed", *more, logs())
             : fmt::format("{} shows what it printed; {} lets it run again", logs(),
                           command("retry")));
  }

  std::string logs() const {
    const bool by_signal = job_.state != JobState::completed;
    return fmt::format("torc logs {} {}{}", words_.store(), words_.word(id_),
                       by_signal ? " --stderr" : "");
  }

  std::string with_worker() const {
    const auto worker = claim::read_worker(reader_, job_.worker);
    return worker ? ", with " + say_place(*worker) : "";
  }

  std::string command(const char* what) const { return words_.command(what, id_); }
  void add(std::string_view kind, std::string text, std::string remedy) {
    reasons_.push_back({kind, std::move(text), std::move(remedy)});
  }

  const workflow::Context& context_;
  const claim::Reader& reader_;
  workflow::RecipeBook& book_;
  const WhyWords words_;
  const Situation& situation_;
  const JobId id_;
  const workflow::RecipeBook::Page& page_;
  const claim::Job& job_;
  const std::string name_;
  std::vector<Reason> reasons_;
};

}  // namespace

std::optional<Explanation> explain(const workflow::Context& context, const claim::Reader& reader,
                                   workflow::RecipeBook& book, const std::string& store,
                                   const Situation& situation, JobId id) {
  const auto page = book.find(reader, id);
  const auto job = claim::read_job(reader, id);
  if (!page || !job) return std::nullopt;
  return Inquiry(context, reader, book, store, situation, id, *page, *job).run();
}

}  // namespace torc::report
