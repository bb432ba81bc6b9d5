// Sends datagrams: for who rings, whether or not it has a bell.
#pragma once

#include <string_view>

#include "lib/worker/bell/ringer.h"

namespace torc::worker {

// Each from a socket of its own, which is closed again: one that stays would be open on all
// interfaces of the host, to whoever sends there, with nobody who reads it.
class UdpSender final : public Datagrams {
 public:
  // From any thread. Where there is no socket, nothing is sent.
  void send(const claim::BellAddress& to, std::string_view bytes) override;
};

// Of the family, which does not block; -1: there is none.
[[nodiscard]] int udp_socket(int family);

}  // namespace torc::worker
