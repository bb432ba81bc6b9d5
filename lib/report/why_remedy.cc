#include "lib/report/why_remedy.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/worker.h"
#include "lib/exec/machine/machine.h"
#include "lib/report/situation_text.h"
#include "lib/report/start_by_hand.h"

namespace torc::report {
namespace {

constexpr ByteCount kMemoryStep = mebibytes(64);
constexpr std::chrono::seconds kTimeStep{60};

std::string set_and_retry(const std::string& store, const std::string& job,
                          const std::string& setting, const std::string& why) {
  return fmt::format("torc set {0} {1} {2} ({3}), then torc retry {0} {1}", store, job, setting,
                     why);
}

// Half more than it had reached when it was ended, in steps that people write; in MiB.
std::uint64_t more_memory(const claim::Outcome& o, const claim::Requirement& had) {
  const std::uint64_t most = std::max(o.max_rss.value, had.memory.value);
  const std::uint64_t steps = (most + most / 2 + kMemoryStep.value - 1) / kMemoryStep.value;
  return std::max<std::uint64_t>(1, steps) * kMemoryStep.value / mebibytes(1).value;
}

// Twice what it ran, or what it might.
std::uint64_t more_minutes(const claim::Outcome& o, const claim::Requirement& had) {
  const auto ran = std::chrono::duration_cast<std::chrono::seconds>(o.ended_at - o.started_at);
  const auto most = 2 * std::max(ran, longest_time(had));
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(1, (most + kTimeStep - std::chrono::seconds(1)) / kTimeStep));
}

// As a worker that is started here, now, would register.
claim::WorkerInfo worker_here(const workflow::Context& context) {
  const exec::Machine machine = exec::detect(context.env);
  claim::WorkerInfo info;
  info.any_binding = true;
  info.cpus = machine.cpus;
  info.gpus = static_cast<std::uint32_t>(machine.gpus.size());
  info.memory = machine.memory;
  info.more.named = exec::named_of(machine);
  const std::string end = context.env("SLURM_JOB_END_TIME").value_or("");
  const std::int64_t ends_at = leading_number<std::int64_t>(end).value_or(0);
  if (ends_at > 0) info.ends_at = std::chrono::seconds(ends_at);
  return info;
}

// "it needs 2 GPUs, and there are 0"; empty: nothing.
std::string lacks_of(const claim::JobClass& job_class, const claim::Offer& here) {
  if (!job_class.others.empty()) {
    std::string all;
    for (std::uint32_t a = 0; a < job_class.alternatives(); ++a) {
      const std::string one = lacks_of(job_class.by(a), here);
      if (one.empty()) return {};
      all += fmt::format("{}by alternative {} {}", all.empty() ? "" : "; ", a + 1, one);
    }
    return all;
  }
  const std::uint8_t lacks = claim::mismatches_of(job_class, here);
  const claim::Requirement& need = job_class.need;
  namespace mismatch = claim::mismatch;
  std::string text;
  const auto add = [&](std::uint8_t what, const std::string& why) {
    if ((lacks & what) != 0) text += (text.empty() ? "it needs " : "; ") + why;
  };
  const Resources total = claim::total_of(here);
  for (const ResourceKind& kind : kResourceKinds) {
    if (!kind.shared) continue;
    add(mismatch::of(kind), fmt::format("{}, and there are {}", show_amount(kind, kind.get(need)),
                                        show_number(kind, kind.get(total))));
  }
  // What a worker finds; the rest it is told.
  claim::Requirement found = need;
  std::erase_if(found.named, [](const Amount& a) { return !is_gpu(a.name); });
  std::string named = claim::say_lacking(found, total);
  if (named.starts_with("it needs ")) named.erase(0, 9);
  if (!named.empty()) add(mismatch::kNamed, named);
  add(mismatch::kTime,
      fmt::format("{}, and {} are left", show_duration(least_time(need)),
                  show_duration(here.remaining.value_or(std::chrono::seconds(0)))));
  return text;
}

}  // namespace

std::string lacks_here(const workflow::Context& context,
                       const std::vector<claim::JobClass>& classes) {
  std::string first;
  if (classes.empty()) return first;
  const claim::Offer here = claim::whole_offer(worker_here(context), context.clock.wall_now());
  for (const claim::JobClass& c : classes) {
    const std::string lacks = c.need.nodes > 1 ? std::string() : lacks_of(c, here);
    if (lacks.empty()) return {};
    if (first.empty()) first = lacks;
  }
  return first;
}

std::string settings_that_fit(const claim::JobClass& job_class, const claim::Offer& here) {
  const Resources total = claim::total_of(here);
  std::string settings;
  claim::JobClass less = job_class;
  for (const ResourceKind& kind : kResourceKinds) {
    if (!kind.shared || kind.get(total) >= kind.get(job_class.need)) continue;
    std::uint64_t most = kind.get(total);
    if (kind.measure == Measure::bytes) most -= most % mebibytes(1).value;
    if (most < std::max<std::uint64_t>(kind.least, kind.measure == Measure::bytes ? 1 : 0))
      return "";
    for (std::uint32_t a = 0; a < less.alternatives(); ++a) kind.put(less.need_of(a), most);
    settings += ' ' + setting_of(kind, most);
  }
  return lacks_of(less, here).empty() ? settings : "";
}

std::optional<std::string> more_of_it(const claim::Outcome& o, const claim::Requirement& had,
                                      const std::string& store, const std::string& job) {
  if (o.cause == claim::EndCause::out_of_memory) {
    return set_and_retry(store, job, fmt::format("memory={}m", more_memory(o, had)),
                         o.max_rss.value > 0
                             ? fmt::format("it had reached {}", show_bytes(o.max_rss))
                             : fmt::format("it might use {}", show_bytes(had.memory)));
  }
  if (o.cause == claim::EndCause::timed_out) {
    return set_and_retry(
        store, job,
        fmt::format("{}={}m", had.time_limit.count() > 0 ? "time_limit" : "runtime",
                    more_minutes(o, had)),
        fmt::format("it might run {}", show_duration(longest_time(had))));
  }
  if (o.cause == claim::EndCause::allocation_ended) {
    return set_and_retry(store, job, fmt::format("runtime={}m", more_minutes(o, had)),
                         "no worker that has less time left takes it then");
  }
  return std::nullopt;
}

std::string remedy_without_worker(const workflow::Context& context, const Situation& situation,
                                  const claim::JobClass& job_class, const std::string& store,
                                  const std::string& job) {
  const Start start = how_to_start(context, situation, store, {job_class});
  if (start.by != Start::By::run) return start.how;
  const claim::Offer here = claim::whole_offer(worker_here(context), context.clock.wall_now());
  const std::string lacks = lacks_of(job_class, here);
  if (lacks.empty()) return start.how;
  const std::string settings = settings_that_fit(job_class, here);
  const bool wide = job_class.need.nodes > 1;
  return fmt::format(
      "this machine could not take it: {}. {}{}", lacks,
      settings.empty() ? "Start where there is more: "
                       : fmt::format("Let it need less: torc set {} {}{}, or start where there is "
                                     "more: ",
                                     store, job, settings),
      wide ? start.how : fmt::format("torc worker {}{}", store, worker_flags(job_class)));
}

}  // namespace torc::report
