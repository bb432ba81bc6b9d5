#include "lib/worker/bell/udp_bell.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/worker/bell/addresses.h"

namespace torc::worker {
namespace {

constexpr int kAtOnce = 64;        // datagrams of one port; when there are more,
constexpr int kRestMillis = 50;    // the kernel drops what comes meanwhile and is too much
constexpr std::size_t kKept = 16;  // bells that nobody has taken

void close_if_open(int fd) {
  if (fd >= 0) close(fd);
}

}  // namespace

Result<std::unique_ptr<UdpBell>> UdpBell::open(const std::string& interface, Entropy& entropy) {
  TORC_ASSIGN(auto all,
              interface.empty() ? addresses_of_host() : addresses_of_interface(interface));
  std::unique_ptr<UdpBell> bell(new UdpBell());
  for (std::size_t i = 0; i < bell->place_.key.size(); i += 8) {
    const std::uint64_t word = entropy.next();
    for (std::size_t k = 0; k < 8; ++k)
      bell->place_.key[i + k] = static_cast<std::uint8_t>(word >> (8 * k));
  }
  for (claim::BellAddress& address : worth_telling(std::move(all)))
    (void)bell->bind_to(std::move(address));
  if (bell->ports_.empty()) {
    return Error{ErrorKind::not_found, "this host has no address on which others can reach it",
                 "name an interface or an address with --bell-interface"};
  }
  bell->heard_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bell->stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell->heard_fd_ < 0 || bell->stop_fd_ < 0) return os_error(errno, "eventfd");
  return bell;
}

UdpBell::~UdpBell() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    (void)!write(stop_fd_, &one, sizeof one);
    thread_.join();
  }
  for (const int fd : ports_) close(fd);
  for (const int fd : {heard_fd_, stop_fd_}) close_if_open(fd);
}

// Of an address that is not this host's, as a name service may give it, that fails.
bool UdpBell::bind_to(claim::BellAddress address) {
  address.port = 0;
  const SocketAddress at = socket_address(address);
  const int fd = udp_socket(at.bytes.ss_family);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (fd < 0 || bind(fd, at.get(), at.size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    close_if_open(fd);
    return false;
  }
  address.port = address_of(reinterpret_cast<const sockaddr*>(&bound))->port;
  place_.addresses.push_back(std::move(address));
  ports_.push_back(fd);
  return true;
}

void UdpBell::listen(const StoreInstance& store) {
  // Without a thread it hears nothing, which costs time alone.
  try {
    thread_ = std::thread([this, store] { serve(store); });
  } catch (const std::system_error&) {
    return;
  }
}

std::vector<BellMessage> UdpBell::take() {
  std::uint64_t rung = 0;
  (void)!read(heard_fd_, &rung, sizeof rung);
  const std::lock_guard lock(mutex_);
  return std::exchange(heard_, {});
}

bool UdpBell::hear(int fd, const StoreInstance& store) {
  for (int n = 0; n < kAtOnce; ++n) {
    char bytes[kMostBellBytes];
    const ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    const auto message = read_bell({bytes, static_cast<std::size_t>(size)}, store, place_.key);
    if (!message) continue;
    {
      const std::lock_guard lock(mutex_);
      if (heard_.size() >= kKept) heard_.erase(heard_.begin());
      heard_.push_back(*message);
    }
    const std::uint64_t one = 1;
    (void)!write(heard_fd_, &one, sizeof one);
  }
  return false;
}

void UdpBell::serve(const StoreInstance& store) {
  std::vector<pollfd> fds{{stop_fd_, POLLIN, 0}};
  for (const int fd : ports_) fds.push_back({fd, POLLIN, 0});
  for (;;) {
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    bool all = true;
    for (std::size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents != 0) all = hear(fds[i].fd, store) && all;
    }
    if (!all) (void)poll(fds.data(), 1, kRestMillis);
  }
}

}  // namespace torc::worker
