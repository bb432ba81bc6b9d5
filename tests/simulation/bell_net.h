// The net between the bells of simulated workers: what it is given it may lose, carry late, or
// carry again much later; and somebody sends what is no bell, or one with the right key and a
// commit that there is not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/worker/bell/ringer.h"
#include "tests/simulation/scenario.h"

namespace torc::simulation {

class Cluster;

class BellNet final : public worker::Datagrams {
 public:
  BellNet(Cluster& cluster, std::uint64_t seed)
      : cluster_(cluster), random_(seed ^ 0xBE11BE11BE11BE11ULL), secret_(random_.next()) {}

  // The bell of a process, the same in all of its lives.
  [[nodiscard]] claim::BellPlace place_of(std::uint64_t pid) const;
  void send(const claim::BellAddress& to, std::string_view bytes) override;

 private:
  void carry(std::uint64_t pid, std::string bytes, Time after);
  std::uint64_t pick(std::uint64_t below) { return random_.next() % below; }

  Cluster& cluster_;
  SeededEntropy random_;
  std::uint64_t secret_;
};

}  // namespace torc::simulation
