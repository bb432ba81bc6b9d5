#include "bin/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bin/quantities.h"

namespace torc::cli {
namespace {

using claim::JobState;

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(10);

std::uint64_t ended(const claim::WorkflowState& w) {
  return w.of(JobState::completed) + w.of(JobState::failed) + w.of(JobState::canceled) +
         w.of(JobState::terminated);
}

}  // namespace

std::string progress_text(const ProgressLine& line, int columns) {
  const claim::WorkflowState& w = line.workflow;
  const std::uint64_t done = ended(w);
  const double share = w.jobs == 0 ? 1 : static_cast<double>(done) / static_cast<double>(w.jobs);
  std::string tail = fmt::format(" {:3.0f} %  {}/{}", std::floor(100 * share), show_count(done),
                                 show_count(w.jobs));
  if (const auto n = w.of(JobState::running); n > 0)
    tail += fmt::format("  {} running", show_count(n));
  if (const auto n = w.of(JobState::claimed); n > 0)
    tail += fmt::format("  {} claimed", show_count(n));
  const auto bad = w.of(JobState::failed) + w.of(JobState::terminated);
  if (bad > 0) tail += fmt::format("  {} failed", show_count(bad));
  if (const auto n = w.of(JobState::pending_failed); n > 0)
    tail += fmt::format("  {} to decide", show_count(n));
  const auto canceled = w.of(JobState::canceled) - w.unmet;
  if (canceled > 0) tail += fmt::format("  {} canceled", show_count(canceled));
  if (line.jobs_per_second > 0 && done < w.jobs) {
    tail += line.jobs_per_second >= 10 ? fmt::format("  {:.0f}/s", line.jobs_per_second)
                                       : fmt::format("  {:.1f}/s", line.jobs_per_second);
    const double left = static_cast<double>(w.jobs - done) / line.jobs_per_second;
    tail += "  ETA " + show_estimate(left);
  }
  const int room = std::clamp(columns - static_cast<int>(tail.size()) - 3, 0, 40);
  if (room < 5) return tail.substr(0, static_cast<std::size_t>(std::max(columns - 1, 0)));
  const int filled = static_cast<int>(share * room);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < room) bar += '>';
  bar.resize(static_cast<std::size_t>(room), ' ');
  return "[" + bar + "]" + tail;
}

void Progress::update(const claim::WorkflowState& workflow) {
  if (quiet_) return;
  newest_ = workflow;
  pending_ = true;
  const BootTime now = app_.clock.boot_now();
  if (first_ == BootTime{}) {
    first_ = now;
    first_done_ = ended(workflow);
  }
  const auto pause = app_.out_is_terminal ? BootTime(kRedraw) : BootTime(kPlainLine);
  if (last_draw_ != BootTime{} && now - last_draw_ < pause) return;
  if (!app_.out_is_terminal && last_draw_ == BootTime{}) {
    last_draw_ =
        now;  // the first plain line comes after a while: short runs print only their summary
    return;
  }
  draw(now);
}

// The last of several updates in a row would stay unseen until the next one, which a long job may
// put off for hours.
std::optional<BootTime> Progress::due() const {
  if (quiet_ || !pending_ || !app_.out_is_terminal) return {};
  return last_draw_ + BootTime(kRedraw);
}

void Progress::draw_now() {
  draw(app_.clock.boot_now());
}

void Progress::draw(BootTime now) {
  const double elapsed = std::chrono::duration<double>(now - first_).count();
  const std::uint64_t done = ended(newest_);
  const double rate =
      elapsed > 0.5 && done > first_done_ ? static_cast<double>(done - first_done_) / elapsed : 0;
  last_draw_ = now;
  pending_ = false;
  if (app_.out_is_terminal) {
    // Asked anew: the window may have been made smaller, and a line that wraps cannot be redrawn.
    const int columns = app_.columns ? app_.columns() : app_.terminal_columns;
    say(app_.out, "\r\x1b[K{}", progress_text({newest_, rate}, columns));
    drawn_ = true;
  } else {
    say(app_.out, "{}\n", progress_text({newest_, rate}, 60));
  }
  std::fflush(app_.out);
}

void Progress::print(const std::string& line) {
  if (quiet_) return;
  hide();
  say(app_.out, "{}\n", line);
  if (app_.out_is_terminal && first_ != BootTime{}) draw(app_.clock.boot_now());
  std::fflush(app_.out);
}

void Progress::hide() {
  if (!drawn_) return;
  say(app_.out, "\r\x1b[K");
  std::fflush(app_.out);
  drawn_ = false;
  pending_ = true;
}

void Progress::close() {
  if (quiet_ || first_ == BootTime{} || !app_.out_is_terminal) return;
  draw(app_.clock.boot_now());
  say(app_.out, "\n");
  std::fflush(app_.out);
  drawn_ = false;
}

}  // namespace torc::cli
