// Sends datagrams, from ports that the kernel chooses: for who rings, whether or not it has a bell.
#pragma once

#include <mutex>
#include <string_view>

#include "lib/worker/bell/ringer.h"

namespace torc::worker {

class UdpSender final : public Datagrams {
 public:
  UdpSender() = default;
  ~UdpSender() override;
  UdpSender(const UdpSender&) = delete;
  UdpSender& operator=(const UdpSender&) = delete;

  // From any thread. Opens a port with the first datagram of a family; where there is none, nothing
  // is sent.
  void send(const claim::BellAddress& to, std::string_view bytes) override;

 private:
  int port_for(int family);

  std::mutex mutex_;  // guards the next
  int v4_ = -1;
  int v6_ = -1;
};

// Of the family, which does not block; -1: there is none.
[[nodiscard]] int udp_socket(int family);

}  // namespace torc::worker
