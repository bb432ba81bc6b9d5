#include "lib/worker/lease/allocation_inquiry.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace torc::worker {

// Lives as long as the longer of the two threads needs it.
struct AllocationInquiry::Shared {
  ~Shared() { close(fd); }
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex;
  std::optional<Answer> answer;  // guarded by `mutex`
};

AllocationInquiry::AllocationInquiry(slurm::RunProgram run_program)
    : run_program_(std::move(run_program)), shared_(std::make_shared<Shared>()) {}

AllocationInquiry::~AllocationInquiry() = default;

int AllocationInquiry::fd() const {
  return shared_->fd;
}

void AllocationInquiry::ask(std::vector<slurm::Allocation> allocations) {
  const auto inquire = [run = run_program_, shared = shared_, ids = std::move(allocations)] {
    Answer answer = slurm::ask_about(run, ids);
    const std::lock_guard lock(shared->mutex);
    shared->answer = std::move(answer);
    const std::uint64_t one = 1;
    (void)!write(shared->fd, &one, sizeof one);
  };
  try {
    std::thread(inquire).detach();
    under_way_ = true;
  } catch (const std::system_error&) {
    // No thread can be had now: the question comes again.
  }
}

AllocationInquiry::Answer AllocationInquiry::take() {
  const std::lock_guard lock(shared_->mutex);
  std::uint64_t value = 0;
  (void)!read(shared_->fd, &value, sizeof value);
  if (!shared_->answer) return {};
  under_way_ = false;
  return *std::exchange(shared_->answer, std::nullopt);
}

}  // namespace torc::worker
