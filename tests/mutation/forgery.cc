#include "tests/mutation/forgery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "lib/base/codec.h"

namespace torc::mutation {
namespace {

std::string any_varint(Random& random) {
  static const std::vector<std::uint64_t> kNumbers = {0,
                                                      1,
                                                      0x7f,
                                                      0xffff,
                                                      0x7fffffff,
                                                      0xffffffff,
                                                      std::uint64_t{1} << 32,
                                                      std::uint64_t{1} << 40,
                                                      std::uint64_t{1} << 62,
                                                      UINT64_MAX >> 1,
                                                      UINT64_MAX - 1,
                                                      UINT64_MAX};
  return Encoder().varint(random.pick(kNumbers)).bytes();
}

// Where a number of that coding ends that begins at `at`.
std::size_t varint_end(const std::string& bytes, std::size_t at) {
  while (at < bytes.size() && (static_cast<unsigned char>(bytes[at]) & 0x80) != 0) ++at;
  return std::min(at + 1, bytes.size());
}

// A value like `value`, and in what it is unlike it.
std::string forge_value(std::string& value, const Records& records, Random& random) {
  const std::size_t at = random.below(value.size());
  switch (value.empty() ? 4 : random.below(9)) {
    case 0:
    case 1:
    case 2:
      value.replace(at, varint_end(value, at) - at, any_varint(random));
      return fmt::format("another number at {}", at);
    case 3:
      value[at] ^= static_cast<char>(1U << random.below(8));
      return fmt::format("a bit at {}", at);
    case 4:
      value = random.bytes(random.below(200));
      return "random bytes";
    case 5:
      value.resize(at);
      return fmt::format("cut at {}", at);
    case 6:
      value += random.bytes(1 + random.below(20));
      return "more at its end";
    case 7:
      value = std::next(records.begin(), static_cast<long>(random.below(records.size())))->second;
      return "the value of another key";
    default: {
      // Where a text is: what a terminal would obey.
      static const std::string kOrder = "\x1b[31m\r\x07\xc2\x9b";
      const auto text = std::search_n(value.begin(), value.end(), 3, 0, [](char c, int) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0;
      });
      const auto begin = static_cast<std::size_t>(text - value.begin());
      for (std::size_t i = begin; i < value.size() && i - begin < kOrder.size() &&
                                  std::isalnum(static_cast<unsigned char>(value[i])) != 0;
           ++i)
        value[i] = kOrder[i - begin];
      return fmt::format("control characters at {}", begin);
    }
  }
}

}  // namespace

std::string shown(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

std::vector<ForgedWrite> forge_writes(const Records& records, Random& random) {
  // Each table as often as each other one, however many jobs there are.
  std::map<char, std::vector<std::string>> tables;
  for (const auto& [key, value] : records) {
    if (!key.empty()) tables[key[0]].push_back(key);
  }
  std::vector<ForgedWrite> out;
  for (std::size_t left = tables.empty() ? 0 : 1 + random.below(3); left > 0; --left) {
    const auto& [table, keys] =
        *std::next(tables.begin(), static_cast<long>(random.below(tables.size())));
    std::string key = random.pick(keys);
    if (random.one_in(10)) {
      out.push_back({key, std::nullopt, "erased"});
      continue;
    }
    std::string value = records.at(key);
    std::string how = forge_value(value, records, random);
    if (random.one_in(6)) {
      key.back() ^= static_cast<char>(1U << random.below(8));
      how += ", under a new key";
    }
    out.push_back({key, value, how + " = " + shown(value.substr(0, 60))});
  }
  return out;
}

std::string in_words(const std::vector<ForgedWrite>& writes) {
  std::string out;
  for (const ForgedWrite& write : writes)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", shown(write.key), write.how);
  return out;
}

}  // namespace torc::mutation
