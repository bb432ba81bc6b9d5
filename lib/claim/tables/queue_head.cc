#include "lib/claim/tables/queue_head.h"

#include <tuple>

#include "lib/base/codec.h"

namespace torc::claim {
namespace {

constexpr std::size_t kUnsized = 1 + 4 + 8 + 4 + 8 + 4;
constexpr std::size_t kSized = kUnsized + std::size_t{3} * 8;

}  // namespace

SortSize size_of(const Requirement& need, SortMethod sort) {
  const auto runtime = static_cast<std::uint64_t>(expected_time(need).count());
  switch (sort) {
    case SortMethod::none:
      return {};
    case SortMethod::gpus_runtime_memory:
      return {gpu_count(need), runtime, need.memory.value};
    case SortMethod::gpus_memory_runtime:
      return {gpu_count(need), need.memory.value, runtime};
  }
  return {};
}

bool ComesFirst::operator()(const QueueHead& a, const QueueHead& b) const {
  return std::tie(b.range.priority, b.size, a.range.age, b.nodes, a.range.first,
                  a.range.job_class) <
         std::tie(a.range.priority, a.size, b.range.age, a.nodes, b.range.first, b.range.job_class);
}

bool can_be_ordered(SortMethod sort, std::uint8_t rules) {
  return sort == SortMethod::none || (rules & rule::kLearns) == 0;
}

Key order_key(const QueueHead& head, bool sized) {
  Key key(Table::order);
  key.be32(inverted(head.range.priority));
  if (sized) {
    for (const std::uint64_t one : head.size) key.be64(~one);
  }
  key.be64(head.range.age).be32(~head.nodes).be64(head.range.first).be32(head.range.job_class);
  return key;
}

Value order_value(const QueueHead& head) {
  return Value().varint(head.range.count);
}

std::optional<QueueHead> decode_order(std::string_view key, std::string_view value) {
  if (!is_in(Table::order, key) || (key.size() != kUnsized && key.size() != kSized))
    return std::nullopt;
  QueueHead head;
  head.range.priority = upright(static_cast<std::uint32_t>(number_at(key, 1, 4)));
  std::size_t at = 5;
  if (key.size() == kSized) {
    for (std::uint64_t& one : head.size) {
      one = ~number_at(key, at, 8);
      at += 8;
    }
  }
  head.range.age = number_at(key, at, 8);
  head.nodes = ~static_cast<std::uint32_t>(number_at(key, at + 8, 4));
  head.range.first = number_at(key, at + 12, 8);
  head.range.job_class = static_cast<std::uint32_t>(number_at(key, at + 20, 4));
  Decoder in(value);
  head.range.count = in.varint();
  if (!are_jobs(head.range.first, head.range.count)) return std::nullopt;
  return in.whole(head);
}

}  // namespace torc::claim
