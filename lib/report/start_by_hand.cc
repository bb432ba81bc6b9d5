#include "lib/report/start_by_hand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/text/quote.h"

namespace torc::report {
namespace {

constexpr std::size_t kMostGroups = 3;
constexpr std::string_view kGroup = "nodes";

// What a worker has to be told of; its GPUs it finds.
Amounts told_of(const claim::Requirement& need) {
  Amounts told;
  std::ranges::copy_if(need.named, std::back_inserter(told),
                       [](const Amount& a) { return !is_gpu(a.name); });
  return told;
}

// 0: `torc run` has it all.
int extras_of(const claim::Requirement& need) {
  return (need.nodes > 1 ? 2 : 0) + (told_of(need).empty() ? 0 : 1);
}

claim::JobClass simplest(const claim::JobClass& job_class) {
  claim::JobClass best = job_class.by(0);
  for (std::uint32_t a = 1; a < job_class.alternatives(); ++a) {
    claim::JobClass one = job_class.by(a);
    if (extras_of(one.need) < extras_of(best.need)) best = std::move(one);
  }
  return best;
}

void add_most(Amounts& all, const Amounts& more) {
  for (const Amount& a : more) {
    const Amount* const had = find_amount(all, a.name);
    if (had == nullptr || had->thousandths < a.thousandths) set_amount(all, a);
  }
}

std::string resource_flags(const Amounts& amounts) {
  std::string text;
  for (const Amount& a : amounts) text += resource_flag(a);
  return text;
}

std::string binding_flags(const std::string& scheduler, const std::string& labels) {
  std::string text;
  if (!scheduler.empty()) text += fmt::format(" --scheduler {}", shell_word(scheduler));
  if (!labels.empty()) text += fmt::format(" --label {}", shell_word(labels));
  return text;
}

struct Wide {
  std::uint32_t nodes = 0;
  Amounts named;
};

}  // namespace

std::vector<HandStart> hand_starts(const std::string& store,
                                   const std::vector<claim::JobClass>& classes) {
  bool plain = classes.empty();
  Amounts named;
  std::map<std::pair<std::string, std::string>, Wide> wide;  // by scheduler and labels
  for (const claim::JobClass& any : classes) {
    const claim::JobClass one = simplest(any);
    const Amounts told = told_of(one.need);
    if (one.need.nodes > 1) {
      Wide& group = wide[{one.scheduler, one.labels}];
      group.nodes = std::max(group.nodes, one.need.nodes);
      add_most(group.named, told);
    } else {
      plain = plain || told.empty();
      add_most(named, told);
    }
  }
  std::vector<HandStart> starts;
  if (plain) starts.push_back({"torc run " + store});
  if (!named.empty())
    starts.push_back(
        {fmt::format("torc run {}{}", store, resource_flags(named)), "where there is that"});
  std::size_t groups = 0;
  for (const auto& [binding, group] : wide) {
    if (++groups > kMostGroups) break;
    starts.push_back(
        {fmt::format("torc worker {} --group {}{}{}", store, kGroup,
                     binding_flags(binding.first, binding.second), resource_flags(group.named)),
         fmt::format("on each of {} nodes", group.nodes)});
  }
  return starts;
}

std::string say(const std::vector<HandStart>& starts) {
  std::string text;
  for (const HandStart& one : starts) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", or ", one.command,
                        one.where.empty() ? "" : fmt::format(" ({})", one.where));
  }
  return text;
}

std::string resource_flag(const Amount& amount) {
  const std::uint64_t n = amount.thousandths == kAllThereIs ? kWhole : amount.thousandths;
  return fmt::format(" --resource {}={}", amount.name, show_thousandths(n));
}

std::string setting_of(const ResourceKind& kind, std::uint64_t amount) {
  switch (kind.measure) {
    case Measure::count:
      break;
    case Measure::bytes:
      return fmt::format("{}={}m", kind.word, amount / mebibytes(1).value);
    case Measure::seconds:
      return fmt::format("{}={}s", kind.word, amount);
    case Measure::locality:
      return fmt::format("{}={}", kind.word, show_number(kind, amount));
  }
  return fmt::format("{}={}", kind.word, amount);
}

std::string worker_flags(const claim::JobClass& job_class) {
  const claim::JobClass one = simplest(job_class);
  return binding_flags(one.scheduler, one.labels) + resource_flags(told_of(one.need));
}

}  // namespace torc::report
