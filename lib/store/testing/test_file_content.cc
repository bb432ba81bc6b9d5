#include "lib/store/testing/test_file_content.h"

#include <algorithm>
#include <utility>

namespace torc::store::testing {
namespace {

constexpr std::uint64_t kPagesOfGroup = 32;

}  // namespace

const std::string* FileContent::page(std::uint64_t number) const {
  const std::uint64_t group = number / kPagesOfGroup;
  if (group >= groups_.size() || groups_[group] == nullptr) return nullptr;
  return (*groups_[group])[number % kPagesOfGroup].get();
}

std::string FileContent::read(std::uint64_t offset, std::uint64_t size) const {
  std::string bytes;
  const std::uint64_t end = std::min(size_, offset + std::min(size, size_));
  if (offset >= end) return bytes;
  bytes.reserve(end - offset);
  while (offset < end) {
    const std::uint64_t at = offset % kPage;
    const std::uint64_t wanted = std::min(kPage - at, end - offset);
    const std::string* const found = page(offset / kPage);
    const std::uint64_t there =
        found == nullptr || found->size() <= at ? 0 : std::min(wanted, found->size() - at);
    if (there > 0) bytes.append(*found, at, there);
    bytes.append(wanted - there, '\0');
    offset += wanted;
  }
  return bytes;
}

void FileContent::write(std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  size_ = std::max(size_, offset + bytes.size());
  while (!bytes.empty()) {
    const std::uint64_t at = offset % kPage;
    const std::string_view part = bytes.substr(0, kPage - at);
    write_in_page(offset / kPage, at, part);
    bytes.remove_prefix(part.size());
    offset += part.size();
  }
}

void FileContent::take_page(const FileContent& from, std::uint64_t number) {
  const std::uint64_t group = number / kPagesOfGroup;
  size_ = std::max(size_, std::min(from.size_, (number + 1) * kPage));
  if (from.page(number) == nullptr && page(number) == nullptr) return;
  if (group >= groups_.size()) groups_.resize(group + 1);
  auto next = groups_[group] == nullptr ? std::make_shared<Group>()
                                        : std::make_shared<Group>(*groups_[group]);
  (*next)[number % kPagesOfGroup] =
      from.page(number) == nullptr ? nullptr : (*from.groups_[group])[number % kPagesOfGroup];
  groups_[group] = std::move(next);
}

FileContent FileContent::part(std::uint64_t offset, std::uint64_t size) const {
  FileContent out;
  for (std::uint64_t number = offset / kPage; number * kPage < offset + size; ++number)
    out.take_page(*this, number);
  out.size_ = size_;
  return out;
}

void FileContent::write_in_page(std::uint64_t number, std::uint64_t at, std::string_view bytes) {
  const std::uint64_t group = number / kPagesOfGroup;
  if (group >= groups_.size()) groups_.resize(group + 1);
  auto next = groups_[group] == nullptr ? std::make_shared<Group>()
                                        : std::make_shared<Group>(*groups_[group]);
  Page& page = (*next)[number % kPagesOfGroup];
  std::string text = page == nullptr ? std::string() : *page;
  if (text.size() < at + bytes.size()) text.resize(at + bytes.size());
  text.replace(at, bytes.size(), bytes);
  page = std::make_shared<const std::string>(std::move(text));
  groups_[group] = std::move(next);
}

}  // namespace torc::store::testing
