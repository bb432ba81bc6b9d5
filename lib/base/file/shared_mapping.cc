#include "lib/base/file/shared_mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace torc {
namespace {

constexpr std::uintptr_t kFree = 0;
constexpr std::uintptr_t kTaken = 1;  // by somebody who is about to write the range

// What a signal handler can look at: a table that never moves, of atomics without locks.
struct MappedRange {
  std::atomic<std::uintptr_t> begin = kFree;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> lost = false;
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);
constinit std::array<MappedRange, SharedMapping::kMost> mapped_ranges;

std::uintptr_t page_size = 4096;
struct sigaction before {};

// A page of zeros in place of the one that is not there.
bool mend(std::uintptr_t address) {
  for (MappedRange& range : mapped_ranges) {
    const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);
    if (begin <= kTaken || address < begin || address >= range.end.load()) continue;
    range.lost.store(true);
    void* page = reinterpret_cast<void*>(address & ~(page_size - 1));  // NOLINT: of siginfo_t
    return ::mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                  -1, 0) != MAP_FAILED;
  }
  return false;
}

// Calls that are safe in a handler alone; mmap is a bare system call.
void caught(int number, siginfo_t* info, void*) {
  const int saved = errno;
  const bool fault = info->si_code > 0;  // else somebody sent it
  if (!fault || !mend(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    // Met again at once, and found by whoever was there before: with all flags, as if this had
    // never been.
    ::sigaction(number, &before, nullptr);
    if (!fault) ::raise(number);
  }
  errno = saved;
}

}  // namespace

void mind_shared_mappings() {
  page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = caught;
  action.sa_flags = SA_SIGINFO;
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  if (now.sa_sigaction == caught) return;  // it would be its own next one
  before = now;
  ::sigaction(SIGBUS, &action, nullptr);
}

Result<SharedMapping> SharedMapping::map(int fd, std::size_t bytes,
                                         const std::filesystem::path& shown) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return os_error(errno, "cannot map " + shown.string());
  return SharedMapping(at, bytes);
}

SharedMapping::SharedMapping(void* at, std::size_t bytes) : at_(at), bytes_(bytes) {
  for (std::size_t i = 0; i < kMost; ++i) {
    std::uintptr_t expected = kFree;
    if (!mapped_ranges[i].begin.compare_exchange_strong(expected, kTaken)) continue;
    slot_ = i;
    mapped_ranges[i].lost.store(false);
    mapped_ranges[i].end.store(reinterpret_cast<std::uintptr_t>(at) + bytes);
    mapped_ranges[i].begin.store(reinterpret_cast<std::uintptr_t>(at), std::memory_order_release);
    return;
  }
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : at_(std::exchange(other.at_, nullptr)),
      bytes_(other.bytes_),
      slot_(std::exchange(other.slot_, kMost)) {}

SharedMapping::~SharedMapping() {
  if (slot_ < kMost) mapped_ranges[slot_].begin.store(kFree);
  if (at_ != nullptr) ::munmap(at_, bytes_);
}

bool SharedMapping::lost() const {
  return slot_ < kMost && mapped_ranges[slot_].lost.load();
}

void SharedMapping::leave_mapped() {
  at_ = nullptr;
  slot_ = kMost;  // its range is minded as long as it is mapped
}

}  // namespace torc
