// What the tests of LMDB's data file share: files that LMDB made of many commits, and how to change
// their bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "lib/store/lmdb/lmdb_file.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/testing/test_world.h"

namespace torc::store::testing {

using Entries = std::map<std::string, std::string>;

inline constexpr std::size_t kPage = 4096;

inline std::string read_bytes(const Path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const Path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

template <class T>
void poke(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <class T>
T peek(const std::string& bytes, std::size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

class LmdbFiles : public ::testing::Test {
 protected:
  // Commits of puts and erasures of many sizes. What is there after them; ever: all that ever was.
  Entries fill(int commits, std::uint64_t seed, std::size_t longer_keys = 0) {
    SeededEntropy random(seed);
    Entries all;
    const auto environment = Environment::open(scratch.path(), Durable::no);
    EXPECT_TRUE(environment.ok());
    for (int c = 0; c < commits; ++c) {
      auto txn = Txn::begin(*environment, Access::write);
      EXPECT_TRUE(txn.ok());
      for (int i = 0; i < 40; ++i) {
        const std::string key =
            "key" + std::to_string(random.next() % 900) + std::string(longer_keys, '.');
        if (random.next() % 3 == 0) {
          MDB_val k{key.size(), const_cast<char*>(key.data())};
          const int rc = mdb_del(txn->raw(), txn->dbi(), &k, nullptr);
          EXPECT_TRUE(rc == 0 || rc == MDB_NOTFOUND);
          all.erase(key);
        } else {
          const std::size_t size =
              random.next() % 10 == 0 ? random.next() % 20'000 : random.next() % 90;
          all[key] = std::string(size, static_cast<char>('a' + random.next() % 26));
          ever[key].insert(all[key]);
          EXPECT_EQ(put_entry(*txn, key, all[key]), 0);
        }
      }
      EXPECT_TRUE(txn->commit().ok());
      if (c % 10 != 0) continue;
      const auto file = LmdbFile::open(scratch.path());
      EXPECT_TRUE(file.ok());
      const auto whole = file->check(file->newest());
      EXPECT_TRUE(whole.ok()) << whole.error().text();
    }
    return all;
  }
  [[nodiscard]] Result<void> check() const {
    TORC_ASSIGN(const LmdbFile file, LmdbFile::open(scratch.path()));
    return file.check(file.newest());
  }

  std::map<std::string, std::set<std::string>> ever;
  ScratchDirectory scratch;
  Path data = scratch.path() / "data.mdb";
};

}  // namespace torc::store::testing
