// A gate whose file somebody cuts short while it is in use.
#include "lib/store/disk/gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "lib/base/file/shared_mapping.h"
#include "lib/store/journal/journal_store.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ShortGate : public ::testing::Test {
 protected:
  void SetUp() override { mind_shared_mappings(); }
  std::unique_ptr<Gate> open() {
    auto gate = Gate::open(file_);
    EXPECT_TRUE(gate.ok()) << gate.error().text();
    return gate.ok() ? *std::move(gate) : nullptr;
  }
  ErrorKind refusal(Gate& gate) {
    const Result<void> entered = gate.enter(clock_, 0ns);
    return entered.ok() ? ErrorKind::invalid : entered.error().kind;
  }

  ScratchDirectory scratch_;
  Path file_ = scratch_.path() / "gate";
  SystemClock clock_;
};

// Also within the mutex, at whatever it keeps there.
constexpr std::array kSizes = {std::size_t{0},  std::size_t{8},          std::size_t{16},
                               std::size_t{24}, std::size_t{28},         std::size_t{40},
                               std::size_t{48}, sizeof(Gate::Shared) - 1};

TEST_F(ShortGate, is_noticed_and_made_anew_for_all_who_had_it) {
  for (const std::size_t size : kSizes) {
    auto one = open();
    auto two = open();
    ASSERT_TRUE(one->enter(clock_, 1s).ok());
    one->leave();
    fs::resize_file(file_, size);
    EXPECT_EQ(refusal(*one), ErrorKind::corrupt) << size;
    EXPECT_EQ(refusal(*two), ErrorKind::corrupt) << size;
    one = open();
    two = open();
    ASSERT_TRUE(one->enter(clock_, 1s).ok()) << size;
    EXPECT_EQ(refusal(*two), ErrorKind::busy) << "both are the same one";
    one->leave();
    EXPECT_TRUE(two->enter(clock_, 1s).ok());
    two->leave();
  }
}

// The C library keeps a list of what a thread holds, which leads through the file.
TEST_F(ShortGate, harms_nobody_who_holds_it) {
  for (const std::size_t size : kSizes) {
    std::thread([&] {
      auto gate = open();
      ASSERT_TRUE(gate->enter(clock_, 1s).ok());
      fs::resize_file(file_, size);
      gate->shared().collected = 1;
      gate->leave();
      EXPECT_EQ(refusal(*gate), ErrorKind::corrupt);
      gate = open();
      ASSERT_TRUE(gate->enter(clock_, 1s).ok());
      gate->leave();
      ASSERT_TRUE(gate->enter(clock_, 1s).ok());
      gate->leave();
    }).join();
  }
}

TEST_F(ShortGate, of_zeros_is_made_anew_and_of_anything_else_is_left_alone) {
  const auto hold = [&](const std::string& bytes) {
    fs::remove(file_);
    std::ofstream(file_, std::ios::binary) << bytes;
  };
  hold(std::string(sizeof(Gate::Shared), '\0'));
  {
    const auto gate = open();
    EXPECT_TRUE(gate->enter(clock_, 1s).ok());
    gate->leave();
  }
  for (const std::string& bytes :
       {std::string("text"), std::string("something else"), std::string(sizeof(Gate::Shared), 'x'),
        std::string(2 * sizeof(Gate::Shared), '\0')}) {
    hold(bytes);
    const auto gate = Gate::open(file_);
    ASSERT_FALSE(gate.ok());
    EXPECT_EQ(gate.error().kind, ErrorKind::corrupt);
    EXPECT_EQ(fs::file_size(file_), bytes.size());
  }
}

TEST_F(ShortGate, keeps_no_store_from_being_used) {
  for (const Engine engine : {Engine::journal, Engine::lmdb}) {
    Node node(scratch_.path());
    const Path directory = scratch_.path() / "wf.torc";
    auto made = Store::create(node.world(), directory, engine, quick(), put("a", "1"));
    auto other = Store::open(node.world(), directory, quick());
    ASSERT_TRUE(made.ok() && other.ok());
    std::vector<Path> gates;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
      if (entry.path().filename().string().starts_with("gate")) gates.push_back(entry.path());
    }
    ASSERT_EQ(gates.size(), 1U);
    for (const std::size_t size : kSizes) {
      fs::resize_file(gates.front(), size);
      for (Store* store : {made->get(), other->get()}) {
        const auto done = store->commit(1, put("b", std::to_string(size)));
        ASSERT_TRUE(done.ok()) << done.error().text();
        EXPECT_TRUE(store->maintain().ok());
      }
      EXPECT_EQ(value_of(**made, "b"), std::to_string(size));
      EXPECT_EQ(fs::file_size(gates.front()), sizeof(Gate::Shared)) << "made anew in its place";
    }
    if (engine == Engine::journal) {
      const auto copy = dynamic_cast<JournalStore&>(**made).replica_directory();
      EXPECT_EQ(copy, gates.front().parent_path()) << "the copy is good";
    }
    made->reset();
    other->reset();
    fs::remove_all(directory);
    fs::remove_all(node.replicas);
  }
}

}  // namespace
}  // namespace torc::store
