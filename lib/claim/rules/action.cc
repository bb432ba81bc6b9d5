#include "lib/claim/rules/action.h"

#include <utility>

#include "lib/base/codec.h"

namespace torc::claim {
namespace {

void put_outcome(Encoder& out, const Outcome& o) {
  out.u8(static_cast<std::uint8_t>(o.cause))
      .svarint(o.exit_code)
      .varint(static_cast<std::uint64_t>(o.signal));
  out.varint(static_cast<std::uint64_t>(o.os_errno));
  out.svarint(in_reach(o.started_at).count()).svarint(in_reach(o.ended_at).count());
}

Outcome take_outcome(Decoder& in) {
  Outcome o;
  o.cause = static_cast<EndCause>(in.u8());
  o.exit_code = in.i32();
  o.signal = static_cast<int>(in.up_to(INT32_MAX));
  o.os_errno = static_cast<int>(in.up_to(INT32_MAX));
  o.started_at = in.wall_time();
  o.ended_at = in.wall_time();
  return o;
}

}  // namespace

std::string_view to_string(Trigger trigger) {
  static constexpr std::string_view kNames[kTriggers] = {
      "on_workflow_start", "on_workflow_complete", "on_jobs_ready",
      "on_jobs_complete",  "on_worker_start",      "on_worker_complete"};
  return kNames[static_cast<std::size_t>(trigger)];
}

std::string_view to_string(RunState state) {
  static constexpr std::string_view kNames[] = {"waiting", "due", "running", "ended"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string encode(const Action& action) {
  Encoder out;
  out.u8(static_cast<std::uint8_t>(action.trigger)).u8(action.persistent ? 1 : 0);
  out.text(action.recipe);
  if (action.schedule) {
    out.varint(action.schedule->scheduler).varint(action.schedule->allocations);
    out.varint(action.schedule->max_parallel_jobs);
  }
  return std::move(out).bytes();
}

std::optional<Action> decode_action(std::string_view value) {
  Decoder in(value);
  Action action;
  const std::uint8_t trigger = in.u8();
  action.trigger = static_cast<Trigger>(trigger);
  const std::uint8_t persistent = in.u8();
  action.persistent = persistent == 1;
  action.recipe = in.text();
  if (!in.at_end()) {
    ScheduleNodes schedule;
    schedule.scheduler = in.u32();
    schedule.allocations = in.u32();
    schedule.max_parallel_jobs = in.u32();
    if (schedule.scheduler == 0) return std::nullopt;
    action.schedule = schedule;
  }
  if (!in.is_whole() || trigger >= kTriggers || persistent > 1) return std::nullopt;
  return action;
}

std::string encode(const ActionRun& run) {
  Encoder out;
  out.u8(static_cast<std::uint8_t>(run.state)).varint(run.nth).varint(run.lost).varint(run.done);
  out.u8(run.again ? 1 : 0).varint(run.claim).varint(raw(run.worker));
  put_outcome(out, run.outcome);
  return std::move(out).bytes();
}

std::optional<ActionRun> decode_run(std::string_view value) {
  Decoder in(value);
  ActionRun run;
  const std::uint8_t state = in.u8();
  run.state = static_cast<RunState>(state);
  run.nth = in.u32();
  run.lost = in.u32();
  run.done = in.u32();
  run.again = in.u8() != 0;
  run.claim = in.varint();
  run.worker = WorkerEpoch{in.varint()};
  run.outcome = take_outcome(in);
  if (!in.is_whole() || state > static_cast<std::uint8_t>(RunState::ended) ||
      run.outcome.cause > kLastEndCause) {
    return std::nullopt;
  }
  return run;
}

std::string encode(const ActionTally& t) {
  Encoder out;
  for (const std::uint64_t n :
       {t.actions, t.gates, t.due, t.running, t.ended, t.failed, t.armed, t.spent})
    out.varint(n);
  return std::move(out).bytes();
}

std::optional<ActionTally> decode_action_tally(std::string_view value) {
  Decoder in(value);
  ActionTally t;
  for (std::uint64_t* n :
       {&t.actions, &t.gates, &t.due, &t.running, &t.ended, &t.failed, &t.armed, &t.spent})
    *n = in.varint();
  if (!in.is_whole() || t.actions > UINT32_MAX) return std::nullopt;
  return t;
}

}  // namespace torc::claim
