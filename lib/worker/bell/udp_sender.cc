#include "lib/worker/bell/udp_sender.h"

#include <sys/socket.h>
#include <unistd.h>

#include "lib/worker/bell/addresses.h"

namespace torc::worker {

int udp_socket(int family) {
  const int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  if (fd >= 0 && family == AF_INET6)
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  return fd;
}

UdpSender::~UdpSender() {
  for (const int fd : {v4_, v6_}) {
    if (fd >= 0) close(fd);
  }
}

int UdpSender::port_for(int family) {
  const std::lock_guard lock(mutex_);
  int& fd = family == AF_INET6 ? v6_ : v4_;
  if (fd < 0) fd = udp_socket(family);
  return fd;
}

void UdpSender::send(const claim::BellAddress& to, std::string_view bytes) {
  const SocketAddress at = socket_address(to);
  if (at.size == 0) return;
  const int fd = port_for(at.bytes.ss_family);
  if (fd < 0) return;
  (void)!sendto(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL, at.get(), at.size);
}

}  // namespace torc::worker
