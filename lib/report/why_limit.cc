#include "lib/report/why_limit.h"

#include <fmt/format.h>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/report/quota_view.h"
#include "lib/workflow/change/limit_words.h"

namespace torc::report {
namespace {

constexpr std::size_t kNamesTold = 5;
constexpr const char* kNothing = "nothing needs to be done: it starts when one of them has ended";

std::string names_of_holders(const claim::Reader& reader, workflow::RecipeBook& book,
                             std::uint32_t limit) {
  std::string names;
  const auto holders = claim::holders_of(reader, limit, kNamesTold + 1);
  for (std::size_t i = 0; i < holders.size() && i < kNamesTold; ++i)
    names += (i == 0 ? "" : ", ") + printable(workflow::job_name(book, reader, holders[i]));
  return holders.size() > kNamesTold ? names + ", …" : names;
}

// Empty: it is what the workflow file says.
std::string set_since(const claim::Limit& limit) {
  if (!limit.before_set) return "";
  return fmt::format(" (the workflow file says {})", show_count(*limit.before_set));
}

}  // namespace

Reason limit_reason(const claim::Reader& reader, workflow::RecipeBook& book,
                    const claim::HeldBack& held, const std::string& store) {
  const claim::LimitState& by = held.by;
  const std::string name = printable(by.limit.name);
  const std::string used = show_count(by.used);
  const std::string most = show_count(by.limit.most);
  if (held.amount > by.limit.most) {
    const bool named = by.limit.kind == claim::LimitKind::named;
    return {"limit",
            fmt::format("It needs {} of {}, and there {} {}{}: it waits until that is raised.",
                        held.amount, named ? fmt::format("'{}'", name) : show_limit(by.limit),
                        by.limit.most == 1 ? "is" : "are", most, set_since(by.limit)),
            fmt::format("torc set {} --limit {}={}", store,
                        shell_word(workflow::limit_name(by.limit)), held.amount)};
  }
  if (by.limit.kind == claim::LimitKind::entry) {
    return {"limit",
            fmt::format("{} of at most {} jobs of its entry '{}' run{}.", used, most, name,
                        set_since(by.limit)),
            kNothing};
  }
  const std::string holders = names_of_holders(reader, book, by.number);
  if (by.limit.kind == claim::LimitKind::workflow) {
    return {"limit",
            fmt::format("{} jobs run, and the workflow's max_parallel is {}{}{}{}.", used, most,
                        set_since(by.limit), holders.empty() ? "" : ": ", holders),
            kNothing};
  }
  return {"limit",
          fmt::format("It needs {} of '{}', and {} of {} are in use{}{}{}.", held.amount, name,
                      used, most, set_since(by.limit), holders.empty() ? "" : ", by ", holders),
          kNothing};
}

}  // namespace torc::report
