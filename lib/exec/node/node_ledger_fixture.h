// A directory with node ledgers of its own, and members that fit into it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "lib/exec/machine/procfs.h"
#include "lib/exec/node/node_ledger.h"

namespace torc::exec {

inline constexpr std::uint32_t kCpus = 6;

class NodeLedgerTest : public ::testing::Test {
 protected:
  NodeLedgerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "torc-node-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~NodeLedgerTest() override { std::filesystem::remove_all(root_); }

  static NodeMember member() {
    NodeMember m;
    m.worker = m.watchdog = this_process();
    m.store = "/data/run.torc";
    m.cpus = parse_cpus("0-5");
    m.most_cpus = kCpus;
    m.most_memory = {600};
    m.pools = {{1, {}, ByteCount{600}}};
    m.gpus = {{"0", 1}, {"1", 2}};
    return m;
  }
  std::unique_ptr<NodeLedger> enter(const NodeMember& m = member()) {
    auto ledger = NodeLedger::enter({{root_}, {}}, m, clock_);
    EXPECT_TRUE(ledger.ok()) << ledger.error().text();
    return ledger.ok() ? *std::move(ledger) : nullptr;
  }
  [[nodiscard]] std::filesystem::path file() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      if (entry.is_regular_file()) return entry.path();
    }
    return {};
  }
  [[nodiscard]] std::size_t entries() const {
    const auto all = NodeLedger::look({{root_}, {}});
    return all.ok() ? all->size() : 999;
  }
  [[nodiscard]] ErrorKind refusal() {
    const auto ledger = NodeLedger::enter({{root_}, {}}, member(), clock_);
    EXPECT_FALSE(ledger.ok());
    return ledger.ok() ? ErrorKind::invalid : ledger.error().kind;
  }

  ManualClock clock_;
  std::filesystem::path root_;
};

using Ledgers = NodeLedgerTest;

inline const NodeAmount kAll{kCpus, {600}, 2};

}  // namespace torc::exec
