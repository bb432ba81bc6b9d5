#include "lib/worker/text/mismatch_text.h"

#include <fmt/format.h>

#include "lib/base/labels.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"

namespace torc::worker {
namespace {

std::string bound(std::string_view to, const std::string& asked, const std::string& has) {
  return fmt::format("it asks for {} '{}', and this worker has {}", to, printable(asked),
                     has.empty() ? "none" : fmt::format("'{}'", printable(has)));
}

}  // namespace

std::string show_mismatches(const claim::JobClass& job_class, const claim::Offer& worker) {
  if (!job_class.others.empty()) {
    std::string all;
    for (std::uint32_t a = 0; a < job_class.alternatives(); ++a) {
      const std::string one = show_mismatches(job_class.by(a), worker);
      if (one.empty()) return {};
      all += fmt::format("{}alternative {}: {}", all.empty() ? "" : "; ", a + 1, one);
    }
    return all;
  }
  namespace mismatch = claim::mismatch;
  const std::uint8_t found = claim::mismatches_of(job_class, worker);
  const claim::Requirement& need = job_class.need;
  std::string text;
  const auto note = [&](std::uint8_t what, const std::string& fact) {
    if ((found & what) != 0) text += (text.empty() ? "" : "; ") + fact;
  };
  note(mismatch::kNodes, fmt::format("it needs {} nodes", need.nodes));
  note(mismatch::kScheduler, bound("scheduler", job_class.scheduler, worker.scheduler));
  note(
      mismatch::kLabel,
      job_class.labels.empty()
          ? fmt::format("it asks for no label, and this worker, with {}, serves only those that do",
                        say_labels(worker.labels))
          : fmt::format("it asks for {}, and this worker has {}", say_labels(job_class.labels),
                        worker.labels.empty() ? "none" : quote_labels(worker.labels)));
  const Resources total = claim::total_of(worker);
  for (const ResourceKind& kind : kResourceKinds) {
    if (!kind.shared) continue;
    note(mismatch::of(kind), fmt::format("it needs {} of {}", show_amount(kind, kind.get(need)),
                                         show_number(kind, kind.get(total))));
  }
  const auto left = worker.remaining.value_or(std::chrono::seconds(0));
  note(mismatch::kNamed, claim::say_lacking(need, total));
  note(mismatch::kTime,
       fmt::format("{}, and this worker has {} left", say_least_time(need), show_duration(left)));
  return text;
}

}  // namespace torc::worker
