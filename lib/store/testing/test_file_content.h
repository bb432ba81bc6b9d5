// What a file holds: a value whose copies share what neither has changed since. Only pages into
// which something was written take memory, so that a file of a thousand heartbeats, each with 64
// KiB to itself, costs what they cost, on the server and in the caches of a thousand clients.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace torc::store::testing {

class FileContent {
 public:
  // The most that clients write back at a time, whatever of it was changed.
  static constexpr std::uint64_t kPage = std::uint64_t{64} * 1024;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Less where the file ends before.
  [[nodiscard]] std::string read(std::uint64_t offset, std::uint64_t size) const;
  [[nodiscard]] std::string text() const { return read(0, size_); }
  void write(std::uint64_t offset, std::string_view bytes);
  // A page becomes that of another content, and is shared with it.
  void take_page(const FileContent& from, std::uint64_t number);
  // As long as this one, with nothing but the pages of that part.
  [[nodiscard]] FileContent part(std::uint64_t offset, std::uint64_t size) const;

 private:
  // Zeros follow what is there of a page.
  using Page = std::shared_ptr<const std::string>;
  using Group = std::array<Page, 32>;
  void write_in_page(std::uint64_t page, std::uint64_t at, std::string_view bytes);
  [[nodiscard]] const std::string* page(std::uint64_t number) const;

  std::vector<std::shared_ptr<const Group>> groups_;
  std::uint64_t size_ = 0;
};

}  // namespace torc::store::testing
