#include "lib/store/engine/commit_file.h"

#include <gtest/gtest.h>

#include "lib/base/codec.h"

namespace torc::store {
namespace {

// A commit file whose payload is a zstd frame of nothing that says of itself to hold `size` bytes.
std::string pretender(std::uint64_t size) {
  Encoder frame;
  frame.raw("\x28\xb5\x2f\xfd\xe0");  // magic; one segment, eight bytes of length
  for (int i = 0; i < 8; ++i) frame.u8(static_cast<std::uint8_t>(size >> (8 * i)));
  frame.u8(1).u8(0).u8(0);  // the last block, raw, empty
  Encoder out;
  out.raw("torcCMT1").raw(std::string(16, '\1')).be64(7).raw(std::string(16, '\2'));
  out.raw(std::string(16, '\3')).be64(4).be32(1).be64(size).be64(frame.bytes().size());
  out.raw(frame.bytes());
  out.be32(crc32c(out.bytes()));
  return std::move(out).bytes();
}

TEST(CommitFile, a_short_file_that_claims_a_huge_payload_is_refused_before_it_takes_memory) {
  StoreId id;
  id.fill(1);
  for (const std::uint64_t size : {std::uint64_t{1} << 20, std::uint64_t{1} << 34}) {
    const auto file = decode_commit(id, 7, pretender(size), "c");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().kind, ErrorKind::corrupt);
    EXPECT_NE(file.error().what.find("does not decompress"), std::string::npos);
  }
}

TEST(CommitFile, what_compresses_best_is_read_all_the_same) {
  WriteSet writes;
  writes.put("k", std::string(10'000'000, 'a'));
  const std::string bytes = encode_commit({}, {7, {}, {}, 1}, writes.bytes());
  EXPECT_LT(bytes.size(), 2'000U);
  const auto file = decode_commit({}, 7, bytes, "c");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->writes, writes.bytes());
}

}  // namespace
}  // namespace torc::store
