#include "lib/exec/output/packed_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace torc::exec {
namespace {

constexpr std::size_t at(Stream stream) {
  return static_cast<std::size_t>(stream);
}

}  // namespace

Result<std::unique_ptr<PackedWriter>> PackedWriter::create(OutputDisk& disk, PackedNames names,
                                                           Coherence coherence) {
  std::unique_ptr<PackedWriter> writer(new PackedWriter(disk, std::move(names), coherence));
  // The index first: who finds it knows that this worker packs.
  TORC_ASSIGN(writer->index_, disk.open(writer->names_.index(), OpenAs::log));
  TORC_ASSIGN(writer->data_, disk.open(writer->names_.data(), OpenAs::log));
  return writer;
}

PackedWriter::~PackedWriter() {
  for (const Slot& slot : slots_) {
    for (const int fd : slot.fds) close(fd);
  }
  if (index_ >= 0) close(index_);
  if (data_ >= 0) close(data_);
}

Result<void> PackedWriter::add_slot() {
  Slot slot;
  slot.number = next_slot_++;
  for (const Stream stream : kStreams) {
    auto fd = disk_.open(names_.scratch(slot.number, stream), OpenAs::scratch);
    if (!fd) {
      if (stream == Stream::err) {
        close(slot.fds[at(Stream::out)]);
        (void)disk_.remove(names_.scratch(slot.number, Stream::out));
      }
      return std::move(fd).error();
    }
    slot.fds[at(stream)] = *fd;
  }
  slots_.push_back(slot);
  return {};
}

Result<PackedWriter::Slot*> PackedWriter::free_slot() {
  auto found = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.busy; });
  if (found == slots_.end()) {
    TORC_TRY(add_slot());
    found = slots_.end() - 1;
  }
  // An earlier job may have changed them: they belong to the open file that both share.
  for (const int fd : found->fds) fcntl(fd, F_SETFL, O_APPEND);
  return &*found;
}

Result<PackedWriter::Place> PackedWriter::begin(AttemptKey key) {
  TORC_ASSIGN(Slot* const slot, free_slot());
  PackedRecord record;
  record.key = key;
  record.place = slot->number;
  TORC_TRY(note(encode(record)));
  slot->busy = true;
  slot->key = key;
  return Place{slot->number, slot->fds[at(Stream::out)], slot->fds[at(Stream::err)]};
}

// A place in the index is used once, also when only a part of the records could be written:
// somebody may have read that part.
Result<void> PackedWriter::note(std::string_view records) {
  const std::uint64_t place = std::exchange(index_size_, index_size_ + records.size());
  TORC_TRY(named(names_.index(), disk_.write_at(index_, records, place)));
  if (coherence_ == Coherence::delayed) TORC_TRY(named(names_.index(), disk_.sync(index_)));
  return {};
}

Result<void> PackedWriter::end(std::uint32_t number, Keep keep) {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.number == number; });
  Slot& slot = *found;
  std::uint64_t sizes[2] = {0, 0};
  Result<void> done;
  for (const Stream stream : kStreams) {
    auto size = disk_.size(slot.fds[at(stream)]);
    if (size) {
      sizes[at(stream)] = *size;
    } else if (done) {
      done = named(names_.scratch(number, stream), std::move(size).error());
    }
  }
  if (done && keep == Keep::yes) done = pack(slot, sizes);
  if (done) done = empty(slot, sizes);
  slot.busy = false;
  // What could not be packed stays where it is, under the last name that the index knows for it: no
  // other attempt gets this slot.
  if (!done || slot.gone[0] || slot.gone[1]) retire(found);
  return done;
}

Result<void> PackedWriter::pack(Slot& slot, const std::uint64_t (&sizes)[2]) {
  std::string records;
  std::uint64_t end = data_size_;
  for (const Stream stream : kStreams) {
    const std::uint64_t size = sizes[at(stream)];
    if (size == 0) continue;
    // Renaming needs no space, so it is also what is left on a full disk.
    if (size > kLargest || !disk_.copy(slot.fds[at(stream)], size, data_, end)) {
      TORC_TRY(keep_apart(slot, stream));
      continue;
    }
    PackedRecord record{PackedRecord::Kind::kept, stream, slot.key, end,
                        static_cast<std::uint32_t>(size)};
    records += encode(record);
    end += size;
  }
  if (records.empty()) return {};
  if (coherence_ == Coherence::delayed) TORC_TRY(named(names_.data(), disk_.sync(data_)));
  data_size_ = end;  // whether or not it is noted: another attempt gets another place
  return note(records);
}

Result<void> PackedWriter::keep_apart(Slot& slot, Stream stream) {
  TORC_TRY(disk_.rename(names_.scratch(slot.number, stream), names_.own(slot.key, stream)));
  slot.gone[at(stream)] = true;
  return {};
}

Result<void> PackedWriter::empty(Slot& slot, const std::uint64_t (&sizes)[2]) {
  for (const Stream stream : kStreams) {
    if (sizes[at(stream)] == 0 || slot.gone[at(stream)]) continue;
    TORC_TRY(named(names_.scratch(slot.number, stream), disk_.empty(slot.fds[at(stream)])));
  }
  return {};
}

PackedWriter::Slots::iterator PackedWriter::retire(Slots::iterator slot) {
  for (const Stream stream : kStreams) {
    const int fd = slot->fds[at(stream)];
    const auto size = disk_.size(fd);
    if (!slot->gone[at(stream)] && size && *size == 0)
      (void)disk_.remove(names_.scratch(slot->number, stream));
    close(fd);
  }
  return slots_.erase(slot);
}

void PackedWriter::tidy() {
  for (auto slot = slots_.begin(); slot != slots_.end();)
    slot = slot->busy ? std::next(slot) : retire(slot);
}

}  // namespace torc::exec
