#include "bin/commands/run/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

using claim::JobState;

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(10);

// Of what a line says, what goes first when there is no room for all.
enum class Worth : std::uint8_t { estimate, claimed, rate, detail, failed, share };

struct Part {
  std::string text;
  Worth worth;
};

// What failed, and what was canceled, is told beside it. What was not needed is nobody's lack.
std::uint64_t well_done(const claim::WorkflowState& w) {
  return w.of(JobState::completed) + w.unmet;
}

double share_of(const claim::WorkflowState& w) {
  return w.jobs == 0 ? 1 : static_cast<double>(well_done(w)) / static_cast<double>(w.jobs);
}

std::vector<Part> parts_of(const ProgressLine& line) {
  const claim::WorkflowState& w = line.workflow;
  const std::uint64_t over = report::jobs_with(w, claim::trait::kTerminal);
  const std::uint64_t good = well_done(w);
  std::vector<Part> parts = {{fmt::format(" {:3.0f} %  {}/{}", std::floor(100 * share_of(w)),
                                          show_count(good), show_count(w.jobs)),
                              Worth::share}};
  const auto add = [&](std::uint64_t n, const char* what, Worth worth) {
    if (n > 0) parts.push_back({fmt::format("  {} {}", show_count(n), what), worth});
  };
  add(w.of(JobState::running), "running", Worth::detail);
  add(w.of(JobState::claimed), "claimed", Worth::claimed);
  add(report::failures(w), "failed", Worth::failed);
  add(w.of(JobState::pending_failed), "to decide", Worth::failed);
  add(w.of(JobState::canceled) - w.unmet, "canceled", Worth::detail);
  if (line.jobs_per_second > 0 && over < w.jobs) {
    parts.push_back({line.jobs_per_second >= 10 ? fmt::format("  {:.0f}/s", line.jobs_per_second)
                                                : fmt::format("  {:.1f}/s", line.jobs_per_second),
                     Worth::rate});
    const double left = static_cast<double>(w.jobs - over) / line.jobs_per_second;
    parts.push_back({"  ETA " + show_estimate(left), Worth::estimate});
  }
  return parts;
}

std::string joined(const std::vector<Part>& parts, Worth least) {
  std::string text;
  for (const Part& part : parts) text += part.worth >= least ? part.text : "";
  return text;
}

}  // namespace

std::string progress_text(const ProgressLine& line, std::optional<int> columns) {
  constexpr int kLongestBar = 40;
  constexpr int kShortestBar = 5;
  constexpr int kPlainBar = 20;
  const std::vector<Part> parts = parts_of(line);
  std::string tail = joined(parts, Worth::estimate);
  // The last column stays free: a line that fills it wraps on some terminals.
  const int room = columns ? *columns - 1 : 0;
  const int bar_room =
      columns ? std::min(room - static_cast<int>(tail.size()) - 2, kLongestBar) : kPlainBar;
  if (bar_room < kShortestBar) {
    const auto fits = [&] { return static_cast<int>(tail.size()) <= room; };
    for (const Worth least :
         {Worth::claimed, Worth::rate, Worth::detail, Worth::failed, Worth::share}) {
      if (fits()) break;
      tail = joined(parts, least);
    }
    return tail.substr(0, static_cast<std::size_t>(std::max(room, 0)));
  }
  const claim::WorkflowState& w = line.workflow;
  const int filled = static_cast<int>(share_of(w) * bar_room);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < bar_room) bar += '>';
  bar.resize(static_cast<std::size_t>(bar_room), ' ');
  return "[" + bar + "]" + tail;
}

void Progress::update(const claim::WorkflowState& workflow) {
  if (quiet_) return;
  newest_ = workflow;
  pending_ = true;
  const BootTime now = app_.clock.boot_now();
  if (first_ == BootTime{}) {
    first_ = now;
    first_done_ = report::jobs_with(workflow, claim::trait::kTerminal);
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
  const std::uint64_t done = report::jobs_with(newest_, claim::trait::kTerminal);
  const double rate =
      elapsed > 0.5 && done > first_done_ ? static_cast<double>(done - first_done_) / elapsed : 0;
  last_draw_ = now;
  pending_ = false;
  if (app_.out_is_terminal) {
    // Asked anew: the window may have been made smaller, and a line that wraps cannot be redrawn.
    const int columns = app_.columns ? app_.columns() : app_.terminal_columns;
    write_raw(app_.out, "\r\x1b[K" + progress_text({newest_, rate}, columns));
    drawn_ = true;
  } else {
    say(app_.out, "{}\n", progress_text({newest_, rate}, std::nullopt));
  }
  std::fflush(app_.out);
}

void Progress::print(const std::string& line) {
  if (!quiet_) answer(line);
}

void Progress::answer(const std::string& line) {
  hide();
  say(app_.out, "{}\n", line);
  if (!quiet_ && app_.out_is_terminal && first_ != BootTime{}) draw(app_.clock.boot_now());
  std::fflush(app_.out);
}

void Progress::hide() {
  if (!drawn_) return;
  write_raw(app_.out, "\r\x1b[K");
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
