#include "lib/store/format/journal.h"

#include <algorithm>
#include <cerrno>
#include <functional>

#include "lib/base/number.h"
#include "lib/store/disk/file_parts.h"

namespace torc::store {
namespace {

constexpr std::size_t kDigits = 12;
constexpr std::size_t kMostOfACommit = kMostWrites + (std::size_t{1} << 20);

}  // namespace

std::uint64_t first_missing(const std::vector<std::uint64_t>& numbers, std::uint64_t from,
                            std::uint64_t to) {
  for (std::uint64_t n = std::max<std::uint64_t>(from, 1); n <= to; ++n) {
    if (!std::binary_search(numbers.begin(), numbers.end(), n)) return n;
  }
  return 0;
}

std::string number_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return digits;
}

std::optional<std::uint64_t> number_of(std::string_view name) {
  const auto number = whole_number<std::uint64_t>(name);
  return number && number_name(*number) == name ? number : std::nullopt;
}

std::string SnapshotName::text() const {
  return number_name(sequence) + "-" + to_hex(chain);
}

std::optional<SnapshotName> snapshot_name_of(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = number_of(name.substr(0, dash));
  SnapshotName out;
  if (!number || !from_hex(name.substr(dash + 1), out.chain)) return std::nullopt;
  out.sequence = *number;
  return out;
}

std::string SegmentName::text() const {
  return number_name(first) + "-" + std::to_string(count);
}

std::optional<SegmentName> segment_name_of(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = number_of(name.substr(0, dash));
  SegmentName out;
  out.count = leading_number<decltype(out.count)>(name.substr(dash + 1)).value_or(0);
  if (!first || out.count == 0) return std::nullopt;
  if (out.count - 1 > UINT64_MAX - *first) return std::nullopt;  // beyond the last number there is
  out.first = *first;
  return out.text() == name ? std::optional(out) : std::nullopt;
}

Path Journal::directory_of(std::uint64_t sequence) const {
  return journal_directory() / number_name(first_of_directory(sequence));
}

Path Journal::commit_path(std::uint64_t sequence) const {
  return publisher_.content(directory_of(sequence), number_name(sequence));
}

Path Journal::snapshot_path(const SnapshotName& name) const {
  return publisher_.content(snapshot_directory(), name.text());
}

Path Journal::segment_path(const SegmentName& name) const {
  return segment_directory() / name.text();
}

Result<std::vector<std::uint64_t>> Journal::numbers_in(std::uint64_t first) {
  TORC_ASSIGN(const std::vector<std::string> names, list_directory(*disk_, directory_of(first)));
  std::vector<std::uint64_t> out;
  for (const std::string& name : names) {
    const auto number = number_of(name);
    if (number && first_of_directory(*number) == first_of_directory(first)) out.push_back(*number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<std::uint64_t>> Journal::numbers_beside(std::uint64_t sequence) {
  Result<std::vector<std::uint64_t>> numbers = numbers_in(sequence);
  if (numbers.ok()) return numbers;
  Error error = std::move(numbers).error();
  if (error.os_errno == ESTALE) error.kind = ErrorKind::not_found;
  return error;
}

Result<bool> Journal::is_there(std::uint64_t sequence) {
  const Result<FileHandle> handle = disk_->open_read(commit_path(sequence));
  if (handle.ok()) {
    (void)disk_->close(*handle);
    return true;
  }
  const int e = handle.error().os_errno;
  if (e == ENOENT || e == ENOTDIR || e == ESTALE) return false;
  return handle.error();
}

bool Journal::refresh(const Path& directory) {
  return publisher_.touch(directory).ok();
}

Result<std::string> Journal::read_bytes(std::uint64_t sequence) {
  return read_file(*disk_, commit_path(sequence), kMostOfACommit);
}

Result<std::string> Journal::read_bytes_anew(std::uint64_t sequence) {
  const Path directory = directory_of(sequence);
  // Where nothing can be made a listing is the best there is: it clears what was remembered of
  // names, unless it is old itself.
  Result<void> touched = publisher_.touch(directory);
  if (!touched.ok() && touched.error().kind == ErrorKind::not_found) {
    // That the directory is absent may be what this client remembers, too.
    (void)publisher_.touch(journal_directory());
    (void)list_directory(*disk_, journal_directory());
    touched = publisher_.touch(directory);
  }
  const Result<std::vector<std::string>> names = list_directory(*disk_, directory);
  Result<std::string> bytes = read_bytes(sequence);
  if (bytes.ok() || bytes.error().kind != ErrorKind::not_found) return bytes;
  if (!touched.ok() && touched.error().kind != ErrorKind::not_found) return touched.error();
  // Listed by a client that asked anew, and not there for the same one: no answer to build on.
  // (With primitive rename-dir the name is a directory, and what is not there is the file inside.)
  const std::string name = number_name(sequence);
  const bool by_file = publisher_.method().primitive != Primitive::rename_directory;
  if (by_file && names.ok() && std::find(names->begin(), names->end(), name) != names->end()) {
    return Error{ErrorKind::busy,
                 commit_path(sequence).string() + " is listed and cannot be opened",
                 "try again in a few seconds", ENOENT};
  }
  return bytes;
}

Result<CommitFile> Journal::read_anew(std::uint64_t sequence) {
  TORC_ASSIGN(std::string bytes, read_bytes_anew(sequence));
  return decode_large_commit(id_, sequence, std::move(bytes), commit_path(sequence));
}

Result<CommitFile> Journal::read(std::uint64_t sequence, std::string* bytes) {
  const Path file = commit_path(sequence);
  FileParts parts(*disk_, file, kMostOfACommit);
  CommitDecoder decoder(id_, sequence);
  for (;;) {
    TORC_ASSIGN(std::string part, parts.next());
    if (part.empty() || !decoder.add(part)) break;
    if (part.size() == FileParts::kPart) {
      bytes = nullptr;
    } else {
      if (bytes != nullptr) *bytes = std::move(part);
      break;
    }
  }
  return std::move(decoder).finish(file);
}

Result<Publication> Journal::publish(std::uint64_t sequence, std::string_view bytes) {
  // See the head of journal.h: the next directory is there before the last number of this one.
  if (first_of_directory(sequence + 1) == sequence + 1) {
    if (Result<void> made = make_directory_of(sequence + 1); !made.ok()) {
      return Publication{Publication::State::absent, std::move(made).error(), false};
    }
  }
  // The commit before this one may be visible and not yet durable; whoever makes this one durable
  // must not leave a hole before it. Within one directory the sync of this one covers that.
  if (first_of_directory(sequence) == sequence && publisher_.durable() == Durable::yes &&
      publisher_.method().name == DurableName::directory) {
    const Result<void> synced = disk_->sync_directory(directory_of(sequence - 1));
    if (!synced.ok() && synced.error().os_errno != ENOENT)
      return Publication{Publication::State::absent, synced.error(), false};
  }
  return publisher_.publish(directory_of(sequence), number_name(sequence), bytes);
}

Result<void> Journal::remove(std::uint64_t sequence) {
  return publisher_.remove(directory_of(sequence), number_name(sequence));
}

Result<void> Journal::make_directory_of(std::uint64_t sequence) {
  Result<void> made = disk_->make_directory(directory_of(sequence));
  if (!made.ok() && made.error().os_errno != EEXIST) return made;
  if (publisher_.method().name == DurableName::server) return {};
  return publisher_.durable() == Durable::yes ? disk_->sync_directory(journal_directory())
                                              : Result<void>();
}

Result<std::vector<std::uint64_t>> Journal::directories() {
  TORC_ASSIGN(const std::vector<std::string> names, list_directory(*disk_, journal_directory()));
  std::vector<std::uint64_t> out;
  for (const std::string& name : names) {
    const auto number = number_of(name);
    if (number && first_of_directory(*number) == *number) out.push_back(*number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<SnapshotName>> Journal::snapshots() {
  TORC_ASSIGN(const std::vector<std::string> names, list_directory(*disk_, snapshot_directory()));
  std::vector<SnapshotName> out;
  for (const std::string& name : names) {
    if (const auto parsed = snapshot_name_of(name)) out.push_back(*parsed);
  }
  std::sort(out.begin(), out.end(),
            [](const SnapshotName& a, const SnapshotName& b) { return a.sequence > b.sequence; });
  return out;
}

Result<std::vector<SegmentName>> Journal::segments() {
  TORC_ASSIGN(const std::vector<std::string> names, disk_->list(segment_directory()));
  std::vector<SegmentName> out;
  for (const std::string& name : names) {
    if (const auto parsed = segment_name_of(name)) out.push_back(*parsed);
  }
  std::sort(out.begin(), out.end(), [](const SegmentName& a, const SegmentName& b) {
    return std::pair(a.first, a.count) < std::pair(b.first, b.count);
  });
  return out;
}

Result<SnapshotName> Journal::newest_snapshot() {
  TORC_ASSIGN(const std::vector<SnapshotName> all, snapshots());
  return all.empty() ? SnapshotName{} : all.front();
}

}  // namespace torc::store
