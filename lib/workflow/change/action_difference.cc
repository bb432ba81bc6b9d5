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

Error damaged_action(std::uint32_t number) {
  return Error{ErrorKind::corrupt, fmt::format("action {} cannot be read", number),
               "run `torc verify` on the store"};
}

std::string commands_of(const claim::Action& action) {
  return fmt::format(
      "{}",
      fmt::join(decode_commands(action.recipe).value_or(std::vector<std::string>{"?"}), "\n"));
}

std::string other_commands(const claim::Action& before, const claim::Action& now) {
  const Parted shown = where_they_part(commands_of(before), commands_of(now));
  return fmt::format("{}: it runs '{}' and ran '{}'", claim::to_string(now.trigger), shown.now,
                     shown.before);
}

Fact other_action(const claim::Action& before, const claim::Action& now) {
  if (before.schedule != now.schedule) {
    return fmt::format("an action ({}) asks for other allocations in the store",
                       claim::to_string(now.trigger));
  }
  if (before.trigger == now.trigger && before.persistent == now.persistent) return {};
  if (now.schedule) return "an action that asks for allocations has another trigger in the store";
  return fmt::format("the action that runs '{}' has another trigger in the store",
                     beginning_of(commands_of(now)));
}

}  // namespace

// All records, also those that no counter knows of: one that is due runs.
Result<ActionDifference> compare_actions(const claim::Reader& reader, const claim::Plan& plan,
                                         const JobNumberMap& numbers) {
  ActionDifference found;
  std::size_t known = 0;
  for (std::size_t i = 0; i < plan.actions.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i + 1);
    const auto value = reader.get(claim::action_key(number));
    if (!value) continue;
    ++known;
    const auto before = claim::decode_action(*value);
    if (!before) return damaged_action(number);
    if ((found.refused = other_action(*before, plan.actions[i]))) return found;
    if (before->recipe != plan.actions[i].recipe)
      found.others.push_back(
          {{number, plan.actions[i].recipe}, other_commands(*before, plan.actions[i])});
  }
  std::size_t records = 0;
  reader.scan_prefix(claim::Key(claim::Table::action), [&](const store::Entry& e) {
    records += e.key != std::string_view(claim::Key(claim::Table::action)) ? 1U : 0U;
    return true;
  });
  if (records != plan.actions.size() || known != plan.actions.size()) {
    found.refused = fmt::format("the store has {}, and the file {}", plural(records, "action"),
                                plan.actions.size());
    return found;
  }
  if (known == 0) return found;
  TORC_ASSIGN(const auto number, differing_action(reader, plan, numbers));
  if (number) found.refused = fmt::format("action {} waits for other jobs in the store", *number);
  return found;
}

}  // namespace torc::workflow
