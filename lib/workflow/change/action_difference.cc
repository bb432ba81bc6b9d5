#include "lib/workflow/change/action_difference.h"

#include <fmt/format.h>

#include <vector>

#include "lib/base/plural.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/tables.h"
#include "lib/workflow/change/parted.h"
#include "lib/workflow/plan/plan_actions.h"

namespace torc::workflow {
namespace {

using Fact = std::optional<std::string>;

// "X in the store, and Y in the file".
std::string both(std::string_view before, std::string_view now) {
  const Parted shown = where_they_part(before, now);
  return fmt::format("'{}' in the store, and '{}' in the file", shown.before, shown.now);
}

Error damaged_action(std::uint32_t number) {
  return Error{ErrorKind::corrupt, fmt::format("action {} cannot be read", number),
               "run `torc verify` on the store"};
}

Fact other_action(const claim::Action& before, const claim::Action& now) {
  const auto commands = [](const claim::Action& a) {
    return fmt::format(
        "{}", fmt::join(decode_commands(a.recipe).value_or(std::vector<std::string>{"?"}), "\n"));
  };
  if (before.recipe != now.recipe) {
    return fmt::format("an action ({}) runs {}", claim::to_string(now.trigger),
                       both(commands(before), commands(now)));
  }
  if (before.schedule != now.schedule) {
    return fmt::format("an action ({}) asks for other allocations in the store",
                       claim::to_string(now.trigger));
  }
  if (before.trigger == now.trigger && before.persistent == now.persistent) return {};
  if (now.schedule) return "an action that asks for allocations has another trigger in the store";
  return fmt::format("the action that runs '{}' has another trigger in the store",
                     beginning_of(commands(now)));
}

}  // namespace

// All records, also those that no counter knows of: one that is due runs.
Result<std::optional<std::string>> other_actions(const claim::Reader& reader,
                                                 const claim::Plan& plan,
                                                 const JobNumberMap& numbers) {
  std::size_t known = 0;
  for (std::size_t i = 0; i < plan.actions.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i + 1);
    const auto value = reader.get(claim::action_key(number));
    if (!value) continue;
    ++known;
    const auto before = claim::decode_action(*value);
    if (!before) return damaged_action(number);
    if (Fact fact = other_action(*before, plan.actions[i])) return fact;
  }
  std::size_t records = 0;
  reader.scan_prefix(claim::Key(claim::Table::action), [&](const store::Entry& e) {
    records += e.key != std::string_view(claim::Key(claim::Table::action)) ? 1U : 0U;
    return true;
  });
  if (records != plan.actions.size() || known != plan.actions.size()) {
    return Fact(fmt::format("the store has {}, and the file {}", plural(records, "action"),
                            plan.actions.size()));
  }
  if (known == 0) return Fact{};
  TORC_ASSIGN(const auto number, differing_action(reader, plan, numbers));
  if (!number) return Fact{};
  return Fact(fmt::format("action {} waits for other jobs in the store", *number));
}

}  // namespace torc::workflow
