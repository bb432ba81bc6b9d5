#include "bin/commands/look/job_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/failure_diagnosis.h"
#include "lib/report/situation_text.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kTailWindow = 256 << 10;
constexpr std::uint64_t kTailOfFailed = 20;  // lines of each stream
// Nothing tells of news in a file on a network filesystem, so one looks, and ever less often.
constexpr std::chrono::nanoseconds kFirstLook = 50ms;
constexpr std::chrono::nanoseconds kLastLook = 2s;
constexpr unsigned kLooksAtWorkers = 5;  // of the last looks one is at workers: there may be many

std::string_view last_lines(std::string_view text, std::uint64_t lines) {
  std::size_t at = text.size();
  if (at > 0 && text.back() == '\n') --at;  // ends the last line, and begins none
  for (; lines > 0 && at > 0; --lines) {
    const auto before = text.rfind('\n', at - 1);
    if (before == std::string_view::npos) return text;
    at = before;
  }
  return at < text.size() ? text.substr(at + 1) : std::string_view();
}

Result<void> print_one_failed(const App& app, report::OutputReader& reader,
                              const report::JobNow& now, std::uint64_t lines) {
  const report::AttemptOutput& output = now.output;
  say(app.out, "==> {}: attempt {}, {}{} <==\n", printable(now.name), output.attempt, now.how,
      output.host.empty() ? "" : ", on " + printable(output.host));
  if (output.nodes > 1) {
    const auto outputs = outputs_of(output, std::nullopt);
    TORC_ASSIGN(bool some, print_ranks(app, reader, outputs, exec::Stream::out, lines));
    if (output.stdio.mode != spec::StdioMode::combined) {
      say(app.out, "--> standard error <--\n");
      TORC_ASSIGN(const bool err, print_ranks(app, reader, outputs, exec::Stream::err, lines));
      some = some || err;
    }
    if (!some) say(app.out, "(no output)\n");
    return {};
  }
  TORC_ASSIGN(bool any, print_tail(app, reader, output, exec::Stream::out, lines));
  if (output.stdio.mode != spec::StdioMode::combined) {
    TORC_ASSIGN(const auto err, reader.read(output, exec::Stream::err, 0, 0));
    if (err && err->size > 0) {
      if (any) say(app.out, "--> standard error <--\n");
      TORC_ASSIGN(any, print_tail(app, reader, output, exec::Stream::err, lines));
    }
  }
  if (!any) say(app.out, "(no output)\n");
  return {};
}

void print_heading(const App& app, std::uint32_t rank, const std::vector<std::string>& nodes,
                   bool in_a_line) {
  say(app.out, "{}==> {} <==\n", in_a_line ? "\n" : "", report::say_rank(rank, nodes));
}

// Whether the last byte before `end` ends no line.
Result<bool> ends_in_a_line(report::OutputReader& reader, const report::AttemptOutput& output,
                            exec::Stream stream, std::uint64_t end) {
  if (end == 0) return false;
  TORC_ASSIGN(const auto last, reader.read(output, stream, end - 1, 1));
  return last && !last->bytes.empty() && last->bytes.back() != '\n';
}

// One stream of one job, watched.
class Follower {
 public:
  Follower(const App& app, exec::Stream stream, std::optional<std::uint32_t> rank)
      : app_(app), stream_(stream), rank_(rank) {}

  // Prints what is new; whether there was any.
  Result<bool> print_news(const report::AttemptOutput& output) {
    if (output.attempt != attempt_) {
      if (attempt_ != 0) say(app_.err, "torc: attempt {}\n", output.attempt);
      attempt_ = output.attempt;
      at_.clear();
      told_.reset();
    }
    bool any = false;
    for (const report::AttemptOutput& one : outputs_of(output, rank_)) {
      TORC_ASSIGN(const bool news, print_news_of(one));
      any = any || news;
    }
    return any;
  }
  [[nodiscard]] std::uint32_t attempt() const { return attempt_; }

 private:
  Result<bool> print_news_of(const report::AttemptOutput& output) {
    std::uint64_t& at = at_[output.rank];
    TORC_ASSIGN(const auto seen, reader_.read(output, stream_, 0, 0));
    if (seen && seen->size < at) {
      say(app_.err, "torc: the job emptied its output\n");
      at = 0;
    }
    const bool heads = !rank_ && output.nodes > 1;
    if (heads && seen && seen->size > at && told_ != output.rank) {
      print_heading(app_, output.rank, report::nodes_of(output), in_a_line_);
      told_ = output.rank;
    }
    TORC_ASSIGN(const std::uint64_t now, copy_out(app_, reader_, output, stream_, at));
    if (heads && now != at) {
      TORC_ASSIGN(in_a_line_, ends_in_a_line(reader_, output, stream_, now));
    }
    std::fflush(app_.out);
    return std::exchange(at, now) != now;
  }

  const App& app_;
  exec::Stream stream_;
  std::optional<std::uint32_t> rank_;
  report::OutputReader reader_;
  std::uint32_t attempt_ = 0;
  std::map<std::uint32_t, std::uint64_t> at_;  // by rank
  std::optional<std::uint32_t> told_;          // whose heading was printed last
  bool in_a_line_ = false;                     // which what was printed last has not ended
};

// Whether a job that waits, also to run once more, will start.
enum class Start : std::uint8_t { by_itself, by_a_person, never };

Start outlook(const report::Situation& around, const report::JobNow& now) {
  const claim::WorkflowState& w = around.workflow;
  const bool waits_for_others = now.job.state == claim::JobState::blocked;
  const bool person = w.of(claim::JobState::held) + w.of(claim::JobState::pending_failed) > 0;
  if (w.jobs_over()) return waits_for_others && !person ? Start::never : Start::by_a_person;
  return around.anybody_at_work() ? Start::by_itself : Start::by_a_person;
}

// What keeps the job from going on: its worker is not at work, or nobody is. Empty: nothing.
std::string say_stop(const App& app, const report::Situation& around, const report::JobNow& now,
                     const std::string& store) {
  const report::WorkerNow* const worker = around.find(now.job.worker);
  std::string text;
  if (worker != nullptr && !worker->is_at_work())
    text = "torc: " + report::say_absence(around, *worker, app.clock.wall_now()) + '\n';
  const std::string nobody = report::say_nobody(app, around, store);
  return text + (nobody.empty() ? "" : "torc: " + nobody);
}

}  // namespace

Result<std::uint64_t> copy_out(const App& app, report::OutputReader& reader,
                               const report::AttemptOutput& output, exec::Stream stream,
                               std::uint64_t from) {
  for (;;) {
    TORC_ASSIGN(const auto piece, reader.read(output, stream, from, kOutputStep));
    if (!piece || piece->bytes.empty()) return from;
    if (!write_raw(app.out, piece->bytes)) return os_error(errno, "cannot write the output");
    from += piece->bytes.size();
  }
}

Result<bool> print_tail(const App& app, report::OutputReader& reader,
                        const report::AttemptOutput& output, exec::Stream stream,
                        std::uint64_t lines) {
  TORC_ASSIGN(const auto whole, reader.read(output, stream, 0, 0));
  if (!whole || whole->size == 0) return false;
  const std::uint64_t from = whole->size - std::min(whole->size, kTailWindow);
  TORC_ASSIGN(const auto piece, reader.read(output, stream, from, kTailWindow));
  if (!piece) return false;
  const std::string_view tail = last_lines(piece->bytes, lines);
  say(app.out, "{}{}", tail, !tail.empty() && tail.back() != '\n' ? "\n" : "");
  return true;
}

std::vector<report::AttemptOutput> outputs_of(const report::AttemptOutput& output,
                                              std::optional<std::uint32_t> rank) {
  std::vector<report::AttemptOutput> all;
  for (std::uint32_t r = rank.value_or(0); r < output.nodes; ++r) {
    report::choose_rank(all.emplace_back(output), r);
    if (rank) break;
  }
  return all;
}

Result<bool> print_ranks(const App& app, report::OutputReader& reader,
                         const std::vector<report::AttemptOutput>& outputs, exec::Stream stream,
                         std::optional<std::uint64_t> lines) {
  const std::vector<std::string> nodes = report::nodes_of(outputs.front());
  bool any = false;
  bool in_a_line = false;
  for (const report::AttemptOutput& output : outputs) {
    TORC_ASSIGN(const auto found, reader.read(output, stream, 0, 0));
    if (!found || found->size == 0) continue;
    any = true;
    print_heading(app, output.rank, nodes, std::exchange(in_a_line, false));
    if (lines) {
      TORC_TRY(print_tail(app, reader, output, stream, *lines));
      continue;
    }
    TORC_ASSIGN(const std::uint64_t end, copy_out(app, reader, output, stream, 0));
    TORC_ASSIGN(in_a_line, ends_in_a_line(reader, output, stream, end));
  }
  return any;
}

Result<void> check_rank(const report::JobNow& now, std::optional<std::uint32_t> rank) {
  if (!rank || *rank < now.output.nodes) return {};
  const std::string name = printable(now.name);
  if (now.output.nodes > 1) {
    return Error{ErrorKind::invalid, fmt::format("'{}' has no rank {}", name, *rank),
                 fmt::format("it has ranks 0 to {}", now.output.nodes - 1)};
  }
  return Error{ErrorKind::invalid, fmt::format("'{}' has no rank {}", name, *rank),
               "its command runs on one node; ranks are those of jobs of several nodes with "
               "launch: all"};
}

Result<Exit> print_failed(const App& app, store::Store& store, std::optional<std::uint64_t> lines) {
  std::vector<report::JobNow> found;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(found, report::troubled_jobs(reader, store.directory()));
    return {};
  }));
  report::OutputReader reader;
  bool first = true;
  for (const report::JobNow& now : found) {
    if (!std::exchange(first, false)) say(app.out, "\n");
    TORC_TRY(print_one_failed(app, reader, now, lines.value_or(kTailOfFailed)));
  }
  if (found.empty()) say(app.err, "no job has failed\n");
  return Exit::ok;
}

Result<Exit> follow(const App& app, store::Store& store, const std::string& name,
                    exec::Stream stream, std::optional<std::uint32_t> attempt,
                    std::optional<std::uint32_t> rank) {
  Follower follower(app, stream, rank);
  workflow::RecipeBook book;
  const std::string shown = workflow::shown_path(app, store.directory());
  bool told = false;
  bool told_stop = false;
  unsigned quiet = 0;  // last looks
  for (auto delay = kFirstLook;; delay = std::min(delay * 2, kLastLook)) {
    // The state first: what an attempt wrote before it was over is there by then.
    TORC_ASSIGN(auto now, report::look_at_job(store, book, name));
    if (!now) return workflow::no_such_job(name);
    TORC_TRY(check_rank(*now, rank));
    const std::uint32_t newest = now->output.attempt;
    // Each attempt to its end, also when there is another one already.
    const std::uint32_t wanted =
        attempt.value_or(follower.attempt() == 0 ? newest : follower.attempt());
    const bool superseded = wanted < newest;
    if (wanted > 0 && wanted <= newest) {
      report::choose_attempt(now->output, wanted);
      TORC_ASSIGN(auto news, follower.print_news(now->output));
      if (news) delay = kFirstLook / 2;
    } else if (claim::is_over(now->job.state)) {
      say(app.err, "torc: {} has not run: it is {}\n", printable(name),
          claim::to_string(now->job.state));
    }
    const bool waits = !claim::is_over(now->job.state) && !claim::is_live(now->job.state);
    const bool has_ended = superseded || (waits && wanted == newest);
    if (attempt && has_ended) return Exit::ok;
    if (waits && !superseded) {
      TORC_ASSIGN(const auto around, report::look_around(app, store, report::AskSlurm::no));
      const Start start = outlook(around, *now);
      const std::string why = fmt::format("torc why {} {}", shown, shell_word(name));
      if (start == Start::never) {
        say(app.err, "torc: {} is {}, and nothing can let it start any more; see: {}\n",
            printable(name), claim::to_string(now->job.state), why);
        return Exit::failed;
      }
      // From one attempt to the next it goes by itself.
      const bool is_worth_telling = newest == 0 || start == Start::by_a_person;
      if (is_worth_telling && !std::exchange(told, true))
        say(app.err, "torc: waiting for {} to start{}\n", printable(name),
            start == Start::by_a_person ? "; why it does not: " + why : "");
    }
    if (superseded) {
      report::choose_attempt(now->output, wanted + 1);
      TORC_TRY(follower.print_news(now->output));
      continue;
    }
    if (claim::is_over(now->job.state)) return Exit::ok;
    if (delay == kLastLook && quiet++ % kLooksAtWorkers == 0) {
      TORC_ASSIGN(const auto around, report::look_around(app, store, report::AskSlurm::no));
      const std::string stop = say_stop(app, around, *now, shown);
      if (!stop.empty() && !std::exchange(told_stop, true)) say(app.err, "{}", stop);
      if (stop.empty()) told_stop = false;
    }
    app.clock.sleep_for(delay);
  }
}

}  // namespace torc::cli
