#include "lib/worker/jobs/output_keeper.h"

#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace torc::worker {
namespace {

// Of statfs(2): those whose clients keep what they write, and tell the server later.
bool is_delayed(const Path& directory) {
  struct statfs about {};
  if (statfs(directory.c_str(), &about) != 0) return true;
  switch (static_cast<std::uint64_t>(about.f_type) & 0xFFFFFFFF) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFE534D42:  // SMB 2
    case 0xFF534D42:  // CIFS
    case 0x01021997:  // 9p
    case 0x5346414F:  // AFS
    case 0x65735546:  // FUSE: nobody knows
      return true;
    default:
      return false;
  }
}

exec::AttemptKey key_of(const PreparedJob& job) {
  return {raw(job.grant.token.job), job.grant.token.attempt, static_cast<std::uint16_t>(job.rank)};
}

}  // namespace

OutputKeeper::OutputKeeper(const exec::OutputRoot& root, Path directory, std::uint64_t worker,
                           std::function<void(const std::string&)> notice)
    : directory_(std::move(directory)),
      names_{exec::packed_directory(directory_), worker},
      notice_(std::move(notice)),
      disk_(root) {}

HeldOutput OutputKeeper::open(PreparedJob& job) {
  HeldOutput held;
  held.files = job.files;
  held.delete_on_success = job.stdio.delete_on_success;
  if (job.stdio.mode != spec::StdioMode::packed) {
    use_files(job, held);
  } else if (!pack(job, held)) {
    const exec::AttemptKey key = key_of(job);
    held.files = {names_.own(key, exec::Stream::out), names_.own(key, exec::Stream::err)};
    job.command.stdout_path = held.files.out;
    job.command.stderr_path = held.files.err;
    use_files(job, held);
  }
  return held;
}

bool OutputKeeper::pack(PreparedJob& job, HeldOutput& held) {
  std::string why;
  if (packed_ == nullptr && !cannot_pack_) {
    (void)disk_.make_directories(names_.directory);  // else the next step says why
    auto made = exec::PackedWriter::create(
        disk_, names_,
        is_delayed(names_.directory) ? exec::Coherence::delayed : exec::Coherence::ordered);
    if (made) {
      packed_ = *std::move(made);
    } else {
      cannot_pack_ = true;
      why = made.error().what;
    }
  }
  if (packed_ != nullptr) {
    auto place = packed_->begin(key_of(job));
    if (place) {
      held.slot = place->slot;
      job.command.stdout_fd = place->out;
      job.command.stderr_fd = place->err;
      return true;
    }
    why = place.error().what;
  }
  if (!std::exchange(told_, true))
    notice_(fmt::format("output is not packed, but goes to files of its own: {}", why));
  return false;
}

void OutputKeeper::make_parent(const Path& file) {
  const Path parent = file.parent_path();
  if (parent == made_directory_) return;
  if (disk_.make_directories(parent).ok()) made_directory_ = parent;  // else the opening says why
}

// What cannot be opened makes the start fail, which says why.
void OutputKeeper::use_files(PreparedJob& job, HeldOutput& held) {
  const OutputFiles& files = held.files;
  if (files.out.empty() && files.err.empty()) return;
  make_parent(files.out.empty() ? files.err : files.out);
  const auto open_one = [&](const std::string& file, int& fd, int& os_errno) {
    if (file.empty()) return;
    const auto opened = spares_.open(file);
    if (opened.ok()) fd = *opened;
    if (!opened.ok()) os_errno = opened.error().os_errno != 0 ? opened.error().os_errno : EINVAL;
  };
  open_one(files.out, held.out, job.command.stdout_errno);
  if (files.err == files.out) {
    held.err = held.out;
  } else {
    open_one(files.err, held.err, job.command.stderr_errno);
  }
  job.command.stdout_fd = held.out;
  job.command.stderr_fd = held.err;
}

void OutputKeeper::close(const HeldOutput& held, bool completed) {
  const bool discard = completed && held.delete_on_success;
  if (held.slot) {
    const auto ended = packed_->end(*held.slot, discard ? exec::Keep::no : exec::Keep::yes);
    if (!ended && !std::exchange(told_, true))
      notice_(fmt::format("output is not packed, but kept in {}: {}", names_.directory.string(),
                          ended.error().what));
    return;
  }
  const auto close_one = [&](int fd, const Path& path) {
    if (fd >= 0 && discard) (void)disk_.empty(fd);
    if (fd >= 0) spares_.give_back(fd, path);
    if (fd >= 0 || path.empty()) return;
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error && (discard || size == 0)) (void)disk_.remove(path);
  };
  close_one(held.out, held.files.out);
  if (held.files.err != held.files.out) close_one(held.err, held.files.err);
}

void OutputKeeper::abandon(const HeldOutput& held) {
  if (held.out >= 0) ::close(held.out);
  if (held.err >= 0 && held.err != held.out) ::close(held.err);
}

void OutputKeeper::tidy() {
  spares_.remove_all();
  if (packed_ != nullptr) packed_->tidy();
}

}  // namespace torc::worker
