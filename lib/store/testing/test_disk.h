// A Disk for tests that lets each operation pass, refuses it, lets it happen and loses the answer,
// only pretends, or is gone for good. The real filesystem is below it unless another Disk is given.
#pragma once

#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "lib/store/disk/disk.h"

namespace torc::store::testing {

struct Fate {
  enum class What : std::uint8_t {
    proceed,
    refuse,      // a write that is refused may have written a part
    lose_reply,  // it happens, and an error is told
    pretend,     // success is told; of a write the half has happened, of anything else nothing
    dead         // nothing happens any more: the process is gone
  } what = What::proceed;
  int os_errno = 0;
};
inline Fate proceed() {
  return {};
}
inline Fate refuse(int e) {
  return {Fate::What::refuse, e};
}
inline Fate lose_reply(int e) {
  return {Fate::What::lose_reply, e};
}

inline Fate pretend() {
  return {Fate::What::pretend, 0};
}
inline Fate dead() {
  return {Fate::What::dead, EIO};
}

class FaultyDisk final : public Disk {
 public:
  explicit FaultyDisk(Disk* real = nullptr) : real_(real != nullptr ? *real : posix_) {}

  // Asked before each operation with its name and path (empty for those on a handle).
  using Oracle = std::function<Fate(const std::string& operation, const Path& path)>;
  Oracle oracle = [](const std::string&, const Path&) { return proceed(); };
  // Called after a successful operation, before its caller learns of it.
  std::function<void(const std::string& operation, const Path& path)> after = [](const std::string&,
                                                                                 const Path&) {};
  std::uint64_t operations = 0;
  bool locks_lie = false;             // each host gets every lock at once
  std::uint64_t magic = 0;            // what filesystem() says; 0: the truth
  std::optional<MountTables> tables;  // none: the truth
  std::uint64_t remounts = 0;         // that seem to have been
  std::uint64_t device = 0;           // what status() says; 0: the truth
  std::optional<std::uint64_t> id;    // what filesystem_id() says; none: the truth

  Result<FileHandle> open_read(const Path& p) override {
    return opened("open_read", p, [&] { return real_.open_read(p); });
  }
  Result<FileHandle> open_update(const Path& p) override {
    return opened("open_update", p, [&] { return real_.open_update(p); });
  }
  Result<FileHandle> create(const Path& p) override {
    return opened("create", p, [&] { return real_.create(p); });
  }
  Result<FileHandle> create_unnamed(const Path& p) override {
    return opened("create_unnamed", p, [&] { return real_.create_unnamed(p); });
  }
  Result<std::string> read(FileHandle f, std::uint64_t offset, std::size_t size) override {
    return run<std::string>("read", {}, [&] { return real_.read(f, offset, size); });
  }
  Result<void> write(FileHandle f, std::uint64_t offset, std::string_view bytes) override {
    // A write that fails may have written a part.
    return run<void>(
        "write", {}, [&] { return real_.write(f, offset, bytes); },
        [&] { (void)real_.write(f, offset, bytes.substr(0, bytes.size() / 2)); });
  }
  Result<void> sync(FileHandle f, Sync what) override {
    return run<void>("sync", {}, [&] { return real_.sync(f, what); });
  }
  Result<void> close(FileHandle f) override {
    return run<void>(
        "close", {}, [&] { return real_.close(f); }, [&] { (void)real_.close(f); });
  }
  Result<void> link(const Path& a, const Path& b) override {
    return run<void>("link", b, [&] { return real_.link(a, b); });
  }
  Result<void> link_unnamed(FileHandle f, const Path& p) override {
    return run<void>("link_unnamed", p, [&] { return real_.link_unnamed(f, p); });
  }
  Result<void> unlink(const Path& p) override {
    return run<void>("unlink", p, [&] { return real_.unlink(p); });
  }
  Result<void> make_directory(const Path& p) override {
    return run<void>("make_directory", p, [&] { return real_.make_directory(p); });
  }
  Result<void> remove_directory(const Path& p) override {
    return run<void>("remove_directory", p, [&] { return real_.remove_directory(p); });
  }
  Result<void> rename(const Path& a, const Path& b, Replace r) override {
    return run<void>("rename", b, [&] { return real_.rename(a, b, r); });
  }
  Result<void> sync_directory(const Path& p) override {
    return run<void>("sync_directory", p, [&] { return real_.sync_directory(p); });
  }
  Result<std::vector<std::string>> list(const Path& p) override {
    return run<std::vector<std::string>>("list", p, [&] { return real_.list(p); });
  }
  Result<FileStatus> status(const Path& p) override {
    return run<FileStatus>("status", p, [&] {
      Result<FileStatus> status = real_.status(p);
      if (status.ok() && device != 0) status->device = device;
      return status;
    });
  }
  Result<std::uint64_t> filesystem(const Path& p) override {
    return run<std::uint64_t>("filesystem", p, [&] {
      return magic != 0 ? Result<std::uint64_t>(magic) : real_.filesystem(p);
    });
  }
  std::uint64_t filesystem_id(const Path& p) override { return id ? *id : real_.filesystem_id(p); }
  MountTables mount_tables() override { return tables ? *tables : real_.mount_tables(); }
  std::uint64_t mount_changes() override { return real_.mount_changes() + remounts; }
  Path resolved(const Path& p) override { return tables ? p : real_.resolved(p); }
  void protect(const Path& root, Root kind) override { real_.protect(root, kind); }
  void keep(const Path& root) override { real_.keep(root); }
  Result<void> protect_opened(const Path& root, Descriptor opened) override {
    return real_.protect_opened(root, std::move(opened));
  }
  Result<bool> try_lock(FileHandle f) override {
    return run<bool>("try_lock", {},
                     [&] { return locks_lie ? Result<bool>(true) : real_.try_lock(f); });
  }
  Result<void> unlock(FileHandle f) override {
    return run<void>("unlock", {}, [&] { return real_.unlock(f); });
  }

 private:
  template <class T>
  Result<T> run(
      const std::string& operation, const Path& path, const std::function<Result<T>()>& act,
      const std::function<void()>& half = [] {}) {
    ++operations;
    const Fate fate = oracle(operation, path);
    if (fate.what == Fate::What::pretend) {
      half();
      if constexpr (std::is_void_v<T>) return {};
    }
    if (fate.what == Fate::What::dead && operation == "close") half();
    if (fate.what == Fate::What::dead)
      return os_error(fate.os_errno, operation + " by a process that is gone");
    if (fate.what == Fate::What::refuse) {
      half();
      return os_error(fate.os_errno, "injected failure of " + operation + " " + path.string());
    }
    Result<T> done = act();
    if (fate.what == Fate::What::lose_reply) {
      return os_error(fate.os_errno,
                      "injected loss of the reply to " + operation + " " + path.string());
    }
    if (done.ok()) after(operation, path);
    return done;
  }
  // A lost reply to an open would leak the descriptor; for the caller it is the same as a refusal.
  Result<FileHandle> opened(const std::string& operation, const Path& path,
                            const std::function<Result<FileHandle>()>& act) {
    ++operations;
    const Fate fate = oracle(operation, path);
    if (fate.what == Fate::What::refuse || fate.what == Fate::What::dead)
      return os_error(fate.os_errno, "injected failure of " + operation + " " + path.string());
    Result<FileHandle> done = act();
    if (fate.what == Fate::What::lose_reply) {
      if (done.ok()) (void)real_.close(*done);
      return os_error(fate.os_errno, "injected loss of the reply to " + operation);
    }
    if (done.ok()) after(operation, path);
    return done;
  }

  PosixDisk posix_;
  Disk& real_;
};

}  // namespace torc::store::testing
