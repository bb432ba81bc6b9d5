#include "lib/workflow/change/limit_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/set_limit.h"

namespace torc::workflow {
namespace {

constexpr std::string_view kOfWorkflow = "max_parallel";
constexpr std::size_t kNamesTold = 10;

// The smallest is meant where several have the name.
int place_of(claim::LimitKind kind) {
  switch (kind) {
    case claim::LimitKind::workflow:
      return 0;
    case claim::LimitKind::entry:
      return 1;
    case claim::LimitKind::named:
      break;
  }
  return 2;
}

Error unknown_limit(std::string_view name, const std::vector<claim::LimitState>& all) {
  if (all.empty()) {
    return invalid("the workflow has no limits",
                   "`limits` and `max_parallel` of a workflow file declare some; which jobs come "
                   "under them is decided there");
  }
  std::string names;
  for (std::size_t i = 0; i < all.size() && i < kNamesTold; ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(limit_name(all[i].limit)));
  return invalid(fmt::format("the workflow has no limit '{}'", printable(name)),
                 fmt::format("it has {}{}", names, all.size() > kNamesTold ? ", …" : ""));
}

}  // namespace

Result<LimitWord> parse_limit(std::string_view word) {
  const std::size_t equals = word.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return invalid(fmt::format("--limit '{}' is not NAME=NUMBER", printable(word)),
                   "for example licence_x=10, or max_parallel=200 for all jobs");
  }
  const auto n = parse_integer(std::string(word.substr(equals + 1)));
  if (!n.ok() || !n->has_value() || **n < 0 || **n > claim::kMostOfALimit) {
    return invalid(fmt::format("a limit cannot be '{}'", printable(word.substr(equals + 1))),
                   fmt::format("a whole number from 0 to {}", claim::kMostOfALimit));
  }
  return LimitWord{std::string(word.substr(0, equals)), static_cast<std::uint32_t>(**n)};
}

std::string limit_name(const claim::Limit& limit) {
  return limit.kind == claim::LimitKind::workflow ? std::string(kOfWorkflow) : limit.name;
}

Result<std::uint32_t> find_limit(const claim::Reader& reader, std::string_view name) {
  std::vector<claim::LimitState> all;
  TORC_TRY(claim::scan_limits(reader, [&](const claim::LimitState& one) {
    all.push_back(one);
    return true;
  }));
  const claim::LimitState* found = nullptr;
  for (const claim::LimitState& one : all) {
    if (limit_name(one.limit) != name) continue;
    if (found == nullptr || place_of(one.limit.kind) < place_of(found->limit.kind)) found = &one;
  }
  if (found == nullptr) return unknown_limit(name, all);
  return found->number;
}

}  // namespace torc::workflow
