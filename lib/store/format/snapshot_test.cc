// Snapshots that somebody forged: well-formed, with right sums, and what torc never writes.
#include "lib/store/format/snapshot.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zstd.h>

#include <fstream>

#include "lib/base/sanitizer.h"
#include "lib/store/engine/meta.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace testing;

class ForgedSnapshot : public Hosts {
 protected:
  // A snapshot of these entries, whatever they are.
  [[nodiscard]] Result<Head> read(const std::string& entries, std::uint64_t count) {
    const auto meta = read_meta(first.world(), directory);
    const StoreId& id = meta->identity.id;
    const SnapshotName name{7, Hash128{1}};
    Encoder out;
    out.raw("torcSNP1").raw(as_text(id)).be64(name.sequence).raw(as_text(name.chain)).be64(0);
    out.be32(crc32c(out.bytes()));
    std::string frame(ZSTD_compressBound(entries.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), entries.data(), entries.size(), 1));
    out.raw(frame).be64(count).raw(as_text(hash128(id, entries))).raw("torcEND1");
    Journal journal(first.posix, directory, id,
                    Publisher(first.posix, first.entropy, meta->publish, Durable::no));
    std::filesystem::create_directories(journal.snapshot_directory());
    std::ofstream(journal.snapshot_path(name), std::ios::binary) << out.bytes();
    return read_snapshot(journal, name, [this](const Entry&) {
      ++visited_;
      return true;
    });
  }

  std::uint64_t visited_ = 0;
};

std::uint64_t peak_memory() {
  rusage used{};
  (void)getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

TEST_F(ForgedSnapshot, is_read_when_it_is_like_one_that_was_written) {
  const std::string entries = Encoder().text("a").text("1").text("b").text("").bytes();
  EXPECT_TRUE(read(entries, 2).ok());
  EXPECT_EQ(visited_, 2U);
}

TEST_F(ForgedSnapshot, has_no_key_twice_none_out_of_order_and_none_that_is_empty) {
  for (const auto& [one, two] :
       {std::pair{"a", "a"}, std::pair{"b", "a"}, std::pair{"", "a"}, std::pair{"", ""}}) {
    const std::string entries = Encoder().text(one).text("1").text(two).text("2").bytes();
    const Result<Head> head = read(entries, 2);
    ASSERT_FALSE(head.ok()) << one << ", " << two;
    EXPECT_EQ(head.error().kind, ErrorKind::corrupt);
  }
}

// Some KiB as a file.
TEST_F(ForgedSnapshot, that_announces_an_endless_key_or_value_is_not_gathered_in_memory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const std::size_t zeros = std::size_t{128} << 20;
  const std::uint64_t endless = std::uint64_t{8} << 30;
  for (const std::string& begin :
       {Encoder().text("a").varint(endless).bytes(), Encoder().varint(endless).bytes()}) {
    const std::string entries = begin + std::string(zeros, '\0');
    const std::uint64_t before = peak_memory();
    const Result<Head> head = read(entries, 1);
    ASSERT_FALSE(head.ok());
    EXPECT_EQ(head.error().kind, ErrorKind::corrupt);
    EXPECT_LT(peak_memory() - before, zeros / 2);
  }
}

}  // namespace
}  // namespace torc::store
