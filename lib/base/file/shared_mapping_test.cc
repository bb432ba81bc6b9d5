// Each test is a child process: what it does ends a process by SIGBUS where nothing minds it.
#include "lib/base/file/shared_mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "lib/base/file/descriptor.h"

namespace torc {
namespace {

constexpr std::size_t kPage = 4096;

// The status of a child that does it and then exits with 0 or 1.
int status_of(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

bool ends_well(const std::function<bool()>& body) {
  return status_of([&] {
           mind_shared_mappings();
           return body();
         }) == 0;
}

Descriptor file_of(std::size_t bytes) {
  Descriptor fd(::memfd_create("shared", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  return fd;
}

SharedMapping map(const Descriptor& fd, std::size_t bytes) {
  return *SharedMapping::map(fd.get(), bytes, "shared");
}

volatile std::uint64_t& word(const SharedMapping& mapping, std::size_t at) {
  return *reinterpret_cast<std::uint64_t*>(static_cast<char*>(mapping.at()) + at);
}

TEST(SharedMapping, of_a_file_that_became_shorter_is_zeros_and_lost) {
  EXPECT_TRUE(ends_well([] {
    const Descriptor fd = file_of(4 * kPage);
    const SharedMapping mapping = map(fd, 4 * kPage);
    word(mapping, 0) = 7;
    word(mapping, 3 * kPage) = 8;
    if (mapping.lost() || ::ftruncate(fd.get(), 2 * kPage) != 0 || mapping.lost()) return false;
    if (word(mapping, 3 * kPage) != 0 || !mapping.lost()) return false;
    // What is there still is the others', and what is not can be written for nobody.
    word(mapping, 3 * kPage) = 9;
    word(mapping, 2 * kPage) = 9;
    std::uint64_t first = 0;
    return word(mapping, 0) == 7 && ::pread(fd.get(), &first, 8, 0) == 8 && first == 7;
  }));
}

TEST(SharedMapping, that_is_made_anew_is_not_lost) {
  EXPECT_TRUE(ends_well([] {
    const Descriptor fd = file_of(kPage);
    {
      const SharedMapping mapping = map(fd, kPage);
      if (::ftruncate(fd.get(), 0) != 0) return false;
      word(mapping, 0) = 1;
      if (!mapping.lost() || ::ftruncate(fd.get(), kPage) != 0) return false;
    }
    const SharedMapping mapping = map(fd, kPage);
    word(mapping, 0) = 2;
    std::uint64_t first = 0;
    return !mapping.lost() && ::pread(fd.get(), &first, 8, 0) == 8 && first == 2;
  }));
}

// As of a gate whose mutex this thread still holds: the C library writes to it at any moment.
TEST(SharedMapping, that_is_left_mapped_is_minded_still) {
  EXPECT_TRUE(ends_well([] {
    const Descriptor fd = file_of(kPage);
    volatile std::uint64_t* at = nullptr;
    {
      SharedMapping mapping = map(fd, kPage);
      at = &word(mapping, 0);
      mapping.leave_mapped();
    }
    if (::ftruncate(fd.get(), 0) != 0) return false;
    *at = 7;
    return *at == 7;
  }));
}

TEST(SharedMapping, of_another_file_is_not_touched) {
  EXPECT_TRUE(ends_well([] {
    const Descriptor one = file_of(kPage);
    const Descriptor two = file_of(kPage);
    const SharedMapping first = map(one, kPage);
    const SharedMapping second = map(two, kPage);
    word(second, 0) = 5;
    if (::ftruncate(one.get(), 0) != 0) return false;
    return word(first, 0) == 0 && first.lost() && !second.lost() && word(second, 0) == 5;
  }));
}

bool ends_by_sigbus(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
}

// As LMDB's: its pages mean something that zeros are not.
TEST(SharedMapping, is_all_that_is_minded) {
  const auto touch_another = [] {
    mind_shared_mappings();
    const Descriptor fd = file_of(kPage);
    const SharedMapping minded = map(file_of(kPage), kPage);
    void* at = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd.get(), 0);
    return ::ftruncate(fd.get(), 0) == 0 && *static_cast<volatile char*>(at) == 0;
  };
  const auto default_first = [](const std::function<bool()>& body) {
    ::signal(SIGBUS, SIG_DFL);  // a sanitizer's would tell it
    return body();
  };
  EXPECT_TRUE(ends_by_sigbus(status_of([&] { return default_first(touch_another); })));
  EXPECT_TRUE(ends_by_sigbus(status_of([&] {
    return default_first([] {
      mind_shared_mappings();
      ::kill(::getpid(), SIGBUS);
      return true;
    });
  }))) << "sent by somebody";
  EXPECT_EQ(status_of([&] {
              ::signal(SIGBUS, [](int) { ::_exit(42); });
              return touch_another();
            }),
            42 << 8)
      << "the handler of before";
}

TEST(SharedMapping, is_minded_no_more_once_it_is_gone_and_its_place_is_free) {
  EXPECT_TRUE(ends_well([] {
    const Descriptor fd = file_of(kPage);
    for (std::size_t i = 0; i < 3 * SharedMapping::kMost; ++i) map(fd, kPage);
    const SharedMapping mapping = map(fd, kPage);
    return ::ftruncate(fd.get(), 0) == 0 && word(mapping, 0) == 0 && mapping.lost();
  }));
}

TEST(SharedMapping, beyond_what_is_minded_works_as_any_other) {
  EXPECT_TRUE(ends_well([] {
    const Descriptor fd = file_of(kPage);
    std::vector<SharedMapping> all;
    for (std::size_t i = 0; i < SharedMapping::kMost + 2; ++i) all.push_back(map(fd, kPage));
    word(all.back(), 0) = 3;
    return word(all.front(), 0) == 3 && !all.back().lost();
  }));
}

}  // namespace
}  // namespace torc
