// Progress of a running workflow: one line that redraws itself on a terminal, plain lines
// elsewhere.
#pragma once

#include <optional>
#include <string>

#include "bin/app.h"
#include "lib/claim/rules/workflow_state.h"

namespace torc::cli {

// "[=====>    ]  52 %  520/1,000  2 running  1 failed  310/s  ETA 2 s". Where that is too long for
// `columns` the bar goes, then whole parts of the text; none: nothing is left out. Pure.
struct ProgressLine {
  claim::WorkflowState workflow;
  double jobs_per_second = 0;  // 0: not known
};
[[nodiscard]] std::string progress_text(const ProgressLine& line, std::optional<int> columns);

// Writes to App::out. One thread.
class Progress {
 public:
  explicit Progress(const App& app, bool quiet) : app_(app), quiet_(quiet) {}
  void update(const claim::WorkflowState& workflow);
  // When the line is to be drawn although nothing new is known; nullopt: it shows what is known.
  [[nodiscard]] std::optional<BootTime> due() const;
  void draw_now();
  void print(const std::string& line);   // above the progress line; nothing when quiet
  void answer(const std::string& line);  // the same, whatever it is
  void hide();                           // for output of others; the next drawing shows it again
  void close();                          // leaves the last line standing

 private:
  const App& app_;
  bool quiet_;
  bool drawn_ = false;    // a line stands there
  bool pending_ = false;  // something newer than what was drawn
  BootTime last_draw_{};
  BootTime first_{};
  std::uint64_t first_done_ = 0;
  claim::WorkflowState newest_;
  void draw(BootTime now);
};

}  // namespace torc::cli
