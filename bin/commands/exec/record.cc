#include "bin/commands/exec/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "bin/commands/exec/jobs.h"
#include "bin/commands/exec/output.h"
#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

constexpr std::size_t kCopiedAtOnce = 1 << 18;      // bytes
constexpr std::size_t kLongestDirectoryName = 255;  // of a directory, on nearly every filesystem
constexpr const char* kJoblogColumns =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

// One value as the name of a directory.
std::string directory_name(std::string_view value) {
  std::string name;
  for (const char c : value) {
    if (c == '\\') {
      name += "\\\\";
    } else if (c == '/') {
      name += "\\_";
    } else if (c == '\t') {
      name += "\\t";
    } else {
      name += c;
    }
  }
  if (name == "." || name == "..") name.insert(0, 1, '\\');
  return name.substr(0, kLongestDirectoryName);
}

// By its environment; of a job without a value its command is one.
ExecValues values_by_environment(const worker::PreparedJob& job) {
  const auto find = [&](const std::string& variable) -> const std::string* {
    const std::string start = variable + "=";
    const auto& env = job.command.env;
    const auto found = std::find_if(env.begin(), env.end(),
                                    [&](const std::string& e) { return e.starts_with(start); });
    return found == env.end() ? nullptr : &*found;
  };
  const std::string variable(kValueVariable);
  ExecValues values;
  for (int k = 1;; ++k) {
    const std::string name = fmt::format("{}_{}", variable, k);
    const std::string* entry = find(name);
    if (entry == nullptr) break;
    values.push_back(entry->substr(name.size() + 1));
  }
  if (!values.empty()) return values;
  const std::string* only = find(variable);
  const bool by_parameters = only == nullptr && job.name.find('=') != std::string::npos;
  if (by_parameters) return {job.name};
  return {only == nullptr ? job.command.line : only->substr(variable.size() + 1)};
}

// On one line.
std::string on_one_line(std::string_view command) {
  std::string line(command);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

double seconds_since_epoch(WallTime time) {
  return static_cast<double>(time.count()) / 1e6;
}

}  // namespace

std::string results_place(const ExecValues& values) {
  std::string place;
  for (std::size_t i = 0; i < values.size(); ++i)
    place += fmt::format("{}/{}/", i + 1, directory_name(values[i]));
  return place;
}

Result<ExecRecord> ExecRecord::open(const App& app, const ExecOptions& o) {
  ExecRecord record(app);
  if (!o.results.empty()) record.results_ = (app.directory / o.results).lexically_normal();
  if (o.joblog.empty()) return record;
  record.log_name_ = o.joblog;
  const bool goes_on = o.resume || o.resume_failed;
  const Path path = app.directory / o.joblog;
  record.log_.reset(std::fopen(path.c_str(), goes_on ? "ae" : "we"));
  if (record.log_ == nullptr) {
    const int why = errno;
    Error error = os_error(why, fmt::format("cannot write '{}'", o.joblog),
                           "--joblog FILE names a file in a directory that is there");
    error.kind = ErrorKind::invalid;
    return error;
  }
  // Where it is appended to, "ae" leaves the position at the end of what is there.
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (unknown || size == 0) (void)write_raw(record.log_.get(), kJoblogColumns);
  (void)std::fflush(record.log_.get());
  return record;
}

void ExecRecord::started(const worker::PreparedJob& job) {
  if (log_ == nullptr && results_.empty()) return;
  Started& started = running_[job.grant.token.job];
  started.command = job.command.line;
  if (!results_.empty()) started.values = values_by_environment(job);
}

void ExecRecord::ended(const worker::JobEnd& job, const Path& directory) {
  const auto found = running_.find(job.token.job);
  if (found == running_.end()) return;
  const Started started = std::move(found->second);
  running_.erase(found);
  const report::AttemptOutput output = output_of(job, directory);
  if (!results_.empty()) write_results(output, started);
  if (log_ == nullptr) return;
  const auto first = reader_.read(output, exec::Stream::out, 0, 1);
  write_line(job, started.command, first && *first ? (*first)->size : 0);
}

void ExecRecord::write_line(const worker::JobEnd& job, const std::string& command,
                            std::uint64_t bytes) {
  const claim::Outcome& o = job.outcome;
  const double runtime =
      std::max(0.0, seconds_since_epoch(o.ended_at) - seconds_since_epoch(o.started_at));
  const bool signaled = o.cause == claim::EndCause::signaled;
  const std::string line = fmt::format("{}\t:\t{:.3f}\t{:10.3f}\t0\t{}\t{}\t{}\t{}\n",
                                       raw(job.token.job), seconds_since_epoch(o.started_at),
                                       runtime, bytes, signaled ? 0 : std::max(o.exit_code, -1),
                                       signaled ? o.signal : 0, on_one_line(command));
  if (!write_raw(log_.get(), line) || std::fflush(log_.get()) != 0)
    complain(log_name_, std::strerror(errno));
}

void ExecRecord::write_results(const report::AttemptOutput& output, const Started& started) {
  const Path place = results_ / results_place(started.values);
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error) return complain(place.string(), error.message());
  for (const exec::Stream stream : exec::kStreams) {
    const Path file = place / (stream == exec::Stream::out ? "stdout" : "stderr");
    if (const auto copied = save(output, stream, file); !copied)
      complain(file.string(), copied.error().what);
  }
  const Path file = place / "seq";
  const std::unique_ptr<std::FILE, Close> seq(std::fopen(file.c_str(), "we"));
  if (seq == nullptr || !write_raw(seq.get(), std::to_string(raw(output.job))))
    complain(file.string(), std::strerror(errno));
}

Result<void> ExecRecord::save(const report::AttemptOutput& output, exec::Stream stream,
                              const Path& file) {
  const std::unique_ptr<std::FILE, Close> to(std::fopen(file.c_str(), "we"));
  if (to == nullptr) return os_error(errno, "it cannot be made", "");
  for (std::uint64_t from = 0;;) {
    TORC_ASSIGN(const auto piece, reader_.read(output, stream, from, kCopiedAtOnce));
    if (!piece || piece->bytes.empty()) break;
    if (!write_raw(to.get(), piece->bytes)) return os_error(errno, "it cannot be written", "");
    from += piece->bytes.size();
  }
  if (std::fflush(to.get()) != 0) return os_error(errno, "it cannot be written", "");
  return {};
}

// Once: what follows would say the same of thousands of jobs.
void ExecRecord::complain(const std::string& file, std::string_view why) {
  if (std::exchange(complained_, true)) return;
  say(app_->err, "torc: cannot write {}: {}; jobs go on, and `torc logs` has their output\n",
      shell_word(file), why);
}

}  // namespace torc::cli
