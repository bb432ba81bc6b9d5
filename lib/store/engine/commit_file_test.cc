#include "lib/store/engine/commit_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

WriteSet some_writes(bool compressible) {
  WriteSet out;
  out.put("k", "v");
  out.erase("l");
  if (compressible) out.put("m", std::string(5'000, 'a') + "b" + std::string(5'000, 'c'));
  return out;
}

TEST(CommitFile, does_not_depend_on_the_parts_in_which_it_comes) {
  for (const bool compressible : {false, true}) {
    const WriteSet writes = some_writes(compressible);
    const std::string bytes = encode_commit({}, {7, {}, {}, 1}, writes.bytes());
    const auto whole = decode_commit({}, 7, bytes, "c");
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    for (std::size_t size = 1; size <= bytes.size(); ++size) {
      CommitDecoder decoder({}, 7);
      for (std::size_t at = 0; at < bytes.size(); at += size)
        ASSERT_TRUE(decoder.add(std::string_view(bytes).substr(at, size)));
      const auto file = std::move(decoder).finish("c");
      ASSERT_TRUE(file.ok()) << file.error().text() << " in parts of " << size;
      EXPECT_EQ(file->writes, writes.bytes());
      EXPECT_EQ(file->after, whole->after);
      EXPECT_EQ(file->size, bytes.size());
    }
    EXPECT_EQ(decode_large_commit({}, 7, std::string(bytes), "c")->after, whole->after);
  }
}

TEST(CommitFile, is_refused_in_parts_as_it_is_as_a_whole) {
  const std::string good = encode_commit({}, {7, {}, {}, 1}, some_writes(true).bytes());
  std::vector<std::string> bad{"", "x", good + "x", good.substr(0, 50)};
  for (std::size_t i = 0; i < good.size(); ++i) {
    bad.push_back(good);
    bad.back()[i] ^= 1;
    bad.push_back(good.substr(0, i));
  }
  for (const std::string& bytes : bad) {
    const auto whole = decode_commit({}, 7, bytes, "c");
    ASSERT_FALSE(whole.ok());
    CommitDecoder decoder({}, 7);
    for (const char& byte : bytes) {
      if (!decoder.add({&byte, 1})) break;
    }
    const auto file = std::move(decoder).finish("c");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().what, whole.error().what);
  }
}

TEST(CommitFile, writes_that_are_given_back_on_the_way_are_the_same_writes) {
  WriteSet writes;
  for (char c = 'a'; c < 'k'; ++c) {
    writes.put(std::string(1, c), std::string(700'000, c));
    writes.erase("gone");
  }
  WriteSet again;
  EXPECT_TRUE(replay_once(
      writes.bytes(), [&](std::string_view k, std::string_view v) { again.put(k, v); },
      [&](std::string_view k) { again.erase(k); }));
  EXPECT_EQ(again.bytes(), writes.bytes());
}

}  // namespace
}  // namespace torc::store
