#include "lib/report/why_limit.h"

#include <fmt/format.h>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"

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

}  // namespace

Reason limit_reason(const claim::Reader& reader, workflow::RecipeBook& book,
                    const claim::HeldBack& held) {
  const claim::LimitState& by = held.by;
  const std::string name = printable(by.limit.name);
  const std::string used = show_count(by.used);
  const std::string most = show_count(by.limit.most);
  if (by.limit.kind == claim::LimitKind::entry) {
    return {"limit", fmt::format("{} of at most {} jobs of its entry '{}' run.", used, most, name),
            kNothing};
  }
  const std::string holders = names_of_holders(reader, book, by.number);
  if (by.limit.kind == claim::LimitKind::workflow) {
    return {"limit",
            fmt::format("{} jobs run, and the workflow's max_parallel is {}{}{}.", used, most,
                        holders.empty() ? "" : ": ", holders),
            kNothing};
  }
  if (held.amount > by.limit.most) {
    return {"limit",
            fmt::format("It needs {} of '{}', and there are {}: it can never run.", held.amount,
                        name, most),
            "make a new workflow with a larger limit"};
  }
  return {"limit",
          fmt::format("It needs {} of '{}', and {} of {} are in use{}{}.", held.amount, name, used,
                      most, holders.empty() ? "" : ", by ", holders),
          kNothing};
}

}  // namespace torc::report
