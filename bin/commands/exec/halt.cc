#include "bin/commands/exec/halt.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/number.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

constexpr std::uint64_t kWhole = 100;  // per cent

Error no_halt(std::string_view text) {
  return {ErrorKind::invalid, fmt::format("--halt takes WHEN,WHY=N, not {}", quoted(text)),
          "WHEN is now (what runs is ended, too) or soon; WHY is fail, success or done; N is a "
          "number, or a percentage of all jobs: --halt now,fail=1, --halt soon,fail=10%"};
}

}  // namespace

Result<ExecHalt> parse_halt(std::string_view text) {
  if (text == "never" || text == "0") return ExecHalt{};
  if (text == "1") return ExecHalt{ExecHalt::Of::failures, false, 1, false};
  if (text == "2") return ExecHalt{ExecHalt::Of::failures, true, 1, false};
  ExecHalt halt;
  const std::size_t comma = text.find(',');
  const std::size_t sign = text.find('=');
  if (comma == std::string_view::npos || sign == std::string_view::npos || sign < comma)
    return no_halt(text);
  const std::string_view when = text.substr(0, comma);
  const std::string_view why = text.substr(comma + 1, sign - comma - 1);
  std::string_view number = text.substr(sign + 1);
  if (when != "now" && when != "soon") return no_halt(text);
  halt.now = when == "now";
  if (why == "fail") halt.of = ExecHalt::Of::failures;
  if (why == "success") halt.of = ExecHalt::Of::successes;
  if (why == "done") halt.of = ExecHalt::Of::ends;
  halt.is_percentage = number.ends_with('%');
  if (halt.is_percentage) number.remove_suffix(1);
  halt.count = whole_number<std::uint64_t>(number).value_or(0);
  const bool too_many = halt.is_percentage && halt.count > kWhole;
  if (halt.of == ExecHalt::Of::nothing || halt.count == 0 || too_many) return no_halt(text);
  return halt;
}

HaltCounter::HaltCounter(const ExecHalt& halt, std::uint64_t jobs)
    : halt_(halt), limit_(halt.count) {
  // At least so many of them are that part of all.
  if (halt.is_percentage)
    limit_ = std::max<std::uint64_t>(1, (jobs * halt.count + kWhole - 1) / kWhole);
}

void HaltCounter::ended(claim::JobState state) {
  ++(state == claim::JobState::completed ? completed_ : failed_);
}

std::uint64_t HaltCounter::counted() const {
  switch (halt_.of) {
    case ExecHalt::Of::nothing:
      return 0;
    case ExecHalt::Of::failures:
      return failed_;
    case ExecHalt::Of::successes:
      return completed_;
    case ExecHalt::Of::ends:
      return completed_ + failed_;
  }
  return 0;
}

worker::Halt HaltCounter::due() const {
  if (halt_.of == ExecHalt::Of::nothing || counted() < limit_) return worker::Halt::no;
  return halt_.now ? worker::Halt::now : worker::Halt::soon;
}

std::string HaltCounter::reason() const {
  if (due() == worker::Halt::no) return {};
  const char* what = halt_.of == ExecHalt::Of::failures    ? "failed"
                     : halt_.of == ExecHalt::Of::successes ? "completed"
                                                           : "ended";
  return fmt::format("{} {}", plural(counted(), "job"), what);
}

bool HaltCounter::is_good() const {
  if (due() == worker::Halt::no) return false;
  return halt_.of == ExecHalt::Of::successes || (halt_.of == ExecHalt::Of::ends && failed_ == 0);
}

}  // namespace torc::cli
