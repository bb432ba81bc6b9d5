#include "lib/claim/rules/handler.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>

#include "lib/base/codec.h"

namespace torc::claim {
namespace {

constexpr int kShellSignalBase = 128;
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr int kKilled = kShellSignalBase + SIGKILL;

bool is_for(FailureCause cause, const Outcome& o) {
  const bool by_job = o.cause == EndCause::exited || o.cause == EndCause::signaled;
  switch (cause) {
    case FailureCause::oom:
      return o.cause == EndCause::out_of_memory || (by_job && return_code(o) == kKilled);
    case FailureCause::timeout:
      return o.cause == EndCause::timed_out;
    case FailureCause::signal:
      return o.cause == EndCause::signaled;
    case FailureCause::node_death:
      return is_loss(o.cause);
    case FailureCause::output_missing:
      return o.cause == EndCause::output_missing;
  }
  return false;
}

bool is_for(const RetryRule& rule, const Outcome& o) {
  const int code = return_code(o);
  if (code != 0 && rule.all_exit_codes) return true;
  const auto& codes = rule.exit_codes;
  if (code != 0 && std::find(codes.begin(), codes.end(), code) != codes.end()) return true;
  return std::any_of(rule.on.begin(), rule.on.end(), [&](FailureCause c) { return is_for(c, o); });
}

}  // namespace

std::string encode(const Handler& handler) {
  Encoder out;
  out.varint(handler.memory_ceiling.value).svarint(in_reach(handler.runtime_ceiling).count());
  out.varint(handler.rules.size());
  for (const RetryRule& rule : handler.rules) write_rule(out, rule);
  if (handler.recoveries > 0) out.varint(handler.recoveries);
  return std::move(out).bytes();
}

std::optional<Handler> decode_handler(std::string_view value) {
  Decoder in(value);
  Handler handler;
  handler.memory_ceiling.value = in.varint();
  handler.runtime_ceiling = in.seconds();
  for (std::uint64_t rules = in.varint(); rules > 0 && in.ok(); --rules) {
    std::optional<RetryRule> rule = read_rule(in);
    if (!rule) return std::nullopt;
    handler.rules.push_back(*std::move(rule));
  }
  if (in.ok() && !in.at_end()) {
    handler.recoveries = in.u32();
    if (handler.recoveries == 0) return std::nullopt;
  }
  return in.whole(std::move(handler));
}

int return_code(const Outcome& outcome) {
  if (outcome.cause == EndCause::not_started)
    return outcome.os_errno == ENOENT ? kNotFound : kNotExecutable;
  if (outcome.exit_code >= 0) return outcome.exit_code;
  return outcome.signal > 0 ? kShellSignalBase + outcome.signal : 0;
}

std::optional<std::size_t> rule_for(const Handler& handler, const Outcome& outcome) {
  if (is_interruption(outcome.cause) || outcome.cause == EndCause::canceled) return {};
  const auto found = std::find_if(handler.rules.begin(), handler.rules.end(),
                                  [&](const RetryRule& r) { return is_for(r, outcome); });
  if (found == handler.rules.end()) return {};
  return static_cast<std::size_t>(found - handler.rules.begin());
}

std::chrono::seconds backoff_of(const RetryRule& rule, std::uint32_t nth) {
  const std::chrono::seconds most = std::max(rule.backoff, kLongestBackoff);
  std::chrono::seconds delay = rule.backoff;
  if (delay.count() <= 0) return std::chrono::seconds(0);
  for (; nth > 1 && delay < most; --nth) delay *= 2;
  return std::min(delay, most);
}

std::uint64_t grown(std::uint64_t value, double by, std::uint64_t ceiling) {
  const double wanted = std::ceil(static_cast<double>(value) * by);
  const std::uint64_t most = std::max(value, ceiling);
  if (!(wanted < static_cast<double>(most))) return by > 1 ? most : value;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
}

}  // namespace torc::claim
