#include "lib/claim/queries/action_runs.h"

#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

Result<std::vector<Action>> read_actions(const Reader& reader) {
  std::vector<Action> all;
  State state(reader);
  const std::uint64_t count = read_action_tally(reader).actions;
  for (std::uint32_t n = 1; n <= count; ++n) {
    const auto value = reader.get(action_key(n));
    auto one = value ? decode_action(*value) : std::nullopt;
    if (!one) state.damaged(action_key(n));
    TORC_TRY(state.sound());
    all.push_back(*std::move(one));
  }
  return all;
}

ActionTally read_action_tally(const Reader& reader) {
  const auto value = reader.get(Key(Table::action));
  return value ? decode_action_tally(*value).value_or(ActionTally{}) : ActionTally{};
}

Result<void> scan_runs(const Reader& reader, std::uint32_t number,
                       const std::function<bool(WorkerEpoch, const ActionRun&)>& visit) {
  State state(reader);
  reader.scan_prefix(Key(Table::action_run).be32(number), [&](const store::Entry& e) {
    const auto name = run_in(e.key);
    const auto run = decode_run(e.value);
    if (!name || !run) state.damaged(e.key);
    return name && run && visit(name->worker, *run);
  });
  return state.sound();
}

}  // namespace torc::claim
