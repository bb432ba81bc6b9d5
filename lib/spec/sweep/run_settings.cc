#include <utility>

#include "lib/base/codec.h"
#include "lib/base/number.h"
#include "lib/spec/sweep/recipe.h"

namespace torc::spec {
namespace {

constexpr std::uint8_t kSettingsFormat = 3;

constexpr unsigned kStay = 1;
constexpr unsigned kPending = 2;
constexpr unsigned kStaggered = 4;
constexpr unsigned kLearns = 8;
constexpr unsigned kLacksOutputs = 16;

constexpr std::uint64_t kLongestInterval = std::uint64_t{1}
                                           << 33;  // seconds; in nanoseconds it fits

// What came later stands at the end, each a kind and a text, and only where it says something.
constexpr std::uint8_t kSrunMpi = 1;
constexpr std::uint8_t kSrunSignal = 2;
constexpr std::uint8_t kRecoveries = 3;  // a number, in digits

constexpr unsigned kLimits = 1;
constexpr unsigned kBinds = 2;

std::optional<std::chrono::seconds> decode_given_seconds(Decoder& in) {
  const std::chrono::seconds time = in.seconds();
  return time.count() > 0 ? std::optional(time) : std::nullopt;
}

}  // namespace

std::string encode(const RunSettings& settings) {
  Encoder out;
  out.u8(kSettingsFormat).text(settings.name).varint(settings.env.size());
  for (const auto& [key, value] : settings.env) out.text(key).text(value);
  const ExecutionConfig& e = settings.execution;
  out.u8(static_cast<std::uint8_t>(e.mode))
      .u8(static_cast<std::uint8_t>((e.limit_resources ? kLimits : 0) |
                                    (e.enable_cpu_bind ? kBinds : 0)));
  out.svarint(e.termination_signal);
  out.svarint(in_reach(e.sigterm_lead).count()).svarint(in_reach(e.sigkill_headroom).count());
  out.svarint(e.timeout_exit_code).svarint(e.oom_exit_code);
  const ResourceMonitor& monitor = settings.monitor;
  out.varint(monitor.time_series ? static_cast<std::uint64_t>(monitor.interval.count()) : 0);
  out.u8(static_cast<std::uint8_t>(e.stdio.mode)).u8(e.stdio.delete_on_success ? 1 : 0);
  out.varint(settings.max_iterations.value_or(0));
  out.svarint(in_reach(settings.wait_for_new_jobs).count())
      .svarint(in_reach(settings.expiration_buffer).count());
  out.u8(static_cast<std::uint8_t>(
      (settings.workers_stay ? kStay : 0) | (settings.use_pending_failed ? kPending : 0) |
      (e.staggered_start ? kStaggered : 0) | (settings.learn_runtimes ? kLearns : 0) |
      (settings.allow_missing_outputs ? kLacksOutputs : 0)));
  out.svarint(in_reach(settings.lease.ttl.value_or(std::chrono::seconds(0))).count());
  out.svarint(in_reach(settings.lease.heartbeat.value_or(std::chrono::seconds(0))).count());
  if (!e.srun_mpi.empty()) out.u8(kSrunMpi).text(e.srun_mpi);
  if (!e.srun_termination_signal.empty()) out.u8(kSrunSignal).text(e.srun_termination_signal);
  if (settings.recoveries > 0) out.u8(kRecoveries).text(std::to_string(settings.recoveries));
  return std::move(out).bytes();
}

Result<RunSettings> decode_settings(std::string_view bytes) {
  Decoder in(bytes);
  RunSettings settings;
  const std::uint8_t format = in.u8();
  settings.name = in.text();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    std::string key(in.text());
    settings.env.emplace_back(std::move(key), in.text());
  }
  ExecutionConfig& e = settings.execution;
  const std::uint8_t mode = in.u8();
  e.mode = static_cast<ExecutionMode>(mode);
  const unsigned limits = in.u8();
  e.limit_resources = (limits & kLimits) != 0;
  e.enable_cpu_bind = (limits & kBinds) != 0;
  e.termination_signal = in.i32();
  e.sigterm_lead = in.seconds();
  e.sigkill_headroom = in.seconds();
  e.timeout_exit_code = in.i32();
  e.oom_exit_code = in.i32();
  const std::chrono::seconds every(in.up_to(kLongestInterval));
  settings.monitor.time_series = every.count() > 0;
  if (settings.monitor.time_series) settings.monitor.interval = every;
  const std::uint8_t stdio = in.u8();
  e.stdio.mode = static_cast<StdioMode>(stdio);
  e.stdio.delete_on_success = in.u8() != 0;
  e.stdio.by_size = false;  // it was decided
  const auto iterations = in.u32();
  if (iterations > 0) settings.max_iterations = iterations;
  settings.wait_for_new_jobs = in.seconds();
  settings.expiration_buffer = in.seconds();
  const unsigned flags = in.u8();
  settings.workers_stay = (flags & kStay) != 0;
  settings.use_pending_failed = (flags & kPending) != 0;
  e.staggered_start = (flags & kStaggered) != 0;
  settings.learn_runtimes = (flags & kLearns) != 0;
  settings.allow_missing_outputs = (flags & kLacksOutputs) != 0;
  settings.lease.ttl = decode_given_seconds(in);
  settings.lease.heartbeat = decode_given_seconds(in);
  bool known = true;
  for (std::uint8_t before = 0; known && in.ok() && !in.at_end();) {
    const std::uint8_t kind = in.u8();
    known = kind > before && kind <= kRecoveries;
    before = kind;
    const std::string text(in.text());
    if (kind == kSrunMpi) e.srun_mpi = text;
    if (kind == kSrunSignal) e.srun_termination_signal = text;
    if (kind != kRecoveries) continue;
    settings.recoveries = whole_number<std::uint32_t>(text).value_or(0);
    known = settings.recoveries > 0;
  }
  if (!known || !in.is_whole() || format != kSettingsFormat ||
      mode > static_cast<std::uint8_t>(ExecutionMode::slurm) ||
      stdio > static_cast<std::uint8_t>(StdioMode::packed)) {
    return Error{ErrorKind::corrupt, "the workflow's settings in the store are damaged",
                 "run torc verify on the store"};
  }
  return settings;
}

}  // namespace torc::spec
