// A datagram that came to a worker's bell: as it is, and with the code that fits.
#include <algorithm>
#include <string>

#include "lib/worker/bell/message.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc;
using namespace torc::worker;

constexpr StoreInstance kStore{1, 2, 3, 4};
constexpr SipKey kKey{5, 6, 7, 8};

// What is read is what would be rendered, to the last byte.
void check(std::string_view datagram) {
  const auto message = read_bell(datagram, kStore, kKey);
  if (!message) return;
  TORC_MUST(render_bell(*message, kStore, kKey) == datagram);
  TORC_MUST(!read_bell(datagram, kStore, SipKey{}).has_value());
  TORC_MUST(!read_bell(datagram, StoreInstance{}, kKey).has_value());
}

}  // namespace

TORC_FUZZ_TARGET(bell) {
  check(input);
  std::string sealed(input.substr(0, std::min<std::size_t>(input.size(), 38)));
  const SipTag tag = siphash128(kKey, sealed);
  sealed.append(reinterpret_cast<const char*>(tag.data()), tag.size());
  check(sealed);
}
