#include "bin/commands/exec/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "bin/commands/exec/jobs.h"
#include "bin/commands/exec/output.h"
#include "lib/base/hash.h"
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
  if (name.size() <= kLongestDirectoryName) return name;
  // Values that begin alike have directories of their own all the same.
  const std::string sum = fmt::format(".{:016x}", fnv1a(value));
  return name.substr(0, kLongestDirectoryName - sum.size()) + sum;
}

// The user has named it, and may mean a link or a pipe of his own (or /dev/stdout, which is
// root's). What another user has put there under its name is not written to.
Result<Descriptor> open_joblog(const Path& path, const std::string& name, bool goes_on) {
  const auto refuse = [&](Error error) {
    error.kind = ErrorKind::invalid;
    return error;
  };
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (goes_on ? O_APPEND : O_TRUNC);
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0 || S_ISREG(s.st_mode)) {
    flags |= O_NOFOLLOW;
  } else if (s.st_uid != ::geteuid() && s.st_uid != 0) {
    return refuse(Error{ErrorKind::invalid,
                        fmt::format("cannot write '{}': it is a {} of another user", name,
                                    S_ISLNK(s.st_mode) ? "symbolic link" : "special file"),
                        "remove it, or name another file"});
  }
  Descriptor opened(::open(path.c_str(), flags, 0666));
  if (!opened) {
    return refuse(os_error(errno, fmt::format("cannot write '{}'", name),
                           "--joblog FILE names a file in a directory that is there"));
  }
  return opened;
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
  if (!o.results.empty()) {
    record.results_ =
        std::make_unique<beneath::Root>((app.directory / o.results).lexically_normal());
  }
  if (o.joblog.empty()) return record;
  record.log_name_ = o.joblog;
  const bool goes_on = o.resume || o.resume_failed;
  const Path path = app.directory / o.joblog;
  TORC_ASSIGN(Descriptor opened, open_joblog(path, o.joblog, goes_on));
  record.log_.reset(::fdopen(opened.get(), goes_on ? "a" : "w"));
  if (record.log_ == nullptr) return os_error(errno, fmt::format("cannot write '{}'", o.joblog));
  (void)opened.release();
  // Where it is appended to, "a" leaves the position at the end of what is there.
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (unknown || size == 0) (void)write_raw(record.log_.get(), kJoblogColumns);
  (void)std::fflush(record.log_.get());
  return record;
}

void ExecRecord::started(const worker::PreparedJob& job) {
  if (log_ == nullptr && results_ == nullptr) return;
  Started& started = running_[job.grant.token.job];
  started.command = job.command.line;
  if (results_ != nullptr) started.values = values_by_environment(job);
}

void ExecRecord::ended(const worker::JobEnd& job, const Path& directory) {
  const auto found = running_.find(job.token.job);
  if (found == running_.end()) return;
  const Started started = std::move(found->second);
  running_.erase(found);
  const report::AttemptOutput output = output_of(job, directory);
  if (results_ != nullptr) write_results(output, started);
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
  const Path place = Path(results_place(started.values)).parent_path().lexically_normal();
  std::error_code error;
  std::filesystem::create_directories(results_->path(), error);
  if (const auto made = beneath::make_directories(*results_, place); error || !made)
    return complain(results_->path() / place, error ? error.message() : made.error().what);
  const auto write = [&](const Path& file, const auto& save) {
    const auto written = save(file);
    if (!written) complain(results_->path() / file, written.error().what);
  };
  for (const exec::Stream stream : exec::kStreams) {
    write(place / (stream == exec::Stream::out ? "stdout" : "stderr"),
          [&](const Path& file) { return save(output, stream, file); });
  }
  write(place / "seq", [&](const Path& file) -> Result<void> {
    TORC_ASSIGN(const auto seq, make_file(file));
    if (!write_raw(seq.get(), std::to_string(raw(output.job))))
      return os_error(errno, "it cannot be written", "");
    return {};
  });
}

// Whoever may write below the directory may have put a link or a fifo there.
Result<std::unique_ptr<std::FILE, ExecRecord::Close>> ExecRecord::make_file(
    const Path& file) const {
  TORC_ASSIGN(Descriptor made, beneath::open_fresh(*results_, file, O_WRONLY));
  std::unique_ptr<std::FILE, Close> stream(::fdopen(made.get(), "w"));
  if (stream == nullptr) return os_error(errno, "it cannot be made", "");
  (void)made.release();
  return stream;
}

Result<void> ExecRecord::save(const report::AttemptOutput& output, exec::Stream stream,
                              const Path& file) {
  TORC_ASSIGN(const auto to, make_file(file));
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
void ExecRecord::complain(const Path& file, std::string_view why) {
  if (std::exchange(complained_, true)) return;
  say(app_->err, "torc: cannot write {}: {}; jobs go on, and `torc logs` has their output\n",
      shell_word(file.string()), why);
}

}  // namespace torc::cli
