#include <fmt/format.h>

#include <set>
#include <utility>

#include "lib/claim/audit/verify_parts.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

class ActionAudit {
 public:
  explicit ActionAudit(const Reader& reader) : reader_(reader) {}

  Result<void> run() {
    const Key all(Table::action);
    const auto value = reader_.get(all);
    const auto stored = value ? decode_action_tally(*value) : std::nullopt;
    if (value && !stored) return unreadable(all);
    if (stored) TORC_TRY(read_actions(stored->actions));
    counted_.actions = actions_.size();
    TORC_TRY(read_leases());
    TORC_TRY(read_runs());
    TORC_TRY(check_due());
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const Trigger trigger = actions_[i].trigger;
      const auto number = static_cast<std::uint32_t>(i + 1);
      if (trigger == Trigger::workflow_start && !ended_.contains(number)) ++counted_.gates;
      if (trigger == Trigger::workflow_complete && !fired_.contains(number)) ++counted_.armed;
    }
    if (!held_.empty()) {
      return wrong(fmt::format("worker {} lists action {}, which it does not run",
                               held_.begin()->first, held_.begin()->second));
    }
    if (stored.value_or(ActionTally{}) != counted_) return wrong("the actions are counted wrong");
    return {};
  }

 private:
  Result<void> read_actions(std::uint64_t count) {
    for (std::uint32_t n = 1; n <= count; ++n) {
      const Key key = action_key(n);
      const auto value = reader_.get(key);
      auto one = value ? decode_action(*value) : std::nullopt;
      if (!one) return unreadable(key);
      actions_.push_back(*std::move(one));
    }
    return {};
  }

  Result<void> read_leases() {
    const auto note = [&](std::uint64_t epoch, const Lease& lease) -> Result<void> {
      for (const std::uint64_t number : lease.actions) held_.emplace(epoch, number);
      return {};
    };
    return each_record(reader_, Table::lease, decode_lease, note);
  }

  Result<void> read_runs() {
    return each(reader_, Table::action_run, [&](const store::Entry& e) -> Result<void> {
      const auto name = run_in(e.key);
      const auto run = decode_run(e.value);
      if (!name || !run) return unreadable(e.key);
      if (name->action == 0 || name->action > actions_.size())
        return wrong(fmt::format("action {} has run and is none", name->action));
      const Action& action = actions_[name->action - 1];
      const bool own = raw(name->worker) == 0;
      if (own == is_of_worker(action.trigger) || run->nth == 0)
        return wrong(fmt::format("a run of action {} makes no sense", name->action));
      count(*name, action, *run);
      if (run->state == RunState::running && held_.erase({raw(run->worker), name->action}) == 0) {
        return wrong(fmt::format("worker {} does not know that it runs action {}", raw(run->worker),
                                 name->action));
      }
      return {};
    });
  }

  void count(const RunName& name, const Action& action, const ActionRun& run) {
    const bool own = raw(name.worker) == 0;
    if (own && run.state == RunState::running) ++counted_.running;
    if (run.state == RunState::due) due_.insert(name.action);
    if (run.state == RunState::ended) ++counted_.ended;
    if (is_failed(run)) ++counted_.failed;
    if (own && run.state == RunState::ended) ended_.insert(name.action);
    if (!own || run.state == RunState::armed) return;
    fired_.insert(name.action);
    if (action.trigger == Trigger::workflow_complete && action.persistent) ++counted_.spent;
  }

  Result<void> check_due() {
    counted_.due = due_.size();
    TORC_TRY(each(reader_, Table::due_action, [&](const store::Entry& e) -> Result<void> {
      for (auto it = due_.begin(); it != due_.end(); ++it) {
        if (std::string_view(due_key(*it)) != e.key) continue;
        due_.erase(it);
        return {};
      }
      return wrong("an action is listed as due that is not");
    }));
    if (due_.empty()) return {};
    return wrong(
        fmt::format("action {} is due and not listed: nobody would run it", *due_.begin()));
  }

  const Reader& reader_;
  std::vector<Action> actions_;
  ActionTally counted_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> held_;  // worker, action
  std::set<std::uint32_t> due_;
  std::set<std::uint32_t> ended_;
  std::set<std::uint32_t> fired_;
};

}  // namespace

Result<void> audit_actions(const Reader& reader) {
  return ActionAudit(reader).run();
}

}  // namespace torc::claim
