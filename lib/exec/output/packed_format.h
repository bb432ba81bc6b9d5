// The files of packed output: what of it the writer and the reader share.
// docs/maintainer/execution.md tells the whole format and what each crash leaves.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace torc::exec {

enum class Stream : std::uint8_t { out, err };
inline constexpr Stream kStreams[] = {Stream::out, Stream::err};
// CRC-32 of ISO 3309, as of zip and Ethernet.
[[nodiscard]] std::uint32_t checksum(std::string_view bytes);

[[nodiscard]] std::string_view to_string(Stream stream);  // as file names end: "out", "err"

// One attempt of one job of a workflow; of one that runs on several nodes what it is on one of
// them.
struct AttemptKey {
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  std::uint16_t rank = 0;
  auto operator<=>(const AttemptKey&) const = default;
};

// An entry of the index. All have one size, of which a page of memory is a multiple: a damaged one
// leaves the others readable, and none is torn when its writer is killed.
struct PackedRecord {
  enum class Kind : std::uint8_t {
    begin = 1,  // from here on the attempt writes into the scratch files of slot `place`
    kept = 2    // its `stream` is `length` bytes of the data file, from `place`
  };
  Kind kind = Kind::begin;
  Stream stream = Stream::out;
  AttemptKey key;
  std::uint64_t place = 0;
  std::uint32_t length = 0;
};
inline constexpr std::size_t kPackedRecordBytes = 32;
[[nodiscard]] std::string encode(const PackedRecord& record);
// nullopt: damaged. Precondition: kPackedRecordBytes bytes.
[[nodiscard]] std::optional<PackedRecord> decode_packed(std::string_view bytes);

// What a worker's files are called. `worker` is its epoch: no two workers of a store share one.
struct PackedNames {
  std::filesystem::path directory;
  std::uint64_t worker = 0;
  [[nodiscard]] std::filesystem::path index() const;
  [[nodiscard]] std::filesystem::path data() const;
  [[nodiscard]] std::filesystem::path scratch(std::uint32_t slot, Stream stream) const;
  // Of one attempt alone.
  [[nodiscard]] std::filesystem::path own(AttemptKey key, Stream stream) const;
};
// Where packed output lies below a directory of job output.
[[nodiscard]] std::filesystem::path packed_directory(const std::filesystem::path& output_directory);
// The worker whose index has this file name; nullopt: it is no index.
[[nodiscard]] std::optional<std::uint64_t> worker_of_index(std::string_view file_name);
// The worker that wrote a file of this name for this attempt (and rank) alone.
[[nodiscard]] std::optional<std::uint64_t> worker_of_own(std::string_view file_name,
                                                         AttemptKey key);

}  // namespace torc::exec
