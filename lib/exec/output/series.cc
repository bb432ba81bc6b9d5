#include "lib/exec/output/series.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "lib/base/codec.h"
#include "lib/exec/output/packed_reader.h"

namespace torc::exec {
namespace {

using std::chrono::microseconds;

enum Kind : std::uint8_t { kBegin = 1, kPoint = 2, kPointWithIo = 3, kEnd = 4 };

constexpr std::size_t kFrameHead = 8;    // checksum and length of what follows
constexpr std::size_t kIndexEntry = 28;  // see encode()
constexpr std::size_t kReadAtOnce = 1 << 20;
constexpr std::uint32_t kLongestFrame = 1 << 24;
constexpr std::int64_t kMilli = 1000;  // microseconds
constexpr std::int64_t kCenti = 10'000;
// Sums and differences of times are reckoned without a look whether they fit.
constexpr microseconds kMostTime = std::chrono::hours(24 * 365 * 1000);

SeriesPoint rounded(SeriesPoint p) {
  p.at = WallTime(p.at.count() / kMilli * kMilli);
  p.memory.value = p.memory.value / 1024 * 1024;
  p.cpu_time = microseconds(p.cpu_time.count() / kCenti * kCenti);
  return p;
}

std::int64_t difference(std::uint64_t now, std::uint64_t before) {
  return static_cast<std::int64_t>(now - before);
}
std::uint64_t sum(std::uint64_t before, std::int64_t more) {
  return before + static_cast<std::uint64_t>(more);
}

// false: no worker writes a time that becomes this.
bool add(microseconds& to, std::int64_t more, std::int64_t unit) {
  std::int64_t sum_of_both = 0;
  if (__builtin_mul_overflow(more, unit, &more) ||
      __builtin_add_overflow(to.count(), more, &sum_of_both))
    return false;
  to = microseconds(sum_of_both);
  return to <= kMostTime && to >= -kMostTime;
}

std::string framed(std::string_view payload) {
  Encoder frame;
  frame.be32(checksum(payload)).be32(static_cast<std::uint32_t>(payload.size())).raw(payload);
  return std::move(frame).bytes();
}

struct IndexEntry {
  AttemptKey key;
  std::uint32_t track = 0;
  std::uint64_t offset = 0;
};

std::string encode(const IndexEntry& entry) {
  Encoder body;
  body.be64(entry.key.job).be32(entry.key.attempt).be32(entry.track).be64(entry.offset);
  Encoder out;
  out.be32(checksum(body.bytes())).raw(body.bytes());
  return std::move(out).bytes();
}

std::optional<IndexEntry> decode_entry(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint32_t sum_of_rest = in.be32();
  if (!in.ok() || checksum(in.rest()) != sum_of_rest) return std::nullopt;
  IndexEntry entry;
  entry.key.job = in.be64();
  entry.key.attempt = in.be32();
  entry.track = in.be32();
  entry.offset = in.be64();
  if (!in.ok()) return std::nullopt;
  return entry;
}

// The last entry of the attempt. Damaged ones are passed over, but not a whole piece of them: that
// is a hole, and may be of any size.
Result<std::optional<IndexEntry>> find_entry(const beneath::Root& root,
                                             const std::filesystem::path& index, AttemptKey key) {
  std::optional<IndexEntry> found;
  for (std::uint64_t from = 0;;) {
    constexpr std::size_t kPiece = kReadAtOnce / kIndexEntry * kIndexEntry;
    TORC_ASSIGN(const auto part, read_part(root, index, 0, std::nullopt, from, kPiece));
    if (!part) return found;
    std::string_view rest = part->bytes;
    bool any = false;
    for (; rest.size() >= kIndexEntry; rest.remove_prefix(kIndexEntry)) {
      const auto entry = decode_entry(rest.substr(0, kIndexEntry));
      any = any || entry;
      if (entry && entry->key == key) found = entry;
    }
    if (part->bytes.size() < kPiece || !any) return found;
    from += kPiece;
  }
}

// Reads the records of one track, frame by frame.
class TrackReader {
 public:
  explicit TrackReader(std::uint64_t track) : track_(track) {}

  // False: nothing more is to come.
  bool take(std::string_view payload) {
    Decoder in(payload);
    while (in.ok() && !in.at_end()) {
      const std::uint8_t kind = in.u8();
      const std::uint64_t track = in.varint();
      if (kind == kEnd) {
        if (track == track_) return false;
      } else if (kind == kBegin) {
        WallTime at{};
        if (!add(at, static_cast<std::int64_t>(in.varint()), kMilli)) return false;
        if (track == track_) last_.at = at;
      } else if (kind == kPoint || kind == kPointWithIo) {
        if (!take_point(in, track, kind == kPointWithIo)) return false;
      } else {
        return false;
      }
    }
    return in.ok();
  }
  std::vector<SeriesPoint> points;

 private:
  // False: no worker writes such a point.
  bool take_point(Decoder& in, std::uint64_t track, bool with_io) {
    SeriesPoint p = last_;
    const std::int64_t passed = in.svarint();
    p.memory.value += static_cast<std::uint64_t>(in.svarint()) * 1024;
    const std::int64_t used = in.svarint();
    p.processes = static_cast<std::uint32_t>(sum(p.processes, in.svarint()));
    if (with_io) {
      if (!p.io) p.io = Traffic{};
      p.io->read.value = sum(p.io->read.value, in.svarint());
      p.io->written.value = sum(p.io->written.value, in.svarint());
    }
    if (!in.ok() || track != track_) return true;
    if (!add(p.at, passed, kMilli) || !add(p.cpu_time, used, kCenti)) return false;
    points.push_back(p);
    if (!with_io) points.back().io.reset();
    last_ = p;
    return true;
  }

  std::uint64_t track_;
  SeriesPoint last_;
};

}  // namespace

std::filesystem::path series_directory(const std::filesystem::path& output_directory) {
  return output_directory / "series";
}

Result<std::unique_ptr<SeriesWriter>> SeriesWriter::create(OutputDisk& disk,
                                                           const SeriesNames& names) {
  TORC_ASSIGN(const int index, disk.open(names.index(), OpenAs::log));
  auto data = disk.open(names.data(), OpenAs::log);
  if (!data) {
    close(index);
    return std::move(data).error();
  }
  return std::unique_ptr<SeriesWriter>(new SeriesWriter(disk, names, index, *data));
}

SeriesWriter::~SeriesWriter() {
  close(index_);
  close(data_);
}

void SeriesWriter::put(std::string& payload, Track& track, const SeriesPoint& point) {
  const SeriesPoint now = rounded(point);
  const SeriesPoint& last = track.last;
  Encoder out;
  out.u8(now.io ? kPointWithIo : kPoint).varint(track.number);
  out.svarint((now.at - last.at).count() / kMilli);
  out.svarint(difference(now.memory.value, last.memory.value) / 1024);
  out.svarint((now.cpu_time - last.cpu_time).count() / kCenti);
  out.svarint(difference(now.processes, last.processes));
  const Traffic before = last.io.value_or(Traffic{});
  if (now.io) {
    out.svarint(difference(now.io->read.value, before.read.value));
    out.svarint(difference(now.io->written.value, before.written.value));
  }
  payload += out.bytes();
  const std::optional<Traffic> io = now.io ? now.io : last.io;
  track.last = now;
  track.last.io = io;
}

Result<void> SeriesWriter::add(const std::vector<std::pair<AttemptKey, SeriesPoint>>& points) {
  std::string payload = std::exchange(ended_, {});
  std::string entries;
  for (const auto& [key, point] : points) {
    const auto [at, fresh] = tracks_.try_emplace(key);
    if (fresh) {
      at->second.number = ++last_track_;
      at->second.last.at = rounded(point).at;
      Encoder begin;
      begin.u8(kBegin).varint(last_track_);
      begin.varint(static_cast<std::uint64_t>(at->second.last.at.count() / kMilli));
      payload += begin.bytes();
      entries += encode(IndexEntry{key, static_cast<std::uint32_t>(last_track_), data_size_});
    }
    put(payload, at->second, point);
  }
  if (payload.empty()) return {};
  const std::string frame = framed(payload);
  TORC_TRY(named(names_.data(), disk_.write_at(data_, frame, data_size_)));
  data_size_ += frame.size();
  if (entries.empty()) return {};
  TORC_TRY(named(names_.index(), disk_.write_at(index_, entries, index_size_)));
  index_size_ += entries.size();
  return {};
}

void SeriesWriter::end(AttemptKey key) {
  const auto at = tracks_.find(key);
  if (at == tracks_.end()) return;
  Encoder out;
  out.u8(kEnd).varint(at->second.number);
  ended_ += out.bytes();
  tracks_.erase(at);
}

Result<std::optional<std::vector<SeriesPoint>>> read_series(const beneath::Root& root,
                                                            const SeriesNames& names,
                                                            AttemptKey key) {
  TORC_ASSIGN(const auto entry, find_entry(root, names.index(), key));
  if (!entry) return std::optional<std::vector<SeriesPoint>>();
  TrackReader reader(entry->track);
  std::string bytes;  // not yet taken, from `next` of the file on
  for (std::uint64_t next = entry->offset;;) {
    TORC_ASSIGN(const auto part, read_part(root, names.data(), 0, std::nullopt, next, kReadAtOnce));
    if (!part || part->bytes.empty()) return std::optional(std::move(reader.points));
    bytes += part->bytes;
    next += part->bytes.size();
    std::string_view rest = bytes;
    while (rest.size() >= kFrameHead) {
      Decoder head(rest);
      const std::uint32_t sum_of_rest = head.be32();
      const std::uint32_t length = head.be32();
      // Zeros have the checksum of an empty frame, and where nothing was written there are as many
      // as somebody wants.
      if (length == 0 || length > kLongestFrame) return std::optional(std::move(reader.points));
      if (rest.size() - kFrameHead < length) break;
      const std::string_view payload = rest.substr(kFrameHead, length);
      if (checksum(payload) != sum_of_rest || !reader.take(payload))
        return std::optional(std::move(reader.points));
      rest.remove_prefix(kFrameHead + length);
    }
    bytes.erase(0, bytes.size() - rest.size());
  }
}

Result<std::optional<std::uint64_t>> series_worker(const beneath::Root& root,
                                                   const std::filesystem::path& directory,
                                                   AttemptKey key) {
  std::optional<std::uint64_t> newest;
  const auto names = beneath::list(root, beneath::name_below(root.path(), directory));
  if (!names.ok() && names.error().kind == ErrorKind::not_found) return newest;
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    const auto worker = worker_of_index(name);
    if (!worker) continue;
    TORC_ASSIGN(const auto entry, find_entry(root, directory / name, key));
    if (entry) newest = std::max(newest, worker);
  }
  return newest;
}

}  // namespace torc::exec
