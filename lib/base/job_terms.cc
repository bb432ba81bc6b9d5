#include "lib/base/job_terms.h"

#include <bit>

#include "lib/base/text/text.h"

namespace torc {

std::string_view to_string(Condition condition) {
  constexpr std::string_view kWords[] = {"afterok", "afternotok", "afterany", "after"};
  return word_of(condition, kWords);
}

namespace {

// Stands among the causes of a rule that learns: a program that does not know it refuses the rule.
constexpr std::uint8_t kLearns = 0x80;

}  // namespace

void write_rule(Encoder& out, const RetryRule& rule) {
  out.varint(rule.exit_codes.size());
  for (const std::int32_t code : rule.exit_codes) out.svarint(code);
  out.u8(rule.all_exit_codes ? 1 : 0).varint(rule.on.size() + (rule.learn ? 1 : 0));
  for (const FailureCause cause : rule.on) out.u8(static_cast<std::uint8_t>(cause));
  if (rule.learn) out.u8(kLearns);
  out.text(rule.script).varint(rule.max_retries);
  out.be64(std::bit_cast<std::uint64_t>(rule.memory_multiplier));
  out.be64(std::bit_cast<std::uint64_t>(rule.runtime_multiplier));
  out.svarint(in_reach(rule.backoff).count());
}

std::optional<RetryRule> read_rule(Decoder& in) {
  RetryRule rule;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) rule.exit_codes.push_back(in.i32());
  rule.all_exit_codes = in.u8() != 0;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const std::uint8_t cause = in.u8();
    if (cause == kLearns && n == 1) {
      rule.learn = true;
      continue;
    }
    if (cause > static_cast<std::uint8_t>(kLastFailureCause)) return std::nullopt;
    rule.on.push_back(static_cast<FailureCause>(cause));
  }
  rule.script = in.text();
  rule.max_retries = in.u32();
  rule.memory_multiplier = std::bit_cast<double>(in.be64());
  rule.runtime_multiplier = std::bit_cast<double>(in.be64());
  rule.backoff = in.seconds();
  return in.ok() ? std::optional(std::move(rule)) : std::nullopt;
}

}  // namespace torc
