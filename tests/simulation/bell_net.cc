#include "tests/simulation/bell_net.h"

#include <utility>

#include "tests/simulation/cluster.h"
#include "tests/simulation/process.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Time kTravel = 200us;
constexpr Time kLatest = 10s;
constexpr Time kLatestAgain = 120s;

Time part_of(Time time, std::uint64_t dice) {
  return Time(static_cast<std::int64_t>(dice % static_cast<std::uint64_t>(time.count())));
}

}  // namespace

claim::BellPlace BellNet::place_of(std::uint64_t pid) const {
  claim::BellPlace place;
  std::string address(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) address[i] = static_cast<char>(pid >> (8 * (3 - i)));
  address[0] = 10;  // on no simulated host the loopback
  place.addresses.push_back({address, 1});
  SeededEntropy key(secret_ + pid);
  for (std::uint8_t& byte : place.key) byte = static_cast<std::uint8_t>(key.next());
  return place;
}

void BellNet::send(const claim::BellAddress& to, std::string_view bytes) {
  std::uint64_t pid = 0;
  for (std::size_t i = 1; i < 4; ++i) pid = pid << 8U | static_cast<std::uint8_t>(to.address[i]);
  const auto trouble = static_cast<std::uint64_t>(cluster_.scenario().bell_trouble);
  std::string datagram(bytes);
  if (trouble == 0 || pick(100) >= trouble) return carry(pid, std::move(datagram), kTravel);
  switch (pick(5)) {
    case 0:
      return;
    case 1:
      return carry(pid, std::move(datagram), part_of(kLatest, random_.next()));
    case 2:
      carry(pid, datagram, kTravel);
      for (int i = 0; i < 3; ++i) carry(pid, datagram, part_of(kLatestAgain, random_.next()));
      return;
    case 3:
      datagram[pick(datagram.size())] ^= static_cast<char>(1U << pick(7));
      return carry(pid, std::move(datagram), kTravel);
    default: {
      const worker::BellMessage lie{random_.next() >> pick(60),
                                    static_cast<std::uint32_t>(pick(100))};
      return carry(
          pid, worker::render_bell(lie, cluster_.state().identity().instance, place_of(pid).key),
          kTravel);
    }
  }
}

void BellNet::carry(std::uint64_t pid, std::string bytes, Time after) {
  World& world = cluster_.world();
  if (world.measures()) ++world.measured.bells;
  const Process* to = cluster_.process(pid);
  if (to == nullptr) return;
  world.at(world.now() + after, to->node(),
           [this, pid, bytes = std::move(bytes)] { cluster_.process(pid)->hear_datagram(bytes); });
}

}  // namespace torc::simulation
