#include "lib/worker/loop/output_signs.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/exec/output/packed_reader.h"

namespace torc::worker {
namespace {

using exec::Ending;
using exec::Stream;
using report::Finding;

// Why it ended, as far as a diagnosis goes by it; nullopt: nobody needs to look for a reason.
std::optional<claim::Outcome> outcome_of(const exec::Ended& how, const Load& load) {
  claim::Outcome o;
  o.exit_code = how.exit_code;
  o.signal = how.signal;
  if (how.how == Ending::signaled) {
    o.cause = claim::EndCause::signaled;
    return o;
  }
  const int goes_on = load.job.checkpoint_exit_code;
  if (how.how != Ending::exited || how.exit_code == 0) return std::nullopt;
  if (goes_on != 0 && how.exit_code == goes_on) return std::nullopt;
  o.cause = claim::EndCause::exited;
  return o;
}

// At most `most` bytes from `from` on, and the size of all that there is.
struct Piece {
  std::string bytes;
  std::uint64_t size = 0;
};
using ReadPiece = std::function<std::optional<Piece>(std::uint64_t from, std::uint64_t most)>;

std::optional<Piece> read_open(int fd, std::uint64_t from, std::uint64_t most) {
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return std::nullopt;
  Piece piece{{}, static_cast<std::uint64_t>(size)};
  piece.bytes.resize(std::min(most, piece.size - std::min(from, piece.size)));
  std::size_t got = 0;
  while (got < piece.bytes.size()) {
    const ssize_t n = pread(fd, piece.bytes.data() + got, piece.bytes.size() - got,
                            static_cast<off_t>(from + got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  piece.bytes.resize(got);
  return piece;
}

// Of a packed output the descriptors, which are those of this attempt alone; else the files.
ReadPiece reader_of(const Load& load, const exec::OutputRoot& root, Stream stream) {
  const bool is_err = stream == Stream::err;
  if (load.output.slot) {
    const int fd = is_err ? load.job.command.stderr_fd : load.job.command.stdout_fd;
    return [fd](std::uint64_t from, std::uint64_t most) { return read_open(fd, from, most); };
  }
  const std::string& file = is_err ? load.output.files.err : load.output.files.out;
  if (file.empty()) return {};
  return [&root, file](std::uint64_t from, std::uint64_t most) -> std::optional<Piece> {
    auto part = exec::read_part(root.path, file, 0, std::nullopt, from, most);
    if (!part.ok() || !*part) return std::nullopt;
    return Piece{std::move((*part)->bytes), (*part)->size};
  };
}

}  // namespace

claim::Trouble OutputSigns::said_by(const exec::Ended& how, const Load& load,
                                    const exec::OutputRoot& root) {
  const auto outcome = outcome_of(how, load);
  if (!outcome || load.job.rank != 0) return claim::Trouble::unknown;
  if (scan_ == nullptr) scan_ = std::make_unique<report::LogScan>();
  std::vector<Finding> found;
  const auto take = [&](std::string_view text, Stream stream) {
    for (report::Sign& sign : scan_->signs_in(text))
      found.push_back({sign.cause, false, std::move(sign.line), stream});
  };
  const bool is_combined = !load.output.slot && load.output.files.err == load.output.files.out;
  // Errors are told on the standard error first of all.
  for (const Stream stream : {Stream::err, Stream::out}) {
    if (stream == Stream::err && is_combined) continue;
    const ReadPiece read = reader_of(load, root, stream);
    const auto whole = read ? read(0, 2 * kMostRead) : std::nullopt;
    if (!whole) continue;
    if (whole->size <= 2 * kMostRead) {
      take(whole->bytes, stream);
      continue;
    }
    take(std::string_view(whole->bytes).substr(0, kMostRead), stream);
    // What it begins with is the rest of a line.
    const auto end = read(whole->size - kMostRead, kMostRead);
    if (!end) continue;
    std::string_view text = end->bytes;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    take(text, stream);
  }
  return report::said_by(report::weighed(std::move(found), &*outcome));
}

}  // namespace torc::worker
