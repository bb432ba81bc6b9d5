// Whether the bells of workers pass between two nodes (lib/worker/bell): each opens one as a worker
// does, and rings the other's.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/store/engine/store.h"
#include "lib/store/mount/finding.h"
#include "lib/worker/bell/ringer.h"

namespace torc::doctor {

class Meeting;

// What became of the bells to one node.
enum class BellPassage : std::uint8_t {
  passes,
  lost,      // it heard none of those that were rung
  loopback,  // its addresses are for its own host alone
  no_bell,   // it could open none
  not_rung   // the other could not ring, since it has none
};
[[nodiscard]] std::string_view to_string(BellPassage passage);  // "no bell"

struct BellSide {
  std::vector<std::string> addresses;  // on which it hears, without ports
  bool loopback = false;               // all of them are
  std::string refusal;                 // why it has no bell; empty: it has one
  std::uint64_t heard = 0;             // of those that the other rang
};
struct BellTrial {
  std::uint64_t rung = 0;  // by each
  BellSide a, b;
};
[[nodiscard]] BellPassage passage_to(const BellSide& side, const BellSide& other);

struct BellTerms {
  std::string interface;             // as a worker's; empty: what the host's name stands for
  worker::Datagrams* net = nullptr;  // which carries what this node rings; null: UDP
  std::chrono::nanoseconds wait = std::chrono::seconds(1);  // for what the other has rung
};
// Both of a meeting do it together. That no bell passes is no error; errors are the meeting's.
Result<BellTrial> try_bells(Meeting& meeting, const store::World& world, const BellTerms& terms);

// `a`, `b`: names of the hosts. Workers need no bell, so these are notes.
[[nodiscard]] std::vector<store::Finding> judge_bells(const BellTrial& trial, const std::string& a,
                                                      const std::string& b);
// One line: what passes, and on which addresses each hears.
[[nodiscard]] std::string show_bells(const BellTrial& trial);

}  // namespace torc::doctor
