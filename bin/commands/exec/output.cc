#include "bin/commands/exec/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/text/quote.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

constexpr std::size_t kReadAtOnce = 1 << 18;  // bytes read at once

}  // namespace

report::AttemptOutput output_of(const worker::JobEnd& job, const Path& directory) {
  report::AttemptOutput output;
  output.job = job.token.job;
  output.attempt = job.token.attempt;
  output.stdio.mode = spec::StdioMode::packed;
  output.worker = job.worker;
  output.directories = {directory};
  return output;
}

void ExecOutput::ended(const worker::JobEnd& job) {
  if (!style_.keep_order) {
    print(job);
    return;
  }
  waits_.insert_or_assign(raw(job.token.job), job);
  for (;; ++next_) {
    if (next_ < over_.size() && over_[next_]) continue;
    const auto first = waits_.find(next_);
    if (first == waits_.end()) return;
    print(first->second);
    waits_.erase(first);
  }
}

void ExecOutput::flush() {
  for (const auto& [number, job] : waits_) print(job);
  waits_.clear();
}

void ExecOutput::print(const worker::JobEnd& job) {
  if (!style_.quiet) {
    const std::string tag = style_.tag ? printable(job.label) + "\t" : "";
    for (const exec::Stream stream : exec::kStreams) copy(job, stream, tag);
    errno = 0;
    if (std::fflush(app_.out) != 0) note_closed();
  }
  if (job.state == claim::JobState::completed) return;
  progress_.hide();
  say(app_.err, "torc: failed: {} (#{}): {}\n", printable(job.label), raw(job.token.job),
      worker::show_outcome(job.outcome));
}

void ExecOutput::copy(const worker::JobEnd& job, exec::Stream stream, const std::string& tag) {
  const report::AttemptOutput output = output_of(job, directory_);
  std::FILE* to = stream == exec::Stream::out ? app_.out : app_.err;
  char last = '\n';
  for (std::uint64_t from = 0;;) {
    auto piece = reader_.read(output, stream, from, kReadAtOnce);
    if (!piece) {
      say(app_.err, "torc: cannot read the output of {} (#{}): {}\n", printable(job.label),
          raw(job.token.job), piece.error().what);
      return;
    }
    if (!*piece || (*piece)->bytes.empty()) break;
    std::string_view text = (*piece)->bytes;
    from += text.size();
    progress_.hide();
    while (!tag.empty() && !text.empty()) {
      if (last == '\n') write(tag, to);
      const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
      write(line, to);
      last = line.back();
      text.remove_prefix(line.size());
    }
    write(text, to);
    if (!text.empty()) last = text.back();
  }
  // Or the next job's first line, or the progress line, would stand behind it.
  const bool shown_on = to == app_.out ? app_.out_is_terminal : app_.err_is_terminal;
  if (last != '\n' && (shown_on || !tag.empty())) write("\n", to);
}

void ExecOutput::write(std::string_view text, std::FILE* to) {
  errno = 0;
  if (!write_raw(to, text) && to == app_.out) note_closed();
}

void ExecOutput::note_closed() {
  if (closed_by_ == 0) closed_by_ = errno != 0 ? errno : EIO;
}

}  // namespace torc::cli
