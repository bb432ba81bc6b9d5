#include "lib/exec/output/packed_format.h"

#include <fmt/format.h>

#include <array>

#include "lib/base/codec.h"
#include "lib/base/number.h"

namespace torc::exec {
namespace {

constexpr std::string_view kIndexEnding = ".index";

// The reflected polynomial.
constexpr std::uint32_t kPolynomial = 0xEDB88320;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}

std::string middle_of_own(AttemptKey key) {
  const std::string node = key.rank == 0 ? "" : fmt::format("node{}.", key.rank);
  return fmt::format(".job{}.{}.{}", key.job, key.attempt, node);
}

}  // namespace

std::uint32_t checksum(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_table();
  std::uint32_t sum = ~std::uint32_t{0};
  for (const char c : bytes)
    sum = (sum >> 8) ^ kTable[(sum ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~sum;
}

std::string_view to_string(Stream stream) {
  return stream == Stream::out ? "out" : "err";
}

std::string encode(const PackedRecord& record) {
  Encoder body;
  body.u8(static_cast<std::uint8_t>(record.kind)).u8(static_cast<std::uint8_t>(record.stream));
  body.u8(static_cast<std::uint8_t>(record.key.rank >> 8U));
  body.u8(static_cast<std::uint8_t>(record.key.rank & 0xFFU));
  body.be64(record.key.job).be32(record.key.attempt);
  body.be64(record.place).be32(record.length);
  Encoder out;
  out.be32(checksum(body.bytes())).raw(body.bytes());
  return std::move(out).bytes();
}

std::optional<PackedRecord> decode_packed(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint32_t sum = in.be32();
  if (sum != checksum(in.rest())) return std::nullopt;
  PackedRecord record;
  const std::uint8_t kind = in.u8();
  const std::uint8_t stream = in.u8();
  const unsigned high = in.u8();
  record.key.rank = static_cast<std::uint16_t>(high << 8U | in.u8());
  record.kind = static_cast<PackedRecord::Kind>(kind);
  record.stream = static_cast<Stream>(stream);
  record.key.job = in.be64();
  record.key.attempt = in.be32();
  record.place = in.be64();
  record.length = in.be32();
  if (!in.is_whole() || kind < 1 || kind > 2 || stream > 1) return std::nullopt;
  return record;
}

std::filesystem::path PackedNames::index() const {
  return directory / fmt::format("{}{}", worker, kIndexEnding);
}

std::filesystem::path PackedNames::data() const {
  return directory / fmt::format("{}.data", worker);
}

std::filesystem::path PackedNames::scratch(std::uint32_t slot, Stream stream) const {
  return directory / fmt::format("{}.slot{}.{}", worker, slot, to_string(stream));
}

std::filesystem::path PackedNames::own(AttemptKey key, Stream stream) const {
  return directory / fmt::format("{}{}{}", worker, middle_of_own(key), to_string(stream));
}

std::filesystem::path packed_directory(const std::filesystem::path& output_directory) {
  return output_directory / "packed";
}

std::optional<std::uint64_t> worker_of_index(std::string_view file_name) {
  if (!file_name.ends_with(kIndexEnding)) return std::nullopt;
  return whole_number<std::uint64_t>(file_name.substr(0, file_name.size() - kIndexEnding.size()));
}

std::optional<std::uint64_t> worker_of_own(std::string_view file_name, AttemptKey key) {
  const auto dot = file_name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view rest = file_name.substr(dot);
  const auto is_of = [&](Stream stream) {
    return rest == middle_of_own(key).append(to_string(stream));
  };
  if (!is_of(Stream::out) && !is_of(Stream::err)) return std::nullopt;
  return whole_number<std::uint64_t>(file_name.substr(0, dot));
}

}  // namespace torc::exec
