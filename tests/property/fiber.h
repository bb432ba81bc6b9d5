// A function that can stop in the middle and be continued later, on a stack of its own: a process
// of a simulation, so that thousands of histories run in a second and the order of everything
// follows from a seed. All fibers belong to one thread. No exception may leave the function.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace torc {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body) : body_(std::move(body)) {
    stack_ = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack_ == MAP_FAILED) std::abort();
    ::getcontext(&own_);
    own_.uc_stack.ss_sp = stack_;
    own_.uc_stack.ss_size = kStack;
    own_.uc_link = nullptr;
    const auto at = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
                  static_cast<unsigned>(at >> 32U), static_cast<unsigned>(at));
  }
  // Precondition: done(), or never resumed.
  ~Fiber() {
    forget();
    ::munmap(stack_, kStack);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs it until it yields or ends. Not from a fiber.
  void resume() {
    begin_switch(&caller_stack_, stack_, kStack);
    ::swapcontext(&caller_, &own_);
    end_switch(caller_stack_);
  }
  // Back to who resumed it. From inside alone.
  void yield() { leave(false); }
  [[nodiscard]] bool done() const { return done_; }

 private:
  static constexpr std::size_t kStack = std::size_t{512} << 10U;

  static void enter(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Fiber*>((static_cast<std::uintptr_t>(high) << 32U) | low);
    self->end_switch(nullptr);
    self->body_();
    self->done_ = true;
    self->leave(true);
  }
  void leave(bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &own_fake_, caller_bottom_, caller_size_);
#elif defined(__SANITIZE_THREAD__)
    (void)for_good;
    __tsan_switch_to_fiber(caller_tsan_, 0);
#else
    (void)for_good;
#endif
    ::swapcontext(&own_, &caller_);
    end_switch(own_fake_);
  }

#if defined(__SANITIZE_ADDRESS__)
  static void begin_switch(void** fake, const void* bottom, std::size_t size) {
    __sanitizer_start_switch_fiber(fake, bottom, size);
  }
  void end_switch(void* fake) {
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake, &bottom, &size);
    if (bottom != stack_) {
      caller_bottom_ = bottom;
      caller_size_ = size;
    }
  }
  void forget() {}
  const void* caller_bottom_ = nullptr;
  std::size_t caller_size_ = 0;
#elif defined(__SANITIZE_THREAD__)
  void begin_switch(void**, const void*, std::size_t) {
    caller_tsan_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_tsan_, 0);
  }
  void end_switch(void*) {}
  void forget() {
    __tsan_destroy_fiber(own_tsan_);
  }
  void* own_tsan_ = __tsan_create_fiber(0);
  void* caller_tsan_ = nullptr;
#else
  void forget() {}
  static void begin_switch(void**, const void*, std::size_t) {}
  void end_switch(void*) {}
#endif

  std::function<void()> body_;
  ucontext_t own_{};
  ucontext_t caller_{};
  void* stack_ = nullptr;
  void* caller_stack_ = nullptr;
  void* own_fake_ = nullptr;
  bool done_ = false;
};

}  // namespace torc
