#include "lib/exec/output/packed_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace torc::exec {
namespace {

// A job that writes and ends while its output is read is looked for in the next place; more often
// than this none can move.
constexpr int kMostMoves = 4;
constexpr std::size_t kIndexStep = kPackedRecordBytes << 15;

Result<std::string> read_at(int fd, const std::filesystem::path& file, std::uint64_t from,
                            std::size_t most) {
  std::string bytes(most, '\0');
  std::size_t done = 0;
  while (done < most) {
    const ssize_t n = pread(fd, bytes.data() + done, most - done, static_cast<off_t>(from + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, "cannot read " + file.string());
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

Result<std::optional<FilePart>> read_part(const beneath::Root& root,
                                          const std::filesystem::path& file, std::uint64_t begin,
                                          std::optional<std::uint64_t> length, std::uint64_t from,
                                          std::size_t most) {
  const std::filesystem::path name = beneath::name_below(root.path(), file);
  if (name.empty())
    return Error{ErrorKind::invalid, file.string() + " is not below " + root.path().string(), ""};
  // Opened anew each time: that is when NFS asks the server what is new.
  const Result<Descriptor> opened = beneath::open_file(root, name, O_RDONLY);
  if (!opened.ok()) {
    const int e = opened.error().os_errno;
    if (e == ENOENT || e == ENOTDIR) return std::optional<FilePart>();
    return opened.error();
  }
  const int fd = opened->get();
  struct stat about {};
  if (fstat(fd, &about) != 0) return os_error(errno, "cannot read " + file.string());
  const auto end = static_cast<std::uint64_t>(about.st_size);
  FilePart part;
  part.size = end > begin ? std::min(end - begin, length.value_or(end)) : 0;
  if (from < part.size) {
    const std::size_t want = std::min<std::uint64_t>(most, part.size - from);
    TORC_ASSIGN(part.bytes, read_at(fd, file, begin + from, want));
  }
  return std::optional(std::move(part));
}

void PackedReader::take(Index& index, const PackedRecord& record) {
  Attempt& attempt = index.attempts[record.key];
  if (record.kind == PackedRecord::Kind::kept) {
    attempt.parts[static_cast<std::size_t>(record.stream)] = {record.place, record.length};
    return;
  }
  attempt = {static_cast<std::uint32_t>(record.place), {}};
  index.slots[attempt.slot] = record.key;
}

Result<PackedReader::Index*> PackedReader::refresh(std::uint64_t worker) {
  Index& index = indexes_[worker];
  const std::filesystem::path file = PackedNames{directory_, worker}.index();
  for (;;) {
    TORC_ASSIGN(const std::optional<FilePart> part,
                read_part(root_, file, 0, std::nullopt, index.read, kIndexStep));
    if (!part) return &index;
    const std::size_t whole = part->bytes.size() / kPackedRecordBytes * kPackedRecordBytes;
    // Damaged ones at the end may only be under way: they are read again the next time.
    std::size_t good = 0;
    for (std::size_t at = 0; at < whole; at += kPackedRecordBytes) {
      const auto record =
          decode_packed(std::string_view(part->bytes).substr(at, kPackedRecordBytes));
      if (!record) continue;
      take(index, *record);
      good = at + kPackedRecordBytes;
    }
    // A whole step of damage is a hole, and may be of any size: nothing is looked for behind it.
    const bool more = whole == kIndexStep && good > 0;
    index.read += more ? whole : good;
    if (!more) return &index;
  }
}

Result<std::optional<std::uint64_t>> PackedReader::worker_of(AttemptKey key) {
  std::optional<std::uint64_t> newest;
  const auto names = beneath::list(root_, beneath::name_below(root_.path(), directory_));
  if (!names.ok() && names.error().kind == ErrorKind::not_found) return newest;
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    auto worker = worker_of_own(name, key);
    if (!worker) {
      worker = worker_of_index(name);
      if (!worker || (newest && *worker < *newest)) continue;
      TORC_ASSIGN(const Index* const index, refresh(*worker));
      if (!index->attempts.contains(key)) continue;
    }
    newest = std::max(newest, worker);
  }
  return newest;
}

const PackedReader::Attempt* PackedReader::holder(const Index& index, AttemptKey key,
                                                  Stream stream) {
  const auto attempt = index.attempts.find(key);
  if (attempt == index.attempts.end()) return nullptr;
  if (attempt->second.parts[static_cast<std::size_t>(stream)].length > 0) return nullptr;
  const auto slot = index.slots.find(attempt->second.slot);
  return slot != index.slots.end() && slot->second == key ? &attempt->second : nullptr;
}

Result<PackedReader::Chunk> PackedReader::read(std::uint64_t worker, AttemptKey key, Stream stream,
                                               std::uint64_t from, std::size_t most) {
  const PackedNames names{directory_, worker};
  const std::filesystem::path own = names.own(key, stream);
  const auto chunk_of = [](FilePart part, std::filesystem::path file) {
    return Chunk{std::move(part.bytes), part.size, true, std::move(file)};
  };
  for (int moves = 0; moves < kMostMoves; ++moves) {
    TORC_ASSIGN(const Index* const index, refresh(worker));
    const auto attempt = index->attempts.find(key);
    const bool begun = attempt != index->attempts.end();
    const Part kept = begun ? attempt->second.parts[static_cast<std::size_t>(stream)] : Part();
    if (kept.length > 0) {
      TORC_ASSIGN(std::optional<FilePart> part,
                  read_part(root_, names.data(), kept.offset, kept.length, from, most));
      if (part) return chunk_of(*std::move(part), names.data());
      return Chunk{{}, 0, true, {}};
    }
    TORC_ASSIGN(std::optional<FilePart> apart, read_part(root_, own, 0, std::nullopt, from, most));
    if (apart) return chunk_of(*std::move(apart), own);
    const Attempt* const before = holder(*index, key, stream);
    if (before == nullptr) return Chunk{{}, 0, begun, {}};
    const std::filesystem::path scratch = names.scratch(before->slot, stream);
    TORC_ASSIGN(std::optional<FilePart> part,
                read_part(root_, scratch, 0, std::nullopt, from, most));
    // It is this attempt's if it still was afterwards: before it is emptied for another one, its
    // content is noted, or it has got the attempt's own name.
    TORC_ASSIGN(const Index* const after, refresh(worker));
    if (holder(*after, key, stream) == nullptr) continue;
    if (part) return chunk_of(*std::move(part), scratch);
    TORC_ASSIGN(apart, read_part(root_, own, 0, std::nullopt, 0, 0));
    if (!apart) return Chunk{{}, 0, true, {}};
  }
  return Chunk{{}, 0, true, {}};
}

}  // namespace torc::exec
